//! Counters with coarse steps, and prices in two currencies: what is stated and compared of them.

use super::{studies::stored, *};
use tailmark_model::{Bound, Bounded, Series, SeriesKind, SystemCost};
use tailmark_report::{Condition, GateOutcome, Screen};
use tailmark_study::export::find;

const METRIC: &str = "device_write_amplification";
const UNIT: f64 = 512_000.0;

fn counter(probe: &str, name: &str, rise: f64) -> Series {
    Series {
        probe: probe.to_owned(),
        subject: "nvme0n1".to_owned(),
        name: name.to_owned(),
        kind: SeriesKind::Counter,
        at_s: vec![0.0, 10.0],
        values: vec![1_000.0 * UNIT + 1.0, 1_000.0 * UNIT + 1.0 + rise],
    }
}

/// Two systems whose host writes these data units, with the write amplification of each drive.
fn drives(units: f64, of_fast: f64, of_slow: f64) -> Data {
    let mut data = study(&[FAST, SLOW]);
    for point in &mut data.points {
        let amplification = match point.key.system.as_str() {
            "fast" => of_fast,
            _ => of_slow,
        };
        let noise = 1.0 + 0.001 * f64::from(point.key.repeat);
        let media = (units * UNIT * amplification * noise).round();
        point.phase.series = vec![
            counter("nvme-smart", "write_bytes", units * UNIT),
            counter("nvme-ocp", "media_write_bytes", media),
        ];
        point.phase.figures = point.phase.sampled_figures(None);
    }
    data.settings.metric = Metric::from_name(METRIC);
    data
}

fn judged(data: &Data, conditions: &[&str]) -> Verdicts {
    let dir = tempfile::tempdir().unwrap();
    let conditions = conditions.iter();
    Verdicts::new(&VerdictsRequest {
        study: stored(data, dir.path()),
        system: Some("slow".to_owned()),
        baseline: Some("fast".to_owned()),
        fail_if: conditions
            .map(|text| Condition::parse(text).unwrap())
            .collect(),
        ..VerdictsRequest::default()
    })
    .unwrap()
}

fn gate(data: &Data, condition: &str) -> (Option<GateOutcome>, String) {
    let verdicts = judged(data, &[condition]);
    (verdicts.outcome(), verdicts.gate_lines()[0].clone())
}

/// The page, whatever its lines.
fn words(verdicts: &Verdicts) -> String {
    let lines = verdicts.page().lines(Screen::default()).join(" ");
    lines.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The comparisons of the metric in the document for programs.
fn in_document(data: &Data) -> Vec<Value> {
    let document = judged(data, &[&format!("{METRIC} worse by 5%")]).document();
    let all = document["comparisons"].as_array().unwrap().iter();
    all.filter(|own| own["metric"] == METRIC).cloned().collect()
}

#[test]
fn a_difference_within_the_steps_of_a_counter_leaves_a_gate_unsure() {
    // Three units are two to four: 1.5 to 3.0, and 1.65 to 3.3.
    let close = drives(3.0, 2.0, 2.2);
    let (outcome, said) = gate(&close, &format!("{METRIC} worse by 5%"));
    assert_eq!(outcome, Some(GateOutcome::Unsure), "{said}");
    assert!(
        said.contains("only a bound, because a drive reports it in coarse steps"),
        "{said}"
    );
    // What lies beyond the steps is ruled out.
    let (beyond, why) = gate(&close, &format!("{METRIC} worse by 150%"));
    assert_eq!(beyond, Some(GateOutcome::Pass), "{why}");
    for found in in_document(&close) {
        assert_eq!(found["verdict"], "not testable");
        assert_ne!(found["ratio_bound"], "exact");
        assert_eq!(found["p"], Value::Null);
    }
    // The same systems with finer steps.
    let fine = drives(3_000.0, 2.0, 2.2);
    let (of_fine, why_fails) = gate(&fine, &format!("{METRIC} worse by 5%"));
    assert_eq!(of_fine, Some(GateOutcome::Fail), "{why_fails}");
    assert!(
        in_document(&fine)
            .iter()
            .all(|found| found["ratio_bound"] == "exact")
    );
}

#[test]
fn a_difference_far_beyond_the_steps_has_a_verdict_and_a_bound() {
    let far = drives(3.0, 2.0, 20.0);
    for found in in_document(&far) {
        assert_eq!(found["verdict"], "worse");
        assert_eq!(found["ratio_bound"], "at least");
        let ratio = found["ratio"].as_f64().unwrap();
        assert!((4.9..5.1).contains(&ratio), "{ratio}");
    }
    let outcome = |condition: &str| gate(&far, &format!("{METRIC} {condition}"));
    assert_eq!(outcome("worse by 50%").0, Some(GateOutcome::Fail));
    let (open, said) = outcome("worse by 900%");
    assert_eq!(open, Some(GateOutcome::Unsure), "{said}");
    assert_eq!(outcome("better by 5%").0, Some(GateOutcome::Pass));
}

#[test]
fn tables_and_pages_show_both_ends_and_no_exact_number() {
    let data = drives(3.0, 2.0, 20.0);
    let amplification = &data.points[0].phase.figures[&Metric::from_name(METRIC).unwrap()];
    assert!(matches!(amplification.bound, Bound::Between(..)));
    let page = words(&judged(&data, &[&format!("{METRIC} worse by 5%")]));
    for expected in ["1.50 to 3.01", "15.0 to 30.1", "≥ 4.9X higher"] {
        assert!(page.contains(expected), "{expected}\n{page}");
    }
    let cells = tables("workloads", &data).into_iter();
    let cells = cells.flat_map(|table| table.rows).flat_map(|row| row.cells);
    let texts: Vec<String> = cells.map(|cell| cell.text.replace('\u{a0}', " ")).collect();
    assert!(texts.iter().any(|text| text == "1.50 to 3.01"), "{texts:?}");
    let shown = tables("machine", &data).into_iter();
    let shown = shown.flat_map(|table| table.rows).flat_map(|row| row.cells);
    assert!(shown.into_iter().any(|cell| cell.text == "15.0 to 30.1"));
    // The slower system writes at least 4.99 times as much.
    let said = said("workloads", &data);
    assert!(said.contains("4.9X"), "{said}");
}

#[test]
fn exports_have_both_ends() {
    let dir = tempfile::tempdir().unwrap();
    let study = Study::open(&stored(&drives(3.0, 2.0, 2.2), dir.path())).unwrap();
    let mut json = Vec::new();
    let write = |name: &str, to: &mut Vec<u8>| (find(name).unwrap().write)(&study, to).unwrap();
    write("json", &mut json);
    let json: Value = serde_json::from_slice(&json).unwrap();
    let point = &json["points"][0];
    let ends = &point["derived_bounds"][METRIC];
    let (low, high) = (&ends["at_least"], &ends["at_most"]);
    assert!((low.as_f64().unwrap() / 1.5 - 1.0).abs() < 0.01, "{ends}");
    assert!((high.as_f64().unwrap() / 3.0 - 1.0).abs() < 0.01, "{ends}");
    let mut rows = Vec::new();
    write("csv", &mut rows);
    let rows = String::from_utf8(rows).unwrap();
    let mut rows = rows.lines().map(|row| row.split(',').collect::<Vec<_>>());
    let headings = rows.next().unwrap();
    let first = rows.next().unwrap();
    for (end, expected) in [("at_least", 1.5), ("at_most", 3.0)] {
        let heading = format!("{METRIC}_{end}");
        let at = headings.iter().position(|own| **own == heading).unwrap();
        let value: f64 = first[at].parse().unwrap();
        assert!((value / expected - 1.0).abs() < 0.01, "{heading}: {value}");
    }
}

#[test]
fn money_in_two_currencies_is_neither_compared_nor_ranked() {
    let cost = |currency: &str, price| SystemCost {
        currency: currency.to_owned(),
        price: Some(price),
        ..SystemCost::default()
    };
    let with = |other: &str| {
        let mut data = study(&[FAST, SLOW]);
        let costs = [("fast", cost("EUR", 100.0)), ("slow", cost(other, 900.0))];
        let costs = costs.map(|(system, own)| (system.to_owned(), own));
        data.headers[0].settings.costs = costs.into();
        let settings = data.headers[0].settings.clone();
        for point in &mut data.points {
            point
                .phase
                .set_stated_figures(&settings.cost(&point.key.system));
        }
        data.settings.metric = Metric::from_name("cost_per_million_ops");
        data
    };
    let condition = "cost_per_million_ops worse by 5%";
    let same = gate(&with("EUR"), condition);
    assert_eq!(same.0, Some(GateOutcome::Fail), "{}", same.1);
    let unlike = with("USD");
    let (outcome, line) = gate(&unlike, condition);
    assert_eq!(outcome, Some(GateOutcome::Unsure));
    assert!(line.contains("their currencies differ"), "{line}");
    let verdicts = judged(&unlike, &[condition]);
    let document = verdicts.document();
    let compared = document["comparisons"].as_array().unwrap().iter();
    assert!(
        compared
            .into_iter()
            .all(|own| own["metric"] != "cost_per_million_ops")
    );
    let currency = &document["unlike_money"][0];
    assert_eq!(
        (&currency["currency_a"], &currency["currency_b"]),
        (&"USD".into(), &"EUR".into())
    );
    assert_eq!(currency["bound_a"], "exact");
    let page = words(&verdicts);
    assert!(
        page.contains("not compared, because the currencies differ"),
        "{page}"
    );
    // In the report each value has its currency, and nothing is better.
    let cells = tables("watts", &unlike).into_iter();
    let cells = cells.flat_map(|table| table.rows).flat_map(|row| row.cells);
    let texts: Vec<String> = cells.map(|cell| cell.text).collect();
    for expected in ["100 EUR", "900 USD"] {
        assert!(texts.iter().any(|text| text == expected), "{texts:?}");
    }
    assert!(said("watts", &unlike).contains("Prices are in EUR and USD."));
    let since = with("USD").against(&with("EUR")).unwrap();
    let since = said("against", &since);
    assert!(
        since.contains("of slow in YCSB C (prices in USD and EUR)"),
        "{since}"
    );
    let all = ["summary", "workloads", "conclusion"].map(|section| said(section, &unlike));
    let all = all.join("\n");
    assert!(all.contains("prices in"), "{all}");
    assert!(!all.contains("lower cost per million"), "{all}");
}

#[test]
fn a_cost_that_one_side_lacks_is_said_to_be_missing() {
    let mut data = study(&[FAST, SLOW]);
    let cost = SystemCost {
        currency: "EUR".to_owned(),
        price: Some(100.0),
        ..SystemCost::default()
    };
    let costs = &mut data.headers[0].settings.costs;
    costs.insert("fast".to_owned(), cost);
    let page = words(&judged(&data, &["cost_per_million_ops worse by 5%"]));
    let metric = Metric::from_name("cost_per_million_ops").unwrap();
    let title = metric.row().title;
    assert!(
        page.contains(&format!("{title}: only B has it, at ")),
        "{page}"
    );
}

#[test]
fn costs_whose_energy_covers_different_parts_are_not_compared() {
    let metric = |name| Metric::from_name(name).unwrap();
    let with = |server_of: &dyn Fn(&str, u32) -> bool| {
        let mut data = study(&[FAST, SLOW]);
        let cost = SystemCost {
            price: Some(1_000.0),
            kwh_price: Some(0.3),
            device_watts: Some(10.0),
            ..SystemCost::default()
        };
        let costs = ["fast", "slow"].map(|system| (system.to_owned(), cost.clone()));
        data.headers[0].settings.costs = costs.into();
        for point in &mut data.points {
            let phase = &mut point.phase;
            if server_of(&point.key.system, point.key.repeat) {
                let watts = Bounded::exact(200.0);
                phase.figures.insert(metric("server_watts"), watts);
            }
            phase.set_stated_figures(&cost);
        }
        data.settings.metric = Some(metric("cost_per_million_ops"));
        data
    };
    let condition = "cost_per_million_ops worse by 5%";
    let alike = with(&|_, _| true);
    assert_ne!(gate(&alike, condition).0, Some(GateOutcome::Unsure));
    // Only one system has a sensor, or one of them lost it after two runs.
    let one = with(&|system, _| system == "fast");
    let lost = with(&|system, repeat| system == "fast" || repeat < 2);
    for (data, energy) in [(&one, "devices"), (&lost, "devices or server")] {
        let (outcome, line) = gate(data, condition);
        assert_eq!(outcome, Some(GateOutcome::Unsure), "{line}");
        let page = words(&judged(data, &[condition]));
        let why = format!("the energy of A is that of {energy}, of B that of server");
        assert!(page.contains(&why), "{page}");
        let all = ["summary", "workloads"].map(|section| said(section, data));
        assert!(!all.join("\n").contains("lower cost"), "{all:?}");
    }
    // 3,630 with the server's energy and 1,132 with the devices' have no mean.
    let table = tables("watts", &lost).remove(0);
    let mut rows = table.rows.iter();
    let costs = rows.find(|row| row.cells[0].text.contains("ownership"));
    let costs = &costs.unwrap().cells[1..];
    assert!(costs.iter().any(|cost| cost.value.is_none()), "a mean");
    assert!(costs.iter().any(|cost| cost.value.is_some()));
}

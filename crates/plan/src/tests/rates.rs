//! Rates as an axis: what is measured at them, in which order, and under which names.

use super::{SYSTEM, plan};
use crate::{AskedRate, Plan, RawPlan, Sweep};
use tailmark_model::Arrivals;

fn with(sweep: &str) -> Plan {
    plan(&format!("{SYSTEM}[sweep]\n{sweep}"))
}

/// Clients and rate of each point: `4`, `64 at 10000`.
fn points(plan: &Plan) -> Vec<String> {
    let text = |threads: u32, rate: Option<AskedRate>| match rate {
        None => threads.to_string(),
        Some(rate) => format!("{threads} at {rate}"),
    };
    let points = plan.points();
    points.map(|step| text(step.threads, step.rate)).collect()
}

#[test]
fn rates_are_points_beside_the_thread_counts() {
    let plan = with("threads = [1, 4]\nrates = ['10k', 2_500, '60%']\nrate_threads = 8");
    assert_eq!(
        points(&plan),
        ["1", "4", "8 at 10000", "8 at 2500", "8 at 60%"]
    );
    assert_eq!(plan.sweep.arrivals, Some(Arrivals::Even));
}

#[test]
fn rates_are_given_as_a_list_or_as_text() {
    let rates = |given: &str| with(&format!("rates = {given}")).sweep.rates;
    let expected = [
        AskedRate::Fixed(10_000.0),
        AskedRate::Fixed(20_000.0),
        AskedRate::OfPeak(0.6),
    ];
    for given in [
        "['10k', 20_000, '60%']",
        "'10k, 20_000, 60%'",
        "[1e4, '20000.0', '60.0 %']",
    ] {
        assert_eq!(rates(given), expected, "{given}");
    }
    assert_eq!(rates("0.5"), [AskedRate::Fixed(0.5)]);
    assert_eq!(rates("'1000%'"), [AskedRate::OfPeak(10.0)]);
}

#[test]
fn thread_counts_that_nobody_asked_for_are_measured_for_a_peak_alone() {
    assert_eq!(points(&with("rates = '10k'")), ["64 at 10000"]);
    assert_eq!(
        points(&with("rates = '10k'\nthreads = 2")),
        ["2", "64 at 10000"]
    );
    let for_a_peak = ["1", "4", "16", "64 at 60%"];
    assert_eq!(points(&with("rates = '60%'")), for_a_peak);
    let keys = with("rates = '10k'").header.plan;
    assert_eq!(keys.get("sweep.threads"), None);
}

#[test]
fn one_rate_is_that_of_every_thread_point() {
    let plan = with("rate = '20k'\nthreads = [1, 4]\narrivals = 'poisson'");
    assert_eq!(points(&plan), ["1 at 20000", "4 at 20000"]);
    let steps = plan.points().map(|step| {
        let rate = step.fixed_rate();
        step.key(&plan, &plan.systems[0], rate)
    });
    for key in steps {
        assert_eq!(key.target_rate, Some(20_000.0));
        assert_eq!(key.arrivals, Some(Arrivals::Poisson));
    }
}

#[test]
fn a_closed_loop_has_no_arrivals() {
    let plan = with("threads = 1\nrates = 5");
    let keys = plan.points().map(|step| {
        let rate = step.fixed_rate();
        step.key(&plan, &plan.systems[0], rate)
    });
    let arrivals: Vec<_> = keys.map(|key| key.arrivals).collect();
    assert_eq!(arrivals, [None, Some(Arrivals::Even)]);
}

#[test]
fn each_repeat_has_the_rates_of_a_workload_behind_its_thread_counts() {
    let plan = with("workloads = 'ycsb-a, ycsb-c'\nthreads = 1\nrates = [5, '9%']\nrepeats = 2");
    let steps: Vec<_> = plan.points().collect();
    let point = |index: usize| {
        let step = &steps[index];
        let rate = step.rate.map(|rate| rate.to_string());
        (step.repeat, step.workload.name.as_str(), rate)
    };
    assert_eq!(point(2), (1, "ycsb-a", Some("9%".to_owned())));
    assert_eq!(point(3), (1, "ycsb-c", None));
    assert_eq!(point(6), (2, "ycsb-a", None));
    let begins: Vec<_> = steps.iter().map(|step| step.begins_workload).collect();
    assert_eq!(begins, [[true, false, false]; 4].concat());
}

#[test]
fn the_system_whose_peak_the_rates_are_of_comes_first() {
    let text = format!("{SYSTEM}[[system]]\nname = 'b'\n[[system]]\nname = 'c'\n");
    let order = |sweep: &str| {
        let plan = plan(&format!("{text}[sweep]\n{sweep}"));
        let systems = plan.systems_in_order().into_iter();
        let peaks = plan
            .systems
            .iter()
            .map(|s| plan.sweep.peak_of(s).to_owned());
        (
            systems
                .map(|(place, s)| format!("{place} {}", s.name))
                .collect::<Vec<_>>(),
            peaks.collect::<Vec<_>>(),
        )
    };
    let (own, peaks) = order("rates = '60%'");
    assert_eq!(own, ["0 a", "1 b", "2 c"]);
    assert_eq!(peaks, ["a", "b", "c"]);
    let (of_c, peaks_of_c) = order("rates = '60%'\nrates_of = 'c'");
    assert_eq!(of_c, ["2 c", "0 a", "1 b"]);
    assert_eq!(peaks_of_c, ["c", "c", "c"]);
}

#[test]
fn flags_say_what_keys_say() {
    let mut raw = RawPlan::parse("test", SYSTEM).unwrap();
    for (key, value) in [
        ("rates", "10k,60%"),
        ("rate_threads", "8"),
        ("rates_of", "a"),
        ("arrivals", "poisson"),
    ] {
        let key = crate::keys::find("sweep", key).unwrap();
        raw.set_flag(key, value).unwrap();
    }
    let from_flags = raw.check().unwrap().header.plan;
    let same =
        with("rates = ['10k', '60%']\nrate_threads = 8\nrates_of = 'a'\narrivals = 'poisson'");
    assert_eq!(from_flags, same.header.plan);
}

#[test]
fn scale_leaves_an_operation_and_a_record_for_each_client_of_a_rate() {
    let text = format!(
        "scale = 1e-9\n{SYSTEM}[sweep]\noperations = '2M'\nrates = 5\nrate_threads = 50\n\
         load_threads = 1"
    );
    let plan = plan(&text);
    assert_eq!(plan.sweep.operations, Some(50));
    assert_eq!(plan.systems[0].data.records, 50);
    let Sweep { threads, .. } = &plan.sweep;
    assert!(threads.is_empty());
}

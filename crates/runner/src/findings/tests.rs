//! The table of the rules, and rules over a whole point.

use super::*;
use crate::point::Measured;
use tailmark_driver::{DataSet, Params};
use tailmark_model::{Phase, PointKey, SERVER_CLOCK, Series, SeriesKind, subject_on_server};
use tailmark_plan::Plan;

/// The context of a point of the first system of a plan, on which nothing remarkable happened.
pub(super) fn in_sweep(plan: &Plan) -> SweepContext<'_> {
    SweepContext {
        plan,
        system: &plan.systems[0],
        adopted: None,
        memory_unlimited: None,
        caches_kept: None,
        settled_before: Settled::Yes,
        settled_after: Settled::Yes,
        version: None,
        links: Vec::new(),
        unexpected: Vec::new(),
        starts: &[],
        put_back: Vec::new(),
    }
}

/// What is said of a phase that was measured with this driver, outside a sweep.
pub(super) fn with_context<T>(
    driver: &str,
    phase: Phase,
    check: impl Fn(&PointContext<'_>) -> T,
) -> T {
    let measured = Measured {
        phase,
        clock_step_ms: 0,
        not_sampled: Vec::new(),
    };
    of_measured(driver, &measured, check)
}

fn of_measured<T>(driver: &str, measured: &Measured, check: impl Fn(&PointContext<'_>) -> T) -> T {
    let driver = tailmark_driver::db::find(driver).expect("a row");
    let params = Params {
        location: tailmark_driver::Location::None,
        data: DataSet {
            schema: tailmark_driver::Schema {
                table: "t".into(),
                fields: vec![],
            },
            records: 0,
            field_length: 0,
        },
        settings: tailmark_driver::Settings::default(),
        semantics: tailmark_driver::Semantics::Faithful,
        access: tailmark_driver::Access::Write,
        study: String::new(),
    };
    let key = PointKey {
        system: "a".into(),
        workload: "w".into(),
        distribution: "uniform".into(),
        threads: 1,
        repeat: 1,
        target_rate: None,
        arrivals: None,
    };
    check(&PointContext::new(driver, &params, &key, measured))
}

/// The codes of what is found of samples that were taken over a minute.
fn codes(series: Vec<Series>) -> Vec<String> {
    let phase = Phase {
        duration_s: 60.0,
        series,
        ..Phase::default()
    };
    let found = with_context("null", phase, findings).into_iter();
    found.map(|finding| finding.code).collect()
}

/// A series with a value for each second.
fn each_second(probe: &str, subject: &str, name: &str, value: impl Fn(f64) -> f64) -> Series {
    let at_s: Vec<f64> = (0..=60).map(f64::from).collect();
    Series {
        probe: probe.to_owned(),
        subject: subject.to_owned(),
        name: name.to_owned(),
        kind: SeriesKind::Counter,
        values: at_s.iter().map(|at| value(*at)).collect(),
        at_s,
    }
}

#[test]
fn settings_that_a_killed_run_left_are_named_with_what_puts_them_back() {
    let found = |settings: &[String]| super::settings_left(settings);
    assert_eq!(found(&[]), None);
    let said = found(&["vm.swappiness is 1, was 60".to_owned()])
        .unwrap()
        .text();
    assert!(said.contains("vm.swappiness is 1, was 60"), "{said}");
    assert!(said.contains("tailmark restore"), "{said}");
}

#[test]
fn a_server_whose_clock_drifts_by_a_thousandth_is_a_finding_of_its_phase() {
    let drifting = |rate: f64| {
        let clock = subject_on_server("clock", "db1");
        let machine = subject_on_server("machine", "db1");
        vec![
            each_second("cpu", &machine, "idle_s", |at| at),
            each_second(SERVER_CLOCK, &clock, "bound_s", |_| 0.000_2),
            each_second(SERVER_CLOCK, &clock, "offset_s", |at| 5_000.0 + at * rate),
        ]
    };
    assert_eq!(codes(drifting(0.001)), ["server-clock"]);
    assert_eq!(codes(drifting(-0.001)), ["server-clock"]);
    assert_eq!(codes(drifting(0.000_05)), [""; 0]);
}

#[test]
fn a_servers_host_is_saturated_by_its_own_processors() {
    let busy = |client: f64, server: f64| {
        let machine = |subject: &str, busy: f64| {
            [("user_s", busy), ("idle_s", 1.0 - busy)]
                .map(|(name, share)| each_second("cpu", subject, name, |at| at * share))
        };
        let process = each_second("process", "process", "user_s", |at| at * client);
        let there = subject_on_server("machine", "db1");
        let mut all = [machine("machine", client), machine(&there, server)].concat();
        all.push(process);
        codes(all)
    };
    assert_eq!(busy(0.05, 0.97), ["server-saturated"]);
    assert_eq!(busy(0.97, 0.05), ["client-saturated"]);
    assert_eq!(busy(0.5, 0.5), [""; 0]);
    assert_eq!(busy(0.97, 0.97), ["client-saturated", "server-saturated"]);
}

#[test]
fn a_clock_that_was_set_is_a_finding_in_either_direction() {
    let text = |clock_step_ms| {
        let measured = Measured {
            phase: Phase::default(),
            clock_step_ms,
            not_sampled: Vec::new(),
        };
        of_measured("null", &measured, clock_stepped)
            .unwrap_or_default()
            .to_string()
    };
    assert!(text(100_000).contains("set forwards by 100 s"));
    assert!(text(-3_500).contains("set backwards by 3.5 s"));
    assert_eq!((text(999), text(-999)), (String::new(), String::new()));
}

#[test]
fn rules_are_unique_and_sorted_and_their_codes_are_rows() {
    assert!(RULES.is_sorted_by(|a, b| a.code.name < b.code.name));
    for rule in RULES {
        assert_eq!(finding::find(rule.code.name), Some(&rule.code));
    }
}

#[test]
fn every_remark_of_a_driver_has_a_code() {
    for remark in RemarkCode::ALL {
        assert_eq!(code_of(remark).name, remark.name());
    }
}

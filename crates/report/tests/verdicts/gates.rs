//! Gates on runs that something disturbed, and names that no study has.

use super::{studies::stored, *};
use tailmark_model::{FindingCode, Kind, RepeatRange, finding};
use tailmark_report::{Condition, GateOutcome, Screen};

/// The gate `ops worse by 5%` on SLOW against FAST, of which the first runs have this finding.
fn gate(of_slow: usize, of_fast: usize, code: FindingCode) -> Verdicts {
    let dir = tempfile::tempdir().unwrap();
    let mut data = study(&[FAST, SLOW]);
    for point in &mut data.points {
        let disturbed = match point.key.system.as_str() {
            "slow" => of_slow,
            _ => of_fast,
        };
        if point.key.repeat as usize <= disturbed {
            point.phase.findings.push(code.finding("Seen."));
        }
    }
    verdicts(&stored(&data, dir.path()), "ops worse by 5%").unwrap()
}

fn verdicts(path: &Path, condition: &str) -> Result<Verdicts, tailmark_report::Error> {
    Verdicts::new(&VerdictsRequest {
        study: path.to_owned(),
        system: Some("slow".to_owned()),
        baseline: Some("fast".to_owned()),
        fail_if: vec![Condition::parse(condition).unwrap()],
        ..VerdictsRequest::default()
    })
}

/// The only line of the gate.
fn line(verdicts: &Verdicts) -> String {
    let lines = verdicts.gate_lines();
    assert_eq!(lines.len(), 1, "{lines:?}");
    lines[0].replace('\u{a0}', " ")
}

#[test]
fn a_difference_in_runs_that_something_disturbed_fails_no_gate() {
    let clean = gate(0, 0, finding::MACHINE_BUSY);
    assert_eq!(clean.outcome(), Some(GateOutcome::Fail));
    let failed = line(&clean);
    let head = "FAIL: ops worse by 5% (at 2 of 2 points): ycsb-c uniform, ";
    assert!(
        failed.starts_with(head) && failed.contains("−17 %"),
        "{failed}"
    );
    for (of_slow, of_fast, runs) in [
        (2, 0, "2 of 5 runs of A"),
        (0, 1, "1 of 5 runs of B"),
        (5, 3, "5 of 5 runs of A and 3 of 5 runs of B"),
    ] {
        for code in [
            finding::MACHINE_BUSY,
            finding::STEAL,
            finding::DEVICE_THROTTLED,
        ] {
            let verdicts = gate(of_slow, of_fast, code);
            assert_eq!(
                verdicts.outcome(),
                Some(GateOutcome::Unsure),
                "{}",
                code.name
            );
            let said = line(&verdicts);
            assert!(
                said.starts_with("UNSURE: ops worse by 5% (at 2 of 2 points): "),
                "{said}"
            );
            let cause = format!("; but {} in {runs} may be the cause", code.name);
            assert!(said.ends_with(&cause), "{said}");
            let page = verdicts.page().lines(Screen::default()).join(" ");
            assert!(page.contains("before, after, before, after"), "{page}");
        }
    }
    // Other findings qualify numbers, but are no cause of a difference.
    let other = gate(5, 5, finding::TOO_FEW_SAMPLES);
    assert_eq!(other.outcome(), Some(GateOutcome::Fail));
    let document = gate(2, 0, finding::STEAL).document();
    let point = &document["gates"][0]["points"][0];
    assert_eq!(
        (&point["outcome"], &point["reason"]),
        (&"unsure".into(), &"disturbed".into())
    );
    let expected = serde_json::json!([{"code": "steal", "runs_a": 2, "runs_b": 0}]);
    assert_eq!(point["disturbances"], expected);
}

#[test]
fn what_disturbed_runs_rule_out_is_ruled_out() {
    let dir = tempfile::tempdir().unwrap();
    let mut data = study(&[FAST, SLOW]);
    for point in &mut data.points {
        let busy = finding::MACHINE_BUSY.finding("Seen.");
        point.phase.findings.push(busy);
    }
    let verdicts = verdicts(&stored(&data, dir.path()), "ops worse by 40%").unwrap();
    assert_eq!(verdicts.outcome(), Some(GateOutcome::Pass));
    let said = line(&verdicts);
    let parts = [
        "PASS: ops worse by 40% (ruled out at 2 points): ",
        ", at worst −1",
    ];
    assert!(parts.iter().all(|part| said.contains(part)), "{said}");
}

#[test]
fn repeats_that_end_once_decided_need_more_of_them_to_decide_a_gate() {
    let needed = |repeats: Option<RepeatRange>| {
        let dir = tempfile::tempdir().unwrap();
        let even = Runs("fast", &[1_000.0, 1_100.0, 900.0, 1_050.0, 950.0]);
        let mut data = study(&[even, SLOW]);
        data.headers[0].settings.rules.repeats = repeats;
        let verdicts = verdicts(&stored(&data, dir.path()), "ops worse by 5%").unwrap();
        let document = verdicts.document();
        let point = &document["gates"][0]["points"][0];
        assert_eq!(point["reason"], "noise");
        point["repeats_needed"].as_u64().unwrap()
    };
    let range = |least, most| Some(RepeatRange { least, most });
    let (fixed, looked_at) = (needed(None), needed(range(4, 20)));
    assert!(fixed < looked_at, "{fixed} {looked_at}");
    assert!(looked_at < needed(range(4, 200)), "{looked_at}");
}

#[test]
fn a_baseline_that_something_slowed_hides_what_a_gate_looks_for() {
    let dir = tempfile::tempdir().unwrap();
    for (disturbed, code, hides) in [
        ("fast", finding::MACHINE_BUSY, true),
        ("slow", finding::MACHINE_BUSY, false),
        // Other settings may as well make the new one faster.
        ("slow", finding::SETTINGS_LEFT, true),
    ] {
        let mut data = study(&[FAST, SLOW]);
        for point in &mut data.points {
            if point.key.system == disturbed {
                point.phase.findings.push(code.finding("Seen."));
            }
        }
        let path = dir.path().join(format!("{disturbed} {}", code.name));
        std::fs::create_dir(&path).unwrap();
        let verdicts = verdicts(&stored(&data, &path), "ops worse by 40%").unwrap();
        let outcome = if hides {
            GateOutcome::Unsure
        } else {
            GateOutcome::Pass
        };
        assert_eq!(verdicts.outcome(), Some(outcome), "{disturbed}");
        let said = line(&verdicts);
        let side = if disturbed == "fast" { "B" } else { "A" };
        let hidden = format!("; but {} in 5 of 5 runs of {side} may hide more", code.name);
        assert_eq!(said.ends_with(&hidden), hides, "{said}");
        let point = &verdicts.document()["gates"][0]["points"][0];
        assert_eq!(point["disturbances"].as_array().unwrap().len(), 1);
    }
}

#[test]
fn a_point_that_failed_decides_no_gate_on_requests_that_its_workload_never_has() {
    let dir = tempfile::tempdir().unwrap();
    let mut data = study(&[FAST, SLOW]);
    let mut other = study(&[FAST, SLOW]).points;
    for point in &mut other {
        point.key.workload = "ycsb-other".into();
        let read = point.phase.kinds.remove(&Kind::Read).unwrap();
        point.phase.kinds.insert(Kind::Update, read);
    }
    // Of the workload that only reads, a run failed.
    data.points[0].phase.failed = data.points[0].phase.operations;
    data.points.append(&mut other);
    let judged = verdicts(&stored(&data, dir.path()), "p99 update worse by 1000%").unwrap();
    assert_eq!(
        judged.outcome(),
        Some(GateOutcome::Pass),
        "{}",
        line(&judged)
    );
}

#[test]
fn a_misspelt_workload_or_system_is_refused_with_the_nearest_name() {
    let dir = tempfile::tempdir().unwrap();
    let path = stored(&study(&[FAST, SLOW]), dir.path());
    let refused = verdicts(&path, "ops worse by 5% in ycbs-c").unwrap_err();
    let workload = refused.to_string();
    for part in [
        "has workload `ycbs-c`",
        "did you mean `ycsb-c`?",
        "workloads: ycsb-c",
    ] {
        assert!(workload.contains(part), "{workload}");
    }
    let request = VerdictsRequest {
        study: path,
        system: Some("slwo".to_owned()),
        ..VerdictsRequest::default()
    };
    let text = Verdicts::new(&request).unwrap_err().to_string();
    for part in ["--system is `slwo`", "fast, slow", "did you mean `slow`?"] {
        assert!(text.contains(part), "{text}");
    }
}

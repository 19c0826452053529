//! Ladders of client counts: how they are written, and which points they have.

use super::{SYSTEM, check, message, plan};
use crate::{Ladder, Order, Plan, RawPlan};
use tailmark_testing::assert_says;

fn sweep(keys: &str) -> Plan {
    plan(&format!("{SYSTEM}[sweep]\n{keys}"))
}

fn rungs(threads: &str) -> Vec<u32> {
    let sweep = sweep(&format!("threads = {threads}")).sweep;
    assert!(sweep.ladder.is_some(), "{threads}");
    sweep.threads
}

#[test]
fn rungs_rise_by_the_factor_to_the_last_at_most() {
    for (threads, expected) in [
        (
            "{ from = 8, factor = 2, until = 'no gain' }",
            &[8, 16, 32, 64, 128, 256, 512, 1_024][..],
        ),
        ("{ from = 3, to = 30, until = 'no gain' }", &[3, 6, 12, 24]),
        (
            "{ from = 1, to = 12, factor = 1.5, until = 'no gain' }",
            &[1, 2, 3, 5, 8, 12],
        ),
        (
            "{ from = 1, to = 5, factor = 1.1, until = 'no gain' }",
            &[1, 2, 3, 4, 5],
        ),
        ("{ from = 5, to = 5, until = 'no gain' }", &[5]),
        ("'8..'", &[8, 16, 32, 64, 128, 256, 512, 1_024]),
        ("'8..64'", &[8, 16, 32, 64]),
        ("' 8 .. 100 x3 '", &[8, 24, 72]),
        ("'500..x1.5'", &[500, 750]),
        ("'8..64x2 until no gain'", &[8, 16, 32, 64]),
    ] {
        assert_eq!(rungs(threads), expected, "{threads}");
    }
}

#[test]
fn a_list_and_a_series_are_no_ladder() {
    for threads in ["[8, 16]", "'8,16'", "{ from = 8, to = 16 }"] {
        let sweep = sweep(&format!("threads = {threads}")).sweep;
        assert_eq!(
            (sweep.ladder, sweep.threads),
            (None, vec![8, 16]),
            "{threads}"
        );
    }
}

#[test]
fn the_flag_and_the_effective_plan_say_it_as_text_that_reads_back() {
    let mut raw = RawPlan::parse("test", SYSTEM).unwrap();
    raw.set("--threads", "sweep.threads", "3..700 x1.7".into())
        .unwrap();
    let by_flag = raw.check().unwrap();
    let ladder = Ladder {
        from: 3,
        to: 700,
        factor: 1.7,
    };
    assert_eq!(by_flag.sweep.ladder, Some(ladder));
    let text = &by_flag.header.plan["sweep.threads"].value;
    assert_eq!(text, "3..700 x1.7 until no gain");
    let again = sweep(&format!("threads = '{text}'"));
    assert_eq!(again.sweep.ladder, Some(ladder));
    assert_eq!(again.header.plan, by_flag.header.plan);
    let table = "threads = { from = 3, to = 700, factor = 1.7, until = 'no gain' }";
    assert_eq!(sweep(table).header.plan, by_flag.header.plan);
}

#[test]
fn all_repeats_of_a_rung_come_before_the_next_and_rates_come_last() {
    let plan = sweep(
        "threads = '1..4'\nrepeats = 2\nrates = ['60%', 500]\nworkloads = ['ycsb-a', 'ycsb-c']",
    );
    let name = |step: crate::PlanPoint<'_>| {
        let begins = if step.begins_workload { "+" } else { "" };
        let at = step
            .rate
            .map_or(step.threads.to_string(), |rate| rate.to_string());
        format!("{begins}{} {at} {}", &step.workload.name[5..], step.repeat)
    };
    let points: Vec<_> = plan.points().map(name).collect();
    let expected = |workload: &str| {
        let rest = [
            "1 2", "2 1", "2 2", "4 1", "4 2", "60% 1", "60% 2", "500 1", "500 2",
        ];
        let rest = rest.iter().map(|point| format!("{workload} {point}"));
        std::iter::once(format!("+{workload} 1 1"))
            .chain(rest)
            .collect::<Vec<_>>()
    };
    assert_eq!(points, [expected("a"), expected("c")].concat());
    assert_eq!(plan.grid().count() * 2, points.len());
}

#[test]
fn systems_take_turns_on_a_ladder_too() {
    let text = "[database]\ndriver = 'null'\n[[system]]\nname = 'a'\n[[system]]\nname = 'b'\n\
                [sweep]\nthreads = '1..4'\nrepeats = 2";
    let plan = plan(text);
    let turns = plan.points_of(Order::Interleaved, 2);
    let turns: Vec<_> = turns
        .map(|(system, step)| (system, step.threads, step.repeat))
        .collect();
    let first: Vec<_> = turns.iter().step_by(2).copied().collect();
    let expected = [
        (0, 1, 1),
        (1, 1, 2),
        (1, 2, 1),
        (0, 2, 2),
        (0, 4, 1),
        (1, 4, 2),
    ];
    assert_eq!(first, expected);
    for two in turns.chunks(2) {
        assert_eq!((two[0].1, two[0].2), (two[1].1, two[1].2), "{two:?}");
    }
}

#[test]
fn what_is_no_ladder_is_refused() {
    for (keys, words) in [
        (
            "threads = { from = 8, to = 4, until = 'no gain' }",
            &["sweep.threads is", "`8..`"][..],
        ),
        (
            "threads = { from = 8, until = 'gain' }",
            &["sweep.threads.until is `gain`", "no gain"],
        ),
        (
            "threads = { from = 8, until = 'no gain', factor = 1.05 }",
            &["sweep.threads.factor is `1.05`", "1.1 or more"],
        ),
        (
            "threads = { from = 8 }",
            &["sweep.threads.to is missing", "until = \"no gain\""],
        ),
        ("threads = '..8'", &["sweep.threads is `..8`"]),
        ("threads = '8..4'", &["sweep.threads is `8..4`"]),
        ("threads = '0..'", &["sweep.threads is `0..`"]),
        (
            "threads = '8..2000'",
            &["sweep.threads is `8..2000`", "1 to 1,024"],
        ),
        ("threads = '8..x1'", &["sweep.threads is `8..x1`"]),
        ("threads = '8..xNaN'", &["sweep.threads is `8..xNaN`"]),
        (
            "threads = '8.. until gain'",
            &["sweep.threads is `8.. until gain`"],
        ),
        ("threads = '1,8..'", &["sweep.threads is `1,8..`"]),
        (
            "threads = '8..'\nrate = 500",
            &["sweep.rate is `500`", "sweep.rates adds separate points"],
        ),
        (
            "threads = '8..'\nrepeats = 2\n[dataset]\nrestore = 'reload'\nrestore_before = 'repeat'",
            &["dataset.restore_before is `repeat`", "point or workload"],
        ),
    ] {
        let error = check(&format!("{SYSTEM}[sweep]\n{keys}"));
        let error = error.map_or_else(|error| message(&error), |_| panic!("accepted: {keys}"));
        assert_says(&error, words);
    }
}

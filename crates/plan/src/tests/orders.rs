//! In which order the points of several systems are measured, and when a plan says so.

use super::plan;
use crate::{Order, Plan};

/// A plan of these systems.
fn with(systems: &str, sweep: &str) -> Plan {
    let systems = systems.chars();
    let systems: String = systems
        .map(|name| format!("[[system]]\nname = '{name}'\n"))
        .collect();
    plan(&format!(
        "[database]\ndriver = 'null'\n{systems}[sweep]\n{sweep}"
    ))
}

/// The systems in the order in which they are measured, with a bar where the repeat changes.
fn turns(systems: &str, sweep: &str, order: Order) -> String {
    let plan = with(systems, sweep);
    let mut text = String::new();
    let mut repeat = 1;
    for (system, step) in plan.points_of(order, plan.systems.len()) {
        if step.repeat != repeat {
            text.push('|');
            repeat = step.repeat;
        }
        text.push_str(&plan.systems[system].name);
    }
    text
}

#[test]
fn systems_take_turns_there_and_back() {
    for (systems, sweep, expected) in [
        ("ab", "threads = 1\nrepeats = 5", "ab|ba|ab|ba|ab"),
        ("ab", "threads = [1, 2]\nrepeats = 3", "abba|baab|abba"),
        ("ab", "threads = [1, 2, 4]\nrepeats = 2", "abbaab|baabba"),
        (
            "ab",
            "threads = 1\nrates = 5\nworkloads = 'ycsb-a, ycsb-c'\nrepeats = 2",
            "abbaabba|baabbaab",
        ),
        ("abc", "threads = [1, 2]\nrepeats = 2", "abccba|cbaabc"),
        ("a", "threads = [1, 2]\nrepeats = 2", "aa|aa"),
    ] {
        let turns = turns(systems, sweep, Order::Interleaved);
        assert_eq!(turns, expected, "{systems}: {sweep}");
    }
}

#[test]
fn of_one_step_each_system_comes_first_in_every_other_repeat() {
    for sweep in ["threads = [1, 2, 4]", "threads = [1, 2]\nrates = [5, 6]"] {
        let plan = with("ab", &format!("{sweep}\nrepeats = 4"));
        let points: Vec<_> = plan.points_of(Order::Interleaved, 2).collect();
        let steps = points.len() / 2 / 4;
        for step in 0..steps {
            let repeats = (0..4).map(|repeat| points[2 * (repeat * steps + step)].0);
            let first: Vec<_> = repeats.collect();
            assert_eq!(first, [step % 2, 1 - step % 2].repeat(2), "{sweep}: {step}");
        }
    }
}

#[test]
fn systems_one_after_the_other_have_all_their_repeats_at_once() {
    let sweep = "threads = [1, 2]\nrepeats = 2";
    assert_eq!(turns("ab", sweep, Order::Systems), "aa|aa|bb|bb");
}

#[test]
fn each_system_has_its_points_in_the_same_order_whatever_the_order_of_systems() {
    let sweep = "threads = [1, 2]\nrates = [5, '60%']\nworkloads = 'ycsb-a, ycsb-c'\nrepeats = 3";
    let plan = with("abc", sweep);
    let name = |step: &crate::PlanPoint<'_>| {
        let rate = step.rate.map(|rate| rate.to_string());
        (
            step.repeat,
            step.workload.name.clone(),
            step.threads,
            rate,
            step.begins_workload,
        )
    };
    let expected: Vec<_> = plan.points().map(|step| name(&step)).collect();
    for order in [Order::Interleaved, Order::Systems] {
        for system in 0..3 {
            let own = plan.points_of(order, 3).filter(|(s, _)| *s == system);
            let own: Vec<_> = own.map(|(_, step)| name(&step)).collect();
            assert_eq!(own, expected, "{order:?}: {system}");
        }
    }
}

#[test]
fn every_system_has_its_thread_counts_behind_it_before_any_has_a_part_of_a_peak() {
    let sweep = "threads = [1, 2, 4]\nrates = [5, '60%']\nrates_of = 'b'\nworkloads = 'ycsb-a, \
                 ycsb-c'\nrepeats = 2";
    let plan = with("abc", sweep);
    let points: Vec<_> = plan.points_of(Order::Interleaved, 3).collect();
    for (index, (_, rate)) in points.iter().enumerate() {
        if !rate.rate.is_some_and(|rate| rate.is_of_peak()) {
            continue;
        }
        let before = points[..index].iter().filter(|(_, step)| {
            (step.repeat, &step.workload.name, step.rate)
                == (rate.repeat, &rate.workload.name, None)
        });
        assert_eq!(before.count(), 3 * 3, "{index}");
    }
}

#[test]
fn what_is_repeated_is_interleaved_unless_the_plan_says_otherwise() {
    for (sweep, order) in [
        ("", Order::Systems),
        ("repeats = 1", Order::Systems),
        ("repeats = 2", Order::Interleaved),
        ("repeats = 2\norder = 'systems'", Order::Systems),
        ("order = 'interleaved'", Order::Interleaved),
    ] {
        assert_eq!(with("ab", sweep).sweep.order, order, "{sweep}");
    }
}

#[test]
fn a_plan_states_its_order_if_systems_take_turns() {
    for (systems, sweep, expected) in [
        ("ab", "", None),
        ("ab", "repeats = 2", Some("interleaved")),
        ("ab", "repeats = 2\norder = 'systems'", None),
        ("ab", "order = 'interleaved'", Some("interleaved")),
        ("a", "repeats = 2", None),
    ] {
        let plan = with(systems, sweep).header.plan;
        let order = plan.get("sweep.order").map(|given| given.value.as_str());
        assert_eq!(order, expected, "{systems}: {sweep}");
    }
}

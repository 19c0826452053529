//! How the systems of a run take turns, and the cost of that.

use super::{Facts, work::Work};
use crate::order;
use tailmark_model::number;
use tailmark_plan::{Order, Plan};

/// The order of a run with several systems and, if they take turns, the cost of that: lines for
/// display.
pub fn lines(plan: &Plan, facts: &Facts, work: &Work<'_>) -> Vec<String> {
    let order = facts.order(plan);
    let there = work.systems.iter().map(|own| own.system.name.as_str());
    let there: Vec<_> = there.collect();
    match (order, there.len()) {
        (_, ..2) => return Vec::new(),
        (Order::Systems, _) => {
            let then = there.join(", then all of ");
            let mut lines = vec![format!("  order: systems: all points of {then}")];
            lines.extend(order::drift(plan, order).map(|drift| format!("    {drift}")));
            return lines;
        }
        (Order::Interleaved, _) => {}
    }
    let back: Vec<_> = there.iter().rev().copied().collect();
    let otherwise = Work::new(plan, facts, Order::Systems);
    let times = |count| number::plural(count, "time");
    let stops = match work.stops {
        0 => "; a change only opens a database".to_owned(),
        stops => format!(
            ", {} with a service to stop, each at most {}",
            times(stops),
            number::rounded(plan.sweep.ready_timeout)
        ),
    };
    vec![
        format!(
            "  order: interleaved: a point on {}, the next on {}; while one system is measured, \
             the others are closed",
            there.join(", "),
            back.join(", ")
        ),
        format!(
            "  the measured system changes {} (with order = \"systems\": {}){stops}",
            times(work.changes),
            number::count(otherwise.changes)
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{dry_run::dry_run, steps::Known};
    use std::path::Path;
    use tailmark_plan::RawPlan;
    use tailmark_testing::assert_says;

    fn plan(text: &str) -> Plan {
        let plan = RawPlan::parse("test", text).and_then(|raw| raw.check());
        plan.unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    const TWO: &str =
        "[database]\ndriver = 'null'\n[[system]]\nname = 'a'\n[[system]]\nname = 'b'\n";

    fn said(text: &str, facts: &Facts) -> String {
        dry_run(&plan(text), Path::new("out"), facts)
            .lines
            .join("\n")
    }

    #[test]
    fn a_dry_run_says_how_often_the_system_changes() {
        let text = format!("{TWO}[sweep]\nthreads = [1, 2, 4]\nrepeats = 5");
        let said_whole = said(&text, &Facts::default());
        // Fifteen changes; within a turn the same system continues.
        let parts = [
            "order: interleaved: a point on a, b, the next on b, a;",
            "the measured system changes 15 times (with order = \"systems\": 1); a change only opens",
        ];
        assert_says(&said_whole, &parts);
        let one_by_one = said(&format!("{text}\norder = 'systems'"), &Facts::default());
        let part = "order: systems: all points of a, then all of b\n";
        assert!(one_by_one.contains(part), "{one_by_one}");
        assert!(
            !one_by_one.contains("measured system changes"),
            "{one_by_one}"
        );
    }

    #[test]
    fn changes_are_counted_over_the_points_that_are_left() {
        let plan = plan(&format!("{TWO}[sweep]\nthreads = [1, 2]\nrepeats = 2"));
        for (points, interleaved, one_by_one) in [
            // a b | b a | b a | a b: also a change at the start of a repeat.
            ([0, 0], 5, 1),
            // After the first two of each.
            ([2, 2], 2, 1),
            ([4, 0], 0, 0),
            ([4, 4], 0, 0),
        ] {
            let facts = Facts {
                known: Known::with_points(&plan, points),
                ..Facts::default()
            };
            let changes = |order| Work::new(&plan, &facts, order).changes;
            let changes = [Order::Interleaved, Order::Systems].map(changes);
            assert_eq!(changes, [interleaved, one_by_one], "{points:?}");
        }
    }

    #[test]
    fn a_dry_run_says_what_stopping_services_costs() {
        let system = |name: &str| {
            format!(
                "[[system]]\nname = '{name}'\ncontact_points = '127.0.0.1:1'\n\
                 service = {{ systemd = 'cassandra-{name}' }}\n"
            )
        };
        let text = format!(
            "[database]\ndriver = 'cassandra'\n[sweep]\nready_timeout = '3m'\nthreads = [1, 2]\n\
             repeats = 2\n{}{}",
            system("a"),
            system("b")
        );
        let said = said(&text, &Facts::default());
        let parts = [
            "the measured system changes 5 times (with order = \"systems\": 1), 5 times with a service to stop, \
             each at most 3m",
            // Once for each of 8 points, and at each change.
            "stopping services: 13 times, each at most 3m",
        ];
        assert_says(&said, &parts);
    }

    #[test]
    fn the_time_has_the_loads_of_each_repeat_and_what_is_due_at_the_end_of_a_rate() {
        let loads = |repeats: u32, restore: &str| {
            let text = format!(
                "[database]\ndriver = 'file'\n[[system]]\nname = 'a'\npath = '/x'\n[sweep]\n\
                 threads = [1, 2]\nrates = [5, 6, 7]\nrepeats = {repeats}\n[dataset]\n\
                 restore = '{restore}'\nrestore_before = 'repeat'"
            );
            said(&text, &Facts::default())
        };
        let said = loads(3, "reload");
        let parts = [
            "before each further repeat: load again",
            "      3 loads",
            "finishing due operations when a point at a rate ends: 9 times, each at most 10s",
        ];
        assert_says(&said, &parts);
        assert!(loads(3, "none").contains("      1 load,"));
        let once = loads(1, "reload");
        assert!(
            once.contains("      1 load,") && !once.contains("load again"),
            "{once}"
        );
    }

    #[test]
    fn a_dry_run_says_why_the_order_is_not_kept() {
        let facts = Facts {
            order: Some(Order::Systems),
            notices: vec!["systems `a` and `b` share one data set".into()],
            ..Facts::default()
        };
        let said = said(&format!("{TWO}[sweep]\nrepeats = 2"), &facts);
        assert!(
            said.contains("  systems `a` and `b` share one data set"),
            "{said}"
        );
        assert!(!said.contains("order: interleaved"), "{said}");
        assert!(said.contains("would look like a difference"), "{said}");
    }
}

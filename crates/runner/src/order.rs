//! The order in which the systems of a run take turns. It follows the plan if each system has its
//! own data set. Two systems with the same data set would change it under each other.

use crate::{places::places, service::share_an_address};
use std::{
    fs,
    os::unix::fs::FileTypeExt,
    path::{Path, PathBuf},
};
use tailmark_driver::Place;
use tailmark_plan::{Order, Plan, SystemPlan};
use tailmark_prepare::real_path;

/// The order in which these systems of a plan are measured, and why it is not the plan's.
pub(crate) fn in_effect(plan: &Plan, systems: &[&SystemPlan]) -> (Order, Option<String>) {
    match (plan.sweep.order, sharing(systems)) {
        (Order::Interleaved, Some((first, second))) => {
            let notice = format!(
                "systems `{}` and `{}` share one data set ({}): the systems are not interleaved, \
                 but measured one after the other (order = \"systems\")",
                first.name, second.name, first.location
            );
            (Order::Systems, Some(notice))
        }
        (order, _) => (order, None),
    }
}

/// The notice that a difference between systems may be drift, if several compared systems are
/// measured one after the other, repeatedly.
pub(crate) fn drift(plan: &Plan, order: Order) -> Option<String> {
    let systems = plan.systems.iter();
    let compared = systems
        .filter(|system| system.ceiling_for.is_none())
        .count();
    let is_exposed = order == Order::Systems && plan.sweep.repeats > 1 && compared > 1;
    is_exposed.then(|| {
        "the systems are measured one after the other (order = \"systems\"): drift such as \
         temperature, wear or other load would look like a difference between them, and repeats do \
         not show it; order = \"interleaved\" lets them take turns"
            .to_owned()
    })
}

/// The systems that take turns, including finished ones, because an ended run may have left their
/// services running.
pub(crate) fn taking_turns<'a>(order: Order, systems: &[&'a SystemPlan]) -> Vec<&'a str> {
    let take_turns = systems.iter().filter(|_| order == Order::Interleaved);
    take_turns.map(|system| system.name.as_str()).collect()
}

/// The first two systems that keep one data set.
fn sharing<'a>(systems: &[&'a SystemPlan]) -> Option<(&'a SystemPlan, &'a SystemPlan)> {
    systems.iter().enumerate().find_map(|(index, second)| {
        let mut before = systems[..index].iter();
        let first = before.find(|first| keep_one_data_set(first, second))?;
        Some((*first, *second))
    })
}

fn keep_one_data_set(a: &SystemPlan, b: &SystemPlan) -> bool {
    match (a.driver.place, b.driver.place) {
        (Place::Nowhere, _) | (_, Place::Nowhere) => false,
        (Place::Hosts, Place::Hosts) => ask_one_server(a, b) && store_alike(a, b),
        _ => are_on_one_device(a, b),
    }
}

/// Whether two systems use the same server. Then none is stopped for the other.
fn ask_one_server(a: &SystemPlan, b: &SystemPlan) -> bool {
    let is_one_service = match (&a.service, &b.service) {
        (Some(a), Some(b)) => a.control == b.control,
        _ => true,
    };
    is_one_service && share_an_address(a, b)
}

/// Whether what two systems store on one server is the same: database, keyspace or namespace, set.
fn store_alike(a: &SystemPlan, b: &SystemPlan) -> bool {
    let mut names = a.driver.stored.iter().chain(&["set"]);
    a.driver.name == b.driver.name
        && names.all(|name| a.settings.text(name) == b.settings.text(name))
}

/// Whether one system writes the block device that the other is on.
fn are_on_one_device(a: &SystemPlan, b: &SystemPlan) -> bool {
    let others: Vec<PathBuf> = places(b).iter().map(|place| real_path(place)).collect();
    let is_device = |at: &Path| fs::metadata(at).is_ok_and(|at| at.file_type().is_block_device());
    let mut own = places(a).into_iter().map(|place| real_path(&place));
    own.any(|place| others.contains(&place) && is_device(&place))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailmark_plan::RawPlan;

    fn plan(text: &str) -> Plan {
        let text = format!("[sweep]\nrepeats = 2\n{text}");
        RawPlan::parse("test", &text).unwrap().check().unwrap()
    }

    fn order(text: &str) -> Order {
        let plan = plan(text);
        let systems: Vec<_> = plan.systems.iter().collect();
        let (order, notice) = in_effect(&plan, &systems);
        assert_eq!(notice.is_some(), order != plan.sweep.order, "{notice:?}");
        order
    }

    fn of(driver: &str, systems: &[&str]) -> String {
        let mut text = format!("[database]\ndriver = '{driver}'\n");
        for (index, keys) in systems.iter().enumerate() {
            text += &format!("[[system]]\nname = 's{index}'\n{keys}\n");
        }
        text
    }

    #[test]
    fn systems_that_keep_nothing_are_interleaved() {
        assert_eq!(order(&of("null", &["", ""])), Order::Interleaved);
    }

    #[test]
    fn one_server_holds_one_data_set_unless_services_or_settings_tell_them_apart() {
        let here = "contact_points = '10.0.0.1:9042'";
        let with = |more: &str| format!("{here}\n{more}");
        let two = |a: &str, b: &str| order(&of("cassandra", &[&with(a), &with(b)]));
        let consistency = "database = { read_consistency = 'one' }";
        assert_eq!(two("", consistency), Order::Systems);
        let keyspace = "database = { keyspace = 'other' }";
        assert_eq!(two("", keyspace), Order::Interleaved);
        let [a, b] = ["a", "b"].map(|unit| format!("service = {{ systemd = '{unit}' }}"));
        assert_eq!(two(&a, &b), Order::Interleaved);
        assert_eq!(two(&a, &format!("{a}\n{consistency}")), Order::Systems);
        let elsewhere = "contact_points = '10.0.0.2:9042'";
        let text = of("cassandra", &[here, elsewhere]);
        assert_eq!(order(&text), Order::Interleaved);
    }

    #[test]
    fn what_shares_a_data_set_is_named() {
        let here = "contact_points = '10.0.0.1:9042'";
        let plan = plan(&of("cassandra", &[here, here]));
        let systems: Vec<_> = plan.systems.iter().collect();
        let notice = in_effect(&plan, &systems).1.unwrap();
        for part in ["`s0` and `s1`", "one data set", "one after the other"] {
            assert!(notice.contains(part), "{notice}");
        }
        // Without a second system there are no turns to take.
        assert_eq!(in_effect(&plan, &systems[..1]).1, None);
    }
}

//! What is done to the server of a system, and to caches, before each point.

use super::Facts;
use tailmark_driver::Place;
use tailmark_plan::{Plan, SystemPlan, shown};

/// In order: the service is stopped, caches are dropped, the service is started.
pub(super) fn between_points(plan: &Plan, system: &SystemPlan, facts: &Facts) -> Vec<String> {
    let mut steps = Vec::new();
    if let Some(service) = &system.service {
        let stop = service.stop().map(|words| format!(": {}", shown(&words)));
        let hosts = on(system.host.iter().rev());
        steps.push(format!(
            "stop the service{hosts}{}",
            stop.unwrap_or_default()
        ));
    }
    steps.extend(plan.host.drop_caches.then(|| caches(system, facts)));
    if let Some(service) = &system.service {
        let (hosts, start) = (on(system.host.iter()), shown(&service.start()));
        steps.push(format!("start the service{hosts}: {start}"));
    }
    steps
}

/// ` on db1, then on db2`; nothing where it is on this machine.
fn on<'a>(hosts: impl Iterator<Item = &'a String>) -> String {
    let hosts: Vec<&str> = hosts.map(String::as_str).collect();
    match hosts.is_empty() {
        true => String::new(),
        false => format!(" on {}", hosts.join(", then on ")),
    }
}

fn caches(system: &SystemPlan, facts: &Facts) -> String {
    let is_server = system.driver.place == Place::Hosts;
    match (&system.host[..], system.is_here(), facts.can_drop_caches) {
        ([_, ..], ..) => {
            let all = system.host.join(" and ");
            format!("drop the caches of {all} (/proc/sys/vm/drop_caches)")
        }
        ([], false, _) => {
            "leave the caches alone: they are the server's, on its machine".to_owned()
        }
        ([], true, true) => "drop the caches of the machine (/proc/sys/vm/drop_caches)".to_owned(),
        ([], true, false) if is_server => "leave the caches as they are (not root)".to_owned(),
        ([], true, false) => "drop the cached pages of the database's files (not root)".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailmark_plan::RawPlan;

    #[test]
    fn what_is_done_on_hosts_is_said_with_them_and_in_their_order() {
        if tailmark_driver::db::find("cassandra").is_err() {
            return;
        }
        let text = "[database]\ndriver = 'cassandra'\n[[system]]\nname = 'a'\nhosts = 'x:1'\n\
                    host = ['root@db1', 'db2']\nservice = { start = 'up', stop = 'down' }\n";
        let plan = RawPlan::parse("test", text).and_then(|raw| raw.check());
        let plan = plan.unwrap();
        let lines = between_points(&plan, &plan.systems[0], &Facts::default());
        let expected = [
            "stop the service on db2, then on root@db1: sh -c down",
            "drop the caches of root@db1 and db2 (/proc/sys/vm/drop_caches)",
            "start the service on root@db1, then on db2: sh -c up",
        ];
        assert_eq!(lines, expected);
    }
}

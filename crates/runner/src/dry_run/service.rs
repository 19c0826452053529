//! What is done to the server of a system, and to caches, before each point.

use super::Facts;
use crate::CachesKept;
use tailmark_driver::Place;
use tailmark_model::number;
use tailmark_plan::{DropCaches, Plan, SystemPlan, shown};

/// In order: the service is stopped, caches are dropped, the service is started.
pub(super) fn between_points(plan: &Plan, system: &SystemPlan, facts: &Facts) -> Vec<String> {
    let mut steps = Vec::new();
    if let Some(service) = &system.service {
        let stop = service.stop().map(|words| format!(": {}", shown(&words)));
        let hosts = on(system.ssh.iter().rev());
        steps.push(format!(
            "stop the service{hosts}{}",
            stop.unwrap_or_default()
        ));
    }
    if plan.machine.drop_caches != DropCaches::Never {
        steps.push(caches(plan, system, facts));
    }
    if let Some(service) = &system.service {
        let (hosts, start) = (on(system.ssh.iter()), shown(&service.start()));
        steps.push(format!("start the service{hosts}: {start}"));
    }
    steps
}

/// How long idle power is measured.
pub fn idle_power(plan: &Plan) -> Option<String> {
    let idle = number::rounded(plan.machine.idle?);
    Some(format!(
        "before the first point: measure idle power for {idle}"
    ))
}

/// The command that is run beside the point.
pub fn power_command(plan: &Plan) -> Option<String> {
    let command = shown(&plan.machine.power_words()?);
    Some(format!(
        "meanwhile run about once a second, for the watts that it prints: {command}"
    ))
}

/// ` on db1, then on db2`; empty for this machine.
fn on<'a>(hosts: impl Iterator<Item = &'a String>) -> String {
    let hosts: Vec<&str> = hosts.map(String::as_str).collect();
    if hosts.is_empty() {
        String::new()
    } else {
        format!(" on {}", hosts.join(", then on "))
    }
}

fn caches(plan: &Plan, system: &SystemPlan, facts: &Facts) -> String {
    let is_server = system.driver.place == Place::Hosts;
    if CachesKept::left_alone(plan, system) == Some(CachesKept::Foreign) {
        return "leave the caches alone, because tailmark does not start this server".to_owned();
    }
    match (&system.ssh[..], system.is_here(), facts.can_drop_caches) {
        ([_, ..], ..) => {
            let all = system.ssh.join(" and ");
            format!("drop the caches of {all} (/proc/sys/vm/drop_caches)")
        }
        ([], false, _) => {
            "leave the caches alone, because they are on the server's machine".to_owned()
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
        let text = "[database]\ndriver = 'cassandra'\n[[system]]\nname = 'a'\ncontact_points = 'x:1'\n\
                    ssh = ['root@db1', 'db2']\nservice = { start = 'up', stop = 'down' }\n";
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

    #[test]
    fn the_caches_of_a_server_that_the_plan_does_not_start_are_left_alone_unless_it_says_always() {
        let lines = |host: &str, drops: &str| {
            let text = format!(
                "[machine]\ndrop_caches = {drops}\n[database]\ndriver = 'cassandra'\n[[system]]\n\
                 name = 'a'\ncontact_points = '127.0.0.1:1'\n{host}"
            );
            let plan = RawPlan::parse("test", &text).and_then(|raw| raw.check());
            let plan = plan.unwrap();
            let facts = Facts {
                can_drop_caches: true,
                ..Facts::default()
            };
            between_points(&plan, &plan.systems[0], &facts).join("; ")
        };
        let left = "leave the caches alone, because tailmark does not start this server";
        for host in ["", "ssh = 'root@db1'"] {
            assert_eq!(lines(host, "true"), left);
            assert!(lines(host, "'always'").starts_with("drop the caches of"));
        }
        let started = "service = { start = 'up', stop = 'down' }";
        assert!(lines(started, "true").contains("drop the caches of the machine"));
        assert_eq!(lines("", "false"), "");
    }
}

//! Parts of the agent's work that plain commands can do.

use crate::{
    Error,
    ssh::{SHORT, Ssh},
};
use std::time::Duration;
use tailmark_model::Fact;

/// Prints a group, a name and a value per line, separated by tabs. Missing values are empty.
const FACTS: &str = r#"
say() { printf '%s\t%s\t%s\n' "$1" "$2" "$3"; }
say machine hostname "$(uname -n)"
say machine 'operating system' "$(. /etc/os-release 2>/dev/null && echo "$PRETTY_NAME")"
say cpu model "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)"
say cpu threads "$(grep -c '^processor' /proc/cpuinfo)"
say memory total "$(awk '/^MemTotal:/ { printf "%.1f GiB", $2 / 1048576 }' /proc/meminfo)"
say kernel release "$(uname -r)"
say kernel version "$(uname -v)"
say kernel 'command line' "$(cat /proc/cmdline)"
"#;

/// A few facts of a machine.
pub fn facts(ssh: &Ssh) -> Result<Vec<Fact>, Error> {
    let printed = ssh.script(FACTS, &[], SHORT)?;
    Ok(printed.out.lines().filter_map(fact).collect())
}

fn fact(line: &str) -> Option<Fact> {
    let mut parts = line.splitn(3, '\t');
    let mut part = || parts.next().map(|part| part.trim().to_owned());
    let fact = Fact {
        system: None,
        group: part()?,
        name: part()?,
        value: part()?,
    };
    (!fact.value.is_empty()).then_some(fact)
}

/// Writes dirty pages, then drops all caches.
pub fn drop_caches(ssh: &Ssh, timeout: Duration) -> Result<(), Error> {
    let script = "sync && echo 3 >/proc/sys/vm/drop_caches";
    let done = ssh.script(script, &[], timeout)?;
    if done.is_ok() {
        Ok(())
    } else {
        Err(Error::Refused {
            login: ssh.login().to_owned(),
            why: done.why(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_says_of_this_machine_what_its_files_say() {
        let ran = std::process::Command::new("sh")
            .args(["-c", FACTS])
            .output()
            .unwrap();
        let printed = String::from_utf8(ran.stdout).unwrap();
        let facts: Vec<Fact> = printed.lines().filter_map(fact).collect();
        let value = |group: &str, name: &str| {
            let mut named = facts.iter().filter(|f| f.group == group && f.name == name);
            named.next().map(|fact| fact.value.clone()).unwrap()
        };
        let whole = tailmark_machine::machine_facts();
        for (group, name) in [
            ("machine", "hostname"),
            ("kernel", "release"),
            ("cpu", "threads"),
        ] {
            let same = whole
                .iter()
                .find(|f| f.group == group && f.name == name)
                .unwrap();
            assert_eq!(value(group, name), same.value, "{name}");
        }
        assert!(value("memory", "total").ends_with(" GiB"));
    }
}

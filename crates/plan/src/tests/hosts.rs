//! Where servers run: what `ssh` takes, and never a password.

use super::{RawPlan, check, message};

/// A system of a server with these keys.
fn server(keys: &str) -> String {
    format!(
        "[database]\ndriver = 'cassandra'\n[[system]]\nname = 'a'\ncontact_points = 'x:1'\n{keys}\n"
    )
}

fn refusal(text: &str) -> String {
    match check(text) {
        Ok(_) => panic!("accepted: {text}"),
        Err(error) => message(&error),
    }
}

#[test]
fn a_password_in_a_host_is_never_repeated() {
    for host in [
        "'root:hunter2@db1'",
        "'root:hunter 2@db1'",
        "'-root:hunter2@db1'",
        "'root:hun@ter2@db1'",
        "'root:hunter,2@db1'",
        "'root:hunter2'",
        "'root:hunter2@'",
        "':hunter2@db1'",
        "'ssh://root:hunter2@db1'",
        "'ssh://root:hunter2@db1:22'",
        "'ssh://root:hunter,2@db1'",
        "'SSH://root:hunter2@db1'",
        "'ssh://root%3Ahunter2@db1'",
        "'ssh://root;password=hunter2@db1'",
        "'db1?password=hunter2'",
        "['db1', 'root:hunter2@db1']",
        "['root:hunter2@db1', 'root:hunter2@db1']",
        "['root:hunter2@db1', 7]",
        "{ password = 'hunter2' }",
        "[{ name = 'db1', password = 'hunter2' }]",
    ] {
        let said = refusal(&server(&format!("ssh = {host}")));
        assert!(said.contains("system.a.ssh is"), "{host}: {said}");
        assert!(!said.contains("hun"), "{host}: {said}");
    }
}

#[test]
fn a_password_is_not_repeated_with_the_table_that_it_is_in() {
    let table = "[database]\ndriver = 'null'\n[system]\nname = 'a'\nssh = 'root:hunter2@db1'\n";
    let of_no_server =
        "[database]\ndriver = 'null'\n[[system]]\nname = 'a'\nssh = 'root:hunter2@db1'\n";
    for text in [
        table,
        of_no_server,
        "[[system]]\nname = 'a'\nhost = root:hunter2@db1\n",
    ] {
        let said = refusal(text);
        assert!(!said.contains("hunter"), "{said}");
    }
}

#[test]
fn a_password_that_set_gives_is_not_repeated() {
    let mut raw = RawPlan::parse("test", &server("")).unwrap();
    raw.assign("system.a.ssh=root:hunter2@db1").unwrap();
    for error in [
        raw.check().unwrap_err(),
        raw.assign("system.a.ssh.name=db1").unwrap_err(),
    ] {
        let said = message(&error);
        assert!(
            said.contains("system.a.ssh") && !said.contains("hunter"),
            "{said}"
        );
    }
}

#[test]
fn a_host_is_what_ssh_takes() {
    let hosts = "ssh = ['db1', 'root@db2', 'me@example.org@db3', 'ssh://root@db4:2222', 'fe80::7', \
                 'root@fe80::7%eth0', 'ssh://[fe80::8]:22/']";
    let plan = check(&server(hosts)).unwrap_or_else(|error| panic!("{}", message(&error)));
    assert_eq!(plan.systems[0].ssh.len(), 7);
    for (host, words) in [
        ("'db1:2222'", "ssh://root@db1:2222"),
        ("'ssh://db1:ssh'", "ssh://root@db1:2222"),
        ("'-oProxyCommand=x'", "a host for `ssh`"),
        ("'db 1'", "a host for `ssh`"),
        ("['db1', 'db1']", "each host once"),
    ] {
        let said = refusal(&server(&format!("ssh = {host}")));
        assert!(said.contains(words), "{host}: {said}");
    }
}

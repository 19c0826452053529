//! This machine, and texts of `/proc` and `/sys` of others.

use super::*;

#[test]
fn the_machine_is_described() {
    let facts = machine_facts();
    let value = |group: &str, name: &str| {
        let fact = facts
            .iter()
            .find(|fact| fact.group == group && fact.name == name);
        fact.map(|fact| fact.value.clone()).unwrap_or_default()
    };
    assert!(value("kernel", "release").starts_with(|c: char| c.is_ascii_digit()));
    assert!(value("cpu", "threads").parse::<usize>().unwrap() >= 1);
    assert!(
        value("memory", "total").ends_with("iB"),
        "{}",
        value("memory", "total")
    );
    assert!(!value("machine", "hostname").is_empty());
    assert!(
        facts
            .iter()
            .all(|fact| fact.system.is_none() && !fact.value.is_empty())
    );
}

#[test]
fn facts_have_names_of_their_own() {
    let facts = machine_facts();
    let names: BTreeSet<_> = facts.iter().map(|fact| (&fact.group, &fact.name)).collect();
    assert_eq!(names.len(), facts.len());
}

#[test]
fn two_sockets_with_threads_are_counted() {
    let base = tempfile::tempdir().unwrap();
    for cpu in 0..8 {
        let topology = base.path().join(format!("cpu{cpu}/topology"));
        fs::create_dir_all(&topology).unwrap();
        fs::write(
            topology.join("physical_package_id"),
            (cpu / 2 % 2).to_string(),
        )
        .unwrap();
        fs::write(topology.join("core_id"), (cpu % 2).to_string()).unwrap();
    }
    fs::create_dir_all(base.path().join("cpufreq")).unwrap();
    fs::write(base.path().join("cpu7/online"), "0").unwrap();
    let expected = Topology {
        sockets: 2,
        cores: 4,
        threads: 7,
    };
    assert_eq!(Topology::read(base.path()), expected);
}

#[test]
fn only_words_of_note_are_kept() {
    let line = "quiet root=/dev/sda1 isolcpus=2-3 mitigations=off token=abc nvme.poll_queues=4";
    assert_eq!(
        of_note(line),
        "isolcpus=2-3 mitigations=off nvme.poll_queues=4"
    );
}

#[test]
fn the_name_of_the_system_comes_without_quotes() {
    assert_eq!(
        os_name("ID=x\nPRETTY_NAME=\"Some OS 5\"\n").as_deref(),
        Some("Some OS 5")
    );
    assert_eq!(os_name("ID=x\n"), None);
}

#[test]
fn a_virtual_machine_is_told_from_a_server_of_the_same_maker() {
    let evidence = |flag, product: &str| VirtualMachineSigns {
        flag,
        hypervisor: None,
        product: product.to_owned(),
    };
    assert_eq!(
        virtualisation(&evidence(false, "Microsoft Corporation X")),
        "none seen"
    );
    assert!(virtualisation(&evidence(true, "QEMU Standard PC")).contains("KVM"));
    assert_eq!(virtualisation(&evidence(true, " ")), "virtual machine");
}

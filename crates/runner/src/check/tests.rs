//! What each check says of a machine that has what it looks for, and of one that has not.

use super::{CHECKS, DiskActivity, PlaceScene, Problem, Scene, SystemScene, WATCHED_FOR, check};
use crate::{expect::Mismatches, findings::Cached};
use std::{collections::BTreeMap, path::Path, time::Duration};
use tailmark_machine::{CpuQuota, Mount, Space};
use tailmark_plan::ClientHost;

/// What a check says of a scene; none where it does not look.
fn said(name: &str, scene: &Scene) -> Option<Vec<String>> {
    let row = CHECKS.iter().find(|row| row.name == name);
    let problems = (row.unwrap().run)(scene)?;
    let text = |problem: &Problem| {
        assert!(
            !problem.evidence.is_empty() && !problem.remedy.is_empty(),
            "{name}"
        );
        format!("{}: {}", problem.evidence, problem.remedy)
    };
    Some(problems.iter().map(text).collect())
}

/// Nothing but this is known.
fn finds(name: &str, scene: &Scene, word: &str) {
    let said = said(name, scene).unwrap();
    assert!(
        said.len() == 1 && said[0].contains(word),
        "{name}: {said:?}"
    );
}

fn mount(options: &[&str]) -> Mount {
    let mut mount = tailmark_machine::mount_of(Path::new("/")).unwrap();
    mount.options = options.iter().map(ToString::to_string).collect();
    mount.kind = "xfs".to_owned();
    mount.point = "/mnt/a".into();
    mount
}

/// A system in one place.
fn system(mount: Mount, available: u64, needed: u64) -> SystemScene {
    SystemScene {
        name: "a".to_owned(),
        places: vec![PlaceScene {
            place: "/mnt/a".into(),
            mount: Some(mount),
            space: Some(Space {
                available,
                total: 1000,
                is_device: false,
                file_system: "xfs".to_owned(),
                at: "/mnt/a".into(),
                options: Vec::new(),
            }),
            chain: Vec::new(),
        }],
        server_is_here: None,
        expects_host: None,
        needed,
        cached: None,
        has_expectations: true,
    }
}

fn with(system: SystemScene) -> Scene {
    Scene {
        systems: vec![system],
        ..Scene::default()
    }
}

#[test]
fn checks_are_unique_and_sorted_and_described_in_one_line() {
    assert!(CHECKS.is_sorted_by(|a, b| a.name < b.name));
    for row in CHECKS {
        assert!(
            !row.about.is_empty() && row.about.len() <= 90,
            "{}",
            row.name
        );
        assert!(
            !row.about.contains('\n') && !row.about.ends_with('.'),
            "{}",
            row.name
        );
    }
    assert!(WATCHED_FOR >= Duration::from_secs(1));
}

#[test]
fn the_documentation_names_the_checks_that_find_only_remarks() {
    let document = include_str!("../../../../docs/CLI.md");
    let (_, named) = document.split_once("find only remarks:").unwrap();
    let (named, _) = named.split_once('.').unwrap();
    let documented: Vec<_> = named.split('`').skip(1).step_by(2).collect();
    let remarks = CHECKS.iter().filter(|row| row.severity.name() == "remark");
    assert_eq!(documented, remarks.map(|row| row.name).collect::<Vec<_>>());
}

#[test]
fn the_processors_are_looked_at() {
    let quota = |processors, throttled| Scene {
        cpus: 4,
        quota: Some(CpuQuota {
            processors,
            throttled: Duration::ZERO,
        }),
        throttled,
        ..Scene::default()
    };
    finds(
        "cpu-quota",
        &quota(Some(1.5), Duration::ZERO),
        "1.50 of 4 processors",
    );
    assert_eq!(
        said("cpu-quota", &quota(Some(4.0), Duration::ZERO))
            .unwrap()
            .len(),
        0
    );
    finds(
        "cpu-throttled",
        &quota(None, Duration::from_millis(300)),
        "0.3 s",
    );
    let hot = Scene {
        thermal_throttles: Some(2),
        ..Scene::default()
    };
    finds("cpu-throttled", &hot, "temperature");
    let busy = |busy, steal| Scene {
        busy: Some(busy),
        steal: Some(steal),
        ..Scene::default()
    };
    finds("cpu-load", &busy(0.25, 0.0), "25");
    finds("steal", &busy(0.0, 0.04), "4");
    assert_eq!(said("cpu-load", &busy(0.01, 0.0)).unwrap().len(), 0);
    assert_eq!(said("steal", &busy(0.0, 0.001)).unwrap().len(), 0);
    let governed = |name: &str| Scene {
        governors: BTreeMap::from([(name.to_owned(), 8)]),
        ..Scene::default()
    };
    finds(
        "governor",
        &governed("powersave"),
        "powersave of 8 processors",
    );
    assert_eq!(said("governor", &governed("performance")).unwrap().len(), 0);
    assert_eq!(said("governor", &Scene::default()), None);
}

#[test]
fn memory_and_limits_are_looked_at() {
    let scene = |swapped, mode: &str| Scene {
        swapped: Some(swapped),
        huge_pages: Some(mode.to_owned()),
        io_limits: vec!["io.max 259:0 wbps=1".to_owned()],
        ..Scene::default()
    };
    finds("swap", &scene(1 << 20, "never"), "1.0 MiB are swapped out");
    assert_eq!(said("swap", &scene(0, "never")).unwrap().len(), 0);
    assert_eq!(said("swap", &Scene::default()), None);
    finds("transparent-huge-pages", &scene(0, "always"), "madvise");
    assert_eq!(
        said("transparent-huge-pages", &scene(0, "madvise"))
            .unwrap()
            .len(),
        0
    );
    finds("io-limit", &scene(0, "never"), "wbps=1");
}

#[test]
fn file_systems_are_looked_at() {
    let scene =
        |options: &[&str], available, needed| with(system(mount(options), available, needed));
    finds(
        "access-times",
        &scene(&["rw", "relatime"], 900, 0),
        "noatime /mnt/a",
    );
    finds("discard", &scene(&["noatime", "discard"], 900, 0), "fstrim");
    let fine = scene(&["rw", "noatime"], 900, 100);
    for name in ["access-times", "discard", "file-system-full"] {
        assert_eq!(said(name, &fine).unwrap(), Vec::<String>::new(), "{name}");
        assert_eq!(said(name, &Scene::default()), None, "{name}");
    }
    finds("file-system-full", &scene(&[], 500, 450), "95");
}

#[test]
fn servers_beside_their_clients_are_looked_at() {
    let scene = |is_here, expects_host| {
        with(SystemScene {
            server_is_here: is_here,
            expects_host,
            ..system(mount(&[]), 900, 0)
        })
    };
    finds("client-host", &scene(Some(true), None), "the server of `a`");
    assert_eq!(
        said("client-host", &scene(Some(true), Some(ClientHost::Same)))
            .unwrap()
            .len(),
        0
    );
    assert_eq!(
        said("client-host", &scene(Some(false), None))
            .unwrap()
            .len(),
        0
    );
    assert_eq!(said("client-host", &scene(None, None)), None);
}

#[test]
fn disks_links_data_and_expectations_are_looked_at() {
    let cached = Cached {
        data: 1 << 20,
        room: 1 << 30,
        by: "memory",
    };
    let scene = Scene {
        disks: BTreeMap::from([(
            "sda".to_owned(),
            DiskActivity {
                requests_per_s: 150.0,
                bytes_per_s: 5e6,
            },
        )]),
        links: vec!["sda is attached by PCIe 3.0 x2 and can do PCIe 4.0 x4".to_owned()],
        mismatches: Mismatches {
            systems: vec![(
                "a".to_owned(),
                vec!["it is on ext4; mount the other".to_owned()],
            )],
            unknown: Vec::new(),
        },
        ..with(SystemScene {
            cached: Some(cached),
            ..system(mount(&[]), 900, 0)
        })
    };
    finds("disk-load", &scene, "150 requests/s to sda, 5.00 MB/s");
    finds("link", &scene, "PCIe 3.0 x2");
    finds("fits-in-memory", &scene, "1.0 MiB");
    finds(
        "expectations",
        &scene,
        "`a`: it is on ext4: mount the other",
    );
}

#[test]
fn this_machine_is_looked_at_with_every_check() {
    let checked = check(None).unwrap();
    assert_eq!(checked.len(), CHECKS.len());
    let row = |name: &str| {
        let found = checked.iter().find(|checked| checked.check.name == name);
        found.unwrap().problems.clone()
    };
    assert!(row("cpu-load").is_some() && row("steal").is_some());
    assert_eq!(row("expectations"), None);
}

//! Preparing by the whole program, on loop devices: in a mount namespace and with a journal of the
//! test's own. Needs root; without it the tests are ignored.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]

mod bench;

use bench::{BYTES, Bench, PREPARE, RUN, TAILMARK};
use std::{fs, path::Path};
use tailmark_model::finding::SETTINGS_LEFT;
use tailmark_study::Study;
use tailmark_testing::{assert_says, err, out, test};

fn main() -> std::process::ExitCode {
    tailmark_testing::run()
}

#[test]
fn a_dry_run_says_every_command_and_what_speaks_against_it_and_touches_nothing() {
    let bench = Bench::new();
    bench.plan(
        &format!("{}precondition = 2\n", bench.file_system()),
        "[prepare]\nsysctls = ['net.ipv4.ip_default_ttl=77']",
    );
    bench.put_data();
    let said = bench.done("$tailmark device prepare plan.toml --system disk --dry-run");
    let device = bench.device.name();
    let words = [
        &format!("erase: BLKDISCARD of 0 to {BYTES} on /dev/{device}"),
        "precondition: ",
        &format!("filesystem: mkfs.ext4 -q -L tailmark /dev/{device}"),
        &format!("mount: mount -t ext4 -o noatime /dev/{device} "),
        "undone: umount",
        &format!(
            "objection (serial): its serial number is `{}`",
            bench.serial()
        ),
        "objection (signatures): ",
        "--overwrite-signature data:",
    ];
    assert_says(&said, &words);
    assert!(!said.contains("ip_default_ttl"), "{said}");
    let run = bench.done("$tailmark run plan.toml -o out --dry-run; test ! -e out");
    assert_says(&run, &words);
    assert_says(
        &run,
        &["sysctls: echo '77' > /proc/sys/net/ipv4/ip_default_ttl"],
    );
    assert_eq!(bench.sample(), *b"mine");
    // What is made when a run begins is not missed before.
    let rehearsal =
        bench.done("$tailmark run rehearsal --dry-run; test ! -e /var/lib/tailmark/emulated");
    assert_says(
        &rehearsal,
        &["emulate: qemu-storage-daemon ", "x-iops-total=400"],
    );
    assert!(
        !rehearsal.contains("there is no block device"),
        "{rehearsal}"
    );
}

#[test]
fn what_is_done_is_what_the_dry_run_has_said() {
    let bench = Bench::new();
    bench.plan(&format!("{}precondition = 1\n", bench.file_system()), "");
    // Once on a blank device, and once on what the first time has mounted.
    for _ in 0..2 {
        let said = bench.done(&format!("{PREPARE} --dry-run"));
        let from_point = |step: &str| {
            let lines = said.lines().map(str::trim);
            let commands = lines.filter_map(|line| line.strip_prefix(&format!("{step}: ")));
            commands.collect::<Vec<_>>().join("; ")
        };
        let done = bench.done(PREPARE);
        let begins = "system `disk`: ";
        let begins = done
            .lines()
            .filter_map(|line| line.split_once(begins)?.1.split_once(" begins: "));
        let begins: Vec<_> = begins.collect();
        let names: Vec<_> = begins.iter().map(|(step, _)| *step).collect();
        let planned = ["erase", "precondition", "filesystem", "mount"];
        let unmounts = names.first() == Some(&"unmount");
        assert_eq!(names[usize::from(unmounts)..], planned, "{done}");
        for (step, commands) in begins {
            assert_eq!(commands, from_point(step), "{step}\n{said}");
        }
        // Nothing that was said is left out.
        assert_eq!(!from_point("unmount").is_empty(), unmounts, "{said}");
    }
}

#[test]
fn nothing_is_erased_without_the_serial_number_or_for_another_one() {
    let bench = Bench::new();
    bench.plan(&bench.file_system(), "");
    bench.put_data();
    for (flags, words) in [
        ("", "--erase"),
        (
            "--erase yes",
            "--erase yes: no device that the plan prepares",
        ),
        ("--erase $serial $unseen", "--overwrite-signature data:"),
        (
            "--erase $serial $unseen --overwrite-signature data:0",
            "--overwrite-signature data:",
        ),
    ] {
        let command = format!("$tailmark device prepare plan.toml --system disk {flags}");
        let output = bench.script(&command);
        assert_eq!(output.status.code(), Some(2), "{}", out(&output));
        assert_says(&out(&output), &[words]);
        let run = format!("$tailmark run plan.toml -o out {flags}");
        let measured = bench.script(&run);
        assert_ne!(measured.status.code(), Some(0), "{}", out(&measured));
        assert!(!bench.dir().join("out/study.sqlite").exists());
    }
    assert_eq!(bench.sample(), *b"mine");
}

#[test]
fn a_run_prepares_its_device_once_and_goes_on_with_it() {
    let bench = Bench::new();
    bench.plan(&bench.file_system(), "");
    let said = bench.done(&format!("{RUN} || exit 1\nmount | grep $device\nexit 0"));
    assert_says(&said, &["is unmounted"]);
    assert!(!said.contains(" type ext4 "), "{said}");
    let steps = ["erase", "filesystem", "mount"];
    for step in steps {
        let (begins, is_done) = (format!("{step} begins"), format!("{step} is done"));
        assert_says(&said, &[&begins, &is_done]);
    }
    let facts = bench.facts();
    let names: Vec<_> = facts.iter().map(|(name, _)| name.as_str()).collect();
    for step in steps {
        assert!(names.contains(&step), "{facts:?}");
    }
    let log = fs::read_to_string(bench.dir().join("state/tailmark/prepare.log")).unwrap();
    assert_says(
        &log,
        &["erase begins: BLKDISCARD", "erase is done", "is unmounted"],
    );
    // The same command again has nothing left to do, so nothing is even mounted.
    let again = bench.done(RUN);
    assert_says(&again, &["are already measured"]);
    assert!(!again.contains("begins"), "{again}");
    // Nor is it where the study is of another plan.
    let other = bench.script(&format!("{RUN} --set sweep.threads=2"));
    assert_eq!(other.status.code(), Some(2), "{}", out(&other));
    assert_says(&out(&other), &["a study of another plan"]);
    assert!(!out(&other).contains("begins"), "{}", out(&other));
    // And so does a run without consent, of a study of its own.
    let second = bench.done("$tailmark run plan.toml -o second");
    assert_says(
        &second,
        &[
            "measured on the existing file system or device",
            "--erase",
            "mount is done",
        ],
    );
}

#[test]
fn a_run_that_was_stopped_mounts_its_device_again_and_erases_nothing() {
    let bench = Bench::new();
    bench.plan(&bench.file_system(), "");
    // The second point takes 10 s.
    let run = format!("{RUN} --set sweep.rates=10");
    let said = bench.done(&format!(
        "{run} > said 2>&1 & run=$!\n\
         until grep -q '\\[1/2\\]' said; do kill -0 $run || break; sleep 0.1; done\n\
         kill -INT $run; wait $run; echo ended with $?\n{run}"
    ));
    let words = [
        "ended with 130",
        "system `disk` already has points, so it is not prepared again",
        "mount is done",
        "1 point measured, 1 kept",
    ];
    assert_says(&said, &words);
    assert!(!said.contains("erase begins"), "{said}");
}

#[test]
fn no_drop_in_writes_its_output_to_a_device() {
    let bench = Bench::new();
    let device = bench.device.path().display();
    let ycsb = "$tailmark ycsb load rocksdb -p rocksdb.dir=dir -p recordcount=100 \
                -p workload=site.ycsb.workloads.CoreWorkload";
    let hdr = "-p hdrhistogram.fileoutput=true -p measurementtype=hdrhistogram";
    let calls = [
        format!(
            "mkdir logs && ln -s {device} logs/INSERT.hdr && {ycsb} {hdr} -p hdrhistogram.output.path=logs/"
        ),
        format!("{ycsb} -p measurementtype=raw -p measurement.raw.output_file={device}"),
        format!("{ycsb} -p exportfile={device}"),
        format!(
            "$tailmark db-bench --benchmarks=fillseq --num=100 --db=db --report_interval_seconds=1 \
             --report_file={device}"
        ),
    ];
    let before = fs::read(bench.device.path()).unwrap();
    for call in calls {
        let refused = bench.script(&call);
        assert!(!refused.status.success(), "{call}: {}", out(&refused));
        assert_says(&out(&refused), &["is a block device"]);
    }
    assert!(before == fs::read(bench.device.path()).unwrap());
}

#[test]
fn a_device_that_was_cleaned_is_anybodys_and_its_data_was_not_touched() {
    let bench = Bench::new();
    let device = bench.device.path().display();
    bench.plan_of(&format!("name = 'disk'\ndevice = '{device}'"));
    bench.done("$tailmark run plan.toml -o first --erase $serial $unseen");
    let data = || {
        let mut file = fs::File::open(bench.device.path()).unwrap();
        std::io::Seek::seek(&mut file, std::io::SeekFrom::Start(1 << 20)).unwrap();
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut file, &mut bytes).unwrap();
        bytes
    };
    let before = data();
    let cleaned = bench.done("$tailmark clean first --yes");
    assert_says(&cleaned, &["removed the stamp of"]);
    assert!(before == data(), "clean has written beyond the stamp");
    let again = bench.done("$tailmark clean first --yes");
    assert!(!again.contains("removed the stamp"), "{again}");
    // What is on it now may be anybody's.
    let refused = bench.script("$tailmark run plan.toml -o second");
    assert_eq!(refused.status.code(), Some(2), "{}", out(&refused));
    assert_says(&out(&refused), &["its load overwrites", "--erase "]);
}

#[test]
fn a_raw_device_is_overwritten_with_consent_and_our_own_data_set_is_erased_by_its_serial_number() {
    let bench = Bench::new();
    let device = bench.device.path().display();
    bench.plan_of(&format!(
        "name = 'disk'\ndevice = '{device}'\nprepare = {{ erase = 'discard', precondition = 1 }}"
    ));
    let refused = bench.script("$tailmark run plan.toml -o first");
    assert_eq!(refused.status.code(), Some(2), "{}", out(&refused));
    assert_says(&out(&refused), &["no stamp of tailmark", "--erase "]);
    // Without a step that prepares it, the same consent is asked for.
    let plain = fs::read_to_string(bench.dir().join("plan.toml")).unwrap();
    bench.plan_of(&format!("name = 'disk'\ndevice = '{device}'"));
    let first = bench.done("$tailmark run plan.toml -o first --erase $serial $unseen");
    assert_says(&first, &["OVERWRITES", "1 point measured"]);
    // Nothing is changed that would have to be put back.
    assert!(!bench.dir().join("state/tailmark/changes.json").exists());
    fs::write(bench.dir().join("plan.toml"), plain).unwrap();
    let other = bench.done("$tailmark run plan.toml -o other --records 300");
    assert_says(
        &other,
        &[
            "is measured on the existing file system",
            "1 point measured",
        ],
    );
    let planned = bench.done(&format!("{PREPARE} --dry-run"));
    assert_says(&planned, &["no objection"]);
    let measured = bench.done(RUN);
    let words = [
        "erase is done",
        "precondition is done",
        "loaded 200 records",
    ];
    assert_says(&measured, &words);
    // The end of the device, which no record is at, was written with random data.
    assert_ne!(bench.sample(), [0; 4]);
}

#[test]
fn a_device_that_was_prepared_is_mounted_until_it_is_prepared_again() {
    let bench = Bench::new();
    bench.plan(&bench.file_system(), "");
    let said = bench.done(&format!(
        "{PREPARE} && echo hello > mounted/file && {PREPARE} && ls mounted && mount | grep $device"
    ));
    assert_says(&said, &["unmount begins", " (rw,noatime)", "lost+found"]);
    assert!(!said.lines().any(|line| line == "file"), "{said}");
}

#[test]
fn a_file_system_of_somebody_else_in_the_place_of_ours_is_neither_erased_nor_unmounted() {
    let bench = Bench::new();
    bench.plan(&bench.file_system(), "");
    bench.device.make_ext4();
    let said = bench.done(&format!(
        "mkdir mounted && mount $device mounted && echo hello > mounted/file\n{PREPARE}\n\
         echo ended with $? && cat mounted/file"
    ));
    assert_says(
        &said,
        &["--overwrite-signature ext4:", "ended with 2", "hello"],
    );
}

#[test]
fn a_device_that_others_use_is_not_mounted_beside_them() {
    let bench = Bench::new();
    bench.plan(&bench.file_system(), "");
    bench.device.make_ext4();
    let run = "$tailmark run plan.toml -o out; echo ended with $?; mount | grep -c \"$device on\"";
    // As the disk of a virtual machine that is running.
    let mounted = bench.done(&format!(
        "other=$(losetup --find --show $(losetup --noheadings --output BACK-FILE $device))\n\
         mkdir theirs && mount $other theirs && echo hello > theirs/file\n{run}\n\
         cat theirs/file; umount theirs; losetup --detach $other"
    ));
    let open = bench.done(&format!("exec 7<>$device\n{run}\nexec 7>&-"));
    for (said, words) in [
        (&mounted, ["(stacked)", "ended with 2\n0\n", "hello"]),
        (&open, ["(open)", "ended with 2\n0\n", "(sh) has"]),
    ] {
        assert_says(said, &words);
    }
    // Once nobody uses it, it is measured as it is.
    bench.done("$tailmark run plan.toml -o out");
}

#[test]
fn what_a_killed_run_has_changed_is_put_back_by_restore_and_by_the_next_run() {
    let bench = Bench::new();
    let settings = "[prepare]\nsysctls = ['net.ipv4.ip_default_ttl=77']";
    bench.plan(&bench.file_system(), settings);
    let value = "cat /proc/sys/net/ipv4/ip_default_ttl";
    let killed = format!(
        "{RUN} --set sweep.duration=1h --set sweep.operations=1000000000 & run=$!\n\
         until [ \"$({value})\" = 77 ] || ! kill -0 $run 2>/dev/null; do sleep 0.1; done\n\
         kill -9 $run; wait $run\necho killed at $({value})\n\
         mount | grep -c $device\n"
    );
    let killed_run = bench.done(&format!(
        "{killed}$tailmark restore && echo restored to $({value})\nmount | grep -c $device\n\
         echo and nothing is left: $($tailmark restore 2>&1)"
    ));
    assert_says(
        &killed_run,
        &["killed at 77\n1\n", "is unmounted\n", "restored to 64\n0\n"],
    );
    assert!(
        killed_run.ends_with("and nothing is left:\n"),
        "{killed_run}"
    );
    // Somebody has made another file system on the device since, and mounted it there.
    let other = killed.replace("-o out", "-o other");
    let remounted = bench.done(&format!(
        "{other}umount mounted && mkfs.ext4 -q -F -L tailmark $device && mount $device mounted && echo mine > \
         mounted/file\n$tailmark restore && cat mounted/file && umount mounted"
    ));
    assert_says(
        &remounted,
        &["is left alone: ", "another file system", "mine\n"],
    );
    // One that is stopped puts it back itself.
    let stopped = killed
        .replace("kill -9", "kill -TERM")
        .replace("-o out", "-o stopped");
    let stopped_run = bench.done(&format!("{stopped}exit 0"));
    assert_says(
        &stopped_run,
        &["ip_default_ttl is 77", "is unmounted", "killed at 64\n0\n"],
    );
    // A run that ends by itself puts back what it and the killed one have changed.
    let second_run = bench.done(&format!(
        "{killed}$tailmark run plan.toml -o second\necho ended with $? at $({value})\n\
         ! mount | grep $device"
    ));
    assert_says(&second_run, &["killed at 77\n1\n", "ended with 0 at 64\n"]);
}

#[test]
fn clean_of_one_study_leaves_the_changes_of_another_run() {
    let bench = Bench::new();
    let settings = "[prepare]\nsysctls = ['net.ipv4.ip_default_ttl=77']";
    bench.plan(&bench.file_system(), settings);
    let value = "cat /proc/sys/net/ipv4/ip_default_ttl";
    let said = bench.done(&format!(
        "$tailmark run --driver null --system a=x --records 1k --threads 1 --duration 100ms \
         --warmup 0s -o plain\n\
         {RUN} --set sweep.duration=1h --set sweep.operations=1000000000 & run=$!\n\
         until [ -e out/study.sqlite ] || ! kill -0 $run 2>/dev/null; do sleep 0.1; done\n\
         kill -9 $run; wait $run\n\
         $tailmark clean plain --yes; echo left at $({value})\n\
         $tailmark clean out --yes; echo back at $({value}); exit 0"
    ));
    let parts = ["changes of another run", "left at 77\n", "back at 64\n"];
    assert_says(&said, &parts);
}

#[test]
fn without_anything_to_prepare_a_serial_number_is_refused_and_a_system_too() {
    let dir = tempfile::tempdir().unwrap();
    let plan = format!(
        "[database]\ndriver = 'null'\n[[system]]\nname = 'a'\npath = '{}'\n",
        Path::new("/nowhere").display()
    );
    fs::write(dir.path().join("plan.toml"), plan).unwrap();
    let run = TAILMARK.run(
        dir.path(),
        &["run", "plan.toml", "-o", "out", "--erase", "S-1"],
    );
    assert_eq!(run.status.code(), Some(2), "{}", err(&run));
    assert!(err(&run).contains("--erase S-1"), "{}", err(&run));
    let words = ["device", "prepare", "plan.toml", "--system", "a"];
    let refused = TAILMARK.run(dir.path(), &words);
    assert_eq!(refused.status.code(), Some(2), "{}", err(&refused));
    assert!(
        err(&refused).contains("names no device"),
        "{}",
        err(&refused)
    );
}

#[test]
fn a_device_is_brought_to_its_steady_state_and_the_study_has_every_round() {
    let bench = Bench::new();
    for (over, step) in [
        ("over = 'device', read = 50", "steady"),
        ("over = 'filesystem', fill = 50, depth = 4", "steady_file"),
    ] {
        bench.plan(
            &format!(
                "{}precondition = 1\nsteady = {{ {over}, round = '1s' }}\n",
                bench.file_system()
            ),
            "",
        );
        let said = bench.done(&format!("rm -rf out; {RUN}"));
        let facts = bench.facts();
        let name = format!("{step} found");
        let found = facts.iter().find(|(key, _)| *key == name);
        let (_, found) = found.unwrap_or_else(|| panic!("{facts:?}"));
        let (rounds, verdict) = found.split_once("; ").unwrap();
        let rounds: Vec<_> = rounds
            .split_once("requests/s ")
            .unwrap()
            .1
            .split(' ')
            .collect();
        assert!((5..=25).contains(&rounds.len()), "{found}");
        assert!(rounds.iter().any(|round| *round != "0"), "{found}");
        // What a busy machine makes of it is told either way.
        let reached = format!("steady state reached in {} rounds", rounds.len());
        let not = "steady state not reached in 25 rounds";
        let is_steady = verdict.starts_with(&reached);
        assert!(is_steady || verdict.starts_with(not), "{verdict}");
        assert_says(&said, &[found]);
        let notices = TAILMARK.exported(&bench.dir(), "notices");
        let mut notices = notices.iter().filter_map(|notice| notice.as_str());
        assert_eq!(notices.any(|notice| notice.contains(not)), !is_steady);
    }
    let left = bench.done("mkdir look && mount -o ro $device look && ls look");
    assert!(!left.contains("tailmark.precondition"), "{left}");
}

#[test]
fn a_mix_that_is_stopped_says_that_preparing_starts_again() {
    let bench = Bench::new();
    bench.plan(
        &format!(
            "{}precondition = 1\nsteady = {{ round = '1h' }}\n",
            bench.file_system()
        ),
        "",
    );
    let said = bench.done(&format!(
        "{PREPARE} > said 2>&1 & run=$!\n\
         until grep 'steady begins' said || ! kill -0 $run 2>/dev/null; do sleep 0.1; done\n\
         kill -TERM $run; wait $run; echo ended with $?; cat said"
    ));
    let words = [
        "steady begins",
        "brought to its steady state",
        "the next run prepares it from the first step",
    ];
    assert_says(&said, &words);
    assert!(!said.contains("ended with 0"), "{said}");
}

#[test]
fn another_user_cannot_hold_the_lock_and_sees_what_a_killed_run_has_left() {
    let bench = Bench::new();
    let settings = "[prepare]\nsysctls = ['net.ipv4.ip_default_ttl=77']";
    bench.plan(&bench.file_system(), settings);
    let other = "setpriv --reuid 65534 --regid 65534 --clear-groups";
    // Whatever the umask.
    for umask in ["000", "077"] {
        let said = bench.done(&format!(
            "rm -rf /var/lib/tailmark; umask {umask}; $tailmark restore || exit 1\n\
             cd /var/lib/tailmark; stat -c '%u %a' . lock\n\
             {other} flock -n lock true; echo flock ended with $?\n\
             $tailmark restore; echo restored with $?"
        ));
        assert_says(&said, &["0 755\n0 600\n", "restored with 0"]);
        assert!(!said.contains("flock ended with 0"), "{said}");
    }
    let file = "[database]\ndriver = 'file'\n[dataset]\nrecords = 10\n[sweep]\n\
                workloads = 'ycsb-c'\nthreads = 1\noperations = 100\nwarmup = '0s'\n\
                [[system]]\nname = 'n'\npath = 'data'\n";
    fs::write(bench.dir().join("file.toml"), file).unwrap();
    let said = bench.done(&format!(
        "{RUN} --set sweep.duration=1h --set sweep.operations=1000000000 & run=$!\n\
         until grep -q 77 /proc/sys/net/ipv4/ip_default_ttl; do\n\
         kill -0 $run || exit 1; sleep 0.1; done\n\
         until mountpoint -q mounted || ! kill -0 $run; do sleep 0.1; done\n\
         $tailmark restore; echo beside it $?; echo run is $run\n\
         kill -9 $run; wait $run\n\
         {other} cat /var/lib/tailmark/left; stat -c %a /var/lib/tailmark/*\n\
         $tailmark check --format json > checked; grep -c 'ip_default_ttl is 77' checked\n\
         (mkdir second && cd second && $tailmark run ../file.toml -o out); echo ended with $?\n\
         $tailmark restore; ls /var/lib/tailmark; exit 0"
    ));
    let run = said.split("run is ").nth(1).unwrap();
    let run = run.lines().next().unwrap();
    let held = format!("process {run} (");
    let words = [
        &*held,
        "beside it 2",
        "net.ipv4.ip_default_ttl is 77, was 64",
        "sudo tailmark restore",
        "a killed run of tailmark has left this machine changed",
        "ended with 0",
        "is unmounted",
    ];
    assert_says(&said, &words);
    let after = said.rsplit("is unmounted").next().unwrap();
    assert!(!after.contains("left"), "{said}");
    let findings: Vec<String> = TAILMARK
        .points(&bench.dir().join("second"))
        .iter()
        .map(|point| point["findings"].to_string())
        .collect();
    assert!(
        !findings.is_empty() && findings.iter().all(|f| f.contains("settings-left")),
        "{findings:?}"
    );
    let study = Study::open_read_only(&bench.dir().join("second/out")).unwrap();
    let load = study.loads().unwrap().remove(0);
    assert!(SETTINGS_LEFT.is_among(&load.phase.findings), "{load:?}");
}

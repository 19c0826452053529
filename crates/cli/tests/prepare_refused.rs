//! What is refused before the first device is touched, and what a run that could not put everything
//! back says. Needs root; without it the tests are ignored.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]

mod bench;

use bench::{Bench, PREPARE, RUN};
use std::fs;
use tailmark_testing::{assert_says, out, test};

fn main() -> std::process::ExitCode {
    tailmark_testing::run()
}

/// Refused as wrong usage with these words, and no step has begun.
fn assert_refused(bench: &Bench, script: &str, words: &[&str]) {
    let output = bench.script(script);
    let said = out(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert_says(&said, words);
    assert!(!said.contains(" begins"), "{said}");
}

#[test]
fn a_directory_to_mount_on_that_holds_something_is_refused_before_the_device_is_erased() {
    let bench = Bench::new();
    bench.plan(&bench.file_system(), "");
    for command in [RUN, PREPARE] {
        let script = format!("mkdir -p mounted && echo mine > mounted/file\n{command}");
        assert_refused(&bench, &script, &["mounted", "it is not empty"]);
        let mounted = format!("rm -f mounted/file && mount -t tmpfs other mounted\n{command}");
        assert_refused(&bench, &mounted, &["`other` (tmpfs) is mounted on it"]);
    }
    // A dry run says it too.
    let said = bench.ended(&format!("echo mine > mounted/file\n{RUN} --dry-run"), 2);
    assert_says(&said, &["objection (place): ", "it is not empty"]);
}

#[test]
fn results_on_what_is_mounted_are_refused_before_they_are_made() {
    let bench = Bench::new();
    bench.plan(&bench.file_system(), "");
    for place in ["mounted", "mounted/out", "link/out"] {
        let script = format!(
            "mkdir -p mounted && ln -sfn mounted link\n\
             $tailmark run plan.toml -o {place} --erase $serial $unseen"
        );
        assert_refused(&bench, &script, &["-o: the results would be lost in"]);
        assert!(!bench.dir().join("mounted/out").exists());
    }
}

/// A plan of two systems, the first with a device that is mounted.
fn two(bench: &Bench, top: &str, second: &str) {
    bench.plan(&bench.file_system(), "");
    let plan = bench.dir().join("plan.toml");
    let text = fs::read_to_string(&plan).unwrap();
    let text = text.replace("same_device = true\n", top);
    fs::write(&plan, format!("{text}\n{second}\n")).unwrap();
}

#[test]
fn two_systems_in_one_place_or_on_one_device_are_refused_before_it_is_erased() {
    let (bench, other) = (Bench::new(), Bench::new());
    let mounted = bench.dir().join("mounted");
    let of_other = |point: &str| {
        let point = bench.dir().join(point);
        format!(
            "[[system]]\nname = 'other'\npath = '{0}/of other'\n[system.prepare]\ndevice = '{1}'\n\
             filesystem = 'ext4'\nmount = '{0}'\n",
            point.display(),
            other.device.path().display()
        )
    };
    for point in ["mounted", "mounted/below"] {
        two(&bench, "same_device = true\n", &of_other(point));
        let words = ["systems `disk` and `other` are both mounted on"];
        assert_refused(&bench, RUN, &words);
    }
    let beside = format!(
        "[[system]]\nname = 'beside'\npath = '{}/beside'\n",
        mounted.display()
    );
    two(&bench, "", &beside);
    assert_refused(&bench, RUN, &["`disk` and `beside`", "same_device=true"]);
    // Where the plan means it, one of them prepares the device for both.
    two(&bench, "same_device = true\n", &beside);
    let said = bench.done(RUN);
    assert_says(&said, &["filesystem is done", "2 points measured"]);
}

#[test]
fn agreeing_to_erase_what_nothing_erases_is_refused() {
    let bench = Bench::new();
    let device = bench.device.path().display();
    bench.plan_of(&format!(
        "name = 'disk'\npath = 'data'\nprepare = {{ device = '{device}' }}"
    ));
    bench.put_data();
    let words = [
        "does not erase or overwrite the device of system `disk`",
        "`precondition`",
    ];
    assert_refused(&bench, RUN, &words);
    assert_eq!(bench.sample(), *b"mine");
}

#[test]
fn a_load_does_not_overwrite_what_another_program_has_on_a_device_without_consent() {
    let bench = Bench::new();
    let run = "$tailmark run --driver file --system x=$device --records 200 --operations 100 \
               --threads 1 --workload ycsb-c --warmup 0s -o out";
    let made = bench.done("mkfs.ext4 -q -L payroll $device && blkid -o value -s UUID $device");
    let uuid = made.lines().last().unwrap();
    let device = bench.device.path().display();
    let holds = format!("{device}: ext4 \"payroll\" (UUID {uuid})");
    let erase = format!("--erase {}", bench.serial());
    let destroy = format!("--overwrite-signature ext4:{uuid}");
    let before = fs::read(bench.device.path()).unwrap();
    let refused = format!("system `x`: its load overwrites {holds}");
    assert_refused(&bench, run, &[&refused, &erase, &destroy]);
    let half = format!("{run} $unseen --erase $serial");
    assert_refused(&bench, &half, &[&refused, &destroy]);
    let agreed = format!("{half} {destroy}");
    for (flags, against) in [(run, true), (&agreed, false)] {
        let said = bench.ended(&format!("{flags} --dry-run"), if against { 2 } else { 0 });
        let first = said.lines().next().unwrap();
        assert_eq!(first, format!("OVERWRITES {holds}"), "{said}");
        assert_eq!(said.contains("objection (serial)"), against, "{said}");
        assert_eq!(said.contains("no objection"), !against, "{said}");
    }
    assert!(fs::read(bench.device.path()).unwrap() == before);
    assert!(!bench.dir().join("out/study.sqlite").exists());
    let overwritten = bench.done(&agreed);
    assert_says(
        &overwritten,
        &[&format!("OVERWRITES {holds}"), "1 point measured"],
    );
    // It is ours from now on, also for other data.
    let other = run.replace("-o out", "-o other").replace("200", "300");
    let reused = bench.done(&format!("{other} && {other} --dry-run"));
    assert_says(&reused, &["1 point measured"]);
    assert!(!reused.contains("OVERWRITES"), "{reused}");
    let signatures = bench.done("wipefs --no-act $device");
    assert!(signatures.is_empty(), "{signatures}");
    // It is refused while a loop device lies over a part of it.
    let over = bench.done("losetup --find --show --offset 4M $device");
    let again = run.replace("-o out", "-o again").replace("200", "400");
    assert_refused(
        &bench,
        &again,
        &["stacked", over.trim().trim_start_matches("/dev/")],
    );
    let planned = bench.ended(&format!("{again} --dry-run"), 2);
    assert_says(&planned, &["objection (stacked)"]);
    bench.done(&format!("losetup --detach {over}"));
    bench.done(&again);
}

#[test]
fn a_partition_is_refused_with_the_devices_that_are_possible_and_stays_as_it_is() {
    let bench = Bench::new();
    let before = fs::read(bench.device.path()).unwrap();
    let partition = format!("{}p1", bench.device.path().display());
    let script = format!(
        "addpart $device 1 2048 16384 || exit 9\ntrap 'delpart $device 1' EXIT\n\
         until test -b {partition}; do sleep 0.1; done\n\
         $tailmark run --driver file --system x={partition} --records 200 --operations 100 \
         --threads 1 --workload ycsb-c --warmup 0s -o out --erase $serial $unseen"
    );
    let words = [
        "it is a partition of `",
        "erases and overwrites only whole disks",
        "give its mount point as `path`",
    ];
    assert_refused(&bench, &script, &words);
    let said = out(&bench.script(&script));
    assert!(!said.contains("removable"), "{said}");
    assert!(fs::read(bench.device.path()).unwrap() == before);
    assert!(!bench.dir().join("out/study.sqlite").exists());
}

#[test]
fn preparing_says_first_what_is_lost() {
    let bench = Bench::new();
    bench.plan(&bench.file_system(), "");
    bench.done("mkfs.ext4 -q -L payroll $device");
    let device = bench.device.path().display();
    let first = format!("OVERWRITES {device}: ext4 \"payroll\" (UUID ");
    let said = bench.done("$tailmark device prepare plan.toml --system disk --dry-run");
    assert!(said.starts_with(&first), "{said}");
    // A run without consent leaves it as it is, and one with consent does not.
    let unasked = bench.done("$tailmark run plan.toml --dry-run");
    assert!(!unasked.contains("OVERWRITES"), "{unasked}");
    let asked = bench.ended(&format!("{RUN} --dry-run"), 2);
    assert!(asked.starts_with(&first), "{asked}");
}

#[test]
fn a_mount_of_ours_that_another_namespace_has_too_is_refused_before_it_is_unmounted() {
    let bench = Bench::new();
    bench.plan(&bench.file_system(), "");
    let said = bench.done(&format!(
        "{PREPARE} || exit 1\nmkfifo ready; unshare --mount sh -c 'echo > ready; exec sleep 1000' & \
         other=$!\nread -r _ < ready; echo hello > mounted/file\n\
         {PREPARE}; echo ended with $? and $(cat mounted/file)\nkill $other; wait $other\n\
         {PREPARE} && ls mounted"
    ));
    let words = ["is mounted on", "as process", "ended with 2 and hello"];
    assert_says(&said, &words);
    // When it is gone, the device is prepared again.
    let last = said.rsplit("ended with 2").next().unwrap();
    assert_says(last, &["unmount is done", "mount is done", "lost+found"]);
}

/// A run that was killed, and has left its file system mounted.
fn killed() -> String {
    format!(
        "{RUN} --set sweep.duration=1h --set sweep.operations=1000000000 & run=$!\n\
         until mountpoint -q mounted || ! kill -0 $run 2>/dev/null; do sleep 0.1; done\n\
         kill -9 $run; wait $run\n"
    )
}

#[test]
fn a_run_that_cannot_put_everything_back_does_not_end_as_if_it_could() {
    let bench = Bench::new();
    bench.plan(&bench.file_system(), "");
    let said = bench.done(&format!(
        "{}mkfifo ready; (cd mounted && echo > ../ready && exec sleep 1000) & holder=$!\n\
         read -r _ < ready\n$tailmark restore; echo restored with $?\n\
         $tailmark run plan.toml -o second; echo ended with $?\n\
         kill $holder; wait $holder\n$tailmark restore; echo afterwards $?\n\
         mountpoint -q mounted || echo free",
        killed()
    ));
    let words = [
        "stays mounted",
        "restored with 3",
        "1 point measured",
        "1 change of this machine could not be undone",
        "ended with 3",
        "afterwards 0",
        "free",
    ];
    assert_says(&said, &words);
}

#[test]
fn what_somebody_mounts_over_ours_is_named_and_ours_is_kept_in_mind() {
    let bench = Bench::new();
    bench.plan(&bench.file_system(), "");
    let said = bench.done(&format!(
        "{}mount -t tmpfs other mounted\n$tailmark restore; echo covered $?\n\
         umount mounted; $tailmark restore; echo free $?\nmountpoint -q mounted || echo gone",
        killed()
    ));
    let words = [
        "`other` (tmpfs) is mounted over it",
        "covered 3",
        "free 0",
        "gone",
    ];
    assert_says(&said, &words);
}

#[test]
fn a_damaged_journal_says_what_is_to_be_done() {
    let bench = Bench::new();
    let said = bench.done(
        "mkdir /var/lib/tailmark && echo '{' > /var/lib/tailmark/changes.json\n\
         $tailmark restore; echo ended with $?",
    );
    let words = [
        "/var/lib/tailmark/changes.json` is damaged",
        "undo by hand",
        "remove it",
        "ended with 1",
    ];
    assert_says(&said, &words);
}

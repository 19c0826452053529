//! Directories, commands and errors of this machine; no other one is reached.

use super::*;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn a_shell_takes_words_as_they_are() {
    let words = [
        "printf", "%s|", "a b", "it's", "$HOME", "\\", "`x`", "", "*",
    ];
    let shell = Command::new("sh").arg("-c").arg(shell_line(words)).output();
    let printed = String::from_utf8(shell.unwrap().stdout).unwrap();
    assert_eq!(printed, r"a b|it's|$HOME|\|`x`||*|");
}

#[test]
fn what_a_killed_run_has_left_is_removed_and_what_is_used_is_not() {
    let (used, _lock) = directory().unwrap();
    let left = directory().unwrap().0.keep();
    remove_left();
    assert!(used.path().exists() && !left.exists());
}

#[test]
fn what_others_put_where_a_run_looks_for_what_was_left_is_neither_waited_for_nor_removed() {
    let parent = tempfile::tempdir().unwrap();
    let user = parent.path().join("user");
    fs::create_dir(&user).unwrap();
    fs::write(user.join(LOCK_NAME), "").unwrap();
    let make = |name: &str, mode: u32| {
        let path = parent.path().join(format!("{PREFIX}{name}"));
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    };
    let fifo = make("fifo00", 0o700);
    rustix::fs::mkfifoat(rustix::fs::CWD, fifo.join(LOCK_NAME), 0o600.into()).unwrap();
    let open_to_all = make("open00", 0o777);
    fs::write(open_to_all.join(LOCK_NAME), "").unwrap();
    let link_to_lock = make("locked", 0o700);
    symlink(user.join(LOCK_NAME), link_to_lock.join(LOCK_NAME)).unwrap();
    let link = parent.path().join(format!("{PREFIX}link00"));
    symlink(&user, &link).unwrap();
    let [left, full, longer] = ["a1B2c3", "a1B2c4", "my-keys"].map(|name| {
        let path = make(name, 0o700);
        fs::write(path.join(LOCK_NAME), "").unwrap();
        fs::write(path.join("master.x7"), "").unwrap();
        path
    });
    fs::create_dir(full.join("work")).unwrap();
    remove_left_in(parent.path());
    assert!(!left.exists());
    for other in [
        &user,
        &fifo,
        &open_to_all,
        &link_to_lock,
        &link,
        &full.join("master.x7"),
        &longer.join("master.x7"),
    ] {
        assert!(other.exists(), "{}", other.display());
    }
}

#[test]
fn only_a_private_directory_of_this_user_is_used() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("run");
    fs::create_dir(&path).unwrap();
    for (mode, is) in [(0o700, true), (0o755, false), (0o770, false)] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(is_private(&path), is, "{mode:o}");
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    let link = parent.path().join("link");
    symlink(&path, &link).unwrap();
    assert!(!is_private(&link) && !is_private(&parent.path().join("no")));
    let (made, _lock) = directory().unwrap();
    assert!(is_private(made.path()));
}

#[test]
fn an_endless_output_of_a_command_is_cut() {
    let mut command = Command::new("sh");
    command.args([
        "-c",
        "head -c 50000000 /dev/zero | tr '\\0' x; printf '\\033[2J' >&2",
    ]);
    let (code, out, err) = printed(&mut command, Duration::from_secs(300), &|| false).unwrap();
    assert_eq!((code, out.len(), &*err), (Some(Some(0)), 16 << 20, "[2J"));
}

#[test]
fn what_is_made_while_another_run_removes_what_was_left_stays() {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                remove_left();
            }
        });
        let made: Vec<_> = (0..500).map(|_| directory().unwrap()).collect();
        let gone = made.iter().filter(|(made, _)| !made.path().exists());
        let gone = gone.count();
        is_over.store(true, Ordering::Relaxed);
        assert_eq!(gone, 0);
    });
}

#[test]
fn what_a_login_shell_prints_is_no_output_of_a_command() {
    let printed = format!("Welcome!\n\n{BEGINS}\n0\n{BEGINS}\n");
    let own = own_output(&printed);
    assert_eq!(own, Some(format!("0\n{BEGINS}\n")));
    assert_eq!(own_output("This account is not available.\n"), None);
}

#[test]
fn what_takes_too_long_is_not_waited_for_though_others_hold_its_streams() {
    let directory = tempfile::tempdir().unwrap();
    let other = directory.path().join("other");
    let script = r#"sleep 600 & echo $! >"$0.part" && mv "$0.part" "$0" && exec sleep 600"#;
    let mut command = Command::new("sh");
    command.arg("-c").arg(script).arg(&other);
    // When the other one has begun it is not needed any more.
    let year = Duration::from_secs(365 * 86_400);
    let (code, out, err) = printed(&mut command, year, &|| other.exists()).unwrap();
    assert_eq!((code, &*out, &*err), (None, "", ""));
    let other = fs::read_to_string(other).unwrap();
    // It continues with the streams that it has.
    let killed = Command::new("kill").arg(other.trim()).status().unwrap();
    assert!(killed.success());
    let (late, ..) = printed(Command::new("sleep").arg("600"), LOOK, &|| false).unwrap();
    assert_eq!(late, None);
}

#[test]
fn what_a_program_printed_is_whole_when_it_has_ended() {
    let mut command = Command::new("sh");
    command.args(["-c", "seq 100000; echo no >&2; exit 3"]);
    let (code, out, err) = printed(&mut command, Duration::from_secs(60), &|| false).unwrap();
    assert_eq!(
        (code, out.lines().count(), &*err),
        (Some(Some(3)), 100_000, "no\n")
    );
}

#[test]
fn a_host_that_there_is_not_is_an_error_with_what_ssh_says() {
    let error = Ssh::connect("nobody@no-such-host.invalid", &|| false)
        .unwrap_err()
        .to_string();
    assert!(error.contains("nobody@no-such-host.invalid"), "{error}");
    assert!(error.contains("resolve"), "{error}");
}

//! Scripts that start a command at the other end, check it and end it. They work with every `sh`:
//! dash accepts `-PID` after `--` only if the signal is given by `-s`.

/// Starts what follows `$1` (where its log and its end are kept) and prints its number, once it is the
/// leader of its group.
pub const START: &str = r#"
kept=$1; shift
[ -d "${kept%/*}" ] || { echo "its directory ${kept%/*} was removed by others" >&2; exit 1; }
setsid sh -c 'kept=$1; shift; "$@" </dev/null >"$kept.log" 2>&1
  echo $? >"$kept.end.part" && mv "$kept.end.part" "$kept.end"' sh "$kept" "$@" \
  </dev/null >/dev/null 2>&1 &
tries=0
until kill -s 0 -- "-$!" 2>/dev/null || [ -e "$kept.end" ]; do
  tries=$((tries + 1))
  [ "$tries" -lt 2000 ] || { echo "no session of its own (setsid)" >&2; exit 1; }
  sleep 0.01
done
echo $!
"#;

/// Prints how the command `$1` with the number `$2` ended, or `on` if it is still running after
/// `$3` tenths of a second.
pub const LOOK: &str = r#"
left=$3
while :; do
  if [ -e "$1.end" ]; then cat "$1.end"; exit; fi
  kill -s 0 -- "-$2" 2>/dev/null || { [ -e "$1.end" ] && cat "$1.end" || echo gone; exit; }
  [ "$left" -gt 0 ] || break
  left=$((left - 1)); sleep 0.1
done
echo on
"#;

/// Prints the size of the file `$1`, and its content from the byte `$2` on; at most the last 4 MiB.
pub const PRINTED: &str = r#"
size=$(wc -c <"$1") && echo "$size" && from=$2 && { [ "$((size - from))" -le 4194304 ] || from=$((size - 4194304)); } &&
tail -c "+$((from + 1))" -- "$1" | head -c "$((size - from))"
"#;

/// Ends the commands recorded at these places: asks them to end, and kills them after ten seconds.
pub const END_ALL: &str = r#"
own=$(sed 's/.*) //' "/proc/$$/stat" | cut -d ' ' -f 3)
groups=
for process in /proc/[0-9]*; do
  [ "$process" != "/proc/$own" ] || continue
  for kept in "$@"; do
    tr '\0' '\n' <"$process/cmdline" 2>/dev/null | grep -qxF -- "$kept" && groups="$groups ${process#/proc/}"
  done
done
for signal in TERM KILL; do
  left=100
  for group in $groups; do kill -s "$signal" -- "-$group" 2>/dev/null; done
  while [ "$left" -gt 0 ]; do
    on=
    for group in $groups; do kill -s 0 -- "-$group" 2>/dev/null && on=1; done
    [ -n "$on" ] || exit 0
    left=$((left - 1)); sleep 0.1
  done
done
"#;

/// Sends the signal `$2` to the command with the number `$1` and all that it started.
pub const SIGNAL: &str = r#"kill -s "$2" -- "-$1""#;

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, path::Path, process, thread, time::Duration};

    /// The output of a script in this machine's `shell`, in its own session as over a connection.
    fn script(shell: &str, script: &str, arguments: &[&str]) -> (bool, String) {
        let ran = process::Command::new("setsid")
            .args(["--wait", shell, "-c", script, shell])
            .args(arguments)
            .output()
            .unwrap();
        let printed = String::from_utf8(ran.stdout).unwrap();
        (ran.status.success(), printed.trim().to_owned())
    }

    /// The shells of this machine.
    fn shells() -> Vec<&'static str> {
        let all = ["dash", "bash"].into_iter();
        all.filter(|shell| Path::new("/bin").join(shell).exists())
            .collect()
    }

    #[test]
    fn a_command_goes_on_until_it_ends_or_is_ended_in_every_shell() {
        assert!(shells().contains(&"bash"));
        for shell in shells() {
            let directory = tempfile::tempdir().unwrap();
            let kept = directory.path().join("0").display().to_string();
            let (started, group) = script(shell, START, &[&kept, "sleep", "600"]);
            assert!(started && group.parse::<u32>().is_ok(), "{shell}: {group}");
            let look = |tenths: &str| script(shell, LOOK, &[&kept, &group, tenths]).1;
            assert_eq!(look("3"), "on", "{shell}");
            let signal = |name: &str| script(shell, SIGNAL, &[&group, name]).0;
            assert!(signal("0") && signal("TERM"), "{shell}");
            let ends: Vec<_> = (0..100)
                .map(|_| look("3"))
                .take_while(|is| is == "on")
                .collect();
            assert!(ends.len() < 100 && !signal("0"), "{shell}");
        }
    }

    #[test]
    fn how_a_command_ended_and_what_it_printed_is_kept() {
        for shell in shells() {
            let directory = tempfile::tempdir().unwrap();
            let kept = directory.path().join("0").display().to_string();
            let words = ["sh", "-c", "printf 12345; exit 7"];
            let (_, group) = script(shell, START, &[&[&*kept], &words[..]].concat());
            assert_eq!(
                script(shell, LOOK, &[&kept, &group, "300"]).1,
                "7",
                "{shell}"
            );
            let log = format!("{kept}.log");
            assert_eq!(
                script(shell, PRINTED, &[&log, "0"]).1,
                "5\n12345",
                "{shell}"
            );
            assert_eq!(script(shell, PRINTED, &[&log, "3"]).1, "5\n45", "{shell}");
            // Of more than 4 MiB the end.
            fs::write(&log, format!("{}end", "x".repeat(5_000_000))).unwrap();
            let (_, printed) = script(shell, PRINTED, &[&log, "3"]);
            let (size, end) = printed.split_once('\n').unwrap();
            assert_eq!((size, end.len()), ("5000003", 4 << 20), "{shell}");
            assert!(end.ends_with("xend"), "{shell}");
        }
    }

    #[test]
    fn where_its_directory_was_removed_nothing_is_started_and_that_is_said() {
        for shell in shells() {
            let directory = tempfile::tempdir().unwrap();
            let kept = directory.path().join("removed/0").display().to_string();
            let mut command = process::Command::new(shell);
            let ran = command.args(["-c", START, shell, &kept, "true"]).output();
            let ran = ran.unwrap();
            let said = String::from_utf8(ran.stderr).unwrap();
            assert!(!ran.status.success() && ran.stdout.is_empty(), "{shell}");
            assert!(said.contains("removed was removed by others"), "{said}");
        }
    }

    #[test]
    fn what_nobody_knows_the_number_of_is_ended_by_where_it_is_kept() {
        for shell in shells() {
            let directory = tempfile::tempdir().unwrap();
            let kept = |name: &str| directory.path().join(name).display().to_string();
            let start = |name: &str| {
                // A server that takes a moment to end.
                let words = [
                    "sh",
                    "-c",
                    "trap 'sleep 0.3; exit' TERM; while :; do sleep 0.05; done",
                ];
                script(shell, START, &[&[&*kept(name)], &words[..]].concat()).1
            };
            let (ended, other) = (start("ended"), start("other"));
            assert!(
                script(shell, END_ALL, &[&kept("ended"), &kept("never begun")]).0,
                "{shell}"
            );
            let is_there = |group: &str| script(shell, SIGNAL, &[group, "0"]).0;
            assert!(!is_there(&ended) && is_there(&other), "{shell}");
            assert!(script(shell, SIGNAL, &[&other, "KILL"]).0);
            while is_there(&other) {
                thread::sleep(Duration::from_millis(20));
            }
            fs::remove_dir_all(directory.path()).unwrap();
        }
    }
}

//! A change of the machine: how the journal records it, and how it is undone.

use super::{Error, Kernel, Log, real_path, signature, watch::Logged};
use serde_json::{Value, json};
use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};
use tailmark_machine::mount;

/// The version of its form.
pub(super) const VERSION: u64 = 1;

/// Where emulated volumes are, in the directory of the journal.
const VOLUMES: &str = "emulated";

/// A change of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
    /// A value of the kernel.
    Value {
        path: PathBuf,
        old: String,
        requested: String,
        /// The value afterwards; `None` until it is known.
        now: Option<String>,
    },
    /// A file system that was mounted, with the name of its signature: the number of a device is given
    /// to another one when it is gone.
    Mount {
        point: PathBuf,
        device: String,
        file_system: Option<String>,
    },
    /// A volume that is emulated in a directory.
    Emulated { directory: PathBuf },
}

/// Kernel values of which only one is in effect: writing one sets the other to 0, and 0 cannot be
/// written.
const PAIRS: &[(&str, &str)] = &[
    ("dirty_bytes", "dirty_ratio"),
    ("dirty_background_bytes", "dirty_background_ratio"),
];

/// The value that restores a setting: its old value or, if that was 0 because another one was in
/// effect, the other one.
pub(super) fn inverse(path: &Path, old: &str, requested: &str) -> io::Result<Change> {
    let name = path.file_name().unwrap_or_default();
    let partner = PAIRS.iter().find_map(|(a, b)| match () {
        () if name == *a => Some(b),
        () if name == *b => Some(a),
        () => None,
    });
    if let Some(partner) = partner.filter(|_| old == "0") {
        let path = path.with_file_name(partner);
        let in_effect = read(&path)?;
        if in_effect != "0" {
            return Ok(Change::Value {
                path,
                old: in_effect,
                requested: "0".to_owned(),
                now: None,
            });
        }
    }
    Ok(Change::Value {
        path: path.to_owned(),
        old: old.to_owned(),
        // As it is read again.
        requested: requested.split_whitespace().collect::<Vec<_>>().join(" "),
        now: None,
    })
}

/// Restores a change. Returns what was done, or why it was left. Others may have modified a
/// journal. So an entry that no step could have written, on this kernel and with the journal in
/// this directory, is left alone.
pub(super) fn put_back(
    change: &Change,
    kernel: &Kernel,
    directory: &Path,
    log: Log<'_>,
) -> Result<String, String> {
    if let Some(path) = impossible(change, kernel, directory) {
        return Err(format!(
            "`{}` is left alone: tailmark never changes it, so it did not write this entry of the \
             journal in `{}`; check the entry and remove it",
            path.display(),
            directory.display()
        ));
    }
    match change {
        Change::Value {
            path,
            old,
            requested,
            now,
        } => put_back_value(path, old, [Some(requested), now.as_ref()]),
        Change::Mount {
            point,
            device,
            file_system,
        } => put_back_mount(point, device, file_system.as_deref(), log),
        Change::Emulated { directory: volume } => {
            match super::remove_emulated(volume, &Logged(log)) {
                Ok(()) => Ok(format!("`{}` is removed", volume.display())),
                Err(error) => Err(format!("`{}` stays: {}", volume.display(), cause(&error))),
            }
        }
    }
}

/// The path of a change that no step of preparing makes.
fn impossible<'a>(change: &'a Change, kernel: &Kernel, state: &Path) -> Option<&'a Path> {
    let (path, is_possible) = match change {
        Change::Value { path, .. } => (path, kernel.step_of(path).is_some()),
        Change::Mount { point, device, .. } => (point, point.is_absolute() && device.contains(':')),
        Change::Emulated { directory } => {
            let volumes = real_path(state).join(VOLUMES);
            let is_there = real_path(directory).parent() == Some(&volumes);
            (directory, is_there && directory.file_name().is_some())
        }
    };
    (!is_possible).then_some(path)
}

/// Writes the old value if the current one is ours.
fn put_back_value(path: &Path, old: &str, ours: [Option<&String>; 2]) -> Result<String, String> {
    let name = path.display();
    let is = match read(path) {
        Ok(is) => is,
        // A control group or a device that is gone has taken its values with it.
        Err(error) if is_gone(&error) => {
            return Ok(format!(
                "`{name}` no longer exists, so its value {old} is not restored"
            ));
        }
        Err(error) => return Err(format!("`{name}` is not restored: {error}")),
    };
    if is == old {
        return Ok(format!("`{name}` is {old} again"));
    }
    if !ours.contains(&Some(&is)) {
        return Ok(format!(
            "`{name}` is left at {is}: another program has changed it since (it was {old})"
        ));
    }
    write(path, old).map_err(|error| format!("`{name}` is left at {is}: {error}"))?;
    Ok(format!("`{name}` is {old} again"))
}

/// Unmounts what was mounted, if it is the last mount on its directory.
fn put_back_mount(
    point: &Path,
    device: &str,
    file_system: Option<&str>,
    log: Log<'_>,
) -> Result<String, String> {
    let mounts = mount::mounts();
    // The kernel tells where a mount really is.
    let point = &fs::canonicalize(point).unwrap_or_else(|_| point.to_owned());
    let name = point.display();
    let mut on = mounts.iter().filter(|mount| mount.point == *point);
    match on.next_back() {
        Some(last) if last.device != device && on.any(|below| below.device == device) => {
            Err(format!(
                "`{name}` stays mounted: `{}` ({}) is mounted over it; unmount that, then run \
                 `tailmark restore`",
                last.source, last.kind
            ))
        }
        Some(last) if last.device == device && !is_still(&last.source, file_system) => Ok(format!(
            "`{name}` is left alone: `{}` holds another file system than the one that tailmark \
             mounted",
            last.source
        )),
        Some(last) if last.device == device => match super::unmount(point, &Logged(log)) {
            Ok(()) => Ok(format!("`{name}` is unmounted")),
            Err(error) => Err(format!("`{name}` stays mounted: {}", cause(&error))),
        },
        _ => Ok(format!("`{name}` is no longer mounted by tailmark")),
    }
}

/// Whether the mount from a device is the file system of this name.
fn is_still(source: &str, file_system: Option<&str>) -> bool {
    file_system.is_none_or(|name| signature::is_on(Path::new(source), name).unwrap_or(false))
}

/// Why a step failed, without its name, which the caller has printed.
fn cause(error: &Error) -> String {
    let cause = std::error::Error::source(error);
    cause.map_or_else(String::new, ToString::to_string)
}

/// Whether the object of a setting's file no longer exists.
fn is_gone(error: &io::Error) -> bool {
    let no_device = rustix::io::Errno::NODEV.raw_os_error();
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(no_device)
}

pub(super) fn document(change: &Change) -> Value {
    match change {
        Change::Value {
            path,
            old,
            requested,
            now,
        } => json!({ "path": path, "old": old, "requested": requested, "now": now }),
        Change::Mount {
            point,
            device,
            file_system,
        } => json!({ "mounted": point, "device": device, "file_system": file_system }),
        Change::Emulated { directory } => json!({ "emulated": directory }),
    }
}

/// The boot and the changes of a journal.
pub(super) fn parse(text: &[u8]) -> io::Result<(String, Vec<Change>)> {
    let odd = || io::Error::other("it is not a journal of tailmark");
    let document: Value = serde_json::from_slice(text).map_err(io::Error::other)?;
    if document["version"] != VERSION {
        let version = &document["version"];
        return Err(io::Error::other(format!(
            "it has version {version}, but this program reads version {VERSION}"
        )));
    }
    let changes = document["changes"].as_array().ok_or_else(odd)?;
    let changes = changes
        .iter()
        .map(parse_change)
        .collect::<io::Result<_>>()?;
    let boot = document["boot"].as_str().ok_or_else(odd)?;
    Ok((boot.to_owned(), changes))
}

/// Parses a change written by [`document`].
pub(super) fn parse_change(row: &Value) -> io::Result<Change> {
    let odd = || io::Error::other("it has an entry that tailmark did not write");
    let text = |value: &Value| value.as_str().map(str::to_owned).ok_or_else(odd);
    if let Some(directory) = row.get("emulated") {
        let directory = text(directory)?.into();
        return Ok(Change::Emulated { directory });
    }
    Ok(match row.get("mounted") {
        Some(point) => Change::Mount {
            point: text(point)?.into(),
            device: text(&row["device"])?,
            file_system: row["file_system"].as_str().map(str::to_owned),
        },
        None => Change::Value {
            path: text(&row["path"])?.into(),
            old: text(&row["old"])?,
            requested: text(&row["requested"])?,
            now: row["now"].as_str().map(str::to_owned),
        },
    })
}

/// A value normalised for comparison: the bracketed word of a choice, or numbers separated by
/// single spaces.
pub(super) fn read(path: &Path) -> io::Result<String> {
    let text = fs::read_to_string(path)?;
    let words: Vec<_> = text.split_whitespace().collect();
    let is_choice = |word: &&&str| word.starts_with('[') && word.ends_with(']');
    Ok(match words.iter().find(is_choice) {
        Some(word) => word[1..word.len() - 1].to_owned(),
        None => words.join(" "),
    })
}

/// Writes a value of the kernel, which must be there.
pub(super) fn write(path: &Path, value: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).truncate(true).open(path)?;
    // In one call, as the kernel wants it.
    match file.write(value.as_bytes())? {
        written if written == value.len() => Ok(()),
        _ => Err(io::Error::other("it was taken in part")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel of files in a directory.
    fn kernel(directory: &Path) -> Kernel {
        Kernel {
            proc: directory.join("proc"),
            sys: directory.join("sys"),
        }
    }

    #[test]
    fn a_journal_is_read_as_it_was_written_and_nothing_else_is() {
        let changes = [
            Change::Value {
                path: "/proc/sys/vm/swappiness".into(),
                old: "60".to_owned(),
                requested: "1".to_owned(),
                now: None,
            },
            Change::Mount {
                point: "/mnt/a b".into(),
                device: "259:0".to_owned(),
                file_system: Some("xfs:5f0c".to_owned()),
            },
            Change::Emulated {
                directory: "/var/lib/tailmark/emulated/a b".into(),
            },
        ];
        let rows: Vec<_> = changes.iter().map(document).collect();
        let text = |version: u64| {
            json!({ "version": version, "boot": "b", "changes": rows.clone() }).to_string()
        };
        let read = parse(text(VERSION).as_bytes()).unwrap();
        assert_eq!(read, ("b".to_owned(), changes.to_vec()));
        let later = parse(text(9).as_bytes()).unwrap_err().to_string();
        assert!(later.contains("version 9"), "{later}");
        for odd in [
            "",
            "{}",
            "[1]",
            r#"{"version":1,"boot":"b","changes":[{}]}"#,
        ] {
            assert!(parse(odd.as_bytes()).is_err(), "{odd}");
        }
    }

    #[test]
    fn a_value_that_is_gone_with_its_group_is_nothing_to_put_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sys/fs/cgroup/group/memory.max");
        let change = Change::Value {
            path: path.clone(),
            old: "max".to_owned(),
            requested: "4096".to_owned(),
            now: None,
        };
        let put_back = || put_back(&change, &kernel(dir.path()), dir.path(), &|_| {});
        fs::create_dir_all(dir.path().join("sys/fs/cgroup")).unwrap();
        let said = put_back().unwrap();
        assert!(said.contains("no longer exists"), "{said}");
        // A file that holds no value is reported.
        fs::create_dir_all(&path).unwrap();
        assert!(put_back().unwrap_err().contains("is not restored"));
    }

    #[test]
    fn what_no_step_changes_is_not_put_back() {
        let dir = tempfile::tempdir().unwrap();
        let passwd = dir.path().join("passwd");
        fs::write(&passwd, "mine").unwrap();
        let sysctls = dir.path().join("proc/sys/vm");
        fs::create_dir_all(&sysctls).unwrap();
        std::os::unix::fs::symlink(&passwd, sysctls.join("linked")).unwrap();
        let value = |path: &Path| Change::Value {
            path: path.to_owned(),
            old: "theirs".to_owned(),
            requested: "mine".to_owned(),
            now: None,
        };
        let volume = |directory: &str| Change::Emulated {
            directory: dir.path().join(directory),
        };
        fs::create_dir_all(dir.path().join("elsewhere")).unwrap();
        for forged in [
            value(&passwd),
            value(&sysctls.join("../../../passwd")),
            value(&sysctls.join("linked")),
            volume("elsewhere"),
            volume("emulated"),
            volume("emulated/../elsewhere"),
        ] {
            let said = put_back(&forged, &kernel(dir.path()), dir.path(), &|_| {}).unwrap_err();
            assert!(said.contains("tailmark never changes it"), "{said}");
        }
        assert_eq!(fs::read(&passwd).unwrap(), b"mine");
    }

    #[test]
    fn of_two_values_the_one_that_was_in_effect_is_put_back() {
        let dir = tempfile::tempdir().unwrap();
        let sysctls = dir.path().join("proc/sys/vm");
        fs::create_dir_all(&sysctls).unwrap();
        let path = |name: &str| sysctls.join(name);
        let put = |bytes: &str, ratio: &str| {
            fs::write(path("dirty_bytes"), bytes).unwrap();
            fs::write(path("dirty_ratio"), ratio).unwrap();
        };
        let value = |name: &str, old: &str, requested: &str| Change::Value {
            path: path(name),
            old: old.to_owned(),
            requested: requested.to_owned(),
            now: None,
        };
        put("0", "20");
        let of_bytes = inverse(&path("dirty_bytes"), "0", "2000000000").unwrap();
        assert_eq!(of_bytes, value("dirty_ratio", "20", "0"));
        // The kernel makes the other one 0, and takes the old one back.
        put("2000000000", "0");
        put_back(&of_bytes, &kernel(dir.path()), dir.path(), &|_| {}).unwrap();
        assert_eq!(read(&path("dirty_ratio")).unwrap(), "20");
        put("2000000000", "0");
        let of_ratio = inverse(&path("dirty_ratio"), "0", "30").unwrap();
        assert_eq!(of_ratio, value("dirty_bytes", "2000000000", "0"));
        let same = inverse(&path("dirty_bytes"), "2000000000", "5").unwrap();
        assert_eq!(same, value("dirty_bytes", "2000000000", "5"));
        fs::write(path("tcp_rmem"), "1 2 3").unwrap();
        let words = inverse(&path("tcp_rmem"), "1 2 3", "4  5 6").unwrap();
        assert_eq!(words, value("tcp_rmem", "1 2 3", "4 5 6"));
    }

    #[test]
    fn a_choice_is_what_stands_in_brackets_and_numbers_have_one_space() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let value = |text: &str| {
            fs::write(file.path(), text).unwrap();
            read(file.path()).unwrap()
        };
        assert_eq!(value("always [madvise] never\n"), "madvise");
        assert_eq!(value("4096\t131072\t6291456\n"), "4096 131072 6291456");
    }
}

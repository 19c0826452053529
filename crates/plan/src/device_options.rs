//! Allowed options of `mkfs` and `mount`: those that concern only the device.
//!
//! A plan may come from a stranger. A word that names a file, or an option whose value is a device,
//! would make `mkfs` write to something that nobody agreed to lose. So only options in these lists
//! are passed on, each with its value.

/// One-letter options of a program that creates a file system.
struct MakeOptions {
    file_system: &'static str,
    /// Options without a value.
    flags: &'static str,
    /// Options with a value.
    valued: &'static str,
}

const MAKE: &[MakeOptions] = &[
    MakeOptions {
        file_system: "ext4",
        flags: "Dj",
        valued: "bCEgGiIJmNOT",
    },
    MakeOptions {
        file_system: "xfs",
        flags: "fK",
        valued: "bdilmns",
    },
];

/// Parts of values that name another device or a file.
const LEADING: &[&str] = &["dev=", "device=", "name=", "path=", "file"];

/// Options of `mount` without a value.
const MOUNT: &[&str] = &[
    "acl",
    "async",
    "atime",
    "attr2",
    "auto_da_alloc",
    "barrier",
    "dax",
    "defaults",
    "delalloc",
    "dev",
    "diratime",
    "dioread_lock",
    "dioread_nolock",
    "dirsync",
    "discard",
    "exec",
    "filestreams",
    "ikeep",
    "init_itable",
    "inode32",
    "inode64",
    "journal_async_commit",
    "journal_checksum",
    "largeio",
    "lazytime",
    "noacl",
    "noalign",
    "noatime",
    "noauto_da_alloc",
    "nobarrier",
    "nodelalloc",
    "nodev",
    "nodiratime",
    "nodiscard",
    "noexec",
    "noikeep",
    "noinit_itable",
    "nolargeio",
    "nolazytime",
    "norelatime",
    "nosuid",
    "nouuid",
    "relatime",
    "rw",
    "strictatime",
    "suid",
    "swalloc",
    "sync",
    "user_xattr",
    "wsync",
];

/// Options of `mount` with a value.
const MOUNT_VALUED: &[&str] = &[
    "allocsize",
    "barrier",
    "commit",
    "data",
    "dax",
    "errors",
    "init_itable",
    "inode_readahead_blks",
    "logbsize",
    "logbufs",
    "max_batch_time",
    "min_batch_time",
    "stripe",
    "sunit",
    "swidth",
];

/// The first refused word for `mkfs` of a file system; `None` if all are allowed.
pub(crate) fn refused_by_mkfs<'a>(file_system: &str, words: &'a [String]) -> Option<&'a String> {
    let known = MAKE.iter().find(|known| known.file_system == file_system);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut letters = word.chars();
        let letter = letters
            .next()
            .filter(|dash| *dash == '-')
            .and(letters.next());
        let (rest, is_known) = (
            letters.as_str(),
            |list: fn(&MakeOptions) -> &'static str| {
                letter.is_some_and(|letter| known.is_some_and(|known| list(known).contains(letter)))
            },
        );
        let is_fine = if is_known(|options| options.valued) {
            match rest {
                "" => words.next().is_some_and(|value| is_plain(value)),
                attached => is_plain(attached),
            }
        } else {
            rest.is_empty() && is_known(|options| options.flags)
        };
        if !is_fine {
            return Some(word);
        }
    }
    None
}

/// The first refused option for `mount`; `None` if all are allowed.
pub(crate) fn refused_by_mount(options: &[String]) -> Option<&String> {
    let is_fine = |option: &str| match option.split_once('=') {
        None => MOUNT.contains(&option),
        Some((name, value)) => MOUNT_VALUED.contains(&name) && is_plain(value),
    };
    options
        .iter()
        .find(|options| !options.split(',').all(is_fine))
}

/// Whether a value is a size, a word or a list of them, and not another option.
fn is_plain(value: &str) -> bool {
    let is_of_value = |c: char| c.is_ascii_alphanumeric() || "_.,=:^%+-".contains(c);
    !value.is_empty()
        && !value.starts_with('-')
        && value.chars().all(is_of_value)
        && !LEADING.iter().any(|part| value.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn mkfs_is_given_options_with_their_values_and_no_name() {
        for (file_system, fine) in [
            ("xfs", "-K"),
            (
                "xfs",
                "-f -b size=4096 -d agcount=8,su=64k,sw=4 -m crc=1,reflink=0 -l size=512m",
            ),
            (
                "ext4",
                "-m 0 -E lazy_itable_init=0,stride=16 -O ^has_journal,64bit -b4096",
            ),
        ] {
            assert_eq!(refused_by_mkfs(file_system, &words(fine)), None, "{fine}");
        }
        for (file_system, line, word) in [
            ("ext4", "-F victim.img -L", "-F"),
            ("ext4", "-D victim.img", "victim.img"),
            ("ext4", "-m", "-m"),
            ("ext4", "-m -b", "-m"),
            ("ext4", "-m 0 loop1", "loop1"),
            ("ext4", "-J device=loop1", "-J"),
            ("ext4", "-z undo", "-z"),
            ("ext4", "-d dir", "-d"),
            ("ext4", "--help", "--help"),
            ("xfs", "-K loop1", "loop1"),
            ("xfs", "-d name=loop1", "-d"),
            ("xfs", "-d file", "-d"),
            ("xfs", "-l logdev=loop1", "-l"),
            ("xfs", "-dname=loop1", "-dname=loop1"),
            ("xfs", "-r rtdev=loop1", "-r"),
            ("xfs", "-c options", "-c"),
            ("xfs", "-p proto", "-p"),
            ("xfs", "-Kf", "-Kf"),
            ("xfs", "- K", "-"),
            ("xfs", "-b size=4096/../x", "-b"),
            ("btrfs", "-K", "-K"),
        ] {
            let words = words(line);
            let refused = refused_by_mkfs(file_system, &words);
            assert_eq!(refused.map(String::as_str), Some(word), "{line}");
        }
    }

    #[test]
    fn mount_is_given_options_of_the_file_system_alone() {
        for fine in [
            "noatime",
            "noatime,discard",
            "commit=30",
            "data=ordered",
            "logbsize=256k",
        ] {
            assert_eq!(refused_by_mount(&[fine.to_owned()]), None, "{fine}");
        }
        for other in [
            "",
            "bind",
            "move",
            "remount",
            "loop",
            "X-mount.subdir=../..",
            "journal_dev=0x801",
            "journal_path=loop1",
            "logdev=loop1",
            "rtdev=loop1",
            "noatime,bind",
            "noatime,",
            "ro",
            "commit",
            "data=/x",
            "errors=panic -o bind",
        ] {
            assert!(refused_by_mount(&[other.to_owned()]).is_some(), "{other}");
        }
    }
}

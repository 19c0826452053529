//! Finds a library of RocksDB: at a path, in a jar, or by its version in the user's cache.

use crate::location::is_own;
use std::{
    env,
    fs::{self, File},
    io::{self, Read},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// The word for the RocksDB in this program.
pub(in super::super) const EMBEDDED: &str = "embedded";
/// What separates a library from the one that is used if it is missing.
const OR: &str = " or ";
/// Where the versions on Maven Central are listed.
pub const ALL_VERSIONS: &str =
    "https://central.sonatype.com/artifact/org.rocksdb/rocksdbjni/versions";
/// The name of a release's jar on Maven Central, around its version.
const JAR: (&str, &str) = ("rocksdbjni-", ".jar");
/// The same for a library that came by itself.
const LIBRARY: (&str, &str) = ("librocksdb-", ".so");
/// The library in a jar for this processor, and GNU's C library.
const IN_JAR: &str = if cfg!(target_arch = "aarch64") {
    "librocksdbjni-linux-aarch64.so"
} else {
    "librocksdbjni-linux64.so"
};

/// The directory that `tailmark rocksdb fetch` fills; `None` without a home directory.
#[must_use]
pub fn libraries_directory() -> Option<PathBuf> {
    let is_absolute = |path: &PathBuf| path.is_absolute();
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    let cache = cache.filter(is_absolute).or_else(home)?;
    Some(cache.join("tailmark/rocksdb-libraries"))
}

/// The name of a version's jar in the cache, as on Maven Central.
#[must_use]
pub fn jar_name(version: &str) -> String {
    format!("{}{version}{}", JAR.0, JAR.1)
}

/// The name of a version's library in the cache: of a jar or, if the file is none, of a library.
///
/// # Errors
/// If the file cannot be read.
pub fn library_name(version: &str, file: &Path) -> io::Result<String> {
    let is_jar = is_jar(&mut File::open(file)?)?;
    let (prefix, suffix) = if is_jar { JAR } else { LIBRARY };
    Ok(format!("{prefix}{version}{suffix}"))
}

/// The library that a setting names.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Its name in the settings: a version, an absolute path or [`EMBEDDED`].
    pub(super) name: String,
    /// Where it is; `None` for the embedded one.
    pub(super) path: Option<PathBuf>,
    /// What was named before it and is missing, as a sentence, and how to get it.
    pub(super) missing: Option<(String, String)>,
}

/// The first of the named libraries that is there.
///
/// # Errors
/// What is missing, and how to get it.
pub(super) fn find(named: &str) -> Result<Found, String> {
    let mut missing = None;
    for name in named.split(OR).map(str::trim) {
        let path = if name == EMBEDDED {
            None
        } else if is_path(name) {
            if !Path::new(name).is_file() {
                let what = format!("there is no `{name}`");
                let remedy = "give the path of an existing library or jar".to_owned();
                missing.get_or_insert((what, remedy));
                continue;
            }
            Some(std::path::absolute(name).map_err(|e| e.to_string())?)
        } else if is_version(name) {
            let Some(path) = in_cache(name) else {
                let what = format!("RocksDB {name} is not fetched");
                missing.get_or_insert((what, how_to_fetch(name)));
                continue;
            };
            Some(path)
        } else {
            return Err(format!(
                "a version such as 8.1.1 or 8.1 (digits and dots alone), the path of a library \
                 (.so) or jar, or `{EMBEDDED}`, and if it may be missing `8.1.1{OR}{EMBEDDED}`"
            ));
        };
        let name = match &path {
            Some(path) if is_path(name) => Some(path.display().to_string()),
            // Another release may be fetched later.
            Some(path) if !is_release(name) => version_of(path),
            _ => None,
        }
        .unwrap_or_else(|| name.to_owned());
        return Ok(Found {
            name,
            path,
            missing,
        });
    }
    let (what, remedy) = missing.unwrap_or_default();
    Err(format!("a library that is there: {what}; {remedy}"))
}

/// How to get a version that is missing.
fn how_to_fetch(version: &str) -> String {
    if is_release(version) {
        return format!("get it with: tailmark rocksdb fetch {version}");
    }
    format!(
        "`{version}` means the newest fetched {version}.x; get one by its whole version, as with: \
         tailmark rocksdb fetch 8.1.1 (all versions: {ALL_VERSIONS})"
    )
}

/// Why a program file may be another user's: that user can write to it or to its directory.
fn writable_by_others(file: &Path) -> Option<String> {
    file.ancestors().take(2).find_map(|part| {
        let found = fs::metadata(part).ok()?;
        let why = if !is_own(found.uid()) {
            format!("it belongs to user {}", found.uid())
        } else if found.mode() & 0o002 != 0 {
            "every user can write to it".to_owned()
        } else {
            return None;
        };
        Some(format!(
            "`{}` may be another user's code: {why}",
            part.display()
        ))
    })
}

/// Refuses a library in the cache that another user can have put there.
pub(super) fn refuse_foreign(path: &Path) -> Result<(), String> {
    let is_in_cache = path
        .parent()
        .is_some_and(|d| Some(d) == libraries_directory().as_deref());
    match writable_by_others(path).filter(|_| is_in_cache) {
        Some(why) => Err(format!(
            "{why}: remove it, and get it again with `tailmark rocksdb fetch`"
        )),
        None => Ok(()),
    }
}

/// Refuses a file whose name says another version than the library in it does.
pub(super) fn refuse_misnamed(path: &Path, version: &str) -> Result<(), String> {
    match version_of(path) {
        Some(named) if !is_build_of(&named, version) => Err(format!(
            "it is RocksDB {version}, but its name says {named}: replace it (tailmark rocksdb \
             fetch {named}), or rename it"
        )),
        _ => Ok(()),
    }
}

/// Whether a version, such as 8.1.1.1, is this release, such as 8.1.1, or a later build of it.
#[must_use]
pub fn is_build_of(version: &str, release: &str) -> bool {
    format!("{version}.").starts_with(&format!("{release}."))
}

fn is_path(name: &str) -> bool {
    name.contains('/') || name.ends_with(".jar") || name.ends_with(".so") || name.contains(".so.")
}

fn is_version(name: &str) -> bool {
    name.split('.').all(|part| part.parse::<u32>().is_ok())
}

/// Whether a text is the whole version of a release, such as 8.1.1 or 8.1.1.1.
#[must_use]
pub fn is_release(version: &str) -> bool {
    is_version(version) && version.split('.').count() >= 3
}

/// The newest library in the cache of a version: `8.1` is also `8.1.1`, and that is `8.1.1.1`, a
/// later build of the same release.
fn in_cache(version: &str) -> Option<PathBuf> {
    let is_wanted = |path: &PathBuf| version_of(path).is_some_and(|of| is_build_of(&of, version));
    cached().into_iter().rfind(is_wanted)
}

/// The libraries in the cache, sorted by version.
pub fn cached() -> Vec<PathBuf> {
    let entries = libraries_directory().and_then(|directory| fs::read_dir(directory).ok());
    let paths = entries.into_iter().flatten().flatten();
    let paths = paths.map(|entry| entry.path());
    let mut libraries: Vec<_> = paths.filter(|path| version_of(path).is_some()).collect();
    libraries.sort_by_key(|path| {
        let version = version_of(path).unwrap_or_default();
        let parts: Vec<u32> = version.split('.').flat_map(str::parse).collect();
        parts
    });
    libraries
}

/// The version in the name of a file in the cache.
fn version_of(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let mut versions = [JAR, LIBRARY].into_iter().filter_map(|(prefix, suffix)| {
        let version = name.strip_prefix(prefix)?.strip_suffix(suffix)?;
        is_release(version).then(|| version.to_owned())
    });
    versions.next()
}

/// Whether a file is a jar. Its next byte to be read is then any.
fn is_jar(file: &mut File) -> io::Result<bool> {
    const BEGINS: &[u8] = b"PK\x03\x04";
    let mut begins = [0; BEGINS.len()];
    file.read_exact(&mut begins)?;
    Ok(begins == BEGINS)
}

/// The bytes of the library in a file: of a jar, of the library in it.
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    if !is_jar(&mut file)? {
        return read_up_to(File::open(path)?);
    }
    let invalid = |e: zip::result::ZipError| io::Error::new(io::ErrorKind::InvalidData, e);
    let mut jar = zip::ZipArchive::new(file).map_err(invalid)?;
    let library = jar.by_name(IN_JAR).map_err(|e| {
        let why = format!("`{IN_JAR}` is not in it ({e})");
        io::Error::new(io::ErrorKind::InvalidData, why)
    })?;
    read_up_to(library)
}

fn read_up_to(from: impl Read) -> io::Result<Vec<u8>> {
    /// RocksDB's libraries have 6 to 12 MB, with debug information up to 400.
    const BYTES_MAX: u64 = 512 << 20;
    let mut bytes = Vec::new();
    from.take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(io::Error::other("it is larger than 512 MiB"));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_the_way_to_get_it() {
        let refused = |named| find(named).unwrap_err();
        assert!(refused("0.0.1").ends_with("tailmark rocksdb fetch 0.0.1"));
        assert!(refused("./no.jar").contains("there is no `./no.jar`"));
        assert!(
            refused("0.1").contains(
                "RocksDB 0.1 is not fetched; `0.1` means the newest fetched 0.1.x; get one"
            )
        );
        for unknown in ["newest", "v8.1.1", "8.1.x", "", "8..1"] {
            let says = refused(unknown);
            assert!(
                says.contains("a version such as 8.1.1 or 8.1 (digits"),
                "{says}"
            );
        }
    }

    #[test]
    fn the_embedded_library_is_used_if_the_first_is_missing() {
        let found = find("0.0.1 or embedded").unwrap();
        assert_eq!((&*found.name, found.path), (EMBEDDED, None));
        let (what, remedy) = found.missing.unwrap();
        assert_eq!(what, "RocksDB 0.0.1 is not fetched");
        assert_eq!(remedy, "get it with: tailmark rocksdb fetch 0.0.1");
        assert_eq!(find(EMBEDDED).unwrap().missing, None);
    }

    #[test]
    fn a_file_named_for_another_version_is_refused_with_both() {
        let refused = |name: &str, version| refuse_misnamed(Path::new(name), version);
        assert_eq!(refused("/c/rocksdbjni-8.1.1.1.jar", "8.1.1"), Ok(()));
        assert_eq!(refused("/c/rocksdbjni-8.1.1.jar", "8.1.1"), Ok(()));
        assert_eq!(refused("/usr/lib/librocksdb.so.7.8", "7.8.3"), Ok(()));
        for (name, named) in [
            ("rocksdbjni-8.1.1.jar", "8.1.1"),
            ("librocksdb-8.1.10.so", "8.1.10"),
        ] {
            let says = refused(name, "9.10.0").unwrap_err();
            let both = format!("it is RocksDB 9.10.0, but its name says {named}");
            assert!(says.starts_with(&both), "{says}");
        }
        assert!(refused("rocksdbjni-8.1.10.jar", "8.1.1").is_err());
    }
}

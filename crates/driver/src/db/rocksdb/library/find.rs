//! Finds a library of RocksDB: at a path, in a jar, or by its version in the user's cache.

use std::{
    env,
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

/// The word for the RocksDB in this program.
pub(super) const EMBEDDED: &str = "embedded";
/// What separates a library from the one that is used if it is missing.
const OR: &str = " or ";
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

/// A library that is there.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Its name in the settings: a version, or an absolute path.
    pub(super) name: String,
    /// Where it is.
    pub(super) path: PathBuf,
}

/// The first of the named libraries that is there; `None` for the embedded one.
///
/// # Errors
/// What is missing, and how to get it.
pub(super) fn find(named: &str) -> Result<Option<Found>, String> {
    let mut missing = String::new();
    for name in named.split(OR).map(str::trim) {
        if name == EMBEDDED {
            return Ok(None);
        } else if is_path(name) {
            if Path::new(name).is_file() {
                let path = std::path::absolute(name).map_err(|e| e.to_string())?;
                return Ok(Some(Found {
                    name: path.display().to_string(),
                    path,
                }));
            }
            missing = format!("the path of an existing library or jar; there is no `{name}`");
        } else if is_version(name) {
            if let Some(path) = in_cache(name) {
                let name = name.to_owned();
                return Ok(Some(Found { name, path }));
            }
            missing =
                format!("a version that was fetched; get it with: tailmark rocksdb fetch {name}");
        } else {
            return Err(format!(
                "a version such as 8.1.1, the path of a library (.so) or jar, or `{EMBEDDED}`, and \
                 if it may be missing `8.1.1{OR}{EMBEDDED}`"
            ));
        }
    }
    Err(missing)
}

fn is_path(name: &str) -> bool {
    name.contains('/') || name.ends_with(".jar") || name.ends_with(".so") || name.contains(".so.")
}

fn is_version(name: &str) -> bool {
    let is_number = |part: &str| part.parse::<u32>().is_ok();
    name.contains('.') && name.split('.').all(is_number)
}

/// The library of a version in the cache: `8.1.1` is also `8.1.1.1`, a newer build of the same
/// release.
fn in_cache(version: &str) -> Option<PathBuf> {
    let builds = format!("{version}.");
    let is_wanted = |path: &PathBuf| {
        let found = version_of(path);
        found.is_some_and(|found| found == version || found.starts_with(&builds))
    };
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
        is_version(version).then(|| version.to_owned())
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
    const BYTES_MAX: u64 = 1 << 30;
    let mut bytes = Vec::new();
    from.take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(io::Error::other("it is larger than 1 GiB"));
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
        assert!(refused("newest").contains("a version such as 8.1.1"));
    }

    #[test]
    fn the_embedded_library_is_used_if_the_first_is_missing() {
        assert_eq!(find("0.0.1 or embedded"), Ok(None));
        assert_eq!(find("embedded"), Ok(None));
    }
}

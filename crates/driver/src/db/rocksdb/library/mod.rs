//! The RocksDB that opens a database: the embedded one, or a library of any version since 5.11.
//!
//! A library is loaded once from a private copy ([`elf`] says why) and never unloaded, because its
//! threads outlive every database. It opens an empty database in a temporary directory, whose log
//! says which version it is and how it was built.

mod elf;
mod find;

pub(super) use find::EMBEDDED;
pub use find::{
    ALL_VERSIONS, cached, is_build_of, is_release, jar_name, libraries_directory, library_name,
};

use super::{
    capi::{Db, OpenFor, Options, Table},
    facts, processor,
};
use crate::{Error, Settings};
use find::Found;
use libloading::os::unix;
use rustix::fs::{MemfdFlags, memfd_create};
use sha2::{Digest, Sha256};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::{self, Write},
    os::fd::IntoRawFd,
    path::{Path, PathBuf},
    sync::{LazyLock, Mutex, PoisonError},
};

/// The key of the setting.
pub(super) const SETTING: &str = "library";

/// The version of RocksDB in this program.
pub(super) const EMBEDDED_VERSION: &str = "11.12.0";

/// One RocksDB.
pub(super) struct Library {
    /// Its functions.
    pub(super) functions: &'static Table,
    /// Its version, for example `8.1.1`.
    pub(super) version: String,
    /// What is known of a loaded one; `None` for the embedded one.
    pub(super) loaded: Option<Loaded>,
}

/// What is known of a loaded library.
pub(super) struct Loaded {
    /// What the study records of it.
    pub(super) facts: BTreeMap<String, String>,
}

static IN_PROGRAM: LazyLock<Library> = LazyLock::new(|| Library {
    functions: Box::leak(Box::new(Table::embedded())),
    version: EMBEDDED_VERSION.to_owned(),
    loaded: None,
});

/// The libraries that were loaded, by path.
static LOADED: Mutex<BTreeMap<PathBuf, &Library>> = Mutex::new(BTreeMap::new());

/// What a library says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RocksDbLibrary {
    /// Its version.
    pub version: String,
    /// When, or from what, it was built.
    pub build: String,
    /// The kinds of compression that it has.
    pub compressions: String,
    /// What its log says about CRC32C.
    pub crc32c: String,
}

impl RocksDbLibrary {
    /// Loads the library at a path, and asks it.
    ///
    /// # Errors
    /// If it is no library of RocksDB, too old, or not the version that its name says.
    pub fn look(path: &Path) -> Result<Self, String> {
        Self::asked(Library::load(path)?.functions)
    }

    /// The same of the embedded one.
    ///
    /// # Errors
    /// If it cannot open a database in the directory of temporary files.
    pub fn embedded() -> Result<Self, String> {
        let told = Self::asked(Library::embedded().functions)?;
        let build = processor::build();
        Ok(Self { build, ..told })
    }

    fn asked(functions: &'static Table) -> Result<Self, String> {
        let mut facts = told(&log_of_empty_database(functions)?);
        let mut fact = |name: &str| facts.remove(name).unwrap_or_default();
        Ok(Self {
            version: fact("version"),
            build: fact("build"),
            compressions: fact("compressions"),
            crc32c: fact("crc32c"),
        })
    }
}

/// The SHA-256 digest of a file.
///
/// # Errors
/// If it cannot be read.
pub fn sha256(path: &Path) -> io::Result<String> {
    std::fs::read(path).map(|bytes| hex(&bytes))
}

impl Library {
    /// The embedded one.
    pub(super) fn embedded() -> &'static Self {
        &IN_PROGRAM
    }

    /// The one of the settings.
    ///
    /// # Errors
    /// If it is missing or cannot be used.
    pub(super) fn of(settings: &Settings) -> Result<&'static Self, Error> {
        Self::named(settings.text(SETTING).unwrap_or(EMBEDDED))
    }

    /// The same. The setting then names the library that is used, not one that was missing.
    ///
    /// # Errors
    /// As [`Self::of`].
    pub(super) fn resolve(settings: &mut Settings) -> Result<&'static Self, Error> {
        let (library, found) = Self::found(settings.text(SETTING).unwrap_or(EMBEDDED))?;
        if let Some((what, remedy)) = found.missing {
            let used = match &found.path {
                None => format!("the embedded {EMBEDDED_VERSION}"),
                Some(_) => format!("{} (`{}`)", library.version, found.name),
            };
            settings.add_notice(format!("{what}, so {used} is used; {remedy}"));
        }
        if settings.given(SETTING) {
            *settings = std::mem::take(settings).with(SETTING, &found.name);
        }
        Ok(library)
    }

    /// The library of this value of the setting.
    ///
    /// # Errors
    /// As [`Self::of`].
    pub(super) fn named(named: &str) -> Result<&'static Self, Error> {
        Self::found(named).map(|(library, _)| library)
    }

    fn found(named: &str) -> Result<(&'static Self, Found), Error> {
        let library = find::find(named).and_then(|found| match &found.path {
            None => Ok((Self::embedded(), found)),
            Some(path) => {
                let loaded = Self::load(path).map_err(|why| {
                    format!(
                        "a library of RocksDB 5.11 or later for this machine (`{}`: {why})",
                        path.display()
                    )
                })?;
                Ok((loaded, found))
            }
        });
        library.map_err(|accepted| Error::BadSetting {
            name: SETTING.to_owned(),
            value: named.to_owned(),
            accepted,
        })
    }

    /// Whether it is the one in this program.
    pub(super) fn is_embedded(&self) -> bool {
        self.loaded.is_none()
    }

    /// Loads the library at a path, unless that was done before.
    pub(super) fn load(path: &Path) -> Result<&'static Self, String> {
        let mut all = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(library) = all.get(path) {
            return Ok(library);
        }
        let library: &'static Self = Box::leak(Box::new(Self::load_new(path)?));
        all.insert(path.to_owned(), library);
        Ok(library)
    }

    fn load_new(path: &Path) -> Result<Self, String> {
        find::refuse_foreign(path)?;
        let mut bytes = find::read(path).map_err(|e| e.to_string())?;
        let original = hex(&bytes);
        let unique = elf::make_unique_symbols_weak(&mut bytes)
            .ok_or("it is no shared library for 64 bits with a table of dynamic symbols")?;
        let copy = copy_of(&bytes).map_err(|e| format!("failed to copy it to memory: {e}"))?;
        let functions = functions_of(&copy)?;
        let log = log_of_empty_database(functions)?;
        let mut facts = told(&log);
        let version = facts.remove("version");
        let version = version.ok_or("its log does not say which version it is")?;
        find::refuse_misnamed(path, &version)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        facts.insert("library".to_owned(), name.into_owned());
        facts.insert("library_sha256".to_owned(), original);
        facts.insert("library_copy_sha256".to_owned(), hex(&bytes));
        facts.insert("library_unique_symbols".to_owned(), unique.to_string());
        Ok(Self {
            functions,
            version,
            loaded: Some(Loaded { facts }),
        })
    }
}

/// A private copy of a library in memory. It stays open, because the dynamic linker takes another
/// file of this name for the same library.
fn copy_of(library: &[u8]) -> io::Result<PathBuf> {
    let mut copy = File::from(memfd_create("tailmark-rocksdb", MemfdFlags::CLOEXEC)?);
    copy.write_all(library)?;
    Ok(format!("/proc/self/fd/{}", copy.into_raw_fd()).into())
}

/// Loads a library for as long as the process lives.
#[expect(
    unsafe_code,
    reason = "a library is loaded, and its functions are found by name"
)]
fn functions_of(copy: &Path) -> Result<&'static Table, String> {
    // SAFETY: it runs the constructors of a library that the user named. Version 5.11.3 lacks a
    // function that it never calls (`malloc_stats_print`), hence lazily.
    let loaded = unsafe { unix::Library::open(Some(copy), unix::RTLD_LAZY | unix::RTLD_LOCAL) };
    let library: &unix::Library = Box::leak(Box::new(loaded.map_err(|e| e.to_string())?));
    let address = |name: &str| {
        // SAFETY: only the address is taken.
        let symbol = unsafe { library.get::<*const ()>(name.as_bytes()) };
        symbol.ok().map(|symbol| symbol.as_raw_ptr() as *const ())
    };
    // SAFETY: RocksDB's libraries have these functions, and this one is never unloaded.
    let functions = unsafe { Table::loaded(address) };
    let functions = functions.map_err(|name| format!("it has no function {name}"))?;
    Ok(Box::leak(Box::new(functions)))
}

/// What a library writes to its log when it opens an empty database.
fn log_of_empty_database(functions: &'static Table) -> Result<String, String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let mut options = Options::new(functions);
    options.set_creation(true, false);
    let families = [(super::RAW_TABLE.to_owned(), Options::new(functions))];
    let place = folder.path();
    Db::open(
        &options,
        place,
        &families,
        super::RAW_TABLE,
        OpenFor::Writing,
    )?;
    facts::head_of_log(place).map_err(|e| format!("failed to read its log: {e}"))
}

/// What the log says about the library.
fn told(log: &str) -> BTreeMap<String, String> {
    let after = |name: &str| {
        let (_, rest) = log.split_once(name)?;
        Some(rest.lines().next()?.trim().to_owned())
    };
    let mut facts = BTreeMap::new();
    let mut add = |name: &str, value: Option<String>| {
        facts.extend(value.map(|value| (name.to_owned(), value)));
    };
    add("version", after("RocksDB version: "));
    let commit = after("Git sha ").unwrap_or_default();
    let commit = commit.trim_start_matches("rocksdb_build_git_sha:");
    let date = after("Compile date ").unwrap_or_default();
    add("build", Some(format!("{date} {commit}").trim().to_owned()));
    add("crc32c", processor::crc32c(log).map(str::to_owned));
    let supported = log.lines().filter_map(|line| {
        let name = line.trim_end().strip_suffix(" supported: 1")?;
        let name = name.split_whitespace().next_back()?;
        let name = name.strip_prefix('k').unwrap_or(name);
        let name = name.strip_suffix("Compression").unwrap_or(name);
        let is_compression = !name.contains("CRC") && !name.ends_with("NotFinal");
        is_compression.then(|| name.to_lowercase())
    });
    let supported: BTreeSet<_> = supported.collect();
    let supported: Vec<_> = supported.into_iter().collect();
    add("compressions", Some(supported.join(", ")));
    facts
}

/// The SHA-256 digest.
fn hex(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

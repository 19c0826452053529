//! Every database: one file and one row each.

#[cfg(feature = "aerospike")]
mod aerospike;
#[cfg(feature = "cassandra")]
mod cassandra;
mod file;
mod holder;
pub(crate) mod null;
#[cfg(feature = "redis")]
mod redis;
#[cfg(feature = "rocksdb")]
mod rocksdb;
mod sim;

pub use file::{erase_stamp, stamp};
#[cfg(feature = "rocksdb")]
pub use rocksdb::{
    ALL_VERSIONS, KnownOptions, NewestOptions, RocksDb, RocksDbLibrary, cached, is_build_of,
    is_kept, is_release, jar_name, libraries_directory, library_name, options_for, sha256,
};

use crate::{Driver, Error, did_you_mean};

/// The error if a database that should only be created appeared in the meantime.
const HAS_APPEARED: &str = "another program created a database there in the meantime";

/// The drivers of this build, sorted by name.
pub const DRIVERS: &[&Driver] = &[
    #[cfg(feature = "aerospike")]
    &aerospike::DRIVER,
    #[cfg(feature = "cassandra")]
    &cassandra::DRIVER,
    &file::DRIVER,
    &null::DRIVER,
    #[cfg(feature = "redis")]
    &redis::DRIVER,
    #[cfg(feature = "rocksdb")]
    &rocksdb::DRIVER,
    &sim::DRIVER,
    &sim::TASKS,
    &sim::THREADS,
];

/// The drivers that a build may lack. Each is a feature of its name.
const FEATURES: &[&str] = &["aerospike", "cassandra", "redis", "rocksdb"];

/// The driver with this name.
///
/// # Errors
/// If there is none in this build. Suggests the nearest name.
pub fn find(name: &str) -> Result<&'static Driver, Error> {
    if let Some(driver) = DRIVERS.iter().find(|d| d.name == name) {
        return Ok(driver);
    }
    let name = name.to_owned();
    if FEATURES.contains(&name.as_str()) {
        return Err(Error::DriverNotBuilt { name });
    }
    let names: Vec<_> = DRIVERS.iter().map(|d| d.name).collect();
    Err(Error::UnknownDriver {
        hint: did_you_mean(&name, names.iter().copied()),
        known: names.join(", "),
        name,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_sorted() {
        assert!(DRIVERS.is_sorted_by(|a, b| a.name < b.name));
    }

    #[test]
    fn a_driver_that_this_build_lacks_is_not_an_unknown_name() {
        for name in FEATURES {
            match find(name) {
                Ok(driver) => assert_eq!(driver.name, *name),
                Err(error) => assert!(error.to_string().contains("built without"), "{error}"),
            }
        }
        let unknown = find("cassandre").map(|driver| driver.name);
        assert!(unknown.is_err_and(|error| error.to_string().contains("there is no driver")));
    }

    #[test]
    fn every_about_is_one_line() {
        for driver in DRIVERS {
            assert!(
                !driver.about.is_empty() && !driver.about.contains('\n'),
                "{}",
                driver.name
            );
            assert!(
                driver.settings.is_sorted_by(|a, b| a.name < b.name),
                "{}",
                driver.name
            );
            for setting in driver.settings {
                assert!(
                    !setting.about.is_empty() && !setting.about.contains('\n'),
                    "{}",
                    setting.name
                );
            }
        }
    }
}

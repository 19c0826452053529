//! The keys that name a system's place, and their values.

use super::emulate::Emulate;
use crate::{Error, reader::TableReader};
use std::path::{Path, PathBuf};
use tailmark_driver::{Driver, Location, Place};

/// The keys that name the place of a system with this driver.
pub(super) fn location_keys(driver: &Driver) -> &'static [&'static str] {
    match driver.place {
        Place::Directory => &["path"],
        Place::DirectoryOrDevice => &["path", "device"],
        Place::Hosts => &["contact_points"],
        Place::Nowhere => &["path", "device", "contact_points"],
    }
}

/// The place of a system, if it is given.
pub(super) fn location(
    reader: &TableReader<'_>,
    driver: &'static Driver,
) -> Result<Option<Location>, Error> {
    let accepted = location_keys(driver);
    // The path and device of a server only name what probes watch.
    let keys: &[&str] = match driver.place {
        Place::Hosts => &["contact_points"],
        _ => &["path", "device", "contact_points"],
    };
    let emulate = Emulate::read(reader, &reader.name()?)?;
    let mut found = None;
    for &key in keys {
        // Next to a directory, the device is the one that holds it.
        if let ("device", Some(emulate)) = (key, &emulate) {
            if found.is_none() && accepted.contains(&"device") {
                found = Some(Location::Device(emulate.device()));
            }
            continue;
        }
        let texts: Option<Vec<String>> = reader.optional(key)?;
        if let ("path" | "device", Some([_, _, ..])) = (key, texts.as_deref()) {
            return Err(Error::BadValue {
                key: reader.label(key),
                value: texts.unwrap_or_default().join(", "),
                accepted: format!(
                    "one {}: driver `{}` keeps its data in one place; only a server \
                     (`contact_points`) can have several to watch",
                    if key == "path" {
                        "directory"
                    } else {
                        "block device"
                    },
                    driver.name
                ),
            });
        }
        let text = texts.map(|texts| texts.join(","));
        let Some(text) = text else { continue };
        if found.is_some() || !accepted.contains(&key) {
            let accepted = accepted.join("` or `");
            return Err(Error::BadValue {
                key: reader.label(key),
                value: text,
                accepted: format!("absent: driver `{}` takes one `{accepted}`", driver.name),
            });
        }
        if let Some(wanted) = driver.refuses_place(&text) {
            return Err(Error::BadValue {
                key: reader.label(key),
                value: text,
                accepted: wanted,
            });
        }
        found = Some(match key {
            "contact_points" => Location::of_hosts(&text),
            "device" => Location::Device(absolute(reader, key, &text)?),
            _ => Location::Directory(absolute(reader, key, &text)?),
        });
    }
    Ok(found)
}

pub(super) fn no_location(reader: &TableReader<'_>, driver: &Driver) -> Error {
    let keys = location_keys(driver);
    let what = match driver.place {
        Place::Hosts => "contact points such as `10.0.0.1:9042`",
        _ => "where its data is, such as `/mnt/nvme0`",
    };
    let key = reader.full(keys.first().copied().unwrap_or("path"));
    Error::Missing {
        key,
        accepted: format!("driver `{}` needs {what}", driver.name),
    }
}

/// The path made absolute, so that it stays the same if a run resumes elsewhere.
pub(super) fn absolute(reader: &TableReader<'_>, key: &str, text: &str) -> Result<PathBuf, Error> {
    if text.starts_with('~') {
        return Err(Error::BadValue {
            key: reader.label(key),
            value: text.to_owned(),
            accepted: "a path without `~`, which only the shell expands: write the directory in \
                       full"
                .to_owned(),
        });
    }
    let path = std::path::absolute(Path::new(text));
    Ok(path.unwrap_or_else(|_| PathBuf::from(text)))
}

/// The paths in these keys.
pub(super) fn paths(
    reader: &TableReader<'_>,
    keys: &[&'static str],
) -> Result<Vec<PathBuf>, Error> {
    let mut paths = Vec::new();
    for &key in keys {
        for text in reader.optional::<Vec<String>>(key)?.unwrap_or_default() {
            paths.push(absolute(reader, key, &text)?);
        }
    }
    Ok(paths)
}

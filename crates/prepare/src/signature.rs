//! The content of a device: signatures of file systems, partition tables, RAID and the like, our
//! own data, or data without a signature.
//!
//! `wipefs` of util-linux, which knows about a hundred signatures, looks for them. It only looks,
//! through the open file. Unknown content (the raw device of a database) is detected by samples. A
//! device whose bytes are not all equal holds data. A device with our mark holds foreign data if a
//! sample is neither empty nor from preconditioning.

use super::{Error, Identity, command, data, tag, watch::Unwatched};
use serde_json::Value;
use std::{fs::File, io, os::unix::fs::FileExt, path::Path, process::Stdio};

/// The label of the file systems that we make: by it they are known as ours.
pub const LABEL: &str = "tailmark";
/// The types of file systems that we make.
const OWN_TYPES: &[&str] = &["ext4", "xfs"];
/// Bytes at the beginning and at the end that are looked at whole.
const ENDS: u64 = 1 << 20;
/// Samples between them.
const SAMPLES: u64 = 1024;
/// Bytes of a sample.
const SAMPLE: usize = 4096;

/// Something that is on a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// Its name for consent to its destruction: `xfs:UUID`, `data:5f0c...`, or with the serial
    /// number of the device if nothing else identifies it: `gpt@S6CKNT0W1`.
    pub name: String,
    /// The device that it was found on: a disk or one of its partitions.
    pub device: String,
    /// Its description: `ext4 "payroll" (UUID 5f0c-...)`.
    pub about: String,
    /// Whether it is ours, and may go without being named.
    pub is_ours: bool,
}

/// The name of a data set of the driver `file`, and that of our mark.
const OWN_NAMES: [&str; 2] = ["tailmark:data-set", "tailmark:tag"];

impl Signature {
    /// Whether it is a data set of the driver `file` or our mark for this very device: nothing of
    /// anyone else is on it.
    pub(super) fn is_stamp_or_mark(&self) -> bool {
        OWN_NAMES.contains(&self.name.as_str())
    }
}

/// The content of the device behind an open file; empty if it holds one byte over and over.
///
/// # Errors
/// If it cannot be determined.
pub(super) fn signatures(file: &File, identity: &Identity) -> Result<Vec<Signature>, Error> {
    let refuse = |source: io::Error| Error::Signatures {
        device: identity.name.clone(),
        source,
    };
    // What another descriptor wrote is in the page cache too, so nothing is to be forgotten here.
    let found = known(file, identity).map_err(refuse)?;
    if !found.is_empty() {
        return Ok(found);
    }
    let [data_set, mark] = OWN_NAMES;
    let own = |name: &str, about: &str| {
        vec![Signature {
            name: name.to_owned(),
            device: identity.name.clone(),
            about: about.to_owned(),
            is_ours: true,
        }]
    };
    if tag::is_stamped(file).map_err(refuse)? {
        return Ok(own(data_set, "a data set of tailmark"));
    }
    let tag = tag::read(file).map_err(refuse)?;
    let is_tagged = tag.is_some() && tag == identity.serial;
    let samples = sampled(file, identity.bytes).map_err(refuse)?;
    if is_tagged && !samples.holds_others {
        return Ok(own(mark, "the mark of tailmark"));
    }
    let data = (is_tagged || !samples.is_uniform).then_some(samples.sum);
    let data = data.map(|sum| Signature {
        name: format!("data:{sum:016x}"),
        device: identity.name.clone(),
        about: "data without a known signature".to_owned(),
        is_ours: false,
    });
    Ok(data.into_iter().collect())
}

/// What `wipefs` knows of the device.
fn known(file: &File, identity: &Identity) -> io::Result<Vec<Signature>> {
    parse(&wipefs(file)?, &identity.name, &whose(identity))
}

fn wipefs(file: &File) -> io::Result<Vec<u8>> {
    // The program opens what its standard input is, which no other program can rename.
    let words = ["wipefs", "--no-act", "--json", "/proc/self/fd/0"];
    command::output(&words, Stdio::from(file.try_clone()?), &Unwatched)
}

/// Whether a signature of this name, with an identifier of its own, is on a device.
pub(super) fn is_on(device: &Path, name: &str) -> io::Result<bool> {
    let found = parse(&wipefs(&File::open(device)?)?, "", "")?;
    Ok(found.iter().any(|signature| signature.name == name))
}

/// The device of content without an identifier: its serial number, with the namespace of a drive;
/// for a partition, the kernel's name.
fn whose(identity: &Identity) -> String {
    match (&identity.serial, identity.namespace) {
        (Some(serial), Some(namespace)) => format!("{serial}/{namespace}"),
        (Some(serial), None) => serial.clone(),
        (None, _) => identity.name.clone(),
    }
}

/// Parses the output of `wipefs --json`, which is empty if it found nothing.
pub(super) fn parse(text: &[u8], device: &str, whose: &str) -> io::Result<Vec<Signature>> {
    if text.trim_ascii().is_empty() {
        return Ok(Vec::new());
    }
    let odd = || io::Error::other("`wipefs` printed something other than signatures");
    let document: Value = serde_json::from_slice(text).map_err(io::Error::other)?;
    let rows = document["signatures"].as_array().ok_or_else(odd)?;
    let row = |row: &Value| {
        let kind = row["type"].as_str().ok_or_else(odd)?;
        let is_ours = OWN_TYPES.contains(&kind) && row["label"].as_str() == Some(LABEL);
        Ok(Signature {
            name: match row["uuid"].as_str() {
                Some(uuid) => format!("{kind}:{uuid}"),
                None => format!("{kind}@{whose}"),
            },
            device: device.to_owned(),
            about: about(row, kind),
            is_ours,
        })
    };
    let mut all: Vec<Signature> = rows.iter().map(row).collect::<io::Result<_>>()?;
    // A partition table has two magic numbers, and more where it is at both ends.
    all.dedup();
    Ok(all)
}

/// The kind of a signature with its label and identifier, if known.
fn about(row: &Value, kind: &str) -> String {
    let text = |key: &str| row[key].as_str().filter(|text| !text.is_empty());
    // As a literal: a label may hold whatever its owner wrote.
    let label = text("label").map(|label| format!(" {label:?}"));
    let uuid = text("uuid").map(|uuid| format!(" (UUID {uuid})"));
    [Some(kind.to_owned()), label, uuid]
        .into_iter()
        .flatten()
        .collect()
}

/// What samples of a device show.
struct Samples {
    /// Whether all are one byte over and over.
    is_uniform: bool,
    /// Whether one is neither empty, nor our mark, nor what preconditioning writes.
    holds_others: bool,
    /// A sum over everything, which names the content.
    sum: u64,
}

/// Looks at both ends of a device, and at samples between them.
fn sampled(file: &File, bytes: u64) -> io::Result<Samples> {
    let mut samples = Samples {
        is_uniform: true,
        holds_others: false,
        sum: tag::FNV_OFFSET,
    };
    let mut first = None;
    let mut look = |piece: &[u8], at: u64| {
        let first = *first.get_or_insert(piece.first().copied().unwrap_or(0));
        samples.is_uniform &= piece.iter().all(|byte| *byte == first);
        samples.sum = tag::fnv1a(samples.sum, piece);
        let mut sectors = (at..).step_by(SAMPLE).zip(piece.chunks(SAMPLE));
        samples.holds_others |= !sectors.all(|(place, sector)| {
            let is_empty = is_empty(sector) || sector.iter().all(|byte| *byte == first);
            is_empty || tag::PLACE.contains(&place) || data::is_ours(sector)
        });
    };
    let ends = ENDS.min(bytes) as usize;
    // Our data lies at multiples of a sector.
    let last = (bytes - ends as u64) / SAMPLE as u64 * SAMPLE as u64;
    let mut buffer = vec![0; (bytes - last) as usize];
    file.read_exact_at(&mut buffer[..ends], 0)?;
    look(&buffer[..ends], 0);
    file.read_exact_at(&mut buffer, last)?;
    look(&buffer, last);
    if bytes > 2 * ENDS {
        let buffer = &mut buffer[..SAMPLE];
        for sample in 1..SAMPLES {
            let at = u128::from(bytes) * u128::from(sample) / u128::from(SAMPLES);
            let at = at as u64 / SAMPLE as u64 * SAMPLE as u64;
            file.read_exact_at(buffer, at)?;
            look(buffer, at);
        }
    }
    Ok(samples)
}

/// Whether it is empty, as drives say that: zeros, or every bit set.
fn is_empty(bytes: &[u8]) -> bool {
    [0, 0xff]
        .iter()
        .any(|empty| bytes.iter().all(|byte| byte == empty))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_wipefs_writes_is_named_by_type_and_uuid_and_ours_by_its_label() {
        let text = br#"{"signatures": [
            {"device":"x","offset":"0x0","type":"xfs","uuid":"1-2","label":"tailmark"},
            {"device":"x","offset":"0x438","type":"ext4","uuid":"3-4","label":"home"},
            {"device":"x","offset":"0x200","type":"gpt","uuid":null,"label":null},
            {"device":"x","offset":"0x1fe","type":"gpt","uuid":null,"label":null},
            {"device":"x","offset":"0x1","type":"zfs_member","uuid":"5","label":"tailmark"}]}"#;
        let all = parse(text, "sda", "S-1").unwrap();
        let named: Vec<_> = all.iter().map(|s| (s.name.as_str(), s.is_ours)).collect();
        let expected = [
            ("xfs:1-2", true),
            ("ext4:3-4", false),
            ("gpt@S-1", false),
            ("zfs_member:5", false),
        ];
        assert_eq!(named, expected);
        let about: Vec<_> = all.iter().map(|s| s.about.as_str()).collect();
        let ext4 = r#"ext4 "home" (UUID 3-4)"#;
        assert_eq!(about[1..3], [ext4, "gpt"]);
        assert!(parse(b" \n", "sda", "S-1").unwrap().is_empty());
        assert!(parse(b"{}", "sda", "S-1").is_err() && parse(b"no", "sda", "S-1").is_err());
    }

    #[test]
    fn data_without_a_signature_is_told_from_none() {
        let file = tempfile::tempfile().unwrap();
        let bytes = 64 << 20;
        file.set_len(bytes).unwrap();
        assert!(sampled(&file, bytes).unwrap().is_uniform);
        // As a database writes it: not at the beginning.
        file.write_all_at(&vec![7; 1 << 20], 32 << 20).unwrap();
        let samples = sampled(&file, bytes).unwrap();
        assert!(!samples.is_uniform);
        file.write_all_at(&[8], 32 << 20).unwrap();
        let other = sampled(&file, bytes).unwrap();
        assert_ne!(other.sum, samples.sum, "other data");
    }

    #[test]
    fn behind_our_mark_what_we_have_written_is_told_from_what_others_have() {
        let file = tempfile::tempfile().unwrap();
        // The last MiB does not begin at a multiple of a sector.
        let bytes = (16 << 20) + 512;
        file.set_len(bytes).unwrap();
        let identity = Identity {
            number: (7, 0),
            name: "loop0".to_owned(),
            bytes,
            model: None,
            serial: Some("S-1".to_owned()),
            wwid: None,
            namespace: None,
            file: None,
        };
        let named = || signatures(&file, &identity).unwrap()[0].clone();
        tag::write(&file, "S-1").unwrap();
        assert_eq!(named().name, "tailmark:tag");
        let mut ours = vec![0; 15 << 20];
        data::Data::default().fill(&mut ours);
        file.write_all_at(&ours, 1 << 20).unwrap();
        assert_eq!(named().name, "tailmark:tag");
        // What a database writes whose format is unknown.
        let text = b"log of a database, ".repeat(30_000);
        file.write_all_at(&text, 4 << 20).unwrap();
        let found = named();
        assert!(
            found.name.starts_with("data:") && !found.is_ours,
            "{found:?}"
        );
        tag::write(&file, "S-2").unwrap();
        file.write_all_at(&ours[3 << 20..4 << 20], 4 << 20).unwrap();
        assert!(!named().is_ours, "a copy of a marked device");
    }
}

//! What is on a device: signatures of file systems, partition tables, RAID and the like, what is
//! ours, or data that has no signature.
//!
//! Signatures are looked for by `wipefs` of util-linux, which knows some hundred of them; it is
//! asked to look only, and through the file that is open. What it does not know (the raw device of a
//! database) is seen by samples: a device that is not one byte over and over holds data.

use super::{Error, Identity, command, tag};
use serde_json::Value;
use std::{fs::File, io, os::unix::fs::FileExt, process::Stdio};

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
    /// How it is named by whoever agrees that it is destroyed: `xfs:UUID`, `gpt`, `data:5f0c...`.
    pub name: String,
    /// The device that it was found on: a disk or one of its partitions.
    pub device: String,
    /// Whether it is ours, and may go without being named.
    pub is_ours: bool,
}

/// What is on the device behind an open file; empty where it holds one byte over and over.
///
/// # Errors
/// Where that cannot be told.
pub(super) fn signatures(file: &File, identity: &Identity) -> Result<Vec<Signature>, Error> {
    let refuse = |source: io::Error| Error::Signatures {
        device: identity.name.clone(),
        source,
    };
    // What another descriptor wrote is in the page cache too, so nothing is to be forgotten here.
    let found = known(file, &identity.name).map_err(refuse)?;
    if !found.is_empty() {
        return Ok(found);
    }
    let own = |name: &str| {
        vec![Signature {
            name: name.to_owned(),
            device: identity.name.clone(),
            is_ours: true,
        }]
    };
    if tag::is_stamped(file).map_err(refuse)? {
        return Ok(own("tailmark:data-set"));
    }
    if tag::read(file).map_err(refuse)?.as_deref() == identity.serial.as_deref()
        && identity.serial.is_some()
    {
        return Ok(own("tailmark:tag"));
    }
    let data = sampled(file, identity.bytes).map_err(refuse)?;
    let data = data.map(|sum| Signature {
        name: format!("data:{sum:016x}"),
        device: identity.name.clone(),
        is_ours: false,
    });
    Ok(data.into_iter().collect())
}

/// What `wipefs` knows of the device.
fn known(file: &File, device: &str) -> io::Result<Vec<Signature>> {
    // The program opens what its standard input is, which nobody can rename.
    let words = ["wipefs", "--no-act", "--json", "/proc/self/fd/0"];
    let said = command::output(&words, Stdio::from(file.try_clone()?))?;
    parse(&said, device)
}

/// What `wipefs --json` wrote; nothing at all where it found nothing.
pub(super) fn parse(text: &[u8], device: &str) -> io::Result<Vec<Signature>> {
    if text.trim_ascii().is_empty() {
        return Ok(Vec::new());
    }
    let odd = || io::Error::other("`wipefs` wrote something else than signatures");
    let document: Value = serde_json::from_slice(text).map_err(io::Error::other)?;
    let rows = document["signatures"].as_array().ok_or_else(odd)?;
    let row = |row: &Value| {
        let kind = row["type"].as_str().ok_or_else(odd)?;
        let is_ours = OWN_TYPES.contains(&kind) && row["label"].as_str() == Some(LABEL);
        Ok(Signature {
            name: match row["uuid"].as_str() {
                Some(uuid) => format!("{kind}:{uuid}"),
                None => kind.to_owned(),
            },
            device: device.to_owned(),
            is_ours,
        })
    };
    let mut all: Vec<Signature> = rows.iter().map(row).collect::<io::Result<_>>()?;
    // A partition table has two magic numbers, and more where it is at both ends.
    all.dedup();
    Ok(all)
}

/// A sum over samples of a device, where they are not one byte over and over.
fn sampled(file: &File, bytes: u64) -> io::Result<Option<u64>> {
    let mut sum = 0xcbf2_9ce4_8422_2325_u64;
    let mut first = None;
    let mut is_uniform = true;
    let mut look = |piece: &[u8]| {
        let first = *first.get_or_insert(piece.first().copied().unwrap_or(0));
        is_uniform &= piece.iter().all(|byte| *byte == first);
        for byte in piece {
            sum = (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    let ends = ENDS.min(bytes) as usize;
    let mut buffer = vec![0; ends];
    for at in [0, bytes - ends as u64] {
        file.read_exact_at(&mut buffer, at)?;
        look(&buffer);
    }
    if bytes > 2 * ENDS {
        let buffer = &mut buffer[..SAMPLE];
        for sample in 1..SAMPLES {
            let at = u128::from(bytes) * u128::from(sample) / u128::from(SAMPLES);
            file.read_exact_at(buffer, at as u64 / SAMPLE as u64 * SAMPLE as u64)?;
            look(buffer);
        }
    }
    Ok((!is_uniform).then_some(sum))
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
        let all = parse(text, "sda").unwrap();
        let named: Vec<_> = all.iter().map(|s| (s.name.as_str(), s.is_ours)).collect();
        let expected = [
            ("xfs:1-2", true),
            ("ext4:3-4", false),
            ("gpt", false),
            ("zfs_member:5", false),
        ];
        assert_eq!(named, expected);
        assert!(parse(b" \n", "sda").unwrap().is_empty());
        assert!(parse(b"{}", "sda").is_err() && parse(b"no", "sda").is_err());
    }

    #[test]
    fn data_without_a_signature_is_told_from_none() {
        let file = tempfile::tempfile().unwrap();
        let bytes = 64 << 20;
        file.set_len(bytes).unwrap();
        assert_eq!(sampled(&file, bytes).unwrap(), None);
        // As a database writes it: not at the beginning.
        file.write_all_at(&vec![7; 1 << 20], 32 << 20).unwrap();
        let sum = sampled(&file, bytes).unwrap();
        assert!(sum.is_some());
        file.write_all_at(&[8], 32 << 20).unwrap();
        assert_ne!(sampled(&file, bytes).unwrap(), sum, "other data");
    }
}

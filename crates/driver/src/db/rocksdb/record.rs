//! The encoding of a record in a RocksDB value, as in YCSB's binding, so that data sets can be
//! shared with it.
//!
//! Each field has the length of its name (4 bytes, big endian), its name, the length of its value
//! (4 bytes, big endian) and its value. Fields may be in any order, which a change keeps.

use crate::Values;

/// A value that is not an encoded record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed;

/// Bytes that the encoding adds to the field values of a record with these fields.
pub(crate) fn overhead_bytes(names: &[String]) -> u64 {
    names.iter().map(|name| 8 + name.len() as u64).sum()
}

/// Encodes the fields in `values`, replacing the content of `out`.
pub(crate) fn encode(names: &[String], values: &Values<'_>, out: &mut Vec<u8>) {
    out.clear();
    for (field, value) in values.iter() {
        append(name_of(names, field), value, out);
    }
}

/// Encodes `record` with the fields in `values` replaced, or appended if it lacks them, replacing
/// the content of `out`.
pub(crate) fn replace(
    record: &[u8],
    names: &[String],
    values: &Values<'_>,
    out: &mut Vec<u8>,
) -> Result<(), Malformed> {
    out.clear();
    for field in fields(record) {
        let (name, old) = field?;
        let new = values.iter().find(|&(f, _)| name_of(names, f) == name);
        append(name, new.map_or(old, |(_, value)| value), out);
    }
    for (field, value) in values.iter() {
        let name = name_of(names, field);
        if find(record, name)?.is_none() {
            append(name, value, out);
        }
    }
    Ok(())
}

/// The value of the field of this name, if the record has one.
pub(crate) fn find<'a>(record: &'a [u8], name: &[u8]) -> Result<Option<&'a [u8]>, Malformed> {
    for field in fields(record) {
        let (found, value) = field?;
        if found == name {
            return Ok(Some(value));
        }
    }
    Ok(None)
}

/// The fields of a record, each with its name and value. Ends at the first malformed field.
pub(crate) fn fields(record: &[u8]) -> impl Iterator<Item = Result<(&[u8], &[u8]), Malformed>> {
    let mut rest = record;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let field = take(&mut rest).and_then(|name| take(&mut rest).map(|value| (name, value)));
        if field.is_none() {
            rest = &[];
        }
        Some(field.ok_or(Malformed))
    })
}

fn name_of(names: &[String], field: u32) -> &[u8] {
    names[field as usize].as_bytes()
}

fn append(name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    for part in [name, value] {
        out.extend_from_slice(&(part.len() as u32).to_be_bytes());
        out.extend_from_slice(part);
    }
}

/// Takes a length and that many bytes from the front.
fn take<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, behind) = rest.split_first_chunk::<4>()?;
    let (part, behind) = behind.split_at_checked(u32::from_be_bytes(*length) as usize)?;
    *rest = behind;
    Some(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Vec<String> {
        (0..3).map(|i| format!("field{i}")).collect()
    }

    fn values<'a>(first: u32, lengths: &'a [u32], bytes: &'a [u8]) -> Values<'a> {
        Values {
            first,
            lengths,
            bytes,
        }
    }

    fn encoded() -> Vec<u8> {
        let mut out = Vec::new();
        encode(&names(), &values(0, &[2, 0, 3], b"abcde"), &mut out);
        out
    }

    #[test]
    fn a_record_has_the_bytes_of_ycsb() {
        let mut out = b"what was there before".to_vec();
        encode(&names(), &values(1, &[3], b"xyz"), &mut out);
        assert_eq!(out, b"\0\0\0\x06field1\0\0\0\x03xyz");
    }

    #[test]
    fn encoding_adds_what_overhead_says() {
        assert_eq!(encoded().len() as u64, 5 + overhead_bytes(&names()));
    }

    #[test]
    fn every_field_is_found_by_its_name() {
        let record = encoded();
        assert_eq!(find(&record, b"field0"), Ok(Some(&b"ab"[..])));
        assert_eq!(find(&record, b"field1"), Ok(Some(&b""[..])));
        assert_eq!(find(&record, b"field2"), Ok(Some(&b"cde"[..])));
        assert_eq!(find(&record, b"field3"), Ok(None));
    }

    #[test]
    fn replacing_keeps_the_other_fields_and_their_order() {
        let mut out = Vec::new();
        replace(&encoded(), &names(), &values(1, &[4], b"wxyz"), &mut out).unwrap();
        let all: Vec<_> = fields(&out).map(Result::unwrap).collect();
        assert_eq!(
            all,
            [
                (&b"field0"[..], &b"ab"[..]),
                (b"field1", b"wxyz"),
                (b"field2", b"cde")
            ]
        );
    }

    #[test]
    fn replacing_adds_a_field_that_the_record_lacks() {
        let (mut short, mut out) = (Vec::new(), Vec::new());
        encode(&names(), &values(0, &[1], b"a"), &mut short);
        replace(&short, &names(), &values(2, &[1], b"c"), &mut out).unwrap();
        assert_eq!(find(&out, b"field0"), Ok(Some(&b"a"[..])));
        assert_eq!(find(&out, b"field2"), Ok(Some(&b"c"[..])));
    }

    #[test]
    fn a_record_that_is_cut_short_is_malformed() {
        let record = encoded();
        let boundaries = [16, 30, 47];
        for end in 1..=record.len() {
            let ends_well = fields(&record[..end]).all(|field| field.is_ok());
            assert_eq!(ends_well, boundaries.contains(&end), "cut at {end}");
        }
    }
}

//! YCSB's values that can be verified on reading: a function of key, field and length.
//!
//! `key:field`, then repeatedly `:` and the decimal hash of everything before it (Java's
//! `String.hashCode`), cut at the length. An update writes the same text again. So verification
//! cannot detect a lost update, but it detects torn, foreign or shortened values.

/// Appends the value of a field of `length` bytes to `out`.
pub fn append(key: &[u8], field: &[u8], length: usize, out: &mut Vec<u8>) {
    let start = out.len();
    let mut hash = 0_i32;
    let mut digits = itoa::Buffer::new();
    let mut push = |part: &[u8]| {
        for &byte in part {
            hash = hash.wrapping_mul(31).wrapping_add(i32::from(byte));
        }
        out.extend_from_slice(part);
        (out.len() - start, hash)
    };
    push(key);
    push(b":");
    let (mut done, _) = push(field);
    while done < length {
        let (_, number) = push(b":");
        (done, _) = push(digits.format(number).as_bytes());
    }
    out.truncate(start + length);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_cut_at_its_length() {
        let mut out = b"before".to_vec();
        append(b"user1", b"field0", 5, &mut out);
        assert_eq!(out, b"beforeuser1");
    }

    #[test]
    fn each_part_is_the_hash_of_all_before_it() {
        let mut out = Vec::new();
        append(b"a", b"b", 64, &mut out);
        // "a:b" hashes to 97 * 961 + 58 * 31 + 98 = 95,113; the colon is part of the next hash.
        let text = String::from_utf8(out).unwrap();
        let mut expected = "a:b".to_owned();
        while expected.len() < 64 {
            expected.push(':');
            let bytes = expected.bytes().map(i32::from);
            let hash = bytes.fold(0_i32, |h, b| h.wrapping_mul(31).wrapping_add(b));
            expected = format!("{expected}{hash}");
        }
        assert_eq!(text, expected[..64]);
    }
}

//! The slot of a key in a cluster, computed as servers do: the CRC-16 of the Redis Cluster
//! specification (polynomial 0x1021, XMODEM) modulo the number of slots.

/// The number of slots in a cluster.
pub(super) const SLOTS: u16 = 16_384;

const TABLE: [u16; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = (byte as u16) << 8;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 0x8000 == 0 {
                crc << 1
            } else {
                (crc << 1) ^ 0x1021
            };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

/// The slot of a key. If it has braces around some text, only that text counts.
pub(super) fn slot(key: &[u8]) -> u16 {
    let tag = key.iter().position(|&byte| byte == b'{').and_then(|open| {
        let rest = &key[open + 1..];
        let end = rest.iter().position(|&byte| byte == b'}')?;
        (end > 0).then_some(&rest[..end])
    });
    let step = |crc: u16, &byte: &u8| (crc << 8) ^ TABLE[usize::from((crc >> 8) as u8 ^ byte)];
    tag.unwrap_or(key).iter().fold(0, step) % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_the_specification() {
        assert_eq!(slot(b"123456789"), 0x31c3);
        assert_eq!(slot(b""), 0);
        assert_eq!(slot(b"foo"), 12_182, "by CLUSTER KEYSLOT of Redis 7.0.15");
    }

    #[test]
    fn braces_name_what_decides_unless_they_are_empty() {
        assert_eq!(slot(b"{user1000}.following"), slot(b"user1000"));
        assert_eq!(slot(b"foo{bar}{zap}"), slot(b"bar"));
        assert_ne!(slot(b"foo{}{bar}"), slot(b"bar"));
    }
}

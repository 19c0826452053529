//! One request to a database, as a client sends it.
//!
//! An operation is `Copy` and borrows its key and its values from the stream that drew it, so that
//! nothing is allocated between the draw and the database.

/// The kinds of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OperationKind {
    /// Fetch one record by its key.
    Read,
    /// Change some or all fields of an existing record.
    Update,
    /// Write a whole record, overwriting an existing one.
    Insert,
    /// Fetch consecutive records in the key order of the store.
    Scan,
    /// Remove one record.
    Delete,
}

impl OperationKind {
    /// Every kind, in the order of declaration.
    pub const ALL: &'static [Self] = &[
        Self::Read,
        Self::Update,
        Self::Insert,
        Self::Scan,
        Self::Delete,
    ];

    /// The name used in plans, reports and exports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Update => "update",
            Self::Insert => "insert",
            Self::Scan => "scan",
            Self::Delete => "delete",
        }
    }

    /// Whether it changes stored data.
    #[must_use]
    pub const fn writes(self) -> bool {
        matches!(self, Self::Update | Self::Insert | Self::Delete)
    }
}

/// A key: its number in the key space, and the name that the database stores.
///
/// A driver that addresses records by position (`file`) uses the number, all others the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key<'a> {
    /// From 0; loaded records are `0..records`, inserts of a run start at `records`.
    pub number: u64,
    /// For example `user6284781860667377211`.
    pub name: &'a [u8],
}

/// The fields of a read or a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fields {
    /// The whole record.
    All,
    /// The field of this index in the schema.
    One(u32),
}

/// The field values of an insert or an update: consecutive fields of the schema.
#[derive(Debug, Clone, Copy)]
pub struct Values<'a> {
    /// Index in the schema of the first field written.
    pub first: u32,
    /// The length in bytes of each value.
    pub lengths: &'a [u32],
    /// The values, one after the other; as long as the sum of `lengths`.
    pub bytes: &'a [u8],
}

impl<'a> Values<'a> {
    /// Each field's index in the schema with its value.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &'a [u8])> + use<'a> {
        let (lengths, bytes, mut at) = (self.lengths, self.bytes, 0);
        (self.first..).zip(lengths).map(move |(field, &length)| {
            let value = &bytes[at..at + length as usize];
            at += length as usize;
            (field, value)
        })
    }
}

/// Names of keys, all of equal length, in sequence.
#[derive(Debug, Clone, Copy)]
pub struct Keys<'a> {
    /// The names; a multiple of `length`.
    pub names: &'a [u8],
    /// Bytes of one name, at least 1.
    pub length: u32,
}

impl<'a> Keys<'a> {
    /// Each name.
    pub fn iter(&self) -> std::slice::ChunksExact<'a, u8> {
        self.names.chunks_exact(self.length as usize)
    }
}

/// The direction of a walk over records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Direction {
    /// In the key order of the store.
    #[default]
    Forward,
    /// Against it.
    Backward,
}

/// Requests that only databases with iterators and batches support. Others answer
/// [`crate::Cause::Unsupported`].
#[derive(Debug, Clone, Copy)]
pub enum Special<'a> {
    /// Fetch several records in one request; the outcome has how many were found.
    ReadMany {
        /// Which records.
        keys: Keys<'a>,
    },
    /// Write several whole records in one request.
    InsertMany {
        /// Which records.
        keys: Keys<'a>,
        /// One value for each key.
        values: Values<'a>,
    },
    /// Remove several records in one request.
    DeleteMany {
        /// Which records.
        keys: Keys<'a>,
    },
    /// Find a position and walk from it. The outcome has one record if the key itself exists,
    /// otherwise none, and the bytes of the records walked.
    Seek {
        /// The position.
        start: Key<'a>,
        /// How many records to walk; 0: the position only.
        records: u32,
        /// Which way to walk.
        direction: Direction,
        /// The name of the key at which the walk ends, exclusive, if there is one.
        bound: Option<&'a [u8]>,
    },
    /// Fetch the record after the last one that this session fetched in this way, or the first one.
    Next {
        /// The direction, which also determines the first record.
        direction: Direction,
    },
}

impl Special<'_> {
    /// The kind under which it is counted.
    #[must_use]
    pub const fn kind(&self) -> OperationKind {
        match self {
            Self::ReadMany { .. } | Self::Next { .. } => OperationKind::Read,
            Self::InsertMany { .. } => OperationKind::Insert,
            Self::DeleteMany { .. } => OperationKind::Delete,
            Self::Seek { .. } => OperationKind::Scan,
        }
    }
}

/// One request.
#[derive(Debug, Clone, Copy)]
pub enum Operation<'a> {
    /// See [`OperationKind::Read`].
    Read {
        /// Which record.
        key: Key<'a>,
        /// Which of its fields.
        fields: Fields,
    },
    /// See [`OperationKind::Insert`].
    Insert {
        /// Which record.
        key: Key<'a>,
        /// All fields of the schema.
        values: Values<'a>,
    },
    /// See [`OperationKind::Update`].
    Update {
        /// Which record.
        key: Key<'a>,
        /// The fields to replace.
        values: Values<'a>,
    },
    /// See [`OperationKind::Scan`].
    Scan {
        /// Where to start, inclusive.
        start: Key<'a>,
        /// How many records to fetch, at least 1.
        records: u32,
        /// Which fields of each.
        fields: Fields,
    },
    /// See [`OperationKind::Delete`].
    Delete {
        /// Which record.
        key: Key<'a>,
    },
    /// One that only some databases know.
    Special(Special<'a>),
}

impl Operation<'_> {
    /// The kind of this request.
    #[must_use]
    pub const fn kind(&self) -> OperationKind {
        match self {
            Self::Read { .. } => OperationKind::Read,
            Self::Insert { .. } => OperationKind::Insert,
            Self::Update { .. } => OperationKind::Update,
            Self::Scan { .. } => OperationKind::Scan,
            Self::Delete { .. } => OperationKind::Delete,
            Self::Special(special) => special.kind(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_split_at_their_lengths() {
        let values = Values {
            first: 2,
            lengths: &[2, 0, 3],
            bytes: b"abcde",
        };
        let split: Vec<_> = values.iter().collect();
        assert_eq!(split, [(2, &b"ab"[..]), (3, &b""[..]), (4, &b"cde"[..])]);
    }
}

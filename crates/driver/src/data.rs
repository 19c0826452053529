//! The data set that a database holds: how many records, of which fields.

/// The table and its fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    /// The name of the table (RocksDB: column family).
    pub table: String,
    /// The names of the fields, in order: `field0`, `field1`, ...
    pub fields: Vec<String>,
}

/// How large a data set is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataSet {
    /// The table and its fields.
    pub schema: Schema,
    /// How many records are loaded.
    pub records: u64,
    /// The length of one field's value, bytes; the longest if lengths vary.
    pub field_length: u32,
}

impl DataSet {
    /// The longest key name: `user` and up to 19 digits.
    pub(crate) const KEY_BYTES_MAX: u64 = 23;

    /// Bytes of all field values in one record.
    #[must_use]
    pub fn value_bytes(&self) -> u64 {
        self.schema.fields.len() as u64 * u64::from(self.field_length)
    }

    /// Bytes of one record as users count them: key and field values.
    pub(crate) fn record_bytes(&self) -> u64 {
        Self::KEY_BYTES_MAX + self.value_bytes()
    }

    /// Bytes of the whole data set as users count them.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.records.saturating_mul(self.record_bytes())
    }
}

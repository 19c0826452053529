//! Values bound to a statement: a key and field values, written directly into the request.

use crate::{Key, Values};
use scylla::{
    errors::SerializationError,
    serialize::{
        row::{RowSerializationContext, SerializeRow},
        writers::{CellWriter, RowWriter},
    },
};

/// How a field's value is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stored {
    /// Unchanged (`blob`).
    Bytes,
    /// Without the highest bit of each byte (`varchar`): text must be valid UTF-8, which 7-bit
    /// ASCII is. Seven eighths of the randomness remain.
    Ascii,
}

/// The values of a statement, in the order of its placeholders.
#[derive(Debug)]
pub(super) struct Bound<'a> {
    /// The fields, before the key (an update) or after it (an insert).
    pub fields: Option<(FieldsPosition, Values<'a>)>,
    /// The key.
    pub key: Key<'a>,
    /// How the values are stored.
    pub stored: Stored,
    /// The most records that a scan returns.
    pub limit: Option<i32>,
}

/// The position of the fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldsPosition {
    /// `UPDATE .. SET field0 = ? WHERE y_id = ?`
    BeforeKey,
    /// `INSERT INTO .. (y_id, field0) VALUES (?, ?)`
    AfterKey,
}

impl SerializeRow for Bound<'_> {
    fn serialize(
        &self,
        _: &RowSerializationContext<'_>,
        writer: &mut RowWriter<'_>,
    ) -> Result<(), SerializationError> {
        match self.fields {
            Some((FieldsPosition::BeforeKey, values)) => {
                self.write(writer, values)?;
                set(writer.make_cell_writer(), self.key.name)?;
            }
            Some((FieldsPosition::AfterKey, values)) => {
                set(writer.make_cell_writer(), self.key.name)?;
                self.write(writer, values)?;
            }
            None => set(writer.make_cell_writer(), self.key.name)?,
        }
        match self.limit {
            Some(limit) => set(writer.make_cell_writer(), &limit.to_be_bytes()),
            None => Ok(()),
        }
    }

    fn is_empty(&self) -> bool {
        false
    }
}

impl Bound<'_> {
    fn write(
        &self,
        writer: &mut RowWriter<'_>,
        values: Values<'_>,
    ) -> Result<(), SerializationError> {
        for (_, value) in values.iter() {
            let cell = writer.make_cell_writer();
            match self.stored {
                Stored::Bytes => set(cell, value)?,
                Stored::Ascii => set_ascii(cell, value)?,
            }
        }
        Ok(())
    }
}

fn set(cell: CellWriter<'_>, value: &[u8]) -> Result<(), SerializationError> {
    let written = cell.set_value(value);
    written.map(drop).map_err(SerializationError::new)
}

fn set_ascii(cell: CellWriter<'_>, value: &[u8]) -> Result<(), SerializationError> {
    let mut cell = cell.into_value_builder();
    let mut ascii = [0; 512];
    for piece in value.chunks(ascii.len()) {
        let ascii = &mut ascii[..piece.len()];
        for (to, from) in ascii.iter_mut().zip(piece) {
            *to = from & 0x7f;
        }
        cell.append_bytes(ascii);
    }
    cell.finish().map(drop).map_err(SerializationError::new)
}

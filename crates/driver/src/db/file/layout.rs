//! The position of a record, and the content of its slot.
//!
//! A slot is the record (key and field values) rounded up to the block of the device. It begins
//! with the record's number plus one. So a slot of zeros is empty, and a read can check that it
//! found the right record. The fields follow, each in the space of the longest value. After the
//! slots of the loaded records comes a reserve of a tenth, into which inserts wrap.

use super::{fresh::Fresh, stamp::RESERVED_BYTES};
use crate::{DataSet, Fields, Values};

/// Bytes of the number at the beginning of a slot; shorter than a key.
const NUMBER_BYTES: usize = 8;

/// The geometry of a file or device.
pub(super) struct Layout {
    /// The unit of reads and writes of the device, bytes.
    pub(super) block_bytes: u64,
    /// A multiple of it.
    pub(super) slot_bytes: usize,
    records: u64,
    /// Slots for inserts, at least one.
    reserve: u64,
    fields: u64,
    field_bytes: usize,
}

/// The content of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SlotContent {
    /// The record that belongs there.
    Record,
    /// No record, or another record that inserts wrapped onto.
    Nothing,
    /// The record of this number, which does not belong there.
    Other(u64),
}

impl Layout {
    pub(super) fn new(data: &DataSet, block_bytes: u64) -> Self {
        Self {
            block_bytes,
            slot_bytes: data.record_bytes().next_multiple_of(block_bytes) as usize,
            records: data.records,
            reserve: data.records.div_ceil(10).max(1),
            fields: data.schema.fields.len() as u64,
            field_bytes: data.field_length as usize,
        }
    }

    /// Slots of loaded records and the reserve.
    pub(super) fn slots(&self) -> u64 {
        self.records + self.reserve
    }

    /// Bytes of all slots, and the stamp before them.
    pub(super) fn bytes(&self) -> u64 {
        let slots = self.slots().saturating_mul(self.slot_bytes as u64);
        slots.saturating_add(RESERVED_BYTES)
    }

    /// The slot of the record with this number.
    pub(super) fn slot(&self, number: u64) -> u64 {
        match number.checked_sub(self.records) {
            None => number,
            Some(insert) => self.records + insert % self.reserve,
        }
    }

    pub(super) fn offset(&self, slot: u64) -> u64 {
        RESERVED_BYTES + slot * self.slot_bytes as u64
    }

    /// The start of the reserve, bytes.
    pub(super) fn reserve_offset(&self) -> u64 {
        self.offset(self.records)
    }

    /// Bytes of the field values of a read.
    pub(super) fn value_bytes(&self, fields: Fields) -> u64 {
        match fields {
            Fields::All => self.fields * self.field_bytes as u64,
            Fields::One(_) => self.field_bytes as u64,
        }
    }

    /// Fills a slot with a record's number and the fields in `values`, and with fresh data in the
    /// rest.
    pub(super) fn fill(
        &self,
        slot: &mut [u8],
        number: u64,
        values: &Values<'_>,
        fresh: &mut Fresh,
    ) {
        slot[..NUMBER_BYTES].copy_from_slice(&(number + 1).to_le_bytes());
        let mut done = NUMBER_BYTES;
        for (field, value) in values.iter() {
            let at = NUMBER_BYTES + field as usize * self.field_bytes;
            fresh.fill(&mut slot[done..at], values.bytes);
            done = at + value.len();
            slot[at..done].copy_from_slice(value);
        }
        fresh.fill(&mut slot[done..], values.bytes);
    }

    /// The content of a slot that was read for the record of this number.
    pub(super) fn check(&self, slot: &[u8], number: u64) -> SlotContent {
        match stored(slot) {
            Some(found) if found == number => SlotContent::Record,
            Some(found) if found < self.records || self.slot(found) != self.slot(number) => {
                SlotContent::Other(found)
            }
            _ => SlotContent::Nothing,
        }
    }

    /// The content of the slot at this index. In the reserve, it may be any record that belongs
    /// there.
    pub(super) fn check_slot(&self, slot: &[u8], index: u64) -> SlotContent {
        match stored(slot) {
            Some(found) if self.slot(found) == index => SlotContent::Record,
            Some(found) => SlotContent::Other(found),
            None => SlotContent::Nothing,
        }
    }
}

/// The number of the record in a slot, if it is not empty.
fn stored(slot: &[u8]) -> Option<u64> {
    let number = slot.first_chunk::<NUMBER_BYTES>()?;
    u64::from_le_bytes(*number).checked_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Schema;

    fn layout(records: u64, block_bytes: u64) -> Layout {
        let fields = (0..4).map(|i| format!("field{i}")).collect();
        let schema = Schema {
            table: "usertable".to_owned(),
            fields,
        };
        let data = DataSet {
            schema,
            records,
            field_length: 1024,
        };
        Layout::new(&data, block_bytes)
    }

    #[test]
    fn a_slot_is_the_record_rounded_up_to_the_block() {
        assert_eq!(layout(100, 512).slot_bytes, 4608);
        assert_eq!(layout(100, 4096).slot_bytes, 8192);
    }

    #[test]
    fn inserts_wrap_into_a_reserve_of_a_tenth() {
        let layout = layout(100, 512);
        assert_eq!(layout.slots(), 110);
        let slots: Vec<_> = [0, 99, 100, 109, 110, 125].map(|n| layout.slot(n)).to_vec();
        assert_eq!(slots, [0, 99, 100, 109, 100, 105]);
    }

    #[test]
    fn ten_thousand_million_records_have_their_slots() {
        let layout = layout(10_000_000_000, 4096);
        assert_eq!(
            layout.offset(layout.slot(9_999_999_999)),
            RESERVED_BYTES + 9_999_999_999 * 8192
        );
    }

    #[test]
    fn a_slot_tells_whose_it_is() {
        let layout = layout(100, 512);
        let mut slot = vec![0; layout.slot_bytes];
        assert_eq!(layout.check(&slot, 5), SlotContent::Nothing);
        let values = Values {
            first: 1,
            lengths: &[3],
            bytes: b"abc",
        };
        layout.fill(&mut slot, 5, &values, &mut Fresh::default());
        assert_eq!(layout.check(&slot, 5), SlotContent::Record);
        assert_eq!(layout.check(&slot, 6), SlotContent::Other(5));
        assert_eq!(&slot[8 + 1024..8 + 1027], b"abc");
    }

    #[test]
    fn an_insert_that_was_wrapped_over_is_missing_not_corrupt() {
        let layout = layout(100, 512);
        let mut slot = vec![0; layout.slot_bytes];
        let values = Values {
            first: 0,
            lengths: &[],
            bytes: b"",
        };
        layout.fill(&mut slot, 113, &values, &mut Fresh::default());
        assert_eq!(layout.check(&slot, 103), SlotContent::Nothing);
        assert_eq!(layout.check_slot(&slot, 103), SlotContent::Record);
        assert_eq!(layout.check(&slot, 104), SlotContent::Other(113));
    }
}

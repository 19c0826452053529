//! A phase as bytes, sent from one process to another: a study in memory with nothing else in it.
//! So there is only one encoding, with its digests.

use super::{Detail, foreign, read, schema, study_error, write};
use crate::Error;
use rusqlite::{Connection, MAIN_DB};
use std::path::Path;
use tailmark_model::{Load, Phase};

/// What an error names in place of a file.
const PLACE: &str = "a phase that another process measured";

/// A phase as bytes, without its warm-up.
///
/// # Errors
/// If there is too little memory.
pub fn pack_phase(phase: &Phase) -> Result<Vec<u8>, Error> {
    let pack = || {
        let mut connection = schema::in_memory()?;
        let load = Load {
            system: String::new(),
            records: 0,
            threads: 0,
            phase: phase.clone(),
        };
        write::load(&connection, &load)?;
        connection.serialize(MAIN_DB).map(|bytes| bytes.to_vec())
    };
    pack().map_err(study_error("write", Path::new(PLACE)))
}

/// Decodes the bytes of [`pack_phase`].
///
/// # Errors
/// If they are not those that were written.
pub fn unpack_phase(bytes: &[u8]) -> Result<Phase, Error> {
    let unpack = || {
        let mut connection = Connection::open_in_memory()?;
        connection.deserialize_read_exact(MAIN_DB, bytes, bytes.len(), true)?;
        let budget = foreign::distrust(&mut connection)?;
        budget.begin(bytes.len() as u64);
        Ok(connection)
    };
    let failed = || study_error("read", Path::new(PLACE));
    let connection = unpack().map_err(failed())?;
    foreign::check_tables(&connection, Path::new(PLACE))?;
    let loads = read::loads(&connection, Detail::Whole).map_err(failed())?;
    let load = loads.into_iter().next();
    let load = load.ok_or(rusqlite::Error::QueryReturnedNoRows);
    let load = load.map_err(failed())?;
    Ok(load.phase)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailmark_model::{
        Interval, IntervalKind, Kind, KindResult, Packed, RankPart, new_latencies,
    };

    fn phase(seconds: u32) -> Phase {
        let mut service = new_latencies();
        (1..500).for_each(|us| service.record(us * 1_000).unwrap());
        let interval = |second| Interval {
            start_s: f64::from(second),
            length_s: 1.0,
            operations: 499,
            failed: 0,
            kinds: [(
                Kind::Read,
                IntervalKind {
                    count: 499,
                    errors: 0,
                    service: Packed::pack(&service),
                    response: None,
                },
            )]
            .into(),
        };
        Phase {
            duration_s: f64::from(seconds),
            operations: 499 * u64::from(seconds),
            kinds: [(
                Kind::Read,
                KindResult {
                    count: 499,
                    service: service.clone(),
                    ..KindResult::default()
                },
            )]
            .into(),
            intervals: (0..seconds).map(interval).collect(),
            ranks: vec![RankPart {
                rank: 3,
                host: "b".into(),
                threads: 4,
                operations: 5,
                failed: 0,
                drained: 0,
                duration_s: 1.0,
                late_ns: 6,
                clock_ahead_ns: -7,
                clock_bound_ns: 8,
                clock_drift_ns: 9,
                cpu_busy: Some(0.5),
                cpu_client: Some(0.25),
                quantiles: vec![(0.5, 10)],
            }],
            ..Phase::default()
        }
    }

    #[test]
    fn a_phase_arrives_as_it_was_sent() {
        let sent = phase(3);
        let mut arrived = unpack_phase(&pack_phase(&sent).unwrap()).unwrap();
        // Worked out where it is written.
        arrived.block_qos.clear();
        assert_eq!(arrived, sent);
    }

    #[test]
    fn damaged_bytes_are_no_phase() {
        let bytes = pack_phase(&phase(2)).unwrap();
        assert!(unpack_phase(&bytes[..bytes.len() / 2]).is_err());
        assert!(unpack_phase(&[]).is_err());
        let is_refused = |at: &usize| {
            let mut turned = bytes.clone();
            turned[*at] ^= 1;
            unpack_phase(&turned).map_or(true, |phase| phase != unpack_phase(&bytes).unwrap())
        };
        // Somewhere in the middle of the data there are bits that would be other numbers.
        let found = (0..bytes.len()).step_by(997).filter(is_refused).count();
        assert!(found > 0);
    }
}

//! The rule for the state from which a point started: whether points with which it is compared
//! started from another one.

use super::PointContext;
use tailmark_model::{
    PointKey, START_ROWS, Sentence, StartRow, StartState, Unit, series::PENDING_COMPACTION,
};
use tailmark_plan::SystemPlan;

/// Two databases differ if one is larger by this part: reads then search other levels, and
/// compactions have other work.
const BYTES_MAX: f64 = 0.05;
/// Or if one has more files by this part and number. A single compaction more or less is no
/// difference.
const FILES_MAX: (f64, f64) = (0.25, 4.0);
/// Or if what is left to compact differs by this part of the database: that work is done during the
/// point.
const PENDING_MAX: f64 = 0.05;

/// A point with which this one is compared started from another state.
pub(super) fn unequal(point: &PointContext<'_>) -> Option<Sentence> {
    let sweep = point.sweep.as_ref()?;
    let own = point.phase().start();
    let named = |name: &str| sweep.plan.systems.iter().find(|system| system.name == name);
    let is_compared = |key: &PointKey| {
        is_same_load(key, point.key)
            && named(&key.system).is_some_and(|other| are_alike(other, sweep.system))
    };
    let others = sweep.starts.iter().filter(|(key, _)| is_compared(key));
    let differing = others.filter_map(|(key, other)| Some((key, other, differs(&own, other)?)));
    let (key, other, (row, _)) = differing.max_by(|a, b| a.2.1.total_cmp(&b.2.1))?;
    let observed = |sentence: Sentence, name: &str, state: &StartState| {
        let value = state.value(row.name).unwrap_or_default();
        if row.is_bytes {
            sentence.number(name, value, Unit::Bytes)
        } else {
            sentence.count(name, value.round() as u64)
        }
    };
    let what = match row.name {
        PENDING_COMPACTION => "left to compact",
        "files" => "files",
        _ => "in the database",
    };
    let sentence = Sentence::new(format!(
        "This point started with {{Start}} {what}, and repeat {{Other repeat}} of {{Other system}} with \
         {{Other start}}. Let every point start from the same data (dataset.restore)."
    ));
    let sentence = observed(sentence, "Start", &own);
    let sentence = sentence.count("Other repeat", u64::from(key.repeat));
    let sentence = sentence.text("Other system", key.system.as_str());
    Some(observed(sentence, "Other start", other))
}

/// Whether two points have the same workload and load, in whatever repeat and system.
fn is_same_load(a: &PointKey, b: &PointKey) -> bool {
    let named = PointKey {
        system: b.system.clone(),
        repeat: b.repeat,
        ..a.clone()
    };
    named == *b && a != b
}

/// Whether two systems should have the same database: it differs with the driver and its settings.
fn are_alike(a: &SystemPlan, b: &SystemPlan) -> bool {
    a.name == b.name
        || (a.driver.name == b.driver.name
            && a.settings == b.settings
            && a.ceiling_for.is_none()
            && b.ceiling_for.is_none())
}

/// What differs materially, and by how many times the limit.
fn differs(own: &StartState, other: &StartState) -> Option<(StartRow, f64)> {
    let database = own.value("bytes").into_iter().chain(other.value("bytes"));
    let database = database.fold(1.0, f64::max);
    let by = |row: &StartRow| {
        let (own, other) = (own.value(row.name)?, other.value(row.name)?);
        let (apart, most) = ((own - other).abs(), own.max(other).max(1.0));
        let times = match row.name {
            "bytes" => apart / most / BYTES_MAX,
            "files" => (apart / most / FILES_MAX.0).min(apart / FILES_MAX.1),
            PENDING_COMPACTION => apart / database / PENDING_MAX,
            _ => return None,
        };
        (times > 1.0).then_some((*row, times))
    };
    let all = START_ROWS.iter().filter_map(by);
    all.max_by(|a, b| a.1.total_cmp(&b.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(bytes: f64, files: f64, pending: f64) -> StartState {
        let values = [
            ("bytes", bytes),
            ("files", files),
            (PENDING_COMPACTION, pending),
        ];
        StartState::from_values(values.map(|(name, value)| (name.to_owned(), value)))
    }

    #[test]
    fn starts_differ_from_a_twentieth_of_the_bytes_or_a_quarter_of_the_files_on() {
        let first = state(1e9, 20.0, 0.0);
        let what = |other: StartState| differs(&first, &other).map(|(row, _)| row.name);
        assert_eq!(what(state(1e9, 20.0, 0.0)), None);
        assert_eq!(what(state(1.04e9, 24.0, 4e7)), None);
        assert_eq!(what(state(1.06e9, 20.0, 0.0)), Some("bytes"));
        assert_eq!(what(state(0.94e9, 20.0, 0.0)), Some("bytes"));
        assert_eq!(what(state(1e9, 28.0, 0.0)), Some("files"));
        assert_eq!(what(state(1e9, 20.0, 6e7)), Some(PENDING_COMPACTION));
        // A few files of a small database are one compaction.
        assert_eq!(differs(&state(1e6, 1.0, 0.0), &state(1e6, 4.0, 0.0)), None);
        assert_eq!(what(StartState::default()), None);
    }
}

//! Faults between two runs: of the plan, the data set and its marker, and the study.

use crate::{
    broken::{Broken, Kept, expect},
    draw::Draw,
    ground,
    program::Ended,
    promises, records,
    round::{OUT, Round},
    sweep::{self, Needs},
};
use serde_json::Value;
use std::{fs, os::unix::fs::FileTypeExt, path::Path};
use tailmark_driver::{Driver, Params};

const RUN: &[&str] = &["run", "plan.toml", "-o", OUT];

/// A changed plan on the old directory is refused, and what differs is named.
pub fn changed_plan(round: &mut Round, draw: &mut Draw) -> Kept {
    round.begin()?;
    const CHANGES: &[(&str, &str, &str)] = &[
        ("--seed", "1000001", "sweep.seed"),
        ("--records", "100000", "dataset.records"),
        ("--threads", "2,5", "sweep.threads"),
        ("--operations", "31", "sweep.operations"),
        ("--warmup", "7ms", "sweep.warmup"),
        ("--workload", "ycsb-c", "sweep.workloads"),
        ("--distribution", "hotspot", "distribution"),
        ("--set", "dataset.field_length=13", "dataset.field_length"),
        ("--set", "sweep.load_threads=3", "sweep.load_threads"),
    ];
    let (flag, value, key) = draw.one_of(CHANGES);
    if round.sweep.has_options_file && draw.chance(50) {
        let file = round.dir.join("options.ini");
        ground::write(&file, &sweep::Sweep::options(200));
        round.note("options.ini has other options");
        let ended = round.tailmark(RUN)?;
        ground::write(&file, &sweep::Sweep::options(100));
        return is_refused(&ended, "options");
    }
    let ended = round.tailmark(&[RUN, &[flag, value]].concat())?;
    is_refused(&ended, key)
}

/// Exit code 2, nothing measured, and a word that the error names.
fn is_refused(ended: &Ended, word: &str) -> Kept {
    let names = ended
        .said
        .iter()
        .any(|line| line.starts_with("error: ") && line.contains(word));
    let nothing_done = !ended.said.iter().any(|line| line.starts_with('['));
    let expected = format!("refused with exit code 2, naming `{word}`");
    expect(ended.is_code(2) && names && nothing_done, &expected, || {
        ended.seen()
    })
}

/// Data without the marker that vouches for them are left alone.
pub fn marker(round: &mut Round, draw: &mut Draw) -> Kept {
    round.begin()?;
    let how = draw.below(4);
    let Some((system, path)) = sweep::markers(&round.ground, &round.sweep).pop() else {
        return Ok(());
    };
    let study = round.export()?;
    let is_done = round.is_measured(&study, system);
    let text = fs::read_to_string(&path).unwrap();
    let (what, damaged, word) = match how {
        0 => ("removed", None, "was not loaded by tailmark"),
        1 => (
            "cut short",
            Some(text[..text.len() / 2].to_owned()),
            "dataset.json",
        ),
        2 => (
            "of another version",
            Some(text.replace("\"version\": ", "\"version\": 7")),
            "version",
        ),
        _ => (
            "of other records",
            Some(text.replacen("\"records\": \"", "\"records\": \"1", 1)),
            "records is",
        ),
    };
    round.note(&format!("the marker {} is {what}", path.display()));
    match damaged {
        Some(other) => ground::write(&path, &other),
        None => fs::remove_file(&path).unwrap(),
    }
    let ended = round.tailmark(RUN)?;
    ground::write(&path, &text);
    round.note("the marker is as it was");
    if is_done {
        is_left_alone(round, &ended)
    } else {
        is_refused(&ended, word)
    }
}

/// Another study in the place of the first is refused.
pub fn other_study(round: &mut Round, _: &mut Draw) -> Kept {
    round.begin()?;
    let is_server = round.sweep.target.needs == Needs::Server;
    if !is_server && sweep::markers(&round.ground, &round.sweep).is_empty() {
        round.note("the data were taken away before");
        return Ok(());
    }
    let ended = round.tailmark(&["run", "other.toml", "-o", "disk/other"])?;
    let made = names_of(&round.dir.join("disk/other"));
    let _ = fs::remove_dir_all(round.dir.join("disk/other"));
    is_refused(&ended, "records is")?;
    expect(
        !made.iter().any(|name| name == "study.sqlite"),
        "it has made no study",
        || format!("{made:?}"),
    )
}

fn names_of(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

/// Where another study loaded its data in the place of the first's, the first refuses them, and
/// loads again where those are removed. A device that a plan names is its own: it loads at once.
pub fn swapped_data(round: &mut Round, _: &mut Draw) -> Kept {
    round.begin()?;
    let is_device = round.sweep.target.needs == Needs::Device;
    round.takes_data()?;
    if !is_device {
        remove_data(round);
    }
    let heard = round.heard();
    let other = round.tailmark(&["run", "other.toml", "-o", "disk/other"])?;
    round.unhear(heard);
    expect(
        other.is_code(0),
        "another study runs in an empty place",
        || other.seen(),
    )?;
    let _ = fs::remove_dir_all(round.dir.join("disk/other"));
    if is_device {
        return Ok(());
    }
    let ended = round.tailmark(RUN)?;
    let is_done = round.sweep.systems().all(|s| round.gone.contains(s));
    remove_data(round);
    if is_done {
        is_left_alone(round, &ended)
    } else {
        is_refused(&ended, "records is")
    }
}

/// Data of which nothing is measured any more are not looked at.
fn is_left_alone(round: &Round, ended: &Ended) -> Kept {
    let is_kept = round.is_done(ended) && ended.says("kept from before");
    expect(is_kept, "what is measured is kept", || ended.seen())
}

fn remove_data(round: &mut Round) {
    round.note("the data and their markers are removed");
    for system in round.sweep.systems() {
        let _ = fs::remove_dir_all(round.ground.disk().join("data").join(system));
    }
}

/// How a file is damaged.
#[derive(Debug)]
enum Damage {
    /// So many thousandths of it are left.
    Truncated(u64),
    /// One bit each, at so many millionths of it.
    Flipped(Vec<u64>),
    /// A page of zeros, at so many millionths of it.
    Zeroed(u64),
}

impl Damage {
    fn draw(draw: &mut Draw) -> Self {
        match draw.below(4) {
            0 => Self::Truncated(draw.below(1_000)),
            1 => Self::Zeroed(draw.below(1_000_000)),
            _ => Self::Flipped(
                (0..draw.between(1, 8))
                    .map(|_| draw.below(1_000_000))
                    .collect(),
            ),
        }
    }

    fn apply(&self, bytes: &mut Vec<u8>) {
        let at = |part: u64| (bytes.len() as u64 * part / 1_000_000) as usize;
        match self {
            Self::Truncated(part) => bytes.truncate(at(part * 1_000)),
            Self::Flipped(parts) => {
                let places: Vec<_> = parts.iter().map(|part| at(*part)).collect();
                places
                    .into_iter()
                    .for_each(|place| bytes[place] ^= 1 << (place % 8));
            }
            Self::Zeroed(part) => {
                let start = at(*part);
                let end = (start + 4096).min(bytes.len());
                bytes[start..end].fill(0);
            }
        }
    }
}

/// A damaged study gives one clear error, or the numbers that it had.
pub fn damaged_study(round: &mut Round, draw: &mut Draw) -> Kept {
    round.begin()?;
    let damage = Damage::draw(draw);
    let whole = round.export()?;
    let study = round.out().join("study.sqlite");
    let bytes = fs::read(&study).unwrap();
    round.note(&format!("the study is damaged: {damage:?}"));
    let heard = round.heard();
    let commands = [
        &["export", OUT, "--format", "json"][..],
        &["report", OUT, "-o", "page"],
        RUN,
    ];
    // With two systems, a run would load the second, of which the study as it was knows nothing.
    let count = if round.sweep.systems().count() == 1 {
        3
    } else {
        2
    };
    let mut results = Vec::new();
    for words in &commands[..count] {
        let mut damaged = bytes.clone();
        damage.apply(&mut damaged);
        fs::write(&study, damaged).unwrap();
        let ended = round.tailmark(words)?;
        is_told(round, &ended)?;
        results.push((ended, round.export_as_it_is()?));
        let _ = fs::remove_file(round.out().join("study.sqlite-journal"));
    }
    fs::write(&study, bytes).unwrap();
    let _ = fs::remove_dir_all(round.dir.join("page"));
    round.unhear(heard);
    round.note("the study is as it was");
    for (ended, exported) in results {
        if round.is_done(&ended)
            && let Some(exported) = exported
        {
            keeps_numbers(&whole, &exported)?;
        }
    }
    Ok(())
}

fn is_told(round: &Round, ended: &Ended) -> Kept {
    let is_known = round.is_done(ended) || ended.is_code(1) || ended.is_code(2);
    expect(is_known, "a damaged study is one error, or read", || {
        ended.seen()
    })
}

/// The points that both have are the same.
fn keeps_numbers(whole: &Value, damaged: &Value) -> Kept {
    let (whole, damaged) = (promises::by_name(whole), promises::by_name(damaged));
    for (name, point) in &whole {
        let is = damaged.get(name);
        expect(
            is == Some(point),
            "a damaged study gives no other numbers",
            || format!("{name}: {is:?}, was {point:?}"),
        )?;
    }
    Ok(())
}

/// The records below the markers are in the data sets, before the program looks at them.
pub fn marked_records_are_there(round: &mut Round) -> Kept {
    for (driver, params) in sweep::opened(&round.dir.join("plan.toml")) {
        let Some(text) = marker_of(driver, &params) else {
            continue;
        };
        let marker: Value = serde_json::from_str(&text).map_err(|error| Broken {
            expected: "a marker is whole after a power cut".to_owned(),
            seen: format!("{error}: {text:?}"),
        })?;
        let loaded = marker["loaded"].as_u64().unwrap_or(0);
        let driver_name = driver.name;
        round.note(&format!(
            "reading back {loaded} marked records of {driver_name}"
        ));
        if loaded > 0 {
            records::below(driver, &params, loaded)?;
        }
    }
    Ok(())
}

/// What is beside a data set, or on a device before it.
fn marker_of(driver: &Driver, params: &Params) -> Option<String> {
    let path = params.location.path().unwrap();
    let file = path.with_file_name(format!("{}.dataset.json", driver.entry));
    let is_device = fs::metadata(path).is_ok_and(|m| m.file_type().is_block_device());
    if is_device {
        (driver.open)(params).ok()?.marker().ok()?
    } else {
        fs::read_to_string(file).ok()
    }
}

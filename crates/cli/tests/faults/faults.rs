//! What happens to a sweep: one row each.

use crate::{
    broken::{Kept, expect},
    draw::Draw,
    program::{End, Ended, When},
    quiet,
    round::Round,
    sweep::{Needs, Target},
};
use rustix::process::Signal;
use std::time::Duration;

pub struct Fault {
    pub name: &'static str,
    /// What is checked at once, beside what holds after every fault.
    pub about: &'static str,
    /// Whether it needs a file system of its own.
    pub needs_disk: bool,
    pub act: fn(&mut Round, &mut Draw) -> Kept,
}

pub const FAULTS: &[Fault] = &[
    Fault {
        name: "kill",
        about: "SIGKILL",
        needs_disk: false,
        act: kill,
    },
    Fault {
        name: "interrupt",
        about: "one SIGINT, SIGTERM or SIGHUP: exit code 130, and the command that goes on",
        needs_disk: false,
        act: interrupt,
    },
    Fault {
        name: "interrupt-twice",
        about: "two of them: exit code 130",
        needs_disk: false,
        act: interrupt_twice,
    },
    Fault {
        name: "full-disk",
        about: "no room is left: it ends by itself and says why; there is room again",
        needs_disk: true,
        act: full_disk,
    },
    Fault {
        name: "power-cut",
        about: "it goes on from an image of its disks; the marked records are in it",
        needs_disk: true,
        act: power_cut,
    },
    Fault {
        name: "changed-plan",
        about: "refused with exit code 2, the difference named",
        needs_disk: false,
        act: quiet::changed_plan,
    },
    Fault {
        name: "marker",
        about: "a marker is removed, damaged or of another version: refused with exit code 2",
        needs_disk: false,
        act: quiet::marker,
    },
    Fault {
        name: "other-study",
        about: "another study in the same place: refused with exit code 2, the difference named",
        needs_disk: false,
        act: quiet::other_study,
    },
    Fault {
        name: "swapped-data",
        about: "another study's data in its place: refused; removed: loaded again",
        needs_disk: false,
        act: quiet::swapped_data,
    },
    Fault {
        name: "damaged-study",
        about: "a study truncated or with other bytes: one error, or the same numbers",
        needs_disk: false,
        act: quiet::damaged_study,
    },
];

impl Fault {
    /// A server's data are not on the disk of the round; a device has its marker on itself, and is
    /// written by whoever names it.
    pub fn suits(&self, target: &Target) -> bool {
        match target.needs {
            Needs::Nothing => true,
            Needs::Device => !["marker", "other-study"].contains(&self.name),
            Needs::Server => !self.needs_disk && !["marker", "swapped-data"].contains(&self.name),
        }
    }
}

/// An instant of a sweep.
fn when(round: &Round, draw: &mut Draw) -> When {
    let after = |ms| Duration::from_micros(ms);
    match draw.below(10) {
        0..=2 => When::Started(after(draw.below(600_000))),
        3 => When::Loaded(after(draw.below(2_000))),
        4 => When::Loaded(after(draw.below(300_000))),
        5 | 6 => When::Measured(
            draw.between(1, round.sweep.points()),
            after(draw.below(3_000)),
        ),
        _ => When::Measured(
            draw.between(1, round.sweep.points()),
            after(draw.below(400_000)),
        ),
    }
}

fn kill(round: &mut Round, draw: &mut Draw) -> Kept {
    let when = when(round, draw);
    let (ended, in_time) = round.disturb(when, |round, run| {
        round.note("  SIGKILL");
        run.signal(Signal::KILL);
    })?;
    ends_in_time(round, &ended, in_time, ended.end == End::Signal(9))
}

/// It ended as the fault asks, or was done before.
fn ends_in_time(round: &Round, ended: &Ended, in_time: bool, as_asked: bool) -> Kept {
    let was_done = round.is_done(ended);
    let expected = if in_time {
        "it ends as it was asked to, unless it was done before"
    } else {
        "it was done before the fault came"
    };
    expect(was_done || (in_time && as_asked), expected, || ended.seen())
}

fn interrupt(round: &mut Round, draw: &mut Draw) -> Kept {
    let when = when(round, draw);
    let signal = draw.one_of(&[Signal::INT, Signal::INT, Signal::TERM, Signal::HUP]);
    let (ended, in_time) = round.disturb(when, |round, run| {
        round.note(&format!("  {signal:?}"));
        run.signal(signal);
    })?;
    ends_in_time(round, &ended, in_time, is_interrupted(&ended, signal))?;
    if ended.is_code(130) {
        let continues =
            ended.says("stopped; to resume: ") && ended.says("run plan.toml -o disk/run");
        expect(continues, "it names the command that goes on", || {
            ended.seen()
        })?;
    }
    Ok(())
}

/// Exit code 130; before it says or does anything, it may end by the signal itself.
fn is_interrupted(ended: &Ended, signal: Signal) -> bool {
    let by_signal = ended.end == End::Signal(signal.as_raw()) && ended.said.is_empty();
    ended.is_code(130) || by_signal
}

fn interrupt_twice(round: &mut Round, draw: &mut Draw) -> Kept {
    let when = when(round, draw);
    let between = Duration::from_micros(draw.one_of(&[0, 2_000, 20_000, 100_000]));
    let (ended, in_time) = round.disturb(when, |round, run| {
        round.note(&format!("  SIGINT, and again after {between:?}"));
        run.signal(Signal::INT);
        run.wait_until(When::Then(between));
        run.signal(Signal::INT);
    })?;
    ends_in_time(round, &ended, in_time, is_interrupted(&ended, Signal::INT))
}

fn full_disk(round: &mut Round, draw: &mut Draw) -> Kept {
    let when = when(round, draw);
    let leave = draw.one_of(&[0, 0, 4096, 65_536, 1 << 20]);
    round.had_full_disk = true;
    let (ended, in_time) = round.disturb(when, |round, _| {
        round.note(&format!("  the disk is full but for {leave} bytes"));
        round.ground.fill(leave);
    })?;
    round.ground.clear();
    round.note("  there is room again");
    let tells = ended.says("No space left") || ended.says("is full") || ended.says("are free");
    let measured = ended.said.iter().any(|line| line.starts_with('['));
    let refused = ended.is_code(2) && !measured;
    let failed = ended.is_code(3) || (tells && (ended.is_code(1) || refused));
    ends_in_time(round, &ended, in_time, failed)
}

fn power_cut(round: &mut Round, draw: &mut Draw) -> Kept {
    let when = when(round, draw);
    let look = draw.chance(50);
    round.had_power_cut = true;
    // What the round itself wrote or removed before is to stay so.
    round.ground.sync();
    let (ended, in_time) = round.disturb(when, |round, run| {
        round.note("  the power is cut");
        run.stop();
        round.ground.take_image();
        run.signal(Signal::KILL);
    })?;
    ends_in_time(round, &ended, in_time, ended.end == End::Signal(9))?;
    if in_time {
        round.ground.cut_power();
        if look {
            quiet::marked_records_are_there(round)?;
        }
    }
    Ok(())
}

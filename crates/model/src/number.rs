//! Numbers for people, the same in the terminal, in reports and in messages: thousands separated,
//! latencies with three digits, whole percent. Units are ASCII as in other programs of the field:
//! `us`, which is easy to type and search for.
//!
//! The drop-ins write numbers like the programs that they replace.

use crate::{Bound, Bounded, PointKey, instant::at_ms};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A number per second: `42,012`; one decimal below 100, three digits below 1.
pub fn rate(value: f64) -> String {
    if value > 0.0 && value < 0.9995 {
        small(value)
    } else if value < 99.95 {
        format!("{value:.1}")
    } else {
        whole(value)
    }
}

/// A rate or a bound of one: `≥ 42,012`.
pub fn bounded_rate(bounded: Bounded) -> String {
    outward_rate(bounded).text(rate)
}

/// The same without a sign, for sentences and columns that name the side of the bound themselves.
pub fn bound_rate(bounded: Bounded) -> String {
    rate(outward_rate(bounded).value)
}

/// The highest rate that holds and the lowest that does not: `12,300 to 12,900`.
pub fn rates(low: f64, high: f64) -> String {
    let (low, high) = (Bounded::at_least(low), Bounded::at_most(high));
    format!("{} to {}", bound_rate(low), bound_rate(high))
}

fn outward_rate(bounded: Bounded) -> Bounded {
    let step = match bounded.value {
        99.95.. => 1.0,
        value if value > 0.0 && value < 0.9995 => 10_f64.powf(value.log10().floor() - 2.0),
        _ => 0.1,
    };
    outward(bounded, step)
}

/// A number below 1 with up to three digits: `0.5`, `0.00103`, but `1.03e-12` instead of many
/// zeros.
fn small(value: f64) -> String {
    match value {
        1e-6.. => {
            let digits = (2.0 - value.log10().floor()) as usize;
            let text = format!("{value:.digits$}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        _ => format!("{value:.2e}"),
    }
}

/// Operations per second with their unit: `42,012 ops/s`.
pub fn ops(per_sec: f64) -> String {
    format!("{} ops/s", rate(per_sec))
}

/// `250,000,000`.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A whole number of any size: `1e21` if a double cannot hold all of its digits.
fn whole(value: f64) -> String {
    const DIGITS_UP_TO: f64 = 9e15;
    if value.abs() < DIGITS_UP_TO {
        count(value.round() as u64)
    } else {
        format!("{value:.1e}").replace(".0e", "e")
    }
}

/// A latency in nanoseconds with three digits and a suitable unit: `843 ns`, `1.23 ms`. Nanoseconds
/// are whole, because no clock is finer.
pub fn latency(ns: f64) -> String {
    // 999.6 us has three digits as 1.00 ms, not as 1000 us.
    let (value, unit) = match ns {
        v if v < 999.5 => return format!("{v:.0} ns"),
        v if v < 999.5e3 => (v / 1e3, "us"),
        v if v < 999.5e6 => (v / 1e6, "ms"),
        v => (v / 1e9, "s"),
    };
    format!("{} {unit}", three_digits(value))
}

/// A latency, or a lower bound of one: `≥ 84.2 ms`.
pub fn bounded_latency(ns: Bounded) -> String {
    let value = ns.value;
    let step = 10_f64.powf(value.max(1.0).log10().floor() - 2.0);
    outward(ns, step.max(1.0)).text(latency)
}

/// A fraction, or a bound of one, as a signed whole percentage: `≤ −8 %`.
pub fn bounded_change(share: Bounded) -> String {
    if let Some(ends) = share.ends() {
        return range(ends, bounded_change);
    }
    let is_small = share.value.abs() < 0.0095;
    outward(share, if is_small { 0.001 } else { 0.01 }).text(change)
}

/// A fraction, or a bound of one, as a percentage: `≤ 89 %`.
pub fn bounded_share(bounded: Bounded) -> String {
    outward(bounded, 0.01).text(share)
}

/// From this ratio on, a change is written as a ratio. Below it, the percentage rounds to less than
/// 100.
pub const TWICE: f64 = 1.995;

/// A ratio or a bound of one: `≥ 3.2X`.
pub fn bounded_ratio(bounded: Bounded) -> String {
    if let Some(ends) = bounded.ends() {
        return range(ends, bounded_ratio);
    }
    let step = match bounded.value {
        value if value > 0.0 && value < 0.95 => 10_f64.powf(value.log10().floor() - 1.0),
        0.95..1.05 => 0.01,
        ..9.95 => 0.1,
        _ => 1.0,
    };
    outward(bounded, step).text(ratio)
}

/// A bound rounded to a multiple of `step` so that it stays true.
fn outward(bounded: Bounded, step: f64) -> Bounded {
    // A value that misses a multiple only in the last binary digits is a multiple.
    let (steps, last_digits) = (bounded.value / step, 1e-9);
    let value = match bounded.bound {
        Bound::Exact | Bound::Between(..) => bounded.value,
        Bound::AtLeast => (steps + last_digits).floor() * step,
        Bound::AtMost => (steps - last_digits).ceil() * step,
    };
    Bounded { value, ..bounded }
}

/// A size in bytes with a decimal unit: `1.02 TB`.
pub fn bytes(value: f64) -> String {
    const UNITS: [&str; 6] = ["B", "kB", "MB", "GB", "TB", "PB"];
    let mut scaled = value;
    let mut unit = 0;
    while scaled >= 999.5 && unit + 1 < UNITS.len() {
        scaled /= 1e3;
        unit += 1;
    }
    format!("{} {}", three_digits(scaled), UNITS[unit])
}

/// The same, or a bound of one: `≤ 1.02 TB`, `1.02 TB to 1.04 TB`.
pub fn bounded_bytes(bounded: Bounded) -> String {
    if let Some(ends) = bounded.ends() {
        return range(ends, bounded_bytes);
    }
    let step = 10_f64.powf(bounded.value.max(1.0).log10().floor() - 2.0);
    outward(bounded, step).text(bytes)
}

/// From one end to the other, which show that they are bounds by that.
fn range(ends: [Bounded; 2], write: fn(Bounded) -> String) -> String {
    let unsigned = |end: Bounded| write(end).replace(end.bound.sign(), "");
    let [low, high] = ends.map(unsigned);
    format!("{low} to {high}")
}

/// Any other number, or a bound of one, to about three digits: `1,234`, `≤ 12.3`, `1.23`, `0.0123`,
/// `1.2 to 1.3`.
pub fn bounded_figure(bounded: Bounded) -> String {
    if let Some(ends) = bounded.ends() {
        return range(ends, bounded_figure);
    }
    let step = match bounded.value {
        100.0.. => 1.0,
        10.0.. => 0.1,
        value if is_tiny(value) => 10_f64.powf(value.log10().floor() - 2.0),
        _ => 0.01,
    };
    outward(bounded, step).text(|value| match value {
        100.0.. => count(value.round() as u64),
        10.0.. => format!("{value:.1}"),
        _ if is_tiny(value) => small(value),
        _ => format!("{value:.2}"),
    })
}

/// Whether two decimals would show fewer than three digits of it.
fn is_tiny(value: f64) -> bool {
    value > 0.0 && value < 0.095
}

fn three_digits(value: f64) -> String {
    match value {
        v if v >= 99.95 => format!("{v:.0}"),
        v if v >= 9.995 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

/// A fraction as a signed whole percentage: `+60 %`, `−8 %`. Only a fall to 0 is 100 %; others are
/// less: `−99.7 %`. Below 1 % it has a decimal: `+0.3 %`.
pub fn change(value: f64) -> String {
    let left = (1.0 + value) * 100.0;
    if left > 0.0 && left < 0.5 {
        let decimals = (-left.log10().floor()).clamp(1.0, 9.0) as usize;
        return format!("\u{2212}{:.decimals$} %", 100.0 - left);
    }
    // 103.5 over 100 is 3.5 %, which is 3.4999999 in binary.
    let last_digits = 1e-9_f64.copysign(value);
    let rounded = |to: f64| ((value * 100.0 + last_digits) * to).round() / to;
    let percent = match rounded(10.0) {
        tenths if tenths.abs() < 1.0 => tenths,
        _ => rounded(1.0),
    };
    let sign = match percent {
        p if p > 0.0 => "+",
        p if p < 0.0 => "\u{2212}",
        _ => "±",
    };
    match percent.abs() {
        small if small > 0.0 && small < 1.0 => format!("{sign}{small:.1} %"),
        percent => format!("{sign}{} %", whole(percent)),
    }
}

/// A fraction as a percentage: `38 %`, with one decimal below ten, two digits below one: `0.15 %`.
/// Only the whole is 100 %; what is almost that is less: `99.6 %`.
pub fn share(value: f64) -> String {
    let percent = value * 100.0;
    match percent {
        p if (99.5..100.0).contains(&p) => {
            let decimals = (-(100.0 - p).log10().floor()).clamp(1.0, 9.0) as usize;
            format!("{p:.decimals$} %")
        }
        p if p >= 9.95 => format!("{p:.0} %"),
        p if p >= 0.995 || p <= 0.0 => format!("{p:.1} %"),
        p => {
            let text = format!("{p:.*}", (1.0 - p.log10().floor()) as usize);
            format!("{} %", text.strip_suffix('0').unwrap_or(&text))
        }
    }
}

/// A fraction as plans write it: `0.1%`, `82.8%`; small ones with two digits.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        _ if percent <= 0.0 => "0%".to_owned(),
        ..0.995 => {
            let places = (-percent.log10()).ceil() as usize;
            let text = format!("{percent:.*}", places + 1);
            format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => format!("{}%", (percent * 10.0).round() / 10.0),
    }
}

/// The same as reports print it: `0.1 %`, `3 %`.
pub fn limit(share: f64) -> String {
    percent(share).replace('%', " %")
}

/// A ratio of two rates or latencies: `1.8X`, `14X`; with two decimals if it would look like 1.
pub fn ratio(value: f64) -> String {
    let hundredths = (value * 100.0).round();
    if hundredths != 100.0 && (95.0..=105.0).contains(&hundredths) {
        format!("{value:.2}X")
    } else if value > 0.0 && value < 0.95 {
        let decimals = (1.0 - value.log10().floor()).min(9.0) as usize;
        let text = format!("{value:.decimals$}");
        format!("{}X", text.trim_end_matches('0'))
    } else if value < 9.95 {
        format!("{value:.1}X")
    } else {
        format!("{}X", whole(value))
    }
}

/// How ratios are written, unless as percentages below twice and as ratios from there on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ratios {
    /// As ratios, `1.5X`, except those within 5 % of 1.
    X,
    /// As percentages, `+52 %`.
    Percent,
    /// Latencies as ratios, all else as percentages.
    #[serde(rename = "latency-x")]
    LatencyX,
    /// As ratios, also those close to 1: figures that belong together, of which one is a ratio.
    Together,
}

impl Ratios {
    /// Every way that a report can ask for, with its name.
    pub const ALL: [(Self, &str); 3] = [
        (Self::X, "x"),
        (Self::Percent, "percent"),
        (Self::LatencyX, "latency-x"),
    ];

    /// Those of latencies, or of all else.
    #[must_use]
    pub const fn of_latency(self, is_latency: bool) -> Self {
        match self {
            Self::LatencyX if is_latency => Self::X,
            Self::LatencyX => Self::Percent,
            own => own,
        }
    }

    /// The ratio from which on, and below whose inverse, a change is written as a ratio.
    pub const fn least(ratios: Option<Self>) -> f64 {
        match ratios {
            None => TWICE,
            Some(Self::X | Self::LatencyX) => 1.05,
            Some(Self::Percent) => f64::INFINITY,
            Some(Self::Together) => 1.0,
        }
    }
}

/// The difference of two values, given their ratio: `2.2X lower`, `23 % lower`, `8 % higher`.
pub fn apart(ratio: Bounded, ratios: Option<Ratios>) -> String {
    let inverse = Bounded {
        value: 1.0 / ratio.value,
        bound: ratio.bound.reversed(),
    };
    let less = Bounded {
        value: 1.0 - ratio.value,
        ..inverse
    };
    // The excess over the other value.
    let more = Bounded {
        value: ratio.value - 1.0,
        ..ratio
    };
    let percent = |change| bounded_change(change).replace(['+', '±'], "");
    let least = Ratios::least(ratios);
    // `1.0X lower` says nothing.
    let is_one = |times: f64| times < 1.005;
    if bounded_change(less).starts_with('±') {
        "equal".to_owned()
    } else if inverse.value >= least && !is_one(inverse.value) {
        format!("{} lower", bounded_ratio(inverse))
    } else if ratio.value >= least && !is_one(ratio.value) {
        format!("{} higher", bounded_ratio(ratio))
    } else if less.value >= 0.0 && ratio.is_exact() {
        // A fall that is not to 0 is below 100 %.
        let fall = change(ratio.value - 1.0);
        format!("{} lower", fall.trim_start_matches('\u{2212}'))
    } else if less.value >= 0.0 {
        format!("{} lower", percent(less))
    } else {
        format!("{} higher", percent(more))
    }
}

/// A range between two ratios, the smaller difference first if both are on one side.
pub fn ends_apart(ends: (f64, f64), ratios: Option<Ratios>) -> String {
    ends_in_words(ends, |end| apart(Bounded::exact(end), ratios))
}

/// The same, with the words of each end as [`apart`] has them: `0 % to 2.5 % lower`.
pub fn ends_in_words((low, high): (f64, f64), words: impl Fn(f64) -> String) -> String {
    let (near, far) = if high <= 1.0 {
        (high, low)
    } else {
        (low, high)
    };
    let texts = [near, far].map(words);
    match texts.each_ref().map(|text| text.rsplit_once(' ')) {
        [Some((one, side)), Some((other, same))] if side == same => {
            format!("{one} to {other} {side}")
        }
        // `equal to 1 % higher` would read as one phrase.
        [None, Some((end, _))] if end.ends_with('X') => format!("1.0X to {}", texts[1]),
        [None, Some(_)] => format!("0 % to {}", texts[1]),
        [Some((end, _)), None] if end.ends_with('X') => format!("{} to 1.0X", texts[0]),
        [Some(_), None] => format!("{} to 0 %", texts[0]),
        _ => texts.join(" to "),
    }
}

/// A duration in seconds: `3.0 s`, `2 min 30 s`, `20 min`, `2 h 5 min`. Whole seconds from 2 minutes
/// on, whole minutes from 10 on.
pub fn duration(seconds: f64) -> String {
    if seconds < 120.0 {
        return format!("{seconds:.1} s");
    }
    let whole = seconds.round() as u64;
    if whole < 600 && !whole.is_multiple_of(60) {
        return format!("{} min {} s", whole / 60, whole % 60);
    }
    let minutes = (seconds / 60.0).round() as u64;
    match (minutes / 60, minutes % 60) {
        (0, m) => format!("{m} min"),
        (h, 0) => format!("{h} h"),
        (h, m) => format!("{h} h {m} min"),
    }
}

/// A time as plans write it, rounded for people: whole seconds from 10 s on, milliseconds below.
/// `1s 500ms`, `2h 5m`.
pub fn rounded(time: Duration) -> String {
    let nearest = match time.as_secs() {
        0..10 => Duration::from_millis((time.as_secs_f64() * 1e3).round() as u64),
        _ => Duration::from_secs(time.as_secs_f64().round() as u64),
    };
    let text = humantime::format_duration(nearest).to_string();
    text.replace("days", "d").replace("day", "d")
}

/// An instant in milliseconds since 1970 UTC, up to the year 9999: `2026-11-21 10:00 UTC`.
pub fn instant(ms: u64) -> String {
    let text = humantime::format_rfc3339_seconds(at_ms(ms)).to_string();
    format!("{} UTC", text[..16].replace('T', " "))
}

/// The same with its milliseconds: `2026-11-21 10:00:05.123 UTC`.
pub fn instant_ms(ms: u64) -> String {
    let text = humantime::format_rfc3339_millis(at_ms(ms)).to_string();
    format!("{} UTC", text.trim_end_matches('Z').replace('T', " "))
}

/// `1 thread`, `16 threads`; `an unknown thread count` if only the peak is known.
pub fn threads(n: u32) -> String {
    match n {
        PointKey::PEAK => "an unknown thread count".to_owned(),
        n => plural(u64::from(n), "thread"),
    }
}

/// `1 point`, `1,200 points`.
pub fn plural(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(n), if n == 1 { "" } else { "s" })
}

/// `a`, `a and b`, `a, b and c`.
pub fn list(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [head @ .., last] => format!("{} and {last}", head.join(", ")),
    }
}

#[cfg(test)]
mod tests;

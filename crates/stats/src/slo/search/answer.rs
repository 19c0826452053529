//! The result of a search.

/// The highest rate at which the limits hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Answer {
    /// How the search ended.
    pub status: Status,
    /// The highest rate at which the limits held, twice; `None` if no rate was confirmed.
    pub low: Option<f64>,
    /// The lowest rate above it at which they did not hold, twice; `None` if no rate was confirmed.
    pub high: Option<f64>,
}

impl Answer {
    /// The combined result of several searches for the same: the highest lower end and the lowest
    /// upper end, in any order. `None` without a search, or if limits held in one search at a rate
    /// at which they did not in another.
    pub fn of_all(all: &[Self]) -> Option<Self> {
        let low = all.iter().filter_map(|one| one.low).reduce(f64::max);
        let high = all.iter().filter_map(|one| one.high).reduce(f64::min);
        let none_holds = all.iter().any(|one| one.status == Status::NotAtAnyRate);
        let is_contradiction =
            low.is_some() && (none_holds || low.zip(high).is_some_and(|(low, high)| low >= high));
        if is_contradiction {
            return Some(Self {
                status: Status::Undecided,
                low: None,
                high: None,
            });
        }
        let says_all = |one: &&Self| (one.low, one.high) == (low, high);
        let status = all.iter().filter(says_all).map(|one| one.status).min();
        (!all.is_empty()).then_some(Self {
            // Ends of several are known, and no search looked at what lies between.
            status: status.unwrap_or(Status::Wide),
            low,
            high,
        })
    }
}

/// How a search ended. The more informative status comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// Both ends are known and within the resolution.
    Found,
    /// Both ends are known but farther apart: time ran out, or rates between them were undecided.
    Wide,
    /// The limits held at the highest rate that was asked for.
    MaxRate,
    /// They did not hold at the lowest rate.
    NotAtAnyRate,
    /// Beyond the lower end the clients were the limit.
    ClientLimit,
    /// No rate was confirmed to hold, because the measurements never became steady.
    NotSteady,
    /// One or both ends are unknown.
    Undecided,
    /// The search continues.
    Unfinished,
}

impl Status {
    /// Every status.
    pub const ALL: [Self; 8] = [
        Self::Found,
        Self::Wide,
        Self::MaxRate,
        Self::NotAtAnyRate,
        Self::ClientLimit,
        Self::NotSteady,
        Self::Undecided,
        Self::Unfinished,
    ];

    /// The name in exports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Found => "found",
            Self::Wide => "wide",
            Self::MaxRate => "max-rate",
            Self::NotAtAnyRate => "not-at-any-rate",
            Self::ClientLimit => "client-limit",
            Self::NotSteady => "not-steady",
            Self::Undecided => "undecided",
            Self::Unfinished => "unfinished",
        }
    }
}

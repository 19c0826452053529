//! What a search has found.

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
    /// What two searches for the same say together: the higher lower end and the lower upper one. Where
    /// one held at a rate at which the other did not, nothing.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let low = [self.low, other.low].into_iter().flatten().reduce(f64::max);
        let high = [self.high, other.high]
            .into_iter()
            .flatten()
            .reduce(f64::min);
        let none_holds = [self, other]
            .iter()
            .any(|one| one.status == Status::NotAtAnyRate);
        let is_contradiction =
            low.is_some() && (none_holds || low.zip(high).is_some_and(|(low, high)| low >= high));
        if is_contradiction {
            return Self {
                status: Status::Undecided,
                low: None,
                high: None,
            };
        }
        let says_more = |one: &Self| (one.low, one.high) == (low, high);
        let status = [self, other]
            .into_iter()
            .filter(says_more)
            .map(|one| one.status);
        let decided = status.clone().find(|status| *status != Status::Undecided);
        Self {
            // Ends of both are both known, and no search looked at what lies between.
            status: decided
                .or_else(|| status.clone().next())
                .unwrap_or(Status::Wide),
            low,
            high,
        }
    }
}

/// How a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Both ends are known, and are no farther apart than the resolution.
    Found,
    /// Both ends are known, and farther apart: time was up, or rates between them were undecided.
    Wide,
    /// The limits held at the highest rate that was asked for.
    MaxRate,
    /// They did not hold at the lowest rate.
    NotAtAnyRate,
    /// Beyond the lower end the client was the limit.
    ClientLimit,
    /// No rate was confirmed to hold, because the measurements never became steady.
    NotSteady,
    /// One end is not known, or neither.
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
    #[must_use]
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

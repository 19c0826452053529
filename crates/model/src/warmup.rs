//! Warm-ups that were ended by rule, and are kept with their points.

use crate::{Phase, PointKey};
use std::time::Duration;

/// A warm-up that was ended by rule: it is kept with the point that it was for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Warmup {
    /// What was measured in it, on a clock of its own; it has no warm-up itself.
    pub phase: Phase,
    /// From when on it was steady, seconds since its start; none: never.
    pub steady_s: Option<f64>,
    /// Why it was not, where it never was.
    pub reason: Option<String>,
}

impl Warmup {
    /// What lies between it and the measured part, not counted: the clients of the one have ended,
    /// and those of the other are under way when that begins.
    pub const EDGE: Duration = Duration::from_secs(1);

    /// How long it was, seconds.
    #[must_use]
    pub const fn length_s(&self) -> f64 {
        self.phase.duration_s
    }
}

/// A warm-up that was ended by rule, without what was measured in it.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptWarmup {
    /// The point that it is of.
    pub key: PointKey,
    /// How long it was, seconds.
    pub length_s: f64,
    /// Whether it was cut off, because the database no longer answered.
    pub is_cut: bool,
}

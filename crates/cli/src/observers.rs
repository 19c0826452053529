//! Several observers of one run.

use std::time::Duration;
use tailmark_engine::{IntervalStats, Live, Observer, PhaseStart};
use tailmark_model::{Load, Point, SloSettings};
use tailmark_stats::slo::Slo;

/// Passes every notification to each observer.
pub struct Observers<'o>(pub Vec<&'o dyn Observer>);

impl Observers<'_> {
    fn all(&self) -> impl Iterator<Item = &dyn Observer> {
        self.0.iter().copied()
    }
}

impl Observer for Observers<'_> {
    fn sweep_started(&self, points: usize, done: usize) {
        self.all().for_each(|o| o.sweep_started(points, done));
    }

    fn points_known(&self, points: usize, is_all: bool) {
        self.all().for_each(|o| o.points_known(points, is_all));
    }

    fn notice(&self, text: &str) {
        self.all().for_each(|o| o.notice(text));
    }

    fn step(&self, text: &str) {
        self.all().for_each(|o| o.step(text));
    }

    fn phase_started(&self, phase: &PhaseStart<'_>) {
        self.all().for_each(|o| o.phase_started(phase));
    }

    fn interval(&self, live: &Live) {
        self.all().for_each(|o| o.interval(live));
    }

    fn recorded(&self, interval: u32, stats: &IntervalStats) {
        self.all().for_each(|o| o.recorded(interval, stats));
    }

    fn session_closed(&self, took: Duration) {
        self.all().for_each(|o| o.session_closed(took));
    }

    fn load_finished(&self, load: &Load) {
        self.all().for_each(|o| o.load_finished(load));
    }

    fn trial_finished(&self, slo: &Slo, settings: &SloSettings) {
        self.all().for_each(|o| o.trial_finished(slo, settings));
    }

    fn point_finished(&self, point: &Point) {
        self.all().for_each(|o| o.point_finished(point));
    }
}

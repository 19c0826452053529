//! What all threads share: the requests that are kept, and the sums of all.

use super::{
    bands::kind_of,
    kept::{By, Kept},
    leaders::Leaders,
    local::Local,
    sums::Sums,
    taken::TakenApart,
};
use std::sync::{
    Mutex, MutexGuard, PoisonError, TryLockError,
    atomic::{AtomicU64, Ordering::Relaxed},
};
use tailmark_driver::{PARTS, Part};
use tailmark_model::{Anatomy, AnatomyPart, Kind};

/// How requests are taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnatomySettings {
    /// How many of each kind are kept whole: the slowest, and as many of all.
    pub requests: usize,
    /// Of each client, every Nth request is taken apart; this is N, at least 1.
    pub every: u32,
}

/// Collects requests that are taken apart, from all threads.
#[derive(Debug)]
pub struct Anatomist {
    settings: AnatomySettings,
    /// By kind: the lowest ranks that are kept, of the slowest and of the sample. Rarely written.
    least: [[AtomicU64; 2]; Kind::ALL.len()],
    gathered: Mutex<Gathered>,
}

/// What was handed over.
#[derive(Debug, Default)]
struct Gathered {
    kinds: [Option<Box<GatheredKind>>; Kind::ALL.len()],
    leaders: Leaders,
}

#[derive(Debug)]
struct GatheredKind {
    kept: [Kept; 2],
    sums: Sums,
    lost: u64,
}

impl Anatomist {
    /// One without requests.
    #[must_use]
    pub fn new(settings: AnatomySettings) -> Self {
        Self {
            settings,
            least: Default::default(),
            gathered: Mutex::default(),
        }
    }

    /// How requests are taken apart.
    #[must_use]
    pub const fn settings(&self) -> AnatomySettings {
        self.settings
    }

    /// Adds a request of this thread.
    pub(super) fn add(&self, local: &mut Local, kind: Kind, taken: &TakenApart) {
        let least = &self.least[kind as usize];
        let least = [least[0].load(Relaxed), least[1].load(Relaxed)];
        if local.add(kind, taken, least) {
            let gathered = match self.gathered.try_lock() {
                Ok(gathered) => gathered,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                // Another thread is there. The next request tries again.
                Err(TryLockError::WouldBlock) => return,
            };
            self.gather(gathered, local, false);
        }
    }

    /// Takes all of a thread whose clients have ended.
    pub(super) fn hand_over(&self, local: &mut Local) {
        let gathered = self.gathered.lock();
        let gathered = gathered.unwrap_or_else(PoisonError::into_inner);
        self.gather(gathered, local, true);
    }

    fn gather(&self, mut gathered: MutexGuard<'_, Gathered>, local: &mut Local, is_end: bool) {
        let Gathered { kinds, leaders } = &mut *gathered;
        for (index, (own, all)) in local.kinds.iter_mut().zip(kinds).enumerate() {
            let Some(own) = own else {
                continue;
            };
            let most = self.settings.requests;
            let all = all.get_or_insert_with(|| {
                Box::new(GatheredKind {
                    kept: [By::Response, By::Chance].map(|by| Kept::new(by, most)),
                    sums: Sums::default(),
                    lost: 0,
                })
            });
            for (place, candidates) in own.candidates.iter_mut().enumerate() {
                let kept = &mut all.kept[place];
                candidates.all.drain(..).for_each(|taken| kept.add(&taken));
                all.lost += std::mem::take(&mut candidates.lost);
                self.least[index][place].store(kept.least(), Relaxed);
            }
            if is_end {
                all.sums.take(&mut own.sums);
            }
        }
        local.led.drain(..).for_each(|led| leaders.add(&led));
    }

    /// What was found, when all clients have ended. The speed of the point is left to the caller.
    #[must_use]
    pub fn finish(&self) -> Anatomy {
        let gathered = self.gathered.lock();
        let gathered = gathered.unwrap_or_else(PoisonError::into_inner);
        let mut found: Vec<_> = Vec::new();
        for (kind, own) in Kind::ALL.into_iter().zip(&gathered.kinds) {
            if let Some(own) = own {
                let [slowest, sample] = [&own.kept[0], &own.kept[1]].map(Kept::sorted);
                let of_kind = kind_of(&own.sums, slowest, sample, &gathered.leaders);
                found.push((kind, own.lost, of_kind));
            }
        }
        let has = |part: Part| found.iter().any(|(_, _, kind)| kind.has(part));
        let shown: Vec<Part> = PARTS
            .iter()
            .map(|row| row.part)
            .filter(|p| has(*p))
            .collect();
        let part = |part: &Part| {
            let row = part.row();
            AnatomyPart {
                name: row.name.to_owned(),
                group: row.group.name().to_owned(),
                title: row.title.to_owned(),
                source: row.source.to_owned(),
            }
        };
        let kinds = found
            .into_iter()
            .map(|(kind, lost, own)| (kind, own.into_model(lost, &shown)));
        Anatomy {
            parts: shown.iter().map(part).collect(),
            every: self.settings.every,
            kinds: kinds.collect(),
            ..Anatomy::default()
        }
    }
}

//! A phase on all ranks: rank 0 gives each its part, does its own, and adds the results.

use super::{
    Job, Ranks,
    current::Current,
    is_own,
    live::WithOthers,
    message::{Command, DonePart, Failure, Message, Order},
    part::{OfAll, PhasePeers, Streamer},
};
use crate::Error;
use std::sync::Arc;
use tailmark_engine::{self as engine, Observer, Part, Sampler, Spec, Stop, Terms};
use tailmark_model::{Phase, RankPart, Sentence, finding::NO_ANSWER};
use tailmark_plan::SystemPlan;
use tailmark_study::{pack_phase, unpack_phase};

/// A rank's work in a phase, from its start until all measurements are combined.
pub struct SharedPhase<'a> {
    shared: Option<Shared<'a>>,
}

/// A phase of several ranks.
struct Shared<'a> {
    job: &'a Job,
    order: Order,
    /// How far the clock of each rank was ahead at the start, and the possible error.
    clocks: Vec<Clock>,
}

/// The state of a rank's clock at the start.
#[derive(Debug, Clone, Copy, Default)]
struct Clock {
    /// An instant of rank 0, nanoseconds, and the same by the rank.
    leader_ns: u64,
    own_ns: u64,
    bound_ns: u64,
    /// How much faster it runs than that of rank 0.
    faster: f64,
}

impl Drop for Shared<'_> {
    fn drop(&mut self) {
        self.job.link.state().phase = None;
    }
}

impl Ranks {
    /// Begins a phase: gives every rank its part, or takes this rank's own part.
    ///
    /// # Errors
    /// If this rank received another command.
    pub(crate) fn begin(
        &self,
        spec: &Spec<'_>,
        system: &SystemPlan,
        stop: &Stop,
    ) -> Result<SharedPhase<'_>, Error> {
        let Some(job) = &self.job else {
            return Ok(SharedPhase { shared: None });
        };
        let shared = if job.link.is_leader() {
            self.give_parts(job, spec, system, stop)
        } else {
            take_part(job, spec)?
        };
        Ok(SharedPhase {
            shared: Some(shared),
        })
    }

    fn give_parts<'a>(
        &self,
        job: &'a Job,
        spec: &Spec<'_>,
        system: &SystemPlan,
        stop: &Stop,
    ) -> Shared<'a> {
        let link = &job.link;
        let is_own = is_own(system);
        let ranks = match (is_own, spec.point) {
            // Each rank loads its own data set.
            (true, None) => self.size(),
            _ => self.taking_part(spec.threads),
        };
        let number = job.next_phase();
        link.compare_clocks();
        let clocks = job.clocks(ranks);
        let order = |rank: u32| {
            let clock = clocks[rank as usize];
            Order::new(
                spec,
                number,
                (rank, ranks),
                is_own,
                (clock.own_ns, clock.leader_ns, -clock.faster),
            )
        };
        let own = order(0);
        link.state().phase = Some(Current::new(&own, Arc::clone(spec.keys), stop.child()));
        for rank in 1..ranks {
            let command = Command::Measure(Box::new(order(rank)));
            link.send(rank, &Message::Command(command));
        }
        Shared {
            job,
            order: own,
            clocks,
        }
    }
}

/// On a rank that follows, waits for the part of a phase that it began by itself.
fn take_part<'a>(job: &'a Job, spec: &Spec<'_>) -> Result<Shared<'a>, Error> {
    let link = &job.link;
    // It was sent already, with the command to measure.
    let next = link.wait(|state| {
        if link.stop.requested() {
            return Some(None);
        }
        Some(Some(state.inbox.pop_front()?.1))
    });
    match next {
        Some(Message::Command(Command::Measure(order))) => {
            link.in_phase(order.phase, |phase| phase.keys = Arc::clone(spec.keys));
            Ok(Shared {
                job,
                order: *order,
                clocks: Vec::new(),
            })
        }
        // Rank 0 has given up. Its next command goes to the code that waits for commands.
        Some(other) => {
            link.state().inbox.push_front((0, other));
            Err(Error::Engine(engine::Error::NotStarted))
        }
        None => Err(Error::Engine(engine::Error::NotStarted)),
    }
}

impl<'a> SharedPhase<'a> {
    /// One process.
    pub const fn alone() -> Self {
        Self { shared: None }
    }

    /// The order to a rank that follows.
    pub fn ordered(job: &'a Ranks, order: Order) -> Option<Self> {
        let job = job.job.as_ref()?;
        Some(Self {
            shared: Some(Shared {
                job,
                order,
                clocks: Vec::new(),
            }),
        })
    }

    /// Carries out the part of this rank, until all have ended theirs.
    ///
    /// # Errors
    /// As [`engine::run`], and where another rank cannot begin.
    pub fn run(
        &self,
        spec: &Spec<'_>,
        sampler: &mut dyn Sampler,
        observer: &dyn Observer,
        stop: &Stop,
    ) -> Result<Phase, Error> {
        let Some(shared) = &self.shared else {
            return Ok(engine::run(spec, sampler, observer, stop)?);
        };
        let (link, order) = (&*shared.job.link, &shared.order);
        let peers = PhasePeers {
            link,
            number: order.phase,
            clock: order.clock,
            planned: spec.duration.map(|duration| duration + spec.warmup),
        };
        let (first, threads) = order.clients;
        let of_all = spec
            .enough
            .map(|asked| OfAll::new(link, order.phase, asked));
        let streamer = Streamer::new(link, order.phase);
        let enough: Option<&dyn engine::Enough> = match &of_all {
            Some(of_all) => Some(of_all),
            None if order.streams && !link.is_leader() => Some(&streamer),
            None => None,
        };
        let spec = Spec {
            part: Some(Part {
                process: order.rank,
                processes: order.ranks,
                first,
                threads,
                // With separate data sets, each rank loads what is missing in its own.
                operations: if order.is_own && order.point.is_none() {
                    spec.operations
                } else {
                    order.own_operations
                },
                has_own_keys: order.is_own,
                peers: &peers,
            }),
            enough,
            terms: Terms {
                threads: order.terms.threads,
                ..spec.terms
            },
            ..*spec
        };
        let observer = WithOthers {
            inner: observer,
            link,
            number: order.phase,
            times: if order.is_own && order.point.is_none() {
                order.ranks
            } else {
                1
            },
        };
        // A stop of rank 0 ends only the part of this rank.
        let of_phase = link.in_phase(order.phase, |phase| phase.stop.clone());
        let ends = of_phase.unwrap_or_else(|| stop.child());
        let ran = engine::run(&spec, sampler, &observer, &ends);
        match ran {
            Err(engine::Error::NotStarted) if stop.requested() || ends.requested() => {
                Ok(Phase::default())
            }
            // Rank 0 knows why.
            Err(engine::Error::NotStarted) if !link.is_leader() => Ok(Phase::default()),
            Err(engine::Error::NotStarted) => Err(shared.why_not_started()),
            Err(error) => {
                let error = Error::from(error);
                shared.give_up(&error);
                Err(error)
            }
            Ok(phase) => Ok(phase),
        }
    }

    /// Adds the measurements of other ranks, and what they could not sample. On a rank that
    /// follows, sends its measurements.
    ///
    /// # Errors
    /// If a rank could not measure its part.
    pub fn finish(
        self,
        phase: Phase,
        not_sampled: Vec<String>,
    ) -> Result<(Phase, Vec<String>), Error> {
        let Some(shared) = self.shared else {
            return Ok((phase, not_sampled));
        };
        if shared.job.link.is_leader() {
            shared.gather(phase, not_sampled)
        } else {
            shared.hand_over(pack_phase(&phase).map_err(Error::from), not_sampled, &phase);
            Ok((phase, Vec::new()))
        }
    }
}

impl Shared<'_> {
    /// Why a phase did not start.
    fn why_not_started(&self) -> Error {
        let link = &self.job.link;
        let mut state = link.state();
        let failed = state.phase.as_mut().and_then(|phase| phase.failed.take());
        // A rank that failed before it was asked for its part has already said so.
        let answered = state
            .inbox
            .iter()
            .find_map(|(from, message)| match message {
                Message::Answer(Err(why)) => Some((*from, why.clone())),
                _ => None,
            });
        match answered.or(failed) {
            Some((rank, failure)) => self.job.failed(rank, failure),
            None => Error::Engine(engine::Error::NotStarted),
        }
    }

    /// This rank cannot begin.
    fn give_up(&self, why: &Error) {
        let (link, phase) = (&self.job.link, self.order.phase);
        if link.is_leader() {
            link.send_each(self.order.ranks, &Message::Start { phase, at: None })
        } else {
            let why = Failure::from_error(why);
            link.send(0, &Message::Failed { phase, why });
        }
    }

    fn hand_over(&self, measured: Result<Vec<u8>, Error>, not_sampled: Vec<String>, own: &Phase) {
        let (link, phase) = (&self.job.link, self.order.phase);
        let told = link.in_phase(phase, |phase| {
            let inserted = phase.keys.own_acknowledged();
            (phase.late, phase.ahead_ns, inserted)
        });
        let (late, ahead_ns, inserted) = told.unwrap_or_default();
        let part = DonePart {
            measured: measured.map_err(|error| Failure::from_error(&error)),
            inserted,
            ahead_ns,
            late_ns: u64::try_from(late.as_nanos()).unwrap_or(u64::MAX),
            not_sampled,
            has_failed: NO_ANSWER.is_among(&own.findings)
                || (self.order.terms.ends_at_failure && !own.errors.is_empty()),
        };
        let part = Box::new(part);
        link.send(0, &Message::Done { phase, part });
    }

    /// Waits for every other rank.
    fn gather(
        &self,
        own: Phase,
        mut not_sampled: Vec<String>,
    ) -> Result<(Phase, Vec<String>), Error> {
        let (link, number, ranks) = (&self.job.link, self.order.phase, self.order.ranks);
        let late = link.in_phase(number, |phase| {
            let has_failed = NO_ANSWER.is_among(&own.findings)
                || (self.order.terms.ends_at_failure && !own.errors.is_empty());
            if phase.ends_together || has_failed || phase.stop.requested() {
                link.end_all(phase);
            }
            (phase.late, phase.ahead_ns)
        });
        link.go_on(number, f64::MAX);
        let done = link.wait(|state| {
            let phase = state.phase.as_mut()?;
            if let Some(failed) = phase.failed.take() {
                return Some(Err(failed));
            }
            let all = phase.done.len() + 1 >= ranks as usize;
            all.then(|| Ok(std::mem::take(&mut phase.done)))
        });
        let done = done.map_err(|(rank, why)| self.job.failed(rank, why))?;
        link.compare_clocks();
        let (host, others) = (self.job.names[0].clone(), done.len());
        let mut parts = Vec::with_capacity(others + 1);
        let (late, ahead_ns) = late.unwrap_or_default();
        let late_ns = u64::try_from(late.as_nanos()).unwrap_or(u64::MAX);
        parts.push(self.part(0, &host, own, (late_ns, ahead_ns)));
        for (rank, part) in done {
            let bytes = part.measured.map_err(|why| self.job.failed(rank, why))?;
            let phase = unpack_phase(&bytes)?;
            let machine = &self.job.names[rank as usize];
            not_sampled.extend(
                part.not_sampled
                    .iter()
                    .map(|why| format!("{why} (on {machine})")),
            );
            parts.push(self.part(rank, machine, phase, (part.late_ns, part.ahead_ns)));
        }
        let mut phase = Phase::of_parts(parts);
        phase.duration_s = self.order.duration_s(&phase);
        Ok((phase, not_sampled))
    }

    /// The measurements of a rank, with the figures that are kept separately.
    fn part(
        &self,
        rank: u32,
        host: &str,
        mut phase: Phase,
        (late_ns, ahead_ns): (u64, i64),
    ) -> Phase {
        let threads = Part::clients(self.order.terms.threads, rank, self.order.ranks).1;
        let before = self.clocks[rank as usize];
        let (drift_ns, bound_ns) = self.job.drift(rank, before);
        phase.ranks = vec![RankPart {
            rank,
            host: host.to_owned(),
            threads: threads.max(1),
            operations: phase.operations,
            failed: phase.failed,
            drained: phase.drained,
            duration_s: phase.duration_s,
            late_ns,
            clock_ahead_ns: before.own_ns.cast_signed() - before.leader_ns.cast_signed(),
            clock_bound_ns: before.bound_ns.max(bound_ns),
            clock_drift_ns: drift_ns + ahead_ns,
            cpu_busy: phase.cpu_busy(),
            cpu_client: phase.cpu_shares().map(|s| s.of_processes(s.client)),
            quantiles: RankPart::quantiles_of(&phase),
        }];
        if rank > 0 {
            self.job.name_host(rank, &mut phase);
        }
        phase
    }
}

impl Job {
    /// The current state of that many ranks' clocks.
    fn clocks(&self, ranks: u32) -> Vec<Clock> {
        let now = self.link.cluster.now_ns();
        let state = self.link.state();
        let clock = |rank: u32| {
            let line = &state.others[rank as usize].clock;
            let same = || Clock {
                leader_ns: now,
                own_ns: now,
                ..Clock::default()
            };
            line.other_at(now).map_or_else(same, |at| Clock {
                leader_ns: now,
                own_ns: at.ns,
                bound_ns: line
                    .measurements()
                    .last()
                    .map_or(at.bound_ns, |last| last.bound_ns),
                faster: line.drift_ppm().unwrap_or(0.0) * 1e-6,
            })
        };
        (0..ranks).map(clock).collect()
    }

    /// How far a rank's clock now differs from the prediction at the start of a phase, and the
    /// possible error.
    fn drift(&self, rank: u32, before: Clock) -> (i64, u64) {
        let state = self.link.state();
        let Some(last) = state.others[rank as usize].clock.measurements().last() else {
            return (0, 0);
        };
        let since = last.leader_ns.saturating_sub(before.leader_ns);
        let expected = before.own_ns + since + (since as f64 * before.faster) as u64;
        let drift = last.other_ns.cast_signed() - expected.cast_signed();
        (drift, last.bound_ns)
    }

    /// Says in the series and findings of a rank whose they are.
    fn name_host(&self, rank: u32, phase: &mut Phase) {
        let host = &self.names[rank as usize];
        let whose = if *host == self.names[0] {
            format!("rank {rank}")
        } else {
            host.clone()
        };
        for series in &mut phase.series {
            series.subject = format!("{} on {whose}", series.subject);
        }
        for finding in &mut phase.findings {
            let prefix = Sentence::new("Rank {Rank} on {Machine}: ");
            let prefix = prefix.count("Rank", rank.into()).text("Machine", host);
            finding.wording.insert_str(0, &prefix.wording);
            finding.evidence.splice(0..0, prefix.evidence);
        }
    }
}

//! The roles of clients: clients of the point, and background clients.
//!
//! A background client (the writer of db_bench's readwhilewriting) runs the same loop. Its requests
//! are recorded by kind but are not operations of the point. It uses no budget, and nothing is due
//! for it after the last client of the point has ended.

use super::{
    arrivals::ArrivalSequence,
    deal::Deal,
    ending::{ClientEnd, Ending, has_own_rate},
    pacer::{End, Schedule, Timetable},
    recorder::{Record, Timing},
};
use crate::{
    Part, Spec,
    clock::{Tick, nanos},
};
use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};
use tailmark_driver::{Failure, Reply};
use tailmark_model::{Arrivals, Kind};
use tailmark_workload::{Seed, SineRate, Workload, assign_groups};

/// The clients of a phase, their groups, and the clients that are still running.
pub struct Roles {
    /// The clients of this process by number.
    roles: Vec<(u32, Role)>,
    /// The shared arrivals of each group.
    arrivals: Vec<Option<Arc<ArrivalSequence>>>,
    running: Arc<AtomicU32>,
    ending: Arc<Ending>,
    background_end: End,
}

/// The role of one client.
#[derive(Debug, Clone, Copy)]
pub struct Role {
    /// The group of the workload.
    pub group: usize,
    /// Whether it is a background client.
    pub is_background: bool,
    /// Operations per second over all clients that share the rate; `None`: as fast as possible.
    pub rate: Option<f64>,
    /// The sine that is added to it.
    pub sine: Option<SineRate>,
    /// Its place among the clients that share the rate, and their number.
    place: (u32, u32),
}

impl Roles {
    /// The roles in a phase of that many clients at this rate, each with its own schedule.
    pub fn new(workload: &Workload, clients: u32, rate: Option<f64>) -> Self {
        let assigned = assign_groups(workload, clients);
        let group = |index: usize| &workload.groups[index];
        // Groups without their own rate share the rate of the point.
        let fellows = |a: usize, b: usize| {
            a == b
                || [a, b]
                    .iter()
                    .all(|g| group(*g).rate.is_none() && !group(*g).is_background())
        };
        let count = |slice: &[usize], index| slice.iter().filter(|g| fellows(**g, index)).count();
        let role = |(client, &index): (usize, &usize)| Role {
            group: index,
            is_background: group(index).is_background(),
            rate: group(index)
                .rate
                .or(rate.filter(|_| !group(index).is_background())),
            sine: group(index).sine,
            place: (
                count(&assigned[..client], index) as u32,
                count(&assigned, index) as u32,
            ),
        };
        let roles = (0..).zip(assigned.iter().enumerate().map(role)).collect();
        let arrivals = vec![None; workload.groups.len()];
        let (running, background_end) = (Arc::new(AtomicU32::new(clients)), End::at(Tick::MAX));
        Self {
            roles,
            arrivals,
            running,
            ending: Arc::default(),
            background_end,
        }
    }

    /// The same without clients of other processes. Background clients belong to the process with
    /// the first client.
    pub fn of_part(mut self, spec: &Spec<'_>) -> Self {
        if spec.part.is_some() {
            let mut of_point = 0;
            self.roles.retain(|(_, role)| {
                if role.is_background {
                    spec.is_own(0)
                } else {
                    of_point += 1;
                    spec.is_own(of_point - 1)
                }
            });
            self.running.store(spec.own_threads(), Ordering::Relaxed);
        }
        self
    }

    /// Every client's number with its role.
    pub fn iter(&self) -> impl Iterator<Item = (u32, Role)> + '_ {
        self.roles.iter().copied()
    }

    /// The role of client `index`.
    pub fn role(&self, index: u32) -> Role {
        self.roles[self.place_of(index)].1
    }

    /// The place of client `index` among those of this process.
    pub fn place_of(&self, index: u32) -> usize {
        let place = self.roles.binary_search_by_key(&index, |(index, _)| *index);
        place.expect("the client is this process's")
    }

    /// The same, but clients share the arrivals of their group, if it has any.
    pub fn sharing(mut self, spec: &Spec<'_>) -> Self {
        for (group, shared) in self.arrivals.iter_mut().enumerate() {
            *shared = arrivals(spec, group, &self.roles).map(Arc::new);
        }
        self
    }

    /// The shared arrivals by group: of the point's clients, or of background clients.
    pub fn arrivals_of(
        &self,
        workload: &Workload,
        is_background: bool,
    ) -> impl Iterator<Item = (usize, &ArrivalSequence)> {
        let arrivals = self.arrivals.iter().zip(&workload.groups).enumerate();
        arrivals.filter_map(move |(index, (shared, group))| {
            let is_theirs = group.is_background() == is_background;
            Some((index, shared.as_deref().filter(|_| is_theirs)?))
        })
    }

    /// When the budget is due, nanoseconds after the start of the measured part, if all clients
    /// have one fixed rate; otherwise 0.
    pub fn due_ns(&self, spec: &Spec<'_>) -> u64 {
        let arrivals = self.arrivals_of(spec.workload, false);
        let ends = arrivals.filter_map(|(_, arrivals)| arrivals.end());
        let end = ends.max().unwrap_or(0).saturating_sub(nanos(spec.warmup));
        match (spec.rate, spec.operations) {
            (Some(rate), Some(operations)) if !has_own_rate(spec) => {
                end.max((operations as f64 / rate * 1e9) as u64)
            }
            _ => end,
        }
    }

    /// When the operations of a client are due.
    pub fn timetable(&self, role: Role) -> Timetable {
        match (&self.arrivals[role.group], role.schedule()) {
            (Some(arrivals), _) => Timetable::Shared(Arc::clone(arrivals)),
            (None, Some(schedule)) => Timetable::Own(schedule),
            (None, None) => Timetable::Closed,
        }
    }

    /// Whether a client takes its operations from shared arrivals.
    pub fn shares_arrivals(&self, role: Role) -> bool {
        self.arrivals[role.group].is_some()
    }

    /// Whether any client has a rate.
    pub fn have_rate(&self) -> bool {
        self.roles.iter().any(|(_, role)| role.rate.is_some())
    }

    /// When background clients end: known when the last client of the point has ended.
    pub const fn background_end(&self) -> &End {
        &self.background_end
    }

    /// How the clients that have ended did so.
    pub fn ending(&self) -> &Ending {
        &self.ending
    }

    /// The guard of a running client. The clients of the point end at `end`.
    pub fn completion(&self, role: Role, end: &End) -> Option<CompletionGuard> {
        // Made only if it is kept: dropping one counts as a client that has ended.
        (!role.is_background).then(|| CompletionGuard {
            running: Arc::clone(&self.running),
            ending: Arc::clone(&self.ending),
            end: end.clone(),
            background_end: self.background_end.clone(),
        })
    }
}

/// The arrivals of a group: even arrivals of background clients at their own rate, or arrivals of
/// the point's clients at its rate.
fn arrivals(spec: &Spec<'_>, group: usize, roles: &[(u32, Role)]) -> Option<ArrivalSequence> {
    let own = &spec.workload.groups[group];
    let (_, first) = roles.iter().find(|(_, role)| role.group == group)?;
    match (own.rate, own.sine) {
        (None, None) if !own.is_background() => arrivals_of_point(spec, group, first),
        (Some(rate), None) if own.is_background() && !spec.is_background_scheduled => {
            let seed = Seed::new(spec.seed).with_number("arrivals", group as u64);
            let (even, measure) = (Arrivals::Even, nanos(spec.warmup));
            Some(ArrivalSequence::new(
                even,
                rate,
                measure,
                None,
                seed.value(),
            ))
        }
        _ => None,
    }
}

/// The arrivals of a group of the point. Its share of rate and operations is that of its clients.
/// Even arrivals are those of a single process, dealt to all. Each process has its own part of a
/// Poisson process, which is again a Poisson process.
fn arrivals_of_point(spec: &Spec<'_>, group: usize, first: &Role) -> Option<ArrivalSequence> {
    let (rate, arrivals) = spec.rate.zip(spec.arrivals)?;
    // By client of the point, across all processes.
    let mut groups = assign_groups(spec.workload, spec.threads);
    groups.retain(|index| !spec.workload.groups[*index].is_background());
    let own_clients = |part: Part<'_>| part.first as usize..(part.first + part.threads) as usize;
    let (among, operations) = match (arrivals, spec.part) {
        (Arrivals::Poisson, Some(part)) => (&groups[own_clients(part)], part.operations),
        _ => (&groups[..], spec.operations),
    };
    let count = |is: &dyn Fn(usize) -> bool| among.iter().filter(|index| is(**index)).count();
    let clients = count(&|index| index == group) as u64;
    let before = count(&|index| index < group) as u64;
    let share = |of_all: u64, of_clients: u64| {
        let all = among.len() as u128;
        (u128::from(of_all) * u128::from(of_clients) / all) as u64
    };
    let (_, fellows) = first.place;
    let mut seed = Seed::new(spec.seed).with_number("arrivals", group as u64);
    if let Some(part) = spec.part {
        seed = seed.with_number("first client", part.first.into());
    }
    let sequence = ArrivalSequence::new(
        arrivals,
        rate * (clients as f64 / f64::from(fellows)),
        nanos(spec.warmup),
        operations.map(|all| share(all, before + clients) - share(all, before)),
        seed.value(),
    );
    Some(match spec.part {
        None => sequence,
        Some(part) => {
            let clients_of = |process| {
                let (from, length) = Part::clients(spec.threads, process, part.processes);
                let groups = &groups[from as usize..(from + length) as usize];
                groups.iter().filter(|index| **index == group).count() as u64
            };
            let each: Vec<u64> = (0..part.processes).map(clients_of).collect();
            let process = part.process as usize;
            let deal = Deal::new(process, &each);
            sequence.dealt(deal, each[process] as f64 / clients as f64)
        }
    })
}

impl Role {
    /// When its operations are due, at its own rate or its share of one.
    fn schedule(&self) -> Option<Schedule> {
        let (client, clients) = self.place;
        self.rate.map(|rate| match self.sine {
            None => Schedule::new(rate, client, clients),
            Some(sine) => Schedule::sinusoidal(rate, sine, client, clients),
        })
    }
}

/// A running client of the point. When the last one is dropped, the background clients end.
pub struct CompletionGuard {
    running: Arc<AtomicU32>,
    ending: Arc<Ending>,
    /// The end of the point's clients.
    end: End,
    background_end: End,
}

impl CompletionGuard {
    /// The client has ended.
    pub fn leave(self, left: ClientEnd) {
        self.ending.add(left);
    }
}

impl Drop for CompletionGuard {
    fn drop(&mut self) {
        if self.running.fetch_sub(1, Ordering::AcqRel) == 1 {
            let end = self.end.tick();
            if self.end.is_cut() {
                self.background_end.bring_forward(end);
            } else {
                self.background_end.plan(self.ending.end(end));
            }
        }
    }
}

/// Records the requests of a background client, but no operations of the point.
pub struct Background<R>(pub R);

impl<R: Record> Record for Background<R> {
    #[inline]
    fn record(&mut self, kind: Kind, timing: Timing, reply: &Reply) {
        self.0.record(kind, timing, reply);
    }

    #[inline]
    fn record_pair(&mut self, timing: Timing, failure: Option<&Failure>) {
        self.0.record_pair(timing, failure);
    }

    #[inline]
    fn finish(&mut self, _: Timing, _: bool) {}

    fn hand_over(&mut self) {
        self.0.hand_over();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_clients_of_the_point_share_its_rate() {
        let workload = tailmark_workload::find("readwhilewriting").unwrap();
        let roles = Roles::new(&workload, 3, Some(300.0));
        let places: Vec<_> = roles
            .iter()
            .map(|(_, p)| (p.is_background, p.rate, p.place))
            .collect();
        let reader = |place| (false, Some(300.0), (place, 3));
        assert_eq!(
            places,
            [(true, None, (0, 1)), reader(0), reader(1), reader(2)]
        );
    }

    #[test]
    fn those_beside_the_point_end_with_the_last_of_it() {
        let workload = tailmark_workload::find("readwhilewriting").unwrap();
        let roles = Roles::new(&workload, 2, None);
        let (writer, reader) = (roles.role(0), roles.role(1));
        let of_point = End::at(Tick::MAX);
        assert!(roles.completion(writer, &of_point).is_none());
        let end = roles.background_end();
        let [first, second] = [(); 2].map(|()| roles.completion(reader, &of_point).unwrap());
        let left = |done| ClientEnd {
            done,
            is_spent: true,
        };
        first.leave(left(9));
        assert_eq!(end.tick(), Tick::MAX);
        second.leave(left(7));
        assert_eq!(end.tick(), 9);
    }
}

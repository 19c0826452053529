//! The thread of a rank that talks to the others independently of the rank's work. It answers clock
//! requests, reports once a second that the rank is alive, passes on the start and end of a phase,
//! and notices when another rank falls silent.

use super::{
    current::{Current, GRACE, keys_of},
    message::{Command, LiveCounts, Message},
};
use std::{
    collections::VecDeque,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};
use tailmark_cluster::{ClockLine, Cluster, Exchange, Measurement};
use tailmark_engine::{DRAIN, Reading, Stop};
use tailmark_workload::KeySpace;

/// A rank that is silent for this long counts as lost.
const LOST: Duration = Duration::from_secs(15);

/// A rank that is silent for this long is named. The launcher may notice a lost host by itself, but
/// does not know which rank was there.
const QUIET: Duration = Duration::from_secs(5);

/// A load fails if a rank completes nothing for this long.
const NO_PROGRESS: Duration = Duration::from_secs(300);

/// How often clocks are compared during a phase.
const COMPARE: Duration = Duration::from_secs(60);

/// The number of clock requests, of which the quickest counts.
const PINGS: usize = 30;

/// How often conditions that others wait for are checked without a message.
const POLL: Duration = Duration::from_millis(20);

/// For how long the thread waits for a message before it looks for anything else. Each wait costs the
/// clients some microseconds.
const LISTEN: Duration = Duration::from_millis(100);

/// The exit code of a job that a rank ended.
const CODE: i32 = 1;

/// A rank's knowledge about the others and the phase in progress.
pub struct Link {
    pub cluster: Arc<dyn Cluster>,
    /// Of the whole run.
    pub stop: Stop,
    /// This machine's clock at the beginning, with the processor's counter.
    pub reading: Reading,
    state: Mutex<State>,
    changed: Condvar,
    closing: AtomicBool,
}

/// The state of the thread.
pub struct State {
    pub phase: Option<Current>,
    /// Of each rank; what rank 0 knows of itself, and the others of others than it, is never used.
    pub others: Vec<Other>,
    /// Commands, or their answers.
    pub inbox: VecDeque<(u32, Message)>,
    /// The keys of the previous phase, on a rank that follows.
    keys: Option<Arc<KeySpace>>,
}

/// Facts about another rank.
pub struct Other {
    pub heard: Instant,
    /// Whether it was said that it is not heard of.
    is_quiet: bool,
    /// Its host, once known.
    pub host: Option<String>,
    /// Of which version, once it has said so.
    pub version: Option<String>,
    pub clock: ClockLine,
    burst: Vec<Exchange>,
    pings_left: usize,
}

impl Link {
    /// A rank of a job, whose thread begins to listen.
    pub fn open(cluster: Arc<dyn Cluster>, stop: &Stop) -> (Arc<Self>, JoinHandle<()>) {
        let other = || Other {
            heard: Instant::now(),
            is_quiet: false,
            host: None,
            version: None,
            clock: ClockLine::default(),
            burst: Vec::new(),
            pings_left: 0,
        };
        let others = (0..cluster.size()).map(|_| other()).collect();
        let link = Arc::new(Self {
            reading: Reading::new(|| cluster.now_ns()),
            cluster,
            stop: stop.clone(),
            state: Mutex::new(State {
                phase: None,
                others,
                inbox: VecDeque::new(),
                keys: None,
            }),
            changed: Condvar::new(),
            closing: AtomicBool::new(false),
        });
        let served = Arc::clone(&link);
        let thread = std::thread::Builder::new().name("ranks".to_owned());
        let thread = thread.spawn(move || served.serve());
        (link, thread.expect("a thread can be started"))
    }

    /// Ends the thread.
    pub fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
    }

    pub fn is_leader(&self) -> bool {
        self.cluster.rank() == 0
    }

    /// Sends to one rank.
    pub fn send(&self, to: u32, message: &Message) {
        self.cluster.send(to, message.to_bytes());
    }

    /// Sends a message to the ranks from the second on, out of that many.
    pub fn send_each(&self, ranks: u32, message: &Message) {
        let bytes = message.to_bytes();
        (1..ranks).for_each(|rank| self.cluster.send(rank, bytes.clone()));
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `found` gives something, looking whenever anything has come.
    pub fn wait<T>(&self, mut found: impl FnMut(&mut State) -> Option<T>) -> T {
        let mut state = self.state();
        loop {
            if let Some(found) = found(&mut state) {
                return found;
            }
            let waited = self.changed.wait_timeout(state, POLL);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Changes the phase in progress, if it is that of this number.
    pub fn in_phase<T>(&self, number: u64, act: impl FnOnce(&mut Current) -> T) -> Option<T> {
        let mut state = self.state();
        let phase = state.phase.as_mut().filter(|p| p.number == number)?;
        let acted = act(phase);
        self.changed.notify_all();
        Some(acted)
    }

    /// Compares the clocks of the ranks with this one, and waits until that is done.
    pub fn compare_clocks(&self) {
        self.begin_comparing(&mut self.state());
        self.wait(|state| state.others.iter().all(|o| o.pings_left == 0).then_some(()));
    }

    fn begin_comparing(&self, state: &mut State) {
        for (rank, other) in (0_u32..).zip(&mut state.others).skip(1) {
            other.pings_left = PINGS;
            other.burst.clear();
            self.send(rank, &Message::Ping);
        }
    }

    fn serve(&self) {
        let (mut beats, mut before) = (Instant::now(), Instant::now());
        while !self.closing.load(Ordering::Relaxed) {
            // The whole job was suspended and resumed, so no rank sent anything meanwhile.
            if before.elapsed() > LOST / 3 {
                let others = &mut self.state().others;
                others
                    .iter_mut()
                    .for_each(|other| other.heard = Instant::now());
            }
            before = Instant::now();
            if let Some(message) = self.cluster.receive(LISTEN) {
                self.take(&message);
            }
            self.pass_on_stop();
            if Instant::now() >= beats {
                beats = Instant::now() + Duration::from_secs(1);
                self.beat();
                self.look();
            }
        }
    }

    fn take(&self, message: &tailmark_cluster::Message) {
        let from = message.from;
        let Some(told) = Message::from_bytes(&message.body) else {
            let why = format!(
                "rank {from} sent a message that this version does not know; every rank must run \
                 the same program"
            );
            self.cluster.abort(CODE, &why);
        };
        let mut state = self.state();
        let other = &mut state.others[from as usize];
        (other.heard, other.is_quiet) = (Instant::now(), false);
        match told {
            Message::Ping => {
                self.send(from, &Message::Pong(Exchange::answer(message)));
            }
            Message::Pong(instants) => {
                other.burst.push(Exchange::new(instants, message));
                other.pings_left = other.pings_left.saturating_sub(1);
                if other.pings_left > 0 {
                    self.send(from, &Message::Ping);
                } else if let Some(best) = Measurement::best(&other.burst) {
                    other.clock.add(best);
                }
            }
            Message::Hello { version, host } => {
                (other.host, other.version) = (Some(host), Some(version));
            }
            Message::Command(Command::Measure(order)) => {
                // From now on, messages about the phase arrive.
                let keys = keys_of(&order, state.keys.take());
                state.keys = Some(Arc::clone(&keys));
                state.phase = Some(Current::new(&order, keys, self.stop.child()));
                let order = Message::Command(Command::Measure(order));
                state.inbox.push_back((from, order));
            }
            Message::Command(_) | Message::Answer(_) => {
                if let Message::Command(Command::Plan { hosts, .. }) = &told {
                    let others = state.others.iter_mut().zip(hosts);
                    others.for_each(|(rank, host)| rank.host = Some(host.clone()));
                }
                state.inbox.push_back((from, told));
            }
            // Without a phase: a rank was told to stop.
            Message::Stop { phase: 0 } => self.stop.request(),
            told => self.take_of_phase(&mut state, from, told),
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Takes a message about the phase in progress. Messages about another phase are dropped.
    fn take_of_phase(&self, state: &mut State, from: u32, told: Message) {
        let Some(phase) = state.phase.as_mut() else {
            return;
        };
        let number = phase.number;
        match told {
            Message::Beat {
                phase: of,
                inserted,
                live,
            } if of == number => {
                if self.is_leader() {
                    let known = phase.live.entry(from).or_insert((live, Instant::now()));
                    if known.0.operations != live.operations {
                        known.1 = Instant::now();
                    }
                    known.0 = live;
                    phase.inserted.insert(from, inserted);
                    phase.learn();
                } else {
                    phase.keys.others_have(inserted);
                }
            }
            Message::Ready { phase: of } if of == number => _ = phase.ready.insert(from),
            Message::Failed { phase: of, why } if of == number => {
                phase.failed.get_or_insert((from, why));
            }
            Message::Start { phase: of, at } if of == number => phase.start = Some(at),
            Message::End { phase: of, after } if of == number => {
                phase.end.iter().for_each(|end| end.after(after));
                phase.has_end = true;
            }
            Message::GoOn { phase: of, until_s } if of == number => {
                phase.continues_until_s = until_s;
            }
            Message::Stop { phase: of } if of == number => phase.stop.request(),
            Message::Intervals { phase: of, closed } if of == number => {
                let known = phase.closed.entry(from).or_default();
                known.extend(
                    closed
                        .into_iter()
                        .filter_map(super::message::Seconds::interval),
                );
            }
            Message::Done { phase: of, part } if of == number => {
                phase.inserted.insert(from, part.inserted);
                phase.learn();
                let ends = phase.ends_together || part.has_failed || part.measured.is_err();
                phase.done.insert(from, *part);
                if ends {
                    self.end_all(phase);
                }
            }
            _ => {}
        }
    }

    /// Ends the phase for all, now: a rank has done its share, or cannot go on. In simulated time
    /// there is no now that is that of all.
    pub fn end_all(&self, phase: &mut Current) {
        let Some(end) = phase.end.as_ref().filter(|end| !end.is_simulated) else {
            return;
        };
        let after = end.since(self.cluster.now_ns());
        end.after(after);
        phase.ends_within(Duration::ZERO);
        let number = phase.number;
        let message = Message::End {
            phase: number,
            after,
        };
        self.send_each(phase.ranks, &message);
    }

    /// Says in simulated time that there was not enough until then, seconds.
    pub fn go_on(&self, number: u64, until_s: f64) {
        self.in_phase(number, |phase| {
            if phase.is_simulated() {
                let phase_number = phase.number;
                let told = Message::GoOn {
                    phase: phase_number,
                    until_s,
                };
                self.send_each(phase.ranks, &told);
            }
        });
    }

    /// Passes on a stop that was requested on this rank.
    fn pass_on_stop(&self) {
        if !self.stop.requested() {
            return;
        }
        let mut state = self.state();
        let Some(phase) = state.phase.as_mut().filter(|phase| !phase.has_told_stop) else {
            return;
        };
        phase.has_told_stop = true;
        if self.is_leader() {
            let number = phase.number;
            self.send_each(phase.ranks, &Message::Stop { phase: number });
        } else {
            self.send(0, &Message::Stop { phase: 0 })
        }
    }

    /// Says that this rank is there, and how far the phase in progress is.
    fn beat(&self) {
        let mut state = self.state();
        let (number, inserted, live) = match &state.phase {
            None => (0, 0, LiveCounts::default()),
            Some(phase) => {
                let own = phase.keys.own_acknowledged();
                let own_live = phase.live.get(&self.cluster.rank());
                let live = own_live.map_or_else(LiveCounts::default, |(live, _)| *live);
                if self.is_leader() {
                    let others = (1..phase.ranks)
                        .map(|rank| phase.inserted.get(&rank).copied().unwrap_or(0));
                    (phase.number, others.fold(own, u64::min), live)
                } else {
                    (phase.number, own, live)
                }
            }
        };
        let beat = Message::Beat {
            phase: number,
            inserted,
            live,
        };
        if !self.is_leader() {
            self.send(0, &beat);
            return;
        }
        self.send_each(self.cluster.size(), &beat);
        let compares = state.phase.as_mut().is_some_and(|phase| {
            let is_due = phase.compared.elapsed() >= COMPARE;
            if is_due {
                phase.compared = Instant::now();
            }
            is_due
        });
        if compares {
            self.begin_comparing(&mut state);
        }
    }

    /// Whether this rank monitors that one. If rank 0 is silent, rank 1 reports it first.
    fn watches(&self, rank: u32) -> bool {
        rank != self.cluster.rank() && (self.is_leader() || rank == 0)
    }

    /// Says which ranks have not been heard of for a while.
    fn tell_of_quiet(&self, state: &mut State) {
        if self.cluster.rank() > 1 {
            return;
        }
        let said: Vec<String> = (0..self.cluster.size())
            .filter(|rank| self.watches(*rank))
            .filter_map(|rank| {
                let other = &mut state.others[rank as usize];
                let silent = other.heard.elapsed();
                if silent < QUIET || std::mem::replace(&mut other.is_quiet, true) {
                    return None;
                }
                Some(format!(
                    "rank {rank}{} has not answered for {} s; the run ends after {} s",
                    state.on_host(rank),
                    silent.as_secs(),
                    LOST.as_secs()
                ))
            })
            .collect();
        said.iter().for_each(|said| self.cluster.warn(said));
    }

    /// Ends the job where another rank is lost, or does not end.
    fn look(&self) {
        let mut state = self.state();
        self.tell_of_quiet(&mut state);
        let lost = |(rank, other): (u32, &Other)| {
            let silent = other.heard.elapsed();
            (self.watches(rank) && silent > LOST).then_some((rank, silent))
        };
        let found = (0_u32..).zip(&state.others).find_map(lost);
        let why = match found {
            Some((rank, silent)) => Some(format!(
                "rank {rank}{} has not answered for {} s: it is stopped, or its host or the \
                 network is down",
                state.on_host(rank),
                silent.as_secs()
            )),
            None => state
                .phase
                .as_ref()
                .and_then(|phase| self.overdue(&state, phase)),
        };
        drop(state);
        if let Some(why) = why {
            self.cluster.abort(CODE, &why);
        }
    }

    /// The error if a phase runs longer than it may.
    fn overdue(&self, state: &State, phase: &Current) -> Option<String> {
        let now = Instant::now();
        let left = (0..phase.ranks).filter(|rank| !phase.done.contains_key(rank));
        let left: Vec<u32> = left.collect();
        if phase.ends_by.is_some_and(|by| now > by) && self.is_leader() {
            let rank = *left.iter().find(|rank| **rank > 0).or(left.first())?;
            return Some(format!(
                "rank {rank}{} has not ended its part of a phase {} s after the end: a request \
                 hangs in its database",
                state.on_host(rank),
                (DRAIN + GRACE).as_secs()
            ));
        }
        let stuck = |rank: &u32| {
            let (_, moved) = phase.live.get(rank)?;
            (phase.is_load && moved.elapsed() > NO_PROGRESS).then_some(*rank)
        };
        let rank = left.iter().filter(|rank| **rank > 0).find_map(stuck)?;
        Some(format!(
            "rank {rank}{} has loaded nothing for {} s: its database hangs",
            state.on_host(rank),
            NO_PROGRESS.as_secs()
        ))
    }
}

impl State {
    /// ` on HOST`, if it is known.
    pub fn on_host(&self, rank: u32) -> String {
        let other = self.others.get(rank as usize);
        let host = other.and_then(|other| other.host.as_ref());
        host.map_or_else(String::new, |host| format!(" on {host}"))
    }
}

//! One agent at the other end: requests and answers, samples, and its clock.

use crate::agent::{
    Answer, Ask, Hello, Line, PROTOCOL, Request, now_ns,
    protocol::{Sample, SampleId},
};
use crate::{
    Error,
    lines::{self, LINE_BYTES_MAX, Rate},
    wait::{RunStop, received},
};
use std::{
    collections::{HashMap, HashSet},
    hash::{DefaultHasher, Hash, Hasher},
    io::{BufRead, BufReader, Read, Write},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{self, RecvTimeoutError, Sender},
    },
    thread,
    time::{Duration, Instant},
};
use tailmark_cluster::{Exchange, Measurement};

/// How long an agent may take to send its first line.
const HELLO: Duration = Duration::from_secs(15);
/// How long it may take to report its clock.
const TIME: Duration = Duration::from_secs(20);
/// How long it may take to answer once the run is to stop.
const STOPPED: Duration = Duration::from_secs(5);
/// How often a wait looks whether it goes on, and messages about preparation are passed on.
const LOOK: Duration = Duration::from_millis(200);
/// How often this end sends a sign of life meanwhile.
const BEAT: Duration = Duration::from_secs(5);
/// Exchanges of a measurement of its clock.
const BURST: usize = 8;
/// The most memory for samples that wait to be taken, bytes: those of about ten minutes.
const SAMPLES_BYTES_MAX: usize = 64 << 20;
/// The most bytes of names that an agent's probes may have.
const NAMES_BYTES_MAX: usize = 4 << 20;
/// The most different values that an agent may sample in a run. This machine keeps a series of each.
const SERIES_MAX: usize = 100_000;
/// The most messages of one kind that wait to be taken.
const MESSAGES_MAX: usize = 1000;

/// A sample as the agent took it.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentSample {
    /// The probe.
    pub probe: String,
    /// When, by the agent's clock.
    pub at_ns: u64,
    /// Each value with its identity.
    pub values: Vec<(SampleId, f64)>,
}

/// A message while something is prepared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PrepareMessage {
    /// A log line.
    Log(String),
    /// A long step begins.
    Begins(String),
    /// The completed part, and the total.
    Progress(u64, u64),
}

/// Messages that were received but not taken yet.
#[derive(Debug, Default)]
struct Inbox {
    waiting: HashMap<u64, Sender<Answer>>,
    samples: Vec<AgentSample>,
    /// The memory of `samples`, bytes.
    samples_bytes: usize,
    not_sampled: Vec<String>,
    /// Messages about preparation.
    prepared: Vec<PrepareMessage>,
    next: u64,
    /// Why nothing comes any more.
    closed: Option<String>,
}

/// A connection to an agent.
pub struct Channel {
    login: String,
    hello: Hello,
    inbox: Arc<Mutex<Inbox>>,
    to: Mutex<Box<dyn Write + Send>>,
    stop: RunStop,
}

impl std::fmt::Debug for Channel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Channel")
            .field("hello", &self.hello)
            .finish()
    }
}

impl Channel {
    /// The agent at the other end of these streams.
    pub fn open(
        login: &str,
        from: impl Read + Send + 'static,
        to: impl Write + Send + 'static,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Self, Error> {
        let inbox = Arc::new(Mutex::new(Inbox::default()));
        let (greet, greeted) = mpsc::channel();
        let own = Arc::clone(&inbox);
        thread::spawn(move || read(from, &own, &greet));
        let lost = |why: &str| Error::Lost {
            login: login.to_owned(),
            why: why.to_owned(),
        };
        let hello = match received(&greeted, HELLO, is_over) {
            Ok(hello) => hello,
            Err(RecvTimeoutError::Timeout) => {
                return Err(lost(&format!("the agent did not answer within {HELLO:?}")));
            }
            Err(RecvTimeoutError::Disconnected) => {
                let why = locked(&inbox).closed.clone();
                return Err(lost(&why.unwrap_or_default()));
            }
        };
        if hello.protocol != PROTOCOL {
            return Err(Error::OtherVersion {
                login: login.to_owned(),
                version: lines::quoted(&hello.version),
                protocol: hello.protocol,
                expected: PROTOCOL,
            });
        }
        Ok(Self {
            login: login.to_owned(),
            hello,
            inbox,
            to: Mutex::new(Box::new(to)),
            stop: RunStop::default(),
        })
    }

    /// The same, which waits only some seconds for an answer once the run is to stop.
    #[must_use]
    pub fn until(self, stop: RunStop) -> Self {
        Self { stop, ..self }
    }

    /// Its first message.
    pub const fn hello(&self) -> &Hello {
        &self.hello
    }

    /// Sends a request and waits this long for the answer, but only some seconds once the run is to
    /// stop.
    pub fn ask(&self, ask: Ask, timeout: Duration) -> Result<Answer, Error> {
        let (mut end, mut limit, mut is_stopped) = (Instant::now() + timeout, timeout, false);
        let mut ends = |channel: &Self| {
            if !is_stopped && channel.stop.is_requested() {
                (is_stopped, limit) = (true, STOPPED.min(limit));
                end = end.min(Instant::now() + STOPPED);
            }
            (Instant::now() >= end).then(|| format!("no answer within {limit:?}"))
        };
        self.ask_until(ask, &mut ends, LOOK.min(timeout))
    }

    /// Sends a request that may take hours, and passes on messages meanwhile.
    pub fn prepare(
        &self,
        ask: Ask,
        hear: &mut dyn FnMut(PrepareMessage),
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Answer, Error> {
        let mut is_told = false;
        let mut heard = Instant::now();
        let mut each = |channel: &Self| {
            let said = std::mem::take(&mut locked(&channel.inbox).prepared);
            said.into_iter().for_each(&mut *hear);
            if is_stopped() && !is_told {
                is_told = true;
                // If this is lost, so is the awaited answer.
                let _ = channel.ask(Ask::Stop, TIME);
            }
            if heard.elapsed() < BEAT {
                return None;
            }
            heard = Instant::now();
            let is_there = channel.exchange();
            is_there.err().map(|error| error.to_string())
        };
        let answer = self.ask_until(ask, &mut each, LOOK);
        each(self);
        answer
    }

    /// Asks, and waits for the answer; every so often it is asked whether to go on, or why not.
    fn ask_until(
        &self,
        ask: Ask,
        ends: &mut dyn FnMut(&Self) -> Option<String>,
        every: Duration,
    ) -> Result<Answer, Error> {
        let (tell, told) = mpsc::channel();
        let id = {
            let mut inbox = locked(&self.inbox);
            if let Some(why) = &inbox.closed {
                return Err(self.lost(why.clone()));
            }
            inbox.next += 1;
            let id = inbox.next;
            inbox.waiting.insert(id, tell);
            id
        };
        let sent = self.send(&Request { id, ask });
        let mut wait = || loop {
            match told.recv_timeout(every) {
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Timeout) => {
                    if let Some(why) = ends(self) {
                        return Err(self.lost(why));
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let closed = locked(&self.inbox).closed.clone();
                    return Err(self.lost(closed.unwrap_or_default()));
                }
            }
        };
        let answer = sent.and_then(|()| wait());
        locked(&self.inbox).waiting.remove(&id);
        match answer? {
            Answer::Refused(why) => Err(Error::Refused {
                login: self.login.clone(),
                why: lines::shortened(&why),
            }),
            answer => Ok(answer),
        }
    }

    /// Measures its clock: the best of some exchanges.
    pub fn clock(&self) -> Result<Measurement, Error> {
        let exchanges: Result<Vec<_>, _> = (0..BURST).map(|_| self.exchange()).collect();
        let best = Measurement::best(&exchanges?);
        best.ok_or_else(|| self.lost("it does not report the time of its clock".to_owned()))
    }

    /// One exchange of clocks, which shows too that it is there.
    pub fn exchange(&self) -> Result<Exchange, Error> {
        let request_sent_ns = now_ns();
        let answer = self.ask(Ask::Time, TIME)?;
        let answer_received_ns = now_ns();
        match answer {
            Answer::Time {
                received_ns,
                sent_ns,
            } => Ok(Exchange {
                request_sent_ns,
                request_received_ns: received_ns,
                answer_sent_ns: sent_ns,
                answer_received_ns,
            }),
            other => {
                let other = lines::quoted(&format!("{other:?}"));
                Err(self.lost(format!("it answered {other} when asked for the time")))
            }
        }
    }

    /// The samples since the last call, and what could not be sampled.
    pub fn take(&self) -> (Vec<AgentSample>, Vec<String>) {
        let mut inbox = locked(&self.inbox);
        let samples = std::mem::take(&mut inbox.samples);
        inbox.samples_bytes = 0;
        (samples, std::mem::take(&mut inbox.not_sampled))
    }

    fn send(&self, request: &Request) -> Result<(), Error> {
        let mut text = serde_json::to_string(request).map_err(|e| self.lost(e.to_string()))?;
        text.push('\n');
        let mut to = locked(&self.to);
        let sent = to.write_all(text.as_bytes()).and_then(|()| to.flush());
        sent.map_err(|error| self.lost(error.to_string()))
    }

    fn lost(&self, why: String) -> Error {
        Error::Lost {
            login: self.login.clone(),
            why,
        }
    }
}

impl Inbox {
    /// Keeps a message about preparation. Later progress replaces earlier progress.
    fn say(&mut self, said: PrepareMessage) {
        if let (Some(PrepareMessage::Progress(..)), PrepareMessage::Progress(..)) =
            (self.prepared.last(), &said)
        {
            self.prepared.pop();
        }
        if self.prepared.len() < MESSAGES_MAX {
            self.prepared.push(said);
        }
    }

    fn keep(&mut self, sample: AgentSample) {
        let values = sample.values.iter().map(|(sampled, _)| bytes_of(sampled));
        let bytes = size_of::<AgentSample>() + sample.probe.len() + values.sum::<usize>();
        if self.samples_bytes + bytes <= SAMPLES_BYTES_MAX {
            self.samples_bytes += bytes;
            self.samples.push(sample);
        }
    }
}

/// Takes lines in until there are no more, or one is not as it has to be.
fn read(from: impl Read, inbox: &Mutex<Inbox>, greet: &Sender<Hello>) {
    let mut from = BufReader::new(from);
    let mut rate = Rate::new(Instant::now());
    let mut names = Names::default();
    let why = loop {
        match next(&mut from, &mut rate) {
            Ok(None) => break "the agent has ended".to_owned(),
            Ok(Some(Line::Hello(hello))) => drop(greet.send(hello)),
            Ok(Some(Line::Answer { id, answer })) => {
                if let Some(waiting) = locked(inbox).waiting.remove(&id) {
                    // Whoever asked may have gone.
                    let _ = waiting.send(answer);
                }
            }
            Ok(Some(Line::NotSampled(what))) => {
                let mut inbox = locked(inbox);
                if inbox.not_sampled.len() < MESSAGES_MAX {
                    inbox.not_sampled.push(lines::shortened(&what));
                }
            }
            Ok(Some(Line::Log(text))) => {
                locked(inbox).say(PrepareMessage::Log(lines::shortened(&text)))
            }
            Ok(Some(Line::Begins(what))) => {
                locked(inbox).say(PrepareMessage::Begins(lines::shortened(&what)));
            }
            Ok(Some(Line::Progress { done, total })) => {
                locked(inbox).say(PrepareMessage::Progress(done, total));
            }
            Ok(Some(Line::Sample(sample))) => match names.taken(sample) {
                Ok(sample) => {
                    let mut inbox = locked(inbox);
                    sample.into_iter().for_each(|sample| inbox.keep(sample));
                }
                Err(why) => break why,
            },
            Err(why) => break why,
        }
    };
    let mut inbox = locked(inbox);
    inbox.closed = Some(why);
    // Nobody waits for an answer that does not come.
    inbox.waiting.clear();
}

/// The next line of an agent, without control characters.
fn next(from: &mut impl BufRead, rate: &mut Rate) -> Result<Option<Line>, String> {
    let Some(line) = lines::line(from, LINE_BYTES_MAX).map_err(|error| error.to_string())? else {
        return Ok(None);
    };
    rate.count(Instant::now())?;
    let parsed = serde_json::from_str(&line).and_then(|mut value| {
        lines::clean(&mut value);
        serde_json::from_value(value)
    });
    // Errors of JSON repeat what they did not expect.
    let parsed = parsed.map_err(|error| lines::quoted(&error.to_string()));
    parsed
        .map(Some)
        .map_err(|error| format!("{error} in `{}`", lines::quoted(&line)))
}

/// The identities of each probe's values, which it sends only when they change.
#[derive(Default)]
struct Names {
    known: HashMap<String, Vec<SampleId>>,
    /// The hash of every identity so far.
    seen: HashSet<u64>,
}

impl Names {
    /// A sample with the identities of its values; `None` if they are unknown.
    fn taken(&mut self, sample: Sample) -> Result<Option<AgentSample>, String> {
        let Sample {
            probe,
            at_ns,
            names,
            values,
        } = sample;
        if let Some(new) = names {
            self.seen.extend(new.iter().map(|named| {
                let mut hasher = DefaultHasher::new();
                (&probe, &named.subject, &named.name).hash(&mut hasher);
                hasher.finish()
            }));
            if self.seen.len() > SERIES_MAX {
                return Err(format!(
                    "it samples more than {SERIES_MAX} different values"
                ));
            }
            self.known.insert(probe.clone(), new);
            let all = self.known.iter();
            let bytes =
                all.map(|(name, known)| name.len() + known.iter().map(bytes_of).sum::<usize>());
            if bytes.sum::<usize>() > NAMES_BYTES_MAX {
                return Err(format!(
                    "its probes have more than {NAMES_BYTES_MAX} bytes of names"
                ));
            }
        }
        let known = self
            .known
            .get(&probe)
            .filter(|known| known.len() == values.len());
        Ok(known.map(|known| AgentSample {
            values: known.iter().cloned().zip(values).collect(),
            probe,
            at_ns,
        }))
    }
}

/// The memory of one value of a sample, bytes.
fn bytes_of(sampled: &SampleId) -> usize {
    size_of::<(SampleId, f64)>() + sampled.subject.len() + sampled.name.len()
}

fn locked<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;

//! One agent at the other end: requests and answers, samples, and what its clock says.

use crate::{
    Error,
    lines::{self, LINE_BYTES_MAX, Rate},
    wait::received,
};
use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Read, Write},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{self, RecvTimeoutError, Sender},
    },
    thread,
    time::{Duration, Instant},
};
use tailmark_agent::{
    Answer, Ask, Hello, Line, PROTOCOL, Request, now_ns,
    protocol::{Sample, Sampled},
};
use tailmark_cluster::{Exchange, Measurement};

/// How long an agent may take for its first line.
const HELLO: Duration = Duration::from_secs(60);
/// How long it may take to say what its clock says.
const TIME: Duration = Duration::from_secs(20);
/// How often what is said of preparing is handed over.
const LOOK: Duration = Duration::from_millis(200);
/// How often the agent hears of this end meanwhile.
const BEAT: Duration = Duration::from_secs(5);
/// Exchanges of a measurement of its clock.
const BURST: usize = 8;
/// The most memory of samples that wait to be taken, bytes: those of about ten minutes.
const SAMPLES_BYTES_MAX: usize = 64 << 20;
/// The most bytes of names that an agent's probes may have.
const NAMES_BYTES_MAX: usize = 4 << 20;
/// The most messages of one kind that wait to be taken.
const MESSAGES_MAX: usize = 1000;

/// A sample as the agent took it.
#[derive(Debug, Clone, PartialEq)]
pub struct Taken {
    /// The probe.
    pub probe: String,
    /// When, by the agent's clock.
    pub at_ns: u64,
    /// What each value is of, and the value.
    pub values: Vec<(Sampled, f64)>,
}

/// What is said while something is prepared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// What is worth a line.
    Log(String),
    /// A long step begins.
    Begins(String),
    /// So much of it is done, of so much.
    Progress(u64, u64),
}

/// What has come and was not taken yet.
#[derive(Debug, Default)]
struct Inbox {
    waiting: HashMap<u64, Sender<Answer>>,
    samples: Vec<Taken>,
    /// The memory of `samples`, bytes.
    samples_bytes: usize,
    not_sampled: Vec<String>,
    /// What was said of preparing.
    prepared: Vec<Said>,
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
            Err(RecvTimeoutError::Timeout) => return Err(lost("the agent says nothing")),
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
        })
    }

    /// What it said first.
    pub const fn hello(&self) -> &Hello {
        &self.hello
    }

    /// Asks, and waits for the answer for so long.
    pub fn ask(&self, ask: Ask, timeout: Duration) -> Result<Answer, Error> {
        let end = Instant::now() + timeout;
        let late = || format!("no answer within {timeout:?}");
        self.ask_until(ask, &mut |_| (Instant::now() >= end).then(late), timeout)
    }

    /// Asks for what may take hours, and hands over what is said meanwhile.
    pub fn prepare(
        &self,
        ask: Ask,
        hear: &mut dyn FnMut(Said),
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Answer, Error> {
        let mut is_told = false;
        let mut heard = Instant::now();
        let mut each = |channel: &Self| {
            let said = std::mem::take(&mut locked(&channel.inbox).prepared);
            said.into_iter().for_each(&mut *hear);
            if is_stopped() && !is_told {
                is_told = true;
                // Where that is lost, so is the answer that is waited for.
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
        best.ok_or_else(|| self.lost("it does not say what its clock says".to_owned()))
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

    /// The samples that came since this was asked last, and what could not be sampled.
    pub fn take(&self) -> (Vec<Taken>, Vec<String>) {
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
    /// Keeps what was said of preparing. Later progress replaces earlier progress.
    fn say(&mut self, said: Said) {
        if let (Some(Said::Progress(..)), Said::Progress(..)) = (self.prepared.last(), &said) {
            self.prepared.pop();
        }
        if self.prepared.len() < MESSAGES_MAX {
            self.prepared.push(said);
        }
    }

    fn keep(&mut self, sample: Taken) {
        let values = sample.values.iter().map(|(of, _)| bytes_of(of));
        let bytes = size_of::<Taken>() + sample.probe.len() + values.sum::<usize>();
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
            Ok(Some(Line::Log(text))) => locked(inbox).say(Said::Log(lines::shortened(&text))),
            Ok(Some(Line::Begins(what))) => {
                locked(inbox).say(Said::Begins(lines::shortened(&what)));
            }
            Ok(Some(Line::Progress { done, of })) => locked(inbox).say(Said::Progress(done, of)),
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

/// What the values of each probe are of, which it says only where that has changed.
#[derive(Default)]
struct Names {
    of: HashMap<String, Vec<Sampled>>,
}

impl Names {
    /// A sample with what its values are of; `None` where that is not known.
    fn taken(&mut self, sample: Sample) -> Result<Option<Taken>, String> {
        let Sample {
            probe,
            at_ns,
            of,
            values,
        } = sample;
        if let Some(of) = of {
            self.of.insert(probe.clone(), of);
            let all = self.of.iter();
            let all = all.map(|(probe, of)| probe.len() + of.iter().map(bytes_of).sum::<usize>());
            if all.sum::<usize>() > NAMES_BYTES_MAX {
                return Err(format!(
                    "its probes have more than {NAMES_BYTES_MAX} bytes of names"
                ));
            }
        }
        let Some(of) = self.of.get(&probe) else {
            return Ok(None);
        };
        Ok((of.len() == values.len()).then(|| Taken {
            values: of.iter().cloned().zip(values).collect(),
            probe,
            at_ns,
        }))
    }
}

/// The memory of one value of a sample, bytes.
fn bytes_of(of: &Sampled) -> usize {
    size_of::<(Sampled, f64)>() + of.subject.len() + of.name.len()
}

fn locked<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{collections::BTreeSet, os::unix::net::UnixStream};
    use tailmark_agent::protocol::Watch;
    use tailmark_cluster::ClockLine;

    /// An agent of this program, in a thread, whose clock is this.
    fn agent(clock: impl Fn() -> u64 + Send + Sync + 'static) -> Channel {
        let (own, other) = UnixStream::pair().unwrap();
        thread::spawn(move || {
            let input = BufReader::new(other.try_clone().unwrap());
            tailmark_agent::serve(input, other, &clock, &|| {})
        });
        Channel::open("db1", own.try_clone().unwrap(), own, &|| false).unwrap()
    }

    /// Samples of two probes over some seconds.
    fn sampled(channel: &Channel, seconds: u64) -> Vec<Taken> {
        let probes = ["cpu", "memory"].map(str::to_owned).to_vec();
        let watch = Watch {
            probes,
            ..Watch::default()
        };
        channel.ask(Ask::Watch(watch), HELLO).unwrap();
        thread::sleep(Duration::from_secs(seconds));
        channel.ask(Ask::Sample, HELLO).unwrap();
        channel.take().0
    }

    #[test]
    fn samples_come_by_themselves_each_with_what_its_values_are_of() {
        let channel = agent(now_ns);
        let taken = sampled(&channel, 2);
        let probes: BTreeSet<&str> = taken.iter().map(|sample| &*sample.probe).collect();
        assert_eq!(probes, BTreeSet::from(["cpu", "memory"]));
        // One each second, and the last.
        assert!(taken.len() >= 6, "{}", taken.len());
        for sample in &taken {
            let of = |subject: &str| sample.values.iter().any(|(of, _)| of.subject == subject);
            assert!(of("machine"), "{sample:?}");
        }
        channel.ask(Ask::Rest, HELLO).unwrap();
        channel.take();
        thread::sleep(Duration::from_millis(1500));
        assert_eq!(channel.take().0, []);
    }

    #[test]
    fn a_clock_that_drifts_from_another_boot_is_put_on_our_own() {
        const AHEAD_NS: u64 = 3_600_000_000_000;
        let began = now_ns();
        // A thousandth faster, and an hour ahead.
        let clock = move || {
            let since = now_ns() - began;
            began + AHEAD_NS + since + since / 1000
        };
        let channel = agent(clock);
        let mut line = ClockLine::default();
        line.add(channel.clock().unwrap());
        let first = now_ns();
        let taken = sampled(&channel, 4);
        line.add(channel.clock().unwrap());
        let last = now_ns();
        let mut instants: Vec<u64> = Vec::new();
        for sample in &taken {
            let at = line.leader_at(sample.at_ns).unwrap();
            assert!((first..=last).contains(&at.ns), "{first} {at:?} {last}");
            // What the sample says of its instant, by the drift that is known here.
            let since = (sample.at_ns - began - AHEAD_NS) as f64 / 1.001;
            let error = (at.ns as f64 - (began as f64 + since)).abs();
            assert!(error <= at.bound_ns as f64 + 1000.0, "{error} {at:?}");
            instants.push(at.ns);
        }
        assert!(instants.is_sorted());
    }

    #[test]
    fn what_the_clock_says_does_not_wait_for_what_takes_longer() {
        let channel = Arc::new(agent(now_ns));
        let other = Arc::clone(&channel);
        let facts = thread::spawn(move || other.ask(Ask::Facts, HELLO).unwrap());
        let exchange = channel.exchange().unwrap();
        assert!(exchange.request_received_ns >= exchange.request_sent_ns);
        assert!(exchange.answer_sent_ns <= exchange.answer_received_ns);
        let Answer::Facts(facts) = facts.join().unwrap() else {
            panic!("something else was answered");
        };
        let names = |facts: &[tailmark_results::Fact]| -> Vec<String> {
            facts
                .iter()
                .map(|fact| format!("{}.{}", fact.group, fact.name))
                .collect()
        };
        assert_eq!(names(&facts), names(&tailmark_host::machine_facts()));
    }

    /// The first line of an agent that speaks this.
    fn hello(protocol: u32) -> String {
        let hello = Hello {
            protocol,
            version: "9.9".to_owned(),
            hostname: "node2".to_owned(),
            boot_id: String::new(),
            memory: 1,
        };
        serde_json::to_string(&Line::Hello(hello)).unwrap()
    }

    #[test]
    fn an_agent_of_another_version_is_refused() {
        let (own, mut other) = UnixStream::pair().unwrap();
        writeln!(other, "{}", hello(PROTOCOL + 1)).unwrap();
        let refused = Channel::open("db1", own.try_clone().unwrap(), own, &|| false).unwrap_err();
        let (version, speaks) = ("version 9.9", format!("protocol {}", PROTOCOL + 1));
        let text = refused.to_string();
        assert!(text.contains(version) && text.contains(&speaks), "{text}");
    }

    #[test]
    fn whoever_waits_when_the_other_end_goes_is_told_at_once() {
        let (own, mut other) = UnixStream::pair().unwrap();
        writeln!(other, "{}", hello(PROTOCOL)).unwrap();
        let channel = Channel::open("db1", own.try_clone().unwrap(), own, &|| false).unwrap();
        let ends = thread::spawn(move || {
            let mut line = String::new();
            BufReader::new(other.try_clone().unwrap())
                .read_line(&mut line)
                .unwrap();
            assert!(line.contains("facts"), "{line}");
            other.shutdown(std::net::Shutdown::Both).unwrap();
        });
        let began = Instant::now();
        let lost = channel
            .ask(Ask::Facts, Duration::from_secs(300))
            .unwrap_err();
        assert!(matches!(lost, Error::Lost { .. }), "{lost}");
        assert!(began.elapsed() < Duration::from_secs(250));
        ends.join().unwrap();
        assert!(channel.ask(Ask::Facts, HELLO).is_err());
    }

    /// What waiting for an answer ends with when an agent sends this after its greeting.
    fn lost_by(
        send: impl FnOnce(&mut UnixStream) -> std::io::Result<()> + Send + 'static,
    ) -> String {
        let (own, mut other) = UnixStream::pair().unwrap();
        writeln!(other, "{}", hello(PROTOCOL)).unwrap();
        let channel = Channel::open("db1", own.try_clone().unwrap(), own, &|| false).unwrap();
        let sends = thread::spawn(move || send(&mut other));
        let lost = channel
            .ask(Ask::Facts, Duration::from_secs(300))
            .unwrap_err();
        assert!(matches!(lost, Error::Lost { .. }), "{lost}");
        drop(channel);
        // Nobody reads what it still sends.
        let _ = sends.join().unwrap();
        lost.to_string()
    }

    /// The memory of this process that only ever grew, bytes.
    fn memory_max() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.unwrap().trim().trim_end_matches(" kB");
        kib.parse::<u64>().unwrap() * 1024
    }

    #[test]
    fn an_agent_that_sends_an_endless_line_is_left_before_it_takes_memory() {
        let before = memory_max();
        let lost = lost_by(|other| {
            let some = vec![b'x'; 1 << 20];
            // Ends when nobody reads any more.
            (0..2048).try_for_each(|_| other.write_all(&some))
        });
        assert!(
            lost.contains("`db1`") && lost.contains("1048576 bytes"),
            "{lost}"
        );
        let more = memory_max() - before;
        assert!(more < 256 << 20, "{more} bytes");
    }

    #[test]
    fn an_agent_that_floods_is_left() {
        let flood = "{\"log\":\"\"}\n".repeat(10_000);
        let lost =
            lost_by(move |other| (0..10_000).try_for_each(|_| other.write_all(flood.as_bytes())));
        assert!(lost.contains("1000 lines per second"), "{lost}");
    }

    #[test]
    fn messages_that_nobody_takes_are_bounded() {
        let mut inbox = Inbox::default();
        for number in 0..10_000 {
            inbox.say(Said::Log(number.to_string()));
        }
        assert_eq!(inbox.prepared.len(), MESSAGES_MAX);
        inbox.prepared.clear();
        for done in 0..10_000 {
            inbox.say(Said::Progress(done, 10_000));
        }
        assert_eq!(inbox.prepared, [Said::Progress(9_999, 10_000)]);
    }

    #[test]
    fn samples_with_long_names_take_bounded_memory_until_they_are_taken() {
        let mut inbox = Inbox::default();
        let mut names = Names::default();
        for number in 0..10_000 {
            let of = |_| Sampled {
                subject: "s".repeat(10_000),
                name: "n".repeat(10_000),
                kind: tailmark_results::SeriesKind::Gauge,
            };
            let sample = Sample {
                probe: "cpu".to_owned(),
                at_ns: number,
                of: Some((0..10).map(of).collect()),
                values: vec![1.0; 10],
            };
            inbox.keep(names.taken(sample).unwrap().unwrap());
        }
        assert!(
            inbox.samples.len() > 100 && inbox.samples.len() < 1000,
            "{}",
            inbox.samples.len()
        );
        let more = (0..100).find_map(|number| {
            let of = Sampled {
                subject: "s".repeat(100_000),
                name: String::new(),
                kind: tailmark_results::SeriesKind::Gauge,
            };
            let sample = Sample {
                probe: format!("p{number}"),
                at_ns: 0,
                of: Some(vec![of]),
                values: vec![1.0],
            };
            names.taken(sample).err()
        });
        assert!(more.unwrap().contains("names"));
    }

    #[test]
    fn what_an_agent_says_has_no_control_characters_and_errors_repeat_little_of_it() {
        let lost = lost_by(|other| writeln!(other, "\u{1b}[2J{}", "x".repeat(100_000)));
        assert!(!lost.contains('\u{1b}') && lost.len() < 1000, "{lost}");
        let (own, mut other) = UnixStream::pair().unwrap();
        writeln!(other, "{}", hello(PROTOCOL)).unwrap();
        let channel = Channel::open("db1", own.try_clone().unwrap(), own, &|| false).unwrap();
        let answers = thread::spawn(move || {
            let mut line = String::new();
            BufReader::new(other.try_clone().unwrap())
                .read_line(&mut line)
                .unwrap();
            let fact = serde_json::json!({
                "system": null, "group": "machine", "name": "model", "value": "evil\u{1b}]0;x\u{7}\u{202e}\nline",
            });
            let request: Request = serde_json::from_str(&line).unwrap();
            let answer =
                serde_json::json!({"answer": {"id": request.id, "answer": {"facts": [fact]}}});
            writeln!(other, "{answer}").unwrap();
        });
        let Answer::Facts(facts) = channel.ask(Ask::Facts, HELLO).unwrap() else {
            panic!("something else was answered");
        };
        assert_eq!(facts[0].value, "evil]0;x line");
        answers.join().unwrap();
    }
}

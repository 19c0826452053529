//! What the ranks of these tests do to each other; what they print is looked at.

use std::{
    fs, thread,
    time::{Duration, Instant},
};
use tailmark_cluster::{Cluster, Exchange, Measurement, launched};
use tailmark_mpi::Mpi;

/// Longer than any test waits.
const WAIT: Duration = Duration::from_secs(100);

/// After this a rank that was not heard of is gone. It is longer than the launcher's keepalives
/// take: where a host is lost, its packets to that host must not be under way, or it waits for
/// their acknowledgement for minutes.
const SILENCE_MAX: Duration = Duration::from_secs(15);

/// How often each rank says that it is there.
const BEAT: Duration = Duration::from_millis(500);

type Act = fn(&dyn Cluster, u32);

const ACTS: &[(&str, Act)] = &[
    ("abort", |c, rank| {
        act_of(c, rank, |c| c.abort(17, "it is over"))
    }),
    ("beat", |c, seconds| {
        beat(c, Duration::from_secs(seconds.into()))
    }),
    ("clock", |c, times| clock(c, times)),
    ("exchange", |c, megabytes| {
        exchange(c, megabytes as usize * 1_000_000)
    }),
    ("leave", |c, messages| leave(c, messages)),
    ("panic", |c, rank| act_of(c, rank, |_| panic!("on cue"))),
];

/// Plays one of [`ACTS`], as a rank.
pub fn play(name: &str, number: u32) {
    let act = ACTS.iter().find(|(known, _)| *known == name);
    let (_, act) = act.expect("the act is one of ACTS");
    let launched = launched().expect("mpirun started this rank");
    act(&Mpi::join(launched).expect("this rank can join"), number);
}

#[allow(clippy::print_stdout, reason = "a test reads it")]
fn say(cluster: &dyn Cluster, what: &str) {
    println!("rank {} on {}: {what}", cluster.rank(), cluster.host());
}

/// One rank acts, in a thread that is not the first; the others wait for a message that never comes.
fn act_of(cluster: &dyn Cluster, rank: u32, act: fn(&dyn Cluster)) {
    say(cluster, "here");
    thread::scope(|scope| {
        if cluster.rank() == rank {
            scope.spawn(|| act(cluster));
        }
        cluster.receive(WAIT);
    });
}

/// Every rank tells rank 0 each half second that it is there, and is told; who hears nothing ends
/// the job. At the end it says how much of a core all that took.
fn beat(cluster: &dyn Cluster, time: Duration) {
    let others = if cluster.rank() == 0 {
        1..cluster.size()
    } else {
        0..1
    };
    let mut heard: Vec<_> = others.map(|rank| (rank, Instant::now())).collect();
    say(cluster, &format!("process {}", std::process::id()));
    let start = Instant::now();
    let before = processor_time();
    let mut next = start;
    while start.elapsed() < time {
        if Instant::now() >= next {
            next += BEAT;
            heard
                .iter()
                .for_each(|(rank, _)| cluster.send(*rank, vec![1]));
        }
        let wait = next.saturating_duration_since(Instant::now());
        if let Some(message) = cluster.receive(wait) {
            let from = heard.iter_mut().find(|(rank, _)| *rank == message.from);
            from.expect("only these send").1 = Instant::now();
        }
        for (rank, at) in &heard {
            if at.elapsed() > SILENCE_MAX {
                cluster.abort(3, &format!("heard nothing of rank {rank}"));
            }
        }
    }
    let parts_per_million = (processor_time() - before).as_micros() / u128::from(time.as_secs());
    say(cluster, &format!("processor {parts_per_million} ppm"));
}

/// The processor time of this process so far.
fn processor_time() -> Duration {
    let tasks = fs::read_dir("/proc/self/task").expect("the kernel has it");
    let of_task = |path: std::path::PathBuf| {
        let stat = fs::read_to_string(path.join("schedstat")).unwrap_or_default();
        stat.split(' ')
            .next()
            .and_then(|ns| ns.parse::<u64>().ok())
            .unwrap_or_default()
    };
    Duration::from_nanos(tasks.flatten().map(|task| of_task(task.path())).sum())
}

/// Rank 0 measures the clock of each other one so often.
fn clock(cluster: &dyn Cluster, times: u32) {
    if cluster.rank() > 0 {
        for _ in 0..times * 50 {
            let request = cluster.receive(WAIT).expect("rank 0 asks");
            cluster.send(0, Exchange::answer(&request).to_vec());
        }
        return;
    }
    for rank in 1..cluster.size() {
        for _ in 0..times {
            let exchange = |_| {
                cluster.send(rank, Vec::new());
                let answer = cluster.receive(WAIT).expect("it answers");
                Exchange::new(answer.body[..].try_into().expect("16 bytes"), &answer)
            };
            let burst: Vec<_> = (0..50).map(exchange).collect();
            let best = Measurement::best(&burst).expect("there were some");
            let (ahead, bound) = (best.offset_ns(), best.bound_ns);
            say(cluster, &format!("rank {rank} ahead {ahead} bound {bound}"));
        }
    }
}

/// Every rank sends so much to every rank at once, itself included.
fn exchange(cluster: &dyn Cluster, bytes: usize) {
    let content = |from: u32| (0..bytes).map(|at| (at as u32 * 31 + from) as u8).collect();
    for to in 0..cluster.size() {
        cluster.send(to, content(cluster.rank()));
        cluster.send(to, vec![7]);
    }
    let mut large: Vec<u32> = Vec::new();
    let mut small: Vec<u32> = Vec::new();
    for _ in 0..2 * cluster.size() {
        let message = cluster.receive(WAIT).expect("each sends two");
        if message.body == [7] {
            assert!(large.contains(&message.from), "the small one came first");
            small.push(message.from);
        } else {
            let expected: Vec<u8> = content(message.from);
            assert!(message.body == expected, "not what was sent");
            large.push(message.from);
        }
    }
    small.sort_unstable();
    say(cluster, &format!("all of {small:?}"));
}

/// Every rank sends many to rank 0 and leaves at once.
fn leave(cluster: &dyn Cluster, messages: u32) {
    for at in 0..messages {
        cluster.send(0, at.to_le_bytes().to_vec());
    }
    if cluster.rank() == 0 {
        let mut next = vec![0; cluster.size() as usize];
        for _ in 0..messages * cluster.size() {
            let message = cluster.receive(WAIT).expect("each has sent them");
            let at = u32::from_le_bytes(message.body[..].try_into().expect("4 bytes"));
            assert_eq!(at, next[message.from as usize], "the order is kept");
            next[message.from as usize] += 1;
        }
        say(cluster, &format!("got {next:?}"));
    }
}

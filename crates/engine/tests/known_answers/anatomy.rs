//! Where the time of requests went on simulated databases, where it is known.

use super::{data, key, open};
use std::{sync::Arc, time::Duration};
use tailmark_driver::Clients;
use tailmark_engine::{Anatomist, AnatomySettings, Silent, Spec, Stop, Terms};
use tailmark_model::{Anatomy, AnatomyKind, Arrivals, Kind, Phase, anatomy::Band};
use tailmark_workload::KeySpace;

/// A point of reads whose requests are taken apart.
struct Asked {
    model: &'static str,
    threads: u32,
    rate: Option<f64>,
    duration_s: u64,
    requests: usize,
    every: u32,
}

impl Default for Asked {
    fn default() -> Self {
        Self {
            model: "",
            threads: 8,
            rate: None,
            duration_s: 20,
            requests: 1_000,
            every: 1,
        }
    }
}

fn measure(asked: &Asked) -> (Phase, Anatomy) {
    let database = open(asked.model);
    let workload = Arc::new(tailmark_workload::find("ycsb-c").unwrap());
    let (data, keys) = (data(), Arc::new(KeySpace::new(1_000, 1_000)));
    let key = key(asked.threads);
    let settings = AnatomySettings {
        requests: asked.requests,
        every: asked.every,
    };
    let anatomist = Arc::new(Anatomist::new(settings));
    let spec = Spec {
        clients: Clients::Tasks,
        system: "a",
        point: Some(&key),
        anatomy: Some(&anatomist),
        terms: Terms {
            threads: asked.threads,
            rate: asked.rate,
            arrivals: asked.rate.map(|_| Arrivals::Even),
            warmup: Duration::from_secs(1),
            duration: Some(Duration::from_secs(asked.duration_s)),
            seed: 1,
            ..Terms::default()
        },
        ..Spec::new(database.as_ref(), &workload, &data, &keys)
    };
    let phase = tailmark_engine::run(&spec, &mut (), &Silent, &Stop::new()).unwrap();
    (phase, anatomist.finish())
}

fn reads(anatomy: &Anatomy) -> &AnatomyKind {
    &anatomy.kinds[&Kind::Read]
}

/// The attribution that these tests must refuse: all time beyond the median is the device's.
fn naive_device_share(kind: &AnatomyKind, band: &Band) -> f64 {
    let median = kind.sample.iter().map(|request| request.response_ns());
    let mut median: Vec<_> = median.collect();
    median.sort_unstable();
    let median = median[median.len() / 2] as f64;
    let mean = band.total_ns() as f64 / band.requests as f64;
    (mean - median) / mean
}

#[test]
fn the_share_of_a_device_is_right_in_every_band() {
    let (phase, anatomy) = measure(&Asked {
        model: "lognormal 1ms 0.5; mode 0.5% uniform 10ms 40ms; device 70%",
        ..Asked::default()
    });
    let reads = reads(&anatomy);
    assert_eq!(reads.timed, phase.kinds[&Kind::Read].count);
    assert_eq!(reads.bands.len(), 5, "up to p99.9 of {}", reads.timed);
    let requests: u64 = reads.bands.iter().map(|band| band.requests).sum();
    assert!(requests.abs_diff(reads.timed) <= 3);
    for band in &reads.bands {
        let share = anatomy.share(band, "device");
        assert!((share - 0.7).abs() < 0.001, "{}: {share}", band.above);
    }
    let slowest = reads.bands.last().unwrap();
    let naive = naive_device_share(reads, slowest);
    assert!((naive - 0.7).abs() > 0.2, "{naive}");
}

#[test]
fn a_stall_is_not_blamed_on_the_device() {
    let (_, anatomy) = measure(&Asked {
        model: "constant 1ms; device 90%; stall 5s 100ms; stall 9s 200ms; stall 15s 50ms",
        threads: 64,
        ..Asked::default()
    });
    let reads = reads(&anatomy);
    // 64 clients are held by each of three stalls: 192 requests, the slowest of 1.2 million.
    let held = &reads.slowest[..192];
    let stall = anatomy.parts.iter().position(|part| part.name == "stall");
    let stall = stall.unwrap();
    let stalled: u64 = held.iter().map(|request| request.ns[stall]).sum();
    assert_eq!(stalled, 64 * 350_000_000);
    assert!(reads.slowest[192].response_ns() == 1_000_000);
    let slowest = reads.bands.last().unwrap();
    assert!(slowest.is_slowest() && slowest.above == 0.9999);
    // The band has 64 of 128 times 100 ms and 200 ms, or its own mix: what is no stall is 1 ms.
    let expected = 1.0 - slowest.requests as f64 * 1e6 / slowest.total_ns() as f64;
    let share = anatomy.share(slowest, "stall");
    assert!((share - expected).abs() < 0.01, "{share}, {expected}");
    assert!(anatomy.share(slowest, "device") < 0.02);
    assert!(naive_device_share(reads, slowest) > 0.9);
}

#[test]
fn at_a_rate_the_wait_for_a_free_client_is_a_part_of_its_own() {
    // One client, 500 a second: a read of 100 ms every now and then delays those that are due.
    let (phase, anatomy) = measure(&Asked {
        model: "constant 1ms; mode 0.2% constant 100ms; device 100%",
        threads: 1,
        rate: Some(500.0),
        duration_s: 100,
        ..Asked::default()
    });
    let reads = reads(&anatomy);
    let slowest = reads.bands.last().unwrap();
    assert!(anatomy.share(slowest, "client") > 0.5);
    let lag = phase.start_lag.unwrap();
    let waited: u64 = reads
        .bands
        .iter()
        .flat_map(|band| {
            let own = anatomy.parts.iter().zip(&band.ns);
            own.filter(|(part, _)| part.group == "client")
        })
        .map(|(_, ns)| ns)
        .sum();
    let lag = lag.all.mean() * lag.all.len() as f64;
    assert!((waited as f64 / lag - 1.0).abs() < 0.01, "{waited}, {lag}");
}

#[test]
fn a_wait_in_a_queue_is_not_blamed_on_the_device() {
    let (_, anatomy) = measure(&Asked {
        model: "constant 1ms; servers 2; device 100%",
        threads: 8,
        ..Asked::default()
    });
    let reads = reads(&anatomy);
    for band in &reads.bands {
        let share = anatomy.share(band, "device");
        assert!((share - 0.25).abs() < 0.01, "{}: {share}", band.above);
    }
}

#[test]
fn the_slowest_are_kept_and_the_sample_is_of_all() {
    let (phase, anatomy) = measure(&Asked {
        model: "exponential 1ms",
        requests: 100,
        ..Asked::default()
    });
    let reads = reads(&anatomy);
    assert_eq!(
        (reads.slowest.len(), reads.sample.len(), reads.lost),
        (100, 100, 0)
    );
    let times: Vec<_> = reads.slowest.iter().map(|one| one.response_ns()).collect();
    assert!(times.is_sorted_by(|a, b| a >= b));
    let all = &phase.kinds[&Kind::Read].service;
    assert!(all.max().abs_diff(times[0]) <= times[0] / 500);
    // As many are slower than the last one.
    let slower = all.len() - all.count_between(0, times[99] + times[99] / 1_000);
    assert!((90..=100).contains(&slower), "{slower}");
    // Half of the sample is faster than the median, in each half of the time.
    let median = all.value_at_quantile(0.5);
    let faster = reads.sample.iter().filter(|one| one.response_ns() < median);
    assert!((30..70).contains(&faster.count()));
    let early = reads.sample.iter().filter(|one| one.sent < 10_000_000_000);
    assert!((30..70).contains(&early.count()));
    for request in reads.slowest.iter().chain(&reads.sample) {
        assert_eq!(request.ns.iter().sum::<u64>(), request.response_ns());
    }
}

#[test]
fn one_in_so_many_is_taken_apart_and_the_point_is_the_same() {
    let asked = |every| Asked {
        model: "exponential 1ms; device 50%",
        every,
        ..Asked::default()
    };
    let (all, _) = measure(&asked(1));
    let (tenth, anatomy) = measure(&asked(10));
    assert_eq!(all.operations, tenth.operations);
    let counts = reads(&anatomy).timed * 10;
    assert!(counts.abs_diff(tenth.operations) <= 80, "{counts}");
    // A band needs 100 requests that were taken apart.
    let few = measure(&asked(3_000)).1;
    assert!(reads(&few).timed < 100 && reads(&few).bands.is_empty());
}

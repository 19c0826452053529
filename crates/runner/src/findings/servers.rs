//! What samples on the hosts of servers say against a number.

use super::PointContext;
use tailmark_cluster::DRIFT_PPM_MAX;
use tailmark_model::{
    Finding, Phase, SERVER_CLOCK, Sentence, Series, Unit,
    finding::{SERVER_CHANGED, SERVER_UNWATCHED},
    gap_s,
};

/// From this share on processors are the limit, as on the clients' machine.
const BUSY: f64 = 0.90;
/// From this share on processors count as given to others, as on the clients' machine.
const STEAL: f64 = 0.01;

/// The processors of a server were the limit.
pub fn saturated(point: &PointContext<'_>) -> Option<Sentence> {
    let busy = point.phase().servers().into_iter().filter_map(|server| {
        let busy = point.phase().server_cpu_busy(server)?;
        (busy >= BUSY).then_some((server, busy))
    });
    let wording = "The processors of the server were the limit, not its storage: {Server} ({Processors \
                   busy} busy). Use more processors there, or a cache small enough that reads reach \
                   the device.";
    of_servers(wording, busy, |sentence, busy| {
        sentence.number("Processors busy", busy * 100.0, Unit::Percent)
    })
}

/// A sentence with the observations of each server; `None` without a server.
fn of_servers<'s, T>(
    wording: &str,
    servers: impl Iterator<Item = (&'s str, T)>,
    add: impl Fn(Sentence, T) -> Sentence,
) -> Option<Sentence> {
    let named = |sentence: Sentence, (server, seen)| add(sentence.text("Server", server), seen);
    let sentence = servers.fold(Sentence::new(wording), named);
    (!sentence.evidence.is_empty()).then_some(sentence)
}

/// Processors of servers that were given to other guests of their hosts.
pub fn steal(phase: &Phase) -> Option<Sentence> {
    let stolen = phase.servers().into_iter().filter_map(|server| {
        let share = phase.server_cpu_steal(server)?;
        (share >= STEAL).then_some((server, share))
    });
    let wording = "Other guests of the machine's host took processor time (steal): {Steal} on \
                   server {Server}. Requests waited for a processor. Use a dedicated host or a \
                   larger instance.";
    of_servers(wording, stolen, |sentence, share| {
        sentence.number("Steal", share * 100.0, Unit::Percent)
    })
}

/// A time in which nothing was sampled on a server.
pub fn unwatched(phase: &Phase) -> Option<Sentence> {
    let gaps = phase.servers().into_iter().flat_map(|server| {
        let gaps = gaps(phase, server).into_iter();
        gaps.map(move |gap| (server, gap))
    });
    let wording = "Nothing was sampled on the server's host for some time, for example because the \
                   connection was lost: {Server} from {From} to {Until}. The latencies are \
                   complete, because the clients measure them; values of the server's machine are \
                   not. Measure again if you need them.";
    of_servers(wording, gaps, |sentence, (from, until)| {
        let sentence = sentence.number("From", from, Unit::Seconds);
        sentence.number("Until", until, Unit::Seconds)
    })
}

/// The times within the measured part in which nothing came from a server, seconds.
fn gaps(phase: &Phase, server: &str) -> Vec<(f64, f64)> {
    let of_server = phase.series.iter().filter(|s| s.server() == Some(server));
    let sampled = of_server.filter(|s| s.probe != SERVER_CLOCK);
    // The series with the most samples comes from a probe that samples every second.
    let Some(often) = sampled.max_by_key(|s| s.at_s.len()) else {
        return vec![(0.0, phase.duration_s)];
    };
    let inside = often.at_s.iter().copied();
    let inside = inside.filter(|at| (0.0..=phase.duration_s).contains(at));
    let edges = [0.0].into_iter().chain(inside).chain([phase.duration_s]);
    let at_s: Vec<f64> = edges.collect();
    let gap_s = gap_s(&often.at_s);
    let is_gap = |pair: &&[f64]| pair[1] - pair[0] > gap_s;
    let pairs = at_s.windows(2).filter(is_gap);
    pairs.map(|pair| (pair[0], pair[1])).collect()
}

/// The finding that the preparation of a server was undone meanwhile.
pub fn changed(put_back: &[String]) -> Option<Sentence> {
    let wording = "The connection to the server's host was lost: {Server}. The settings of \
                   [prepare] were undone there and set again on reconnection, so a part was \
                   measured without them. Measure it again.";
    let hosts = put_back.iter().map(|host| (host.as_str(), ()));
    of_servers(wording, hosts, |sentence, ()| sentence)
}

/// The finding about a load whose server was not watched all the time, or not prepared all the
/// time.
pub fn of_load(phase: &Phase, put_back: &[String]) -> Vec<Finding> {
    let changed = changed(put_back).map(|sentence| SERVER_CHANGED.finding(sentence));
    let unwatched = unwatched(phase).map(|sentence| SERVER_UNWATCHED.finding(sentence));
    changed.into_iter().chain(unwatched).collect()
}

/// The clock of a server moved further than clocks do.
pub fn clock(point: &PointContext<'_>) -> Option<Sentence> {
    let clocks = point
        .phase()
        .series
        .iter()
        .filter(|s| s.probe == SERVER_CLOCK);
    let named = |name: &'static str| clocks.clone().filter(move |s| s.name == name);
    let moved = named("offset_s").filter_map(|offsets| {
        let bounds = named("bound_s").find(|of| of.subject == offsets.subject)?;
        let (moved_s, over_s) = moved(offsets, bounds)?;
        let server = offsets.server()?;
        Some((server, (moved_s, over_s)))
    });
    let wording = "The clock of the server's host drifted against the clients' clock: {Server} by \
                   {Moved by} in {Moved in}. tailmark measures the difference every minute and \
                   corrects the samples; in between they may be off by a part of it. Check what \
                   sets the clocks (NTP, PTP).";
    of_servers(wording, moved, |sentence, (moved_s, over_s)| {
        let sentence = sentence.number("Moved by", moved_s * 1e9, Unit::Nanoseconds);
        sentence.number("Moved in", over_s, Unit::Seconds)
    })
}

/// By how much an offset changed most beyond what its bounds and crystals explain, and in which time at
/// the least.
fn moved(offsets: &Series, bounds: &Series) -> Option<(f64, f64)> {
    let at_s = offsets.at_s.iter().zip(&bounds.values);
    let all: Vec<(f64, f64, f64)> = at_s
        .zip(&offsets.values)
        .map(|((at_s, bound_s), offset_s)| (*at_s, *offset_s, *bound_s))
        .collect();
    let pairs = (0..all.len()).flat_map(|to| (0..to).map(move |from| (from, to)));
    let moved = pairs.filter_map(|(from, to)| {
        let ((from_s, was_s, sure_s), (to_s, is_s, bound_s)) = (all[from], all[to]);
        let (moved_s, over_s) = ((is_s - was_s).abs(), to_s - from_s);
        let explained_s = sure_s + bound_s + over_s * DRIFT_PPM_MAX / 1e6;
        (moved_s > explained_s).then_some((moved_s, over_s))
    });
    moved.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailmark_model::{SeriesKind, subject_on_server};

    fn series(probe: &str, name: &str, at_s: Vec<f64>, values: Vec<f64>) -> Series {
        Series {
            probe: probe.to_owned(),
            subject: subject_on_server("machine", "db1"),
            name: name.to_owned(),
            kind: SeriesKind::Counter,
            at_s,
            values,
        }
    }

    fn sampled_at(at_s: &[f64]) -> Phase {
        Phase {
            duration_s: 60.0,
            series: vec![series("cpu", "idle_s", at_s.to_vec(), at_s.to_vec())],
            ..Phase::default()
        }
    }

    #[test]
    fn seconds_without_a_sample_are_a_gap_and_late_samples_are_none() {
        let each: Vec<f64> = (-2..=60).map(f64::from).collect();
        assert_eq!(gaps(&sampled_at(&each), "db1"), []);
        let lost: Vec<f64> = each
            .iter()
            .copied()
            .filter(|s| !(20.5..41.5).contains(s))
            .collect();
        assert_eq!(gaps(&sampled_at(&lost), "db1"), [(20.0, 42.0)]);
        let ended: Vec<f64> = each.iter().copied().filter(|s| *s < 30.5).collect();
        assert_eq!(gaps(&sampled_at(&ended), "db1"), [(30.0, 60.0)]);
        let late: Vec<f64> = each
            .iter()
            .map(|s| s + if *s == 7.0 { 0.9 } else { 0.0 })
            .collect();
        assert_eq!(gaps(&sampled_at(&late), "db1"), []);
        // A long phase keeps every fourth sample.
        let seldom: Vec<f64> = (0..=15).map(|i| f64::from(i) * 4.0).collect();
        assert_eq!(gaps(&sampled_at(&seldom), "db1"), []);
        // If the connection to a host was lost the whole time, its earlier clock is used.
        assert_eq!(gaps(&sampled_at(&each), "db2"), [(0.0, 60.0)]);
    }

    #[test]
    fn a_connection_that_is_lost_in_a_load_is_found_of_it() {
        let codes = |phase: &Phase, put_back: &[&str]| -> Vec<String> {
            let put_back: Vec<String> = put_back.iter().map(|host| (*host).to_owned()).collect();
            let found = of_load(phase, &put_back).into_iter();
            found.map(|finding| finding.code).collect()
        };
        let each: Vec<f64> = (0..=60).map(f64::from).collect();
        assert_eq!(codes(&sampled_at(&each), &[]), [""; 0]);
        let lost = sampled_at(&each[..30]);
        assert_eq!(codes(&lost, &[]), ["server-unwatched"]);
        let both = ["server-changed", "server-unwatched"];
        assert_eq!(codes(&lost, &["db1"]), both);
    }

    #[test]
    fn a_clock_that_goes_as_crystals_do_has_not_moved() {
        let at_s = vec![0.0, 60.0, 600.0];
        let bounds = series(SERVER_CLOCK, "bound_s", at_s.clone(), vec![0.000_2; 3]);
        let offsets = |ppm: f64| {
            let values = at_s.iter().map(|at| 5000.0 + at * ppm / 1e6).collect();
            series(SERVER_CLOCK, "offset_s", at_s.clone(), values)
        };
        assert_eq!(moved(&offsets(100.0), &bounds), None);
        assert_eq!(moved(&offsets(-100.0), &bounds), None);
        let (moved_s, over_s) = moved(&offsets(1000.0), &bounds).unwrap();
        assert!((moved_s - 0.6).abs() < 1e-6 && over_s == 600.0);
        // A clock that was set, and set back before the end.
        let values = vec![5000.0, 5000.25, 5000.0];
        let stepped = series(SERVER_CLOCK, "offset_s", at_s.clone(), values);
        assert_eq!(moved(&stepped, &bounds), Some((0.25, 60.0)));
    }
}

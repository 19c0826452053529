//! Sentences about more than two systems.

use super::*;

#[test]
fn an_equivalent_system_is_called_so_beside_one_that_shows_no_difference() {
    const AGAIN: Runs = Runs("again", &[1_002.0, 1_008.0, 992.0, 1_003.0, 997.0]);
    const NOISY: Runs = Runs("noisy", &[960.0, 1_040.0, 990.0, 1_010.0, 980.0]);
    let mut data = study(&[SLOW, AGAIN, NOISY]);
    data.settings.subject = Some("slow".into());
    let text = said("summary", &data);
    for expected in [
        "At peak, slow is equivalent (within 3 %) to again and shows no difference from noisy: ",
        "the p99 read latency of slow is equivalent (within 3 %) to again's and shows no difference \
         from noisy's: ",
    ] {
        assert!(text.contains(expected), "{text}");
    }
    const LAST: Runs = Runs("last", &[800.0, 805.0, 795.0, 802.0, 798.0]);
    let mut more = study(&[SLOW, AGAIN, NOISY, LAST]);
    more.settings.subject = Some("slow".into());
    let card = "slow and again: −1 % to +1 %; no difference shown from noisy; +25 % over last";
    let apart = "more ops/s than last (2,000 against 1,600), is equivalent (within 3 %) to again and shows \
                 no difference from noisy";
    let cards = said("summary", &more);
    assert!(cards.contains(apart), "{cards}");
    assert!(cards.contains(card), "{cards}");
}

/// Six systems, each faster than the one before by this factor.
fn six(factor: f64) -> Data {
    let runs = |i: i32| -> &'static [f64] {
        let by = factor.powi(i);
        let turned = [-5.0, 10.0, 5.0, -10.0, 0.0].map(|noise| (1_000.0 + noise) * by);
        turned.to_vec().leak()
    };
    let names = ["5.18", "6.22", "7.10", "8.11", "9.10", "10.10"];
    let all: Vec<Runs> = names
        .into_iter()
        .zip(0..)
        .map(|(name, i)| Runs(name, runs(i)))
        .collect();
    study(&all)
}

#[test]
fn many_systems_are_told_in_a_sentence_each_for_all_workloads() {
    let mut data = six(1.0);
    let mut other = data.points.clone();
    for (point, i) in other.iter_mut().zip(0..) {
        point.key.workload = "ycsb-b".into();
        // By chance the systems rank in another order.
        let factor = f64::from(point.key.threads / 4).sqrt();
        point.phase = phase((1_000.0 + f64::from(i * 7 % 11)) * factor);
    }
    data.points.extend(other);
    let text = said("summary", &data);
    let same = "is equivalent (within 3 %) to every other system, in both workloads.";
    assert!(text.contains(same), "{text}");

    let mut rising = six(1.05);
    let last = rising
        .points
        .iter_mut()
        .filter(|point| point.key.system == "10.10");
    for (point, i) in last.zip(0_usize..) {
        let noise = [0.97, 1.03, 1.0, 0.98, 1.02][i / 2];
        let factor = f64::from(point.key.threads / 4).sqrt();
        point.phase = phase(1_250.0 * noise * factor);
    }
    let headline = said("summary", &rising);
    for expected in [
        "At peak, 10.10 delivers 8 % to 25 % more ops/s than 4 other systems (8.11 is the nearest) and \
         shows no difference from 9.10: ",
        "the p99 read latency of 10.10 is 7 % to 20 % lower than those of 4 other systems (8.11 is the \
         nearest) and shows no difference from 9.10's: ",
    ] {
        assert!(headline.contains(expected), "{headline}");
    }
}

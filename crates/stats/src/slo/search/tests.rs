use super::*;
use crate::slo::counts::tests::Random;

const BOUNDS: Bounds = Bounds {
    min_rate: None,
    max_rate: None,
    resolution: 0.05,
};

/// Searches with this much time, where `says` answers; the answer and what was tried.
fn search(
    bounds: &Bounds,
    hint: Option<f64>,
    tries: usize,
    mut says: impl FnMut(f64) -> Verdict,
) -> (Answer, Vec<Tried>) {
    let with_part = |rate| {
        let verdict = says(rate);
        let part = match verdict {
            Verdict::Pass | Verdict::NotSteady => 0.0,
            Verdict::Undecided => 1.0,
            Verdict::Fail | Verdict::ClientLimit => 100.0,
        };
        (verdict, part)
    };
    search_by_parts(bounds, hint, tries, with_part)
}

/// Tries of a rate agree together where each of them does.
fn together(tried: &[Tried], rate: f64, verdict: Verdict) -> Verdict {
    let mut same = tried.iter().filter(|trial| trial.rate == rate);
    if same.all(|trial| trial.verdict == verdict) {
        verdict
    } else {
        Verdict::Undecided
    }
}

/// The same, with what a trial says of the share over the limit.
fn search_by_parts(
    bounds: &Bounds,
    hint: Option<f64>,
    tries: usize,
    mut says: impl FnMut(f64) -> (Verdict, f64),
) -> (Answer, Vec<Tried>) {
    let mut tried = Vec::new();
    loop {
        match next(bounds, hint, &tried, tries - tried.len()) {
            Next::Done(answer) => return (answer, tried),
            Next::Try { rate, .. } => {
                assert!(tried.len() < tries, "{tried:?}");
                let (verdict, part) = says(rate);
                tried.push(Tried {
                    rate,
                    verdict,
                    part,
                    together: together(&tried, rate, verdict),
                });
            }
        }
    }
}

fn cliff(at: f64) -> impl FnMut(f64) -> Verdict {
    move |rate| {
        if rate <= at {
            Verdict::Pass
        } else {
            Verdict::Fail
        }
    }
}

#[test]
fn a_cliff_is_found_from_wherever_the_search_begins() {
    for at in [37.0, 980.0, 12_345.0, 400_000.0] {
        for hint in [None, Some(at * 0.7), Some(at * 0.99), Some(at * 3.0)] {
            let (answer, tried) = search(&BOUNDS, hint, 60, cliff(at));
            assert_eq!(answer.status, Status::Found, "{at} {hint:?} {tried:?}");
            let (low, high) = (answer.low.unwrap(), answer.high.unwrap());
            assert!(low <= at && at < high && high / low < 1.051, "{low} {high}");
            let most = if hint.is_some() { 13 } else { 18 };
            assert!(tried.len() <= most, "{at} {hint:?}: {}", tried.len());
            for end in [low, high] {
                let same = tried.iter().filter(|tried| tried.rate == end);
                assert_eq!(same.count(), 2, "both ends are tried again");
            }
        }
    }
}

#[test]
fn what_holds_everywhere_or_nowhere_is_said_so() {
    let to = |max| Bounds {
        max_rate: Some(max),
        ..BOUNDS
    };
    let (at_most, _) = search(&to(5_000.0), Some(900.0), 60, |_| Verdict::Pass);
    assert_eq!(
        (at_most.status, at_most.low, at_most.high),
        (Status::MaxRate, Some(5_000.0), None)
    );
    let from = Bounds {
        min_rate: Some(200.0),
        ..BOUNDS
    };
    for hint in [None, Some(900.0)] {
        let (at_least, tried) = search(&from, hint, 60, |_| Verdict::Fail);
        assert_eq!(at_least.status, Status::NotAtAnyRate);
        assert_eq!((at_least.low, at_least.high), (None, Some(200.0)));
        assert_eq!(tried.last().unwrap().rate, 200.0);
    }
    let (answer, tried) = search(&BOUNDS, Some(900.0), 60, |_| Verdict::Fail);
    assert_eq!(answer.status, Status::NotAtAnyRate);
    assert_eq!(tried.last().unwrap().rate, 9.0, "a hundredth of the first");
}

#[test]
fn beyond_the_client_no_upper_end_is_claimed() {
    let says = |rate| {
        if rate <= 3_000.0 {
            Verdict::Pass
        } else {
            Verdict::ClientLimit
        }
    };
    let (answer, _) = search(&BOUNDS, Some(2_000.0), 60, says);
    assert_eq!((answer.status, answer.high), (Status::ClientLimit, None));
    assert!((2_850.0..=3_000.0).contains(&answer.low.unwrap()));
    let (limited, _) = search(&BOUNDS, Some(2_000.0), 60, |_| Verdict::ClientLimit);
    assert_eq!((limited.status, limited.low), (Status::ClientLimit, None));
}

#[test]
fn rates_that_are_never_decided_lie_within_a_wider_answer() {
    let says = |rate: f64| match rate {
        ..950.0 => Verdict::Pass,
        1_050.0.. => Verdict::Fail,
        _ => Verdict::Undecided,
    };
    let (answer, tried) = search(&BOUNDS, Some(800.0), 60, says);
    assert_eq!(answer.status, Status::Wide, "{tried:?}");
    let (low, high) = (answer.low.unwrap(), answer.high.unwrap());
    assert!(
        low < 950.0 && high >= 1_050.0 && high / low < 1.2,
        "{low} {high}"
    );
    assert!(tried.len() < 20, "{}", tried.len());
    for (verdict, status) in [
        (Verdict::Undecided, Status::Undecided),
        (Verdict::NotSteady, Status::NotSteady),
    ] {
        let (open, _) = search(&BOUNDS, Some(800.0), 12, |_| verdict);
        assert_eq!((open.status, open.low, open.high), (status, None, None));
    }
}

#[test]
fn an_end_that_is_not_confirmed_is_none() {
    // The first pass at a rate is chance.
    let mut seen = Vec::new();
    let says = |rate: f64| {
        let again = seen.contains(&rate.to_bits());
        seen.push(rate.to_bits());
        match rate {
            ..900.0 => Verdict::Pass,
            900.0..1_000.0 if !again => Verdict::Pass,
            _ => Verdict::Fail,
        }
    };
    let (answer, tried) = search(&BOUNDS, Some(800.0), 60, says);
    assert!(answer.low.unwrap() < 900.0, "{answer:?} {tried:?}");
    assert!(matches!(answer.status, Status::Wide | Status::Found));
}

#[test]
fn what_time_there_is_left_goes_into_confirming() {
    for tries in 5..14 {
        let (answer, tried) = search(&BOUNDS, Some(700.0), tries, cliff(1_000.0));
        assert!(tried.len() <= tries);
        let (low, high) = (answer.low.unwrap(), answer.high.unwrap());
        assert!(low <= 1_000.0 && 1_000.0 < high, "{tries}: {answer:?}");
    }
    // Where only one end can be confirmed, that one is.
    for (says, ends) in [
        (Verdict::Pass, (Some(700.0), None)),
        (Verdict::Fail, (None, Some(700.0))),
    ] {
        let (answer, _) = search(&BOUNDS, Some(700.0), 2, |_| says);
        assert_eq!((answer.low, answer.high), ends);
    }
    // Nor is anything said without the time for it.
    let (answer, _) = search(&BOUNDS, Some(700.0), 1, cliff(1_000.0));
    assert_eq!((answer.status, answer.low), (Status::Undecided, None));
}

#[test]
fn the_answer_holds_the_true_rate_where_trials_are_noisy() {
    // The share over the limit grows as the 6th power of the rate, each trial has a noise of 5 % in
    // the rate and its interval is 10 % wide: what is decided is wrong in one of forty.
    let mut random = Random(11);
    let searches = 2_000;
    let (mut right, mut known, mut tries) = (0, 0, 0);
    let mut widths = Vec::new();
    for _ in 0..searches {
        let truth = 1_000.0 * (1.0 + random.uniform());
        let says = |rate: f64| {
            let seen = (rate / truth).powi(6) * (0.1 * random.normal()).exp();
            let verdict = match seen {
                ..0.8 => Verdict::Pass,
                1.25.. => Verdict::Fail,
                _ => Verdict::Undecided,
            };
            (verdict, seen)
        };
        let (answer, tried) = search_by_parts(&BOUNDS, Some(900.0), 20, says);
        tries += tried.len();
        if let (Some(low), Some(high)) = (answer.low, answer.high) {
            known += 1;
            widths.push(high / low);
            right += u32::from(low <= truth && truth <= high);
        }
    }
    widths.sort_by(f64::total_cmp);
    // Undecided are 8 % around the true rate, so no answer is narrower.
    let median = widths[widths.len() / 2];
    assert!((1.08..1.15).contains(&median), "{median}");
    assert!(known > searches * 99 / 100, "{known}");
    assert!(right > known * 99 / 100, "{right} of {known}");
    assert!(tries < searches as usize * 12, "{tries}");
}

#[test]
fn a_sweep_says_where_to_look() {
    assert_eq!(
        hint(&[(900.0, true), (1_500.0, true), (2_000.0, false)]),
        Some(1_500.0)
    );
    assert_eq!(hint(&[(900.0, false), (700.0, false)]), Some(350.0));
    assert_eq!(hint(&[]), None);
}

#[test]
fn there_is_time_for_as_many_tries_as_fit() {
    let s = Duration::from_secs;
    assert_eq!(tries_left(s(2_400), s(0), s(230)), 10);
    assert_eq!(tries_left(s(2_400), s(2_200), s(230)), 0);
    assert_eq!(tries_left(s(2_400), s(9_999), s(230)), 0);
    assert_eq!(tries_left(s(690), s(0), s(230)), 3);
}

#[test]
fn below_an_undecided_highest_rate_what_holds_is_confirmed() {
    let bounds = Bounds {
        max_rate: Some(1_000.0),
        ..BOUNDS
    };
    let says = |rate: f64| match rate {
        ..900.0 => Verdict::Pass,
        _ => Verdict::Undecided,
    };
    for hint in [500.0, 1_200.0] {
        let (answer, tried) = search(&bounds, Some(hint), 30, says);
        let low = answer.low.unwrap();
        assert!((850.0..900.0).contains(&low), "{answer:?} {tried:?}");
        assert_eq!((answer.status, answer.high), (Status::Undecided, None));
        assert!(tried.len() < 12, "{tried:?}");
    }
}

#[test]
fn above_undecided_rates_down_to_the_lowest_what_breaks_is_confirmed() {
    let bounds = Bounds {
        min_rate: Some(100.06),
        ..BOUNDS
    };
    let says = |rate: f64| match rate {
        110.0.. => Verdict::Fail,
        _ => Verdict::Undecided,
    };
    let (answer, tried) = search(&bounds, Some(200.0), 30, says);
    assert!(
        (110.0..120.0).contains(&answer.high.unwrap()),
        "{answer:?} {tried:?}"
    );
    assert!(tried.iter().all(|tried| tried.rate >= 100.06), "{tried:?}");
}

#[test]
fn a_lowest_rate_of_many_digits_is_tried_as_it_is() {
    let bounds = Bounds {
        min_rate: Some(20.006),
        ..BOUNDS
    };
    let (answer, tried) = search(&bounds, Some(60.0), 30, |_| Verdict::Fail);
    assert_eq!(
        (answer.status, answer.high),
        (Status::NotAtAnyRate, Some(20.006))
    );
    assert!(tried.len() < 8, "{tried:?}");
}

#[test]
fn where_there_are_too_few_requests_to_say_faster_is_tried() {
    let says = |rate: f64| match rate {
        ..3_000.0 => (Verdict::Undecided, 0.0),
        3_000.0..8_000.0 => (Verdict::Pass, 0.1),
        _ => (Verdict::Fail, 9.0),
    };
    let (answer, tried) = search_by_parts(&BOUNDS, Some(100.0), 40, says);
    assert_eq!(answer.status, Status::Found, "{answer:?} {tried:?}");
    assert!(answer.low.unwrap() < 8_000.0 && answer.high.unwrap() >= 8_000.0);
}

#[test]
fn one_try_that_blames_the_client_does_not_take_back_that_it_broke() {
    let bracket = Bracket::from_tried(
        &[
            (950.0, Verdict::Pass),
            (950.0, Verdict::Pass),
            (1_000.0, Verdict::Fail),
            (1_000.0, Verdict::ClientLimit),
        ]
        .map(|(rate, verdict)| Tried {
            rate,
            verdict,
            part: 1.0,
            together: if rate < 1_000.0 {
                Verdict::Pass
            } else {
                Verdict::Fail
            },
        }),
    );
    let answer = bracket.answer(&BOUNDS, 1.0);
    assert_eq!((answer.low, answer.high), (Some(950.0), Some(1_000.0)));
}

/// Tries of rates that say this, one after the other, the last with what all of its rate say together.
fn tried(tries: &[(f64, Verdict, Verdict)]) -> Vec<Tried> {
    let tries = tries.iter();
    tries
        .map(|&(rate, verdict, together)| Tried {
            rate,
            verdict,
            part: 1.0,
            together,
        })
        .collect()
}

#[test]
fn an_undecided_try_does_not_confirm_an_end_whatever_both_say_together() {
    use Verdict::{Fail, Pass, Undecided};
    let known = [
        (700.0, Pass, Pass),
        (700.0, Pass, Pass),
        (747.0, Fail, Fail),
        (747.0, Undecided, Fail),
    ];
    let Next::Done(answer) = next(&BOUNDS, None, &tried(&known), 0) else {
        panic!("there is no time left")
    };
    assert_eq!((answer.low, answer.high), (Some(700.0), None));
    assert_eq!(answer.status, Status::Undecided);
    // With time for it the rate is tried once more, and two that say the same are an end.
    let Next::Try { rate, .. } = next(&BOUNDS, None, &tried(&known), 1) else {
        panic!("one more is wanted")
    };
    assert_eq!(rate, 747.0);
    let again = [&known[..], &[(747.0, Fail, Fail)]].concat();
    let confirmed = Bracket::from_tried(&tried(&again)).answer(&BOUNDS, 1.0);
    assert_eq!((confirmed.low, confirmed.high), (Some(700.0), Some(747.0)));
    assert_eq!(confirmed.status, Status::Wide);
    // The lower end likewise; of a rate that stays undecided the one below it is taken.
    let undecided_low = [
        (650.0, Pass, Pass),
        (650.0, Pass, Pass),
        (700.0, Pass, Pass),
        (700.0, Undecided, Pass),
        (747.0, Fail, Fail),
        (747.0, Fail, Fail),
    ];
    let below = Bracket::from_tried(&tried(&undecided_low)).answer(&BOUNDS, 1.0);
    assert_eq!((below.low, below.high), (Some(650.0), Some(747.0)));
}

#[test]
fn each_end_was_said_twice_where_many_tries_are_undecided() {
    let mut random = Random(5);
    let mut ends = 0;
    for _ in 0..500 {
        let mut tried: Vec<Tried> = Vec::new();
        let answer = loop {
            let rate = match next(&BOUNDS, Some(800.0), &tried, 20 - tried.len()) {
                Next::Done(answer) => break answer,
                Next::Try { rate, .. } => rate,
            };
            // What all say together is known, each alone in two of three.
            let together = cliff(1_000.0)(rate);
            let is_known = random.uniform() < 0.67;
            let verdict = if is_known {
                together
            } else {
                Verdict::Undecided
            };
            tried.push(Tried {
                rate,
                verdict,
                part: 1.0,
                together,
            });
        };
        for (end, verdict) in [(answer.low, Verdict::Pass), (answer.high, Verdict::Fail)] {
            let Some(end) = end else { continue };
            let said = tried.iter().filter(|trial| trial.rate == end);
            let same = said.filter(|trial| trial.verdict == verdict).count();
            assert!(same >= 2, "{end}: {tried:?}");
            ends += 1;
        }
    }
    assert!(ends > 700, "{ends} of 1,000 ends are known");
}

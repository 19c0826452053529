//! Searches in words, the same in reports, on the terminal and for other programs.

use super::{Answer, Slo, Status, Trial, TrialResult, Verdict};
use tailmark_model::{Bounded, number};

impl Answer {
    /// The highest rate at which the limits hold: `12,300 to 12,900 ops/s`.
    pub fn rates(&self) -> String {
        match (self.status, self.low, self.high) {
            (_, Some(low), Some(high)) => format!("{} ops/s", number::rates(low, high)),
            (_, Some(low), None) => {
                format!("{} ops/s", number::bounded_rate(Bounded::at_least(low)))
            }
            (Status::NotAtAnyRate, None, _) => "not at any rate".to_owned(),
            (_, None, Some(high)) => {
                format!("< {} ops/s", number::bound_rate(Bounded::at_most(high)))
            }
            (_, None, None) => "not known".to_owned(),
        }
    }

    /// The statement about the result.
    pub fn remark(&self) -> &'static str {
        match self.status {
            Status::Found => "held at the lower rate but not at the upper one, each measured twice",
            Status::Wide => {
                "held at the lower rate but not at the upper one, each measured twice; rates \
                 between them were not decided"
            }
            Status::MaxRate => "held at the highest rate that was requested",
            Status::NotAtAnyRate => "did not hold at the lowest rate that was tried",
            Status::ClientLimit => "at higher rates the client was the limit, not the system",
            Status::NotSteady => "the measurements did not settle",
            Status::Undecided => "one or both ends could not be confirmed",
            Status::Unfinished => "the search is not finished; these are its ends so far",
        }
    }
}

impl TrialResult {
    /// The share over the limit with its interval, and the allowed share: `0.0031 % over 15ms
    /// (0.001 to 0.006 %; 0.01 % allowed)`.
    pub fn share_text(&self) -> String {
        let allowed = percent(self.limit.allowed());
        let latency = number::latency(self.limit.latency.as_nanos() as f64);
        match self.over {
            None => format!("nothing measured over {latency}"),
            Some(over) => format!(
                "{} % over {latency} ({} to {} %; {allowed} % allowed)",
                percent(over.share),
                percent(over.low),
                percent(over.high)
            ),
        }
    }
}

/// A share in percent, to three digits: `0.0031`.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent == 0.0 {
        return "0".to_owned();
    }
    let digits = (2 - percent.abs().log10().floor() as i32).clamp(0, 9);
    let text = format!("{percent:.*}", digits.unsigned_abs() as usize);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

impl Trial {
    /// One line: the rate, the measurement for the worst limit, and the verdict.
    pub fn text(&self) -> String {
        let rate = number::ops(self.rate());
        let said = match self.verdict {
            Verdict::Pass => "holds",
            Verdict::Fail => "does not hold",
            Verdict::Undecided => "undecided",
            Verdict::NotSteady => "holds, but not steady",
            Verdict::ClientLimit => "the client was the limit",
        };
        let why = self.evidence.as_ref();
        let why = why.map_or_else(String::new, |evidence| format!(" ({evidence})"));
        match self.worst() {
            Some(worst) => format!(
                "{rate}: {said}, {} {}{why}",
                worst.limit.kind.name(),
                worst.share_text()
            ),
            None => format!("{rate}: {said}{why}"),
        }
    }
}

impl Slo {
    /// The result so far: the bracket.
    pub fn bracket_text(&self) -> String {
        match self.bracket() {
            (Some(low), Some(high)) => {
                format!("between {} and {}", number::rate(low), number::ops(high))
            }
            (Some(low), None) => format!("above {}", number::ops(low)),
            (None, Some(high)) => format!("below {}", number::ops(high)),
            (None, None) => "anywhere".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_percent_of_three_digits() {
        for (share, text) in [
            (0.0, "0"),
            (1.0, "100"),
            (0.012_34, "1.23"),
            (1e-4, "0.01"),
            (3.141_6e-5, "0.00314"),
            (0.5, "50"),
        ] {
            assert_eq!(percent(share), text);
        }
    }

    #[test]
    fn an_answer_is_said_by_its_ends() {
        let answer = |status, low, high| Answer { status, low, high }.rates();
        assert_eq!(
            answer(Status::Found, Some(12_300.0), Some(12_900.0)),
            "12,300 to 12,900 ops/s"
        );
        assert_eq!(answer(Status::MaxRate, Some(500.0), None), "≥ 500 ops/s");
        assert_eq!(
            answer(Status::Wide, Some(774.5), Some(899.2)),
            "774 to 900 ops/s"
        );
        assert_eq!(
            answer(Status::NotAtAnyRate, None, Some(9.0)),
            "not at any rate"
        );
        assert_eq!(answer(Status::Undecided, None, Some(90.0)), "< 90.0 ops/s");
        assert_eq!(answer(Status::NotSteady, None, None), "not known");
    }
}

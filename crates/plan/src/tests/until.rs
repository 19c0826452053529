//! Repeats and lengths: fixed, or a range that ends once a verdict is reached or figures are known.

use super::{check, message, plan};
use crate::Plan;
use std::time::Duration;
use tailmark_model::RepeatRange;
use tailmark_testing::assert_says;

const TWO: &str = "[database]\ndriver = 'null'\n[[system]]\nname = 'a'\n[[system]]\nname = 'b'\n";

fn sweep(keys: &str) -> Plan {
    plan(&format!("{TWO}[sweep]\n{keys}"))
}

#[test]
fn a_range_ends_once_a_verdict_is_reached() {
    for text in ["4..20", " 4 .. 20 ", "4..20 until decided"] {
        let read = sweep(&format!("repeats = '{text}'"));
        let range = RepeatRange { least: 4, most: 20 };
        assert_eq!(read.sweep.until_decided, Some(range), "{text}");
        assert_eq!(read.sweep.repeats, 20);
        assert_eq!(read.header.settings.rules.repeats, Some(range));
        let effective = &read.header.plan["sweep.repeats"].value;
        assert_eq!(effective, "4..20 until decided");
    }
    let fixed = sweep("repeats = 20");
    assert_eq!((fixed.sweep.repeats, fixed.sweep.until_decided), (20, None));
    assert_eq!(fixed.header.settings.rules.repeats, None);
}

#[test]
fn a_range_that_nothing_can_end_is_refused() {
    let single = "[database]\ndriver = 'null'\n[[system]]\nname = 'a'\n[sweep]\nrepeats = '4..20'";
    for (text, words) in [
        (single.to_owned(), "a count with a single system"),
        (
            format!("{TWO}[sweep]\nrepeats = '3..20'"),
            "a range such as `4..20`, from 4 on",
        ),
        (
            format!("{TWO}[sweep]\nrepeats = '8..8'"),
            "sweep.repeats is `8..8`",
        ),
        (
            format!("{TWO}[sweep]\nrepeats = '4..'"),
            "sweep.repeats is `4..`",
        ),
        (format!("{TWO}[sweep]\nrepeats = '4..101'"), "from 1 to 100"),
        (
            format!("{TWO}[sweep]\nrepeats = '4..20'\norder = 'systems'"),
            "a range compares after each repeat",
        ),
        (
            format!("{TWO}[sweep]\nrepeats = '4..20'\nthreads = '8..'"),
            "each thread count needs all its repeats before the next",
        ),
        (
            format!("{TWO}[sweep]\nrepeats = '4..20'\nrates = '10k'"),
            "a range with report.metric",
        ),
    ] {
        let error = check(&text);
        let error = error.map_or_else(|error| message(&error), |_| panic!("accepted: {text}"));
        assert_says(&error, &[words]);
    }
    let rates = "repeats = '4..20'\nrates = '10k'\n[report]\nmetric = 'p99 read'";
    assert!(sweep(rates).sweep.until_decided.is_some());
}

#[test]
fn a_range_of_times_ends_once_figures_are_known() {
    for text in ["30s..20m", "30s .. 20m until known"] {
        let read = sweep(&format!("duration = '{text}'"));
        let second = Duration::from_secs;
        assert_eq!(read.sweep.duration, Some(second(1_200)));
        assert_eq!(read.sweep.until_known, Some(second(30)));
        // A tenth of the least, as that may be all.
        assert_eq!(read.sweep.warmup.fixed(), Some(second(3)));
        let effective = &read.header.plan["sweep.duration"].value;
        assert_eq!(effective, "30s..20m until known");
        let lengths = read.header.settings.rules.lengths.unwrap();
        assert_eq!((lengths.least_s, lengths.most_s), (30.0, 1_200.0));
    }
    assert_eq!(sweep("duration = '20m'").sweep.until_known, None);
    for text in ["20m..2m", "5s..5s", "30s..", "..30s", "10ms..3s"] {
        let error = check(&format!("{TWO}[sweep]\nduration = '{text}'"));
        let error = error.map_or_else(|error| message(&error), |_| panic!("accepted: {text}"));
        assert_says(&error, &["sweep.duration", "a range such as `2m..20m`"]);
    }
}

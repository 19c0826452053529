//! What db_bench prints about the repeats of a benchmark: after each, and at the end.

use super::text::BenchmarkResult;

/// The line after a repeat, from the second on: the mean with half the width of its confidence
/// interval or, with `intervals`, the interval.
pub fn so_far(name: &str, results: &[BenchmarkResult], intervals: bool) -> Option<String> {
    let (runs, figures) = (results.len(), Figures::new(results)?);
    let (rate, half) = (figures.rate.mean() as i64, figures.rate.confidence() as i64);
    let mib = figures.mib.map(|mib| (mib.mean(), mib.confidence()));
    let bytes = match mib {
        None => String::new(),
        Some((mean, off)) if intervals => {
            format!("; ({:.1}, {:.1}) MB/sec", mean - off, mean + off)
        }
        Some((mean, off)) => format!("; {mean:6.1} (\u{b1} {off:.1}) MB/sec"),
    };
    Some(if intervals {
        let (low, high) = (rate - half, rate + half);
        format!("{name} [CI95 {runs} runs] : ({low}, {high}) ops/sec{bytes}")
    } else {
        format!("{name} [AVG {runs} runs] : {rate} (\u{b1} {half}) ops/sec{bytes}")
    })
}

/// The lines at the end: average and median.
pub fn at_the_end(name: &str, results: &[BenchmarkResult]) -> Option<String> {
    let (runs, figures) = (results.len(), Figures::new(results)?);
    let (mean, half) = (figures.rate.mean(), figures.rate.confidence());
    let millis = if mean > 0.0 { 1000.0 / mean } else { 0.0 };
    let (mut average, mut median) = (String::new(), String::new());
    if let Some(mib) = &figures.mib {
        average = format!(
            "; {:6.1} (\u{b1} {:.1}) MB/sec",
            mib.mean(),
            mib.confidence()
        );
        median = format!("; {:6.1} MB/sec", mib.median());
    }
    Some(format!(
        "\n{name} [AVG    {runs} runs] : {} (\u{b1} {}) ops/sec; {millis:.3} ms/op{average}\n\
         {name} [MEDIAN {runs} runs] : {} ops/sec{median}",
        mean as i64,
        half as i64,
        figures.rate.median() as i64,
    ))
}

/// The summarised figures: operations per second and, if bytes are counted, MiB per second.
struct Figures {
    rate: Values,
    mib: Option<Values>,
}

impl Figures {
    /// Of at least two repeats.
    fn new(results: &[BenchmarkResult]) -> Option<Self> {
        let values =
            |figure: fn(&BenchmarkResult) -> f64| Values(results.iter().map(figure).collect());
        let have_bytes = results.iter().all(|result| result.bytes > 0);
        (results.len() >= 2).then(|| Self {
            rate: values(BenchmarkResult::rate),
            mib: have_bytes.then(|| values(BenchmarkResult::mib_rate)),
        })
    }
}

/// At least two values.
struct Values(Vec<f64>);

impl Values {
    fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len() as f64
    }

    /// Half the width of the interval that holds the mean with 95 %, for a normal distribution.
    fn confidence(&self) -> f64 {
        let (mean, n) = (self.mean(), self.0.len() as f64);
        let squares: f64 = self.0.iter().map(|value| (value - mean).powi(2)).sum();
        1.959_964 * (squares / (n - 1.0)).sqrt() / n.sqrt()
    }

    fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        match sorted.len() % 2 {
            0 => f64::midpoint(sorted[middle - 1], sorted[middle]),
            _ => sorted[middle],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(bytes: u64) -> Vec<BenchmarkResult> {
        let run = |operations| BenchmarkResult {
            operations,
            seconds: 1.0,
            bytes,
            threads: 1,
        };
        vec![run(100), run(200), run(600)]
    }

    #[test]
    fn repeats_are_summed_up_by_average_and_median() {
        let text = at_the_end("x", &runs(0)).unwrap();
        let average = "\nx [AVG    3 runs] : 300 (\u{b1} 299) ops/sec; 3.333 ms/op\n";
        assert!(text.starts_with(average), "{text}");
        assert!(text.ends_with("x [MEDIAN 3 runs] : 200 ops/sec"), "{text}");
        assert!(at_the_end("x", &runs(0)[..1]).is_none());
    }

    #[test]
    fn each_repeat_from_the_second_is_followed_by_what_is_known_so_far() {
        assert!(so_far("x", &runs(0)[..1], false).is_none());
        let line = |bytes, intervals| so_far("x", &runs(bytes), intervals).unwrap();
        assert_eq!(line(0, false), "x [AVG 3 runs] : 300 (\u{b1} 299) ops/sec");
        assert_eq!(line(0, true), "x [CI95 3 runs] : (1, 599) ops/sec");
        let mib = "x [AVG 3 runs] : 300 (\u{b1} 299) ops/sec;    1.0 (\u{b1} 0.0) MB/sec";
        assert_eq!(line(1 << 20, false), mib);
        assert!(line(1 << 20, true).ends_with("ops/sec; (1.0, 1.0) MB/sec"));
    }
}

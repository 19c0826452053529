//! The model of a simulated database: its service time, the number of requests that it serves at
//! once, and events over time.
//!
//! A model is a list of terms separated by semicolons, each a word with its numbers: [`TERMS`].

use crate::{Cause, Error};
use std::time::Duration;

/// A parsed model.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Model {
    /// The duration of a request; `None`: the setting `latency_us`.
    pub(super) service: Option<Service>,
    /// Shares of requests with another duration.
    pub(super) modes: Vec<(f64, Service)>,
    /// How many are served at once; `None`: all.
    pub(super) servers: Option<usize>,
    /// By which fraction a duration grows for each other request in flight, and for each pair in
    /// flight.
    pub(super) contention: Option<(f64, f64)>,
    /// When nothing is served, in order.
    pub(super) stalls: Vec<Span>,
    /// When requests fail.
    pub(super) errors: Vec<(Span, f64, Cause)>,
    /// How often a compaction starts, how long it lasts, and the factor for requests meanwhile.
    pub(super) compaction: Option<(f64, f64, f64)>,
    /// By which fraction durations grow, over how many nanoseconds.
    pub(super) drift: Option<(f64, f64)>,
    /// By which fraction durations grow, for how many bytes that were written so far.
    pub(super) age: Option<(f64, f64)>,
    /// The factor at the start, and the nanoseconds after which its excess has fallen by a factor
    /// of e.
    pub(super) start: Option<(f64, f64)>,
    /// Which fraction of a duration the device takes.
    pub(super) device: Option<f64>,
    /// A factor drawn for each run.
    pub(super) run_noise: Option<RunNoise>,
    /// A factor that varies over time, and the nanoseconds over which it forgets.
    pub(super) noise: Option<(f64, f64)>,
}

/// A start and a duration, nanoseconds since the start of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Span {
    pub(super) start: u64,
    pub(super) end: u64,
}

/// A factor drawn for each run, with mean 1: the standard deviation of its logarithm, and whether
/// the logarithm has a gamma distribution of shape 2 instead of a normal one. Then most runs are a
/// little faster, and a few much slower.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RunNoise {
    pub(super) sigma: f64,
    pub(super) is_skewed: bool,
}

/// The duration of a single request, nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Service {
    Constant(f64),
    Uniform(f64, f64),
    /// With this mean.
    Exponential(f64),
    /// With this mean and this standard deviation of the logarithm.
    Lognormal(f64, f64),
}

/// A word of the language, its arguments, and its meaning.
type Term = (&'static str, &'static str, &'static str);

/// The terms of a model. `TIME` is for example `200us` or `1.5ms`, `SHARE` is `5%`.
pub(super) const TERMS: &[Term] = &[
    ("constant", "TIME", "each request takes this long"),
    ("uniform", "TIME TIME", "between the two"),
    (
        "exponential",
        "TIME",
        "exponentially distributed with this mean",
    ),
    (
        "lognormal",
        "TIME SIGMA",
        "lognormal with this mean; SIGMA is the standard deviation of the logarithm",
    ),
    (
        "mode",
        "SHARE DISTRIBUTION...",
        "this share of the requests has this distribution instead",
    ),
    (
        "servers",
        "COUNT",
        "serves this many requests at a time, and others wait in line; without it, serves all at \
         once",
    ),
    (
        "contention",
        "SIGMA KAPPA",
        "with n in flight, requests take 1 + SIGMA (n - 1) + KAPPA n (n - 1) times as long",
    ),
    ("stall", "AT TIME", "from AT on, nothing is served for TIME"),
    (
        "compaction",
        "EVERY TIME FACTOR",
        "every EVERY, for TIME, requests take FACTOR times as long",
    ),
    (
        "errors",
        "AT TIME SHARE [CAUSE]",
        "from AT on, for TIME, this share of the requests fails",
    ),
    (
        "drift",
        "SHARE TIME",
        "requests take longer by SHARE each TIME",
    ),
    (
        "age",
        "SHARE SIZE",
        "requests take longer by SHARE for each SIZE that was written since the database was made",
    ),
    (
        "start",
        "FACTOR TIME",
        "requests take FACTOR times as long at first; the excess falls by a factor of e in each \
         TIME",
    ),
    (
        "device",
        "SHARE",
        "this share of the time of a request is the device's, for `tailmark anatomy`",
    ),
    (
        "run-noise",
        "SHARE [skewed]",
        "a factor for each run; the standard deviation of its logarithm; skewed: a few runs are \
         much slower",
    ),
    (
        "noise",
        "SHARE TIME",
        "a factor that wanders; its autocorrelation falls by a factor of e in each TIME",
    ),
];

impl Model {
    /// Parses a model. An empty text is a model without terms.
    pub(super) fn parse(text: &str) -> Result<Self, Error> {
        let mut model = Self::default();
        for term in text
            .split(';')
            .map(str::trim)
            .filter(|term| !term.is_empty())
        {
            let words: Vec<&str> = term.split_whitespace().collect();
            if model.add(&words).is_none() {
                return Err(refused(term, words[0]));
            }
        }
        model.stalls.sort_unstable();
        model.errors.sort_by_key(|(span, ..)| *span);
        let meet = |spans: &[Span]| spans.windows(2).any(|two| two[1].start < two[0].end);
        let bursts: Vec<_> = model.errors.iter().map(|(span, ..)| *span).collect();
        let shares: f64 = model.modes.iter().map(|(part, _)| part).sum();
        let of_all = |(_, part, _): &(Span, f64, Cause)| *part <= 1.0;
        let wrong = match () {
            () if shares > 1.0 => "mode",
            () if meet(&model.stalls) => "stall",
            () if meet(&bursts) || !model.errors.iter().all(of_all) => "errors",
            () => return Ok(model),
        };
        Err(refused(wrong, wrong))
    }

    /// Adds a term; `None` if it is invalid.
    fn add(&mut self, words: &[&str]) -> Option<()> {
        match *words {
            ["mode", chance, ref service @ ..] => {
                self.modes.push((share(chance)?, Service::parse(service)?))
            }
            ["servers", count] => {
                let count = count.parse().ok().filter(|n| (1..=100_000).contains(n))?;
                once(&mut self.servers, count)?;
            }
            ["contention", sigma, kappa] => {
                once(&mut self.contention, (part(sigma)?, part(kappa)?))?;
            }
            ["stall", at, length] => self.stalls.push(Span::parse(at, length)?),
            ["errors", at, length, part] => {
                let span = Span::parse(at, length)?;
                self.errors.push((span, share(part)?, Cause::Other));
            }
            ["errors", at, length, part, cause] => {
                let span = Span::parse(at, length)?;
                self.errors.push((span, share(part)?, super::cause(cause)?));
            }
            ["compaction", every, length, times] => {
                let (every, length) = (time(every)?, time(length)?);
                let fits = length <= every && every > 0.0;
                once(&mut self.compaction, (every, length, factor(times)?)).filter(|()| fits)?;
            }
            ["drift", part, each] => {
                let each = time(each).filter(|each| *each > 0.0)?;
                once(&mut self.drift, (share(part)?, each))?;
            }
            ["age", part, each] => once(&mut self.age, (share(part)?, size(each)?))?,
            ["start", times, within] => {
                let within = time(within).filter(|within| *within > 0.0)?;
                once(&mut self.start, (factor(times)?, within))?;
            }
            ["device", part] => {
                let part = share(part).filter(|part| *part <= 1.0)?;
                once(&mut self.device, part)?;
            }
            ["run-noise", part] => {
                let noise = RunNoise {
                    sigma: share(part)?,
                    is_skewed: false,
                };
                once(&mut self.run_noise, noise)?;
            }
            ["run-noise", part, "skewed"] => {
                let noise = RunNoise {
                    // With a higher value the factor hardly has a mean.
                    sigma: share(part).filter(|sigma| *sigma < 1.0)?,
                    is_skewed: true,
                };
                once(&mut self.run_noise, noise)?;
            }
            ["noise", part, over] => {
                let over = time(over).filter(|over| *over > 0.0)?;
                once(&mut self.noise, (share(part)?, over))?;
            }
            _ => once(&mut self.service, Service::parse(words)?)?,
        }
        Some(())
    }
}

impl Span {
    fn parse(at: &str, length: &str) -> Option<Self> {
        let (start, length) = (time(at)? as u64, time(length)? as u64);
        Some(Self {
            start,
            end: start + length,
        })
    }

    pub(super) fn has(self, now: u64) -> bool {
        (self.start..self.end).contains(&now)
    }
}

impl Service {
    fn parse(words: &[&str]) -> Option<Self> {
        Some(match *words {
            ["constant", takes] => Self::Constant(time(takes)?),
            ["uniform", from, to] => {
                let (from, to) = (time(from)?, time(to)?);
                (from <= to).then_some(Self::Uniform(from, to))?
            }
            ["exponential", mean] => Self::Exponential(time(mean)?),
            ["lognormal", mean, sigma] => {
                let sigma = sigma.parse().ok().filter(|s| (0.0..=5.0).contains(s))?;
                Self::Lognormal(time(mean)?, sigma)
            }
            _ => return None,
        })
    }
}

/// Sets a value unless there is one.
fn once<T>(place: &mut Option<T>, value: T) -> Option<()> {
    place.is_none().then(|| *place = Some(value))
}

/// `1.5ms`, nanoseconds; at most a year.
fn time(text: &str) -> Option<f64> {
    const UNITS: [(&str, f64); 6] = [
        ("ns", 1.0),
        ("us", 1e3),
        ("ms", 1e6),
        ("s", 1e9),
        ("m", 60e9),
        ("h", 3_600e9),
    ];
    const YEAR: Duration = Duration::from_secs(365 * 86_400);
    let digits = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(digits);
    let (_, ns) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
    let takes = number.parse::<f64>().ok()? * ns;
    (0.0..=YEAR.as_nanos() as f64)
        .contains(&takes)
        .then_some(takes)
}

/// `1.5MB`, bytes; at least one.
fn size(text: &str) -> Option<f64> {
    let bytes = text.parse::<bytesize::ByteSize>().ok()?.as_u64();
    (bytes > 0).then_some(bytes as f64)
}

/// `5%`, from 0 to 1,000 %.
fn share(text: &str) -> Option<f64> {
    let percent: f64 = text.strip_suffix('%')?.parse().ok()?;
    (0.0..=1_000.0)
        .contains(&percent)
        .then_some(percent / 100.0)
}

/// A fraction of a time, from 0 to 1.
fn part(text: &str) -> Option<f64> {
    let part = text.parse().ok();
    part.filter(|part| (0.0..=1.0).contains(part))
}

/// A factor, from 0.01 to 10,000.
fn factor(text: &str) -> Option<f64> {
    let times = text.parse().ok();
    times.filter(|times| (0.01..=10_000.0).contains(times))
}

fn refused(value: &str, word: &str) -> Error {
    let form = |(known, rest, _): &Term| format!("`{known} {rest}`");
    let accepted = match TERMS.iter().find(|(known, ..)| *known == word) {
        Some(term @ ("mode", ..)) => format!("{}, of at most 100% in all", form(term)),
        Some(term @ ("stall" | "errors", ..)) => {
            format!(
                "{}, with a share of at most 100%, none overlapping another",
                form(term)
            )
        }
        Some(term) => format!(
            "{}; only mode, stall and errors may be repeated",
            form(term)
        ),
        None => {
            let forms: Vec<_> = TERMS.iter().map(form).collect();
            format!("terms with `;` between: {}", forms.join(", "))
        }
    };
    Error::BadSetting {
        name: "model".to_owned(),
        value: value.to_owned(),
        accepted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_term_is_understood() {
        let text = "exponential 1.5ms; mode 0.1% uniform 4ms 12ms; servers 4; \
                    contention 0.05 0.001; stall 30s 1s; \
                    compaction 10s 2s 5; errors 20s 5s 50% timeout; errors 1m 1s 1%; \
                    drift 2% 1m; age 10% 1MB; start 3 60s; device 70%; run-noise 5%; \
                    noise 10% 30s";
        let model = Model::parse(text).unwrap();
        assert_eq!(model.service, Some(Service::Exponential(1.5e6)));
        assert_eq!(model.modes, [(0.001, Service::Uniform(4e6, 12e6))]);
        let span = |start: u64, end: u64| Span {
            start: start * 1_000_000_000,
            end: end * 1_000_000_000,
        };
        assert_eq!(model.stalls, [span(30, 31)]);
        let errors = [
            (span(20, 25), 0.5, Cause::Timeout),
            (span(60, 61), 0.01, Cause::Other),
        ];
        assert_eq!(model.errors, errors);
        assert_eq!(model.compaction, Some((10e9, 2e9, 5.0)));
        assert_eq!(model.age, Some((0.1, 1e6)));
        assert_eq!(
            (model.drift, model.start),
            (Some((0.02, 60e9)), Some((3.0, 60e9)))
        );
        assert_eq!(
            (model.run_noise.map(|noise| noise.sigma), model.noise),
            (Some(0.05), Some((0.1, 30e9)))
        );
        assert_eq!((model.servers, model.device), (Some(4), Some(0.7)));
        assert_eq!(model.contention, Some((0.05, 0.001)));
        assert_eq!(Model::parse(" ; ").unwrap(), Model::default());
    }

    #[test]
    fn what_is_no_term_is_refused_with_what_is_accepted() {
        for (text, accepted) in [
            ("expnential 1ms", "`exponential TIME`"),
            ("exponential", "`exponential TIME`"),
            ("constant 1ms; uniform 1ms 2ms", "may be repeated"),
            ("uniform 2ms 1ms", "`uniform TIME TIME`"),
            ("constant 5", "`constant TIME`"),
            ("constant -5us", "`constant TIME`"),
            ("servers 0", "`servers COUNT`"),
            ("contention 0.1", "`contention SIGMA KAPPA`"),
            ("contention 0.1 2", "`contention SIGMA KAPPA`"),
            ("compaction 1s 2s 5", "`compaction EVERY TIME FACTOR`"),
            ("errors 1s 1s 5% never", "`errors AT TIME SHARE [CAUSE]`"),
            ("stall 1s 2s; stall 2s 1s", "none overlapping another"),
            (
                "mode 60% constant 1ms; mode 60% constant 2ms",
                "at most 100%",
            ),
            ("errors 1s 1s 101%", "at most 100%"),
            (
                "errors 1s 2s 5%; errors 2s 2s 5%",
                "none overlapping another",
            ),
            ("run-noise 5%; run-noise 6%", "may be repeated"),
            ("run-noise 5% askew", "`run-noise SHARE [skewed]`"),
            ("run-noise 100% skewed", "`run-noise SHARE [skewed]`"),
            ("device 101%", "`device SHARE`"),
            ("drift 1% 0s", "`drift SHARE TIME`"),
            ("age 1% 0MB", "`age SHARE SIZE`"),
        ] {
            let error = Model::parse(text).unwrap_err().to_string();
            assert!(error.starts_with("database.model is `"), "{error}");
            assert!(error.contains(accepted), "{text}: {error}");
        }
    }
}

//! The tags of a histogram log: those of our export, and names of kinds that other programs use.

use std::path::Path;
use tailmark_model::{Arrivals, Kind};

/// What other programs call the kinds.
const KINDS: &[(&str, Kind)] = &[
    ("DELETE", Kind::Delete),
    ("INSERT", Kind::Insert),
    ("READ", Kind::Read),
    ("READ-MODIFY-WRITE", Kind::ReadModifyWrite),
    ("SCAN", Kind::Scan),
    ("UPDATE", Kind::Update),
    ("WRITE", Kind::Insert),
];

/// The time that a line is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Time {
    /// From the sending of an operation.
    Service,
    /// From the instant at which it was due.
    Response,
}

/// The subject of the line with a tag.
#[derive(Debug, PartialEq)]
pub enum LogTag {
    /// A point of our export.
    Ours(PointTag, Kind, Time),
    /// The point of the file.
    Foreign(Kind, Time),
    /// The wait before an operation was sent, which is what response time is longer by.
    Wait,
}

/// A load or a point, as our export names it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PointTag {
    /// The system's name.
    pub system: String,
    /// The workload's name; `None` for a load.
    pub workload: Option<String>,
    /// The distribution of keys.
    pub distribution: String,
    /// Clients; not known of a load.
    pub threads: Option<u32>,
    /// Operations per second over all clients.
    pub target_rate: Option<f64>,
    /// How operations arrive.
    pub arrivals: Option<Arrivals>,
    /// Of a point from 1; of a load its place in the study.
    pub number: u32,
}

impl LogTag {
    /// The subject of a line with this tag. Without a tag, the name of its file ends with that of
    /// the kind.
    ///
    /// # Errors
    /// Names a tag without a kind, and the valid kinds.
    pub fn new(tag: Option<&str>, path: &Path) -> Result<Self, String> {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let found = match tag {
            Some(tag) => Self::ours(tag).or_else(|| Self::foreign(tag)),
            None => KINDS
                .iter()
                .map(|(name, _)| *name)
                .filter(|name| stem.ends_with(name))
                .max_by_key(|name| name.len())
                .and_then(|name| {
                    let is_intended = stem.trim_end_matches(name).ends_with("Intended-");
                    let prefix = if is_intended { "Intended-" } else { "" };
                    Self::foreign(&format!("{prefix}{name}"))
                }),
        };
        found.ok_or_else(|| {
            let names: Vec<_> = KINDS.iter().map(|(name, _)| *name).collect();
            let what = match tag {
                Some(tag) => format!("the tag `{tag}` names no kind"),
                None => "it has no tag, and its file name does not end with a kind".to_owned(),
            };
            format!(
                "{what}; kinds: {}; for response times, with the prefix Intended- or the suffix \
                 -rt; for service times, with the suffix -st",
                names.join(", ")
            )
        })
    }

    /// `POINT/KIND/service`
    fn ours(tag: &str) -> Option<Self> {
        let (rest, time) = tag.rsplit_once('/')?;
        let (point, kind) = rest.rsplit_once('/')?;
        let time = match time {
            "service" => Time::Service,
            "response" => Time::Response,
            _ => return None,
        };
        let kind = Kind::ALL.into_iter().find(|known| known.name() == kind)?;
        Some(Self::Ours(PointTag::parse(point)?, kind, time))
    }

    fn foreign(tag: &str) -> Option<Self> {
        let upper = tag.to_ascii_uppercase();
        let (name, time) = match upper.strip_prefix("INTENDED-") {
            Some(name) => (name, Time::Response),
            None => match upper.rsplit_once('-') {
                Some((name, "ST")) => (name, Time::Service),
                Some((name, "RT")) => (name, Time::Response),
                Some((name, "WT")) if kind_of(name).is_some() => return Some(Self::Wait),
                _ => (upper.as_str(), Time::Service),
            },
        };
        Some(Self::Foreign(kind_of(name)?, time))
    }
}

fn kind_of(name: &str) -> Option<Kind> {
    let known = KINDS.iter().find(|(known, _)| *known == name);
    known.map(|(_, kind)| *kind)
}

impl PointTag {
    /// `SYSTEM/WORKLOAD/DISTRIBUTION/tTHREADS/rREPEAT[/RATE[-ARRIVALS]]`, or `SYSTEM/load/NUMBER`.
    pub fn parse(tag: &str) -> Option<Self> {
        let parts: Vec<_> = tag.split('/').collect();
        let (named, rate) = match parts.as_slice() {
            [system, "load", number] => {
                return Some(Self {
                    system: unescaped(system)?,
                    number: number.parse().ok()?,
                    ..Self::default()
                });
            }
            [named @ .., rate] if named.len() == 5 => (named, Some(*rate)),
            named => (named, None),
        };
        let [system, workload, distribution, threads, repeat] = named else {
            return None;
        };
        let (rate, arrivals) = match rate.map(|rate| rate.split_once('-').unwrap_or((rate, ""))) {
            None => (None, None),
            Some((rate, "")) => (Some(rate), None),
            Some((rate, name)) => {
                let all = [Arrivals::Even, Arrivals::Poisson];
                let arrivals = all.into_iter().find(|arrivals| arrivals.name() == name)?;
                (Some(rate), Some(arrivals))
            }
        };
        let rate = match rate {
            Some(rate) => Some(super::number(rate).filter(|rate| *rate > 0.0)?),
            None => None,
        };
        let threads: u32 = threads.strip_prefix('t')?.parse().ok()?;
        Some(Self {
            system: unescaped(system)?,
            workload: Some(unescaped(workload)?),
            distribution: unescaped(distribution)?,
            threads: Some(threads).filter(|threads| *threads > 0),
            target_rate: rate,
            arrivals,
            number: repeat.strip_prefix('r')?.parse().ok()?,
        })
    }
}

/// A name in which `%` and two hexadecimal digits stand for one byte.
fn unescaped(name: &str) -> Option<String> {
    let mut parts = name.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(part.get(..2)?, 16).ok()?);
        bytes.extend(part.get(2..)?.as_bytes());
    }
    String::from_utf8(bytes)
        .ok()
        .filter(|whole| !whole.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_of_our_export_name_point_kind_and_time() {
        let path = Path::new("study.hlog");
        let tag = "a%2C%20b/ycsb-a/uniform/t16/r2/20000.5-poisson/read-modify-write/response";
        let expected = PointTag {
            system: "a, b".into(),
            workload: Some("ycsb-a".into()),
            distribution: "uniform".into(),
            threads: Some(16),
            target_rate: Some(20_000.5),
            arrivals: Some(Arrivals::Poisson),
            number: 2,
        };
        let expected = LogTag::Ours(expected, Kind::ReadModifyWrite, Time::Response);
        assert_eq!(LogTag::new(Some(tag), path), Ok(expected));
        let load = LogTag::new(Some("a/load/3/insert/service"), path);
        let Ok(LogTag::Ours(point, Kind::Insert, Time::Service)) = load else {
            panic!("{load:?}");
        };
        assert_eq!((point.workload, point.number), (None, 3));
    }

    #[test]
    fn other_programs_tags_name_kind_and_time() {
        let tag_of = |tag: &str| LogTag::new(Some(tag), Path::new("x.hlog"));
        use {LogTag::Foreign, Time::*};
        assert_eq!(tag_of("READ"), Ok(Foreign(Kind::Read, Service)));
        assert_eq!(
            tag_of("Intended-update"),
            Ok(Foreign(Kind::Update, Response))
        );
        assert_eq!(tag_of("WRITE-rt"), Ok(Foreign(Kind::Insert, Response)));
        assert_eq!(tag_of("READ-st"), Ok(Foreign(Kind::Read, Service)));
        assert_eq!(tag_of("READ-wt"), Ok(LogTag::Wait));
        let pairs = Ok(Foreign(Kind::ReadModifyWrite, Service));
        assert_eq!(tag_of("READ-MODIFY-WRITE"), pairs);
    }

    #[test]
    fn a_line_without_a_tag_is_of_the_kind_that_its_file_is_named_by() {
        let tag_of = |path: &str| LogTag::new(None, Path::new(path)).ok();
        use {LogTag::Foreign, Time::*};
        assert_eq!(tag_of("out/READ.hdr"), Some(Foreign(Kind::Read, Service)));
        let intended = Some(Foreign(Kind::Update, Response));
        assert_eq!(tag_of("d-Intended-UPDATE.hlog"), intended);
        let pairs = Some(Foreign(Kind::ReadModifyWrite, Service));
        assert_eq!(tag_of("READ-MODIFY-WRITE.hlog"), pairs);
        assert_eq!(tag_of("latencies.hlog"), None);
    }

    #[test]
    fn a_tag_that_names_no_kind_is_refused_with_those_that_do() {
        for tag in [
            "CLEANUP",
            "a/b/c/t1/r1/read/waited",
            "a/b/c/t1/r1/read%2",
            "-wt",
            "",
        ] {
            let error = LogTag::new(Some(tag), Path::new("x.hlog")).unwrap_err();
            assert!(error.contains(tag) && error.contains("UPDATE"), "{error}");
        }
    }
}

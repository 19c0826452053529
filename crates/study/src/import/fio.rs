//! fio's results: the JSON of fio 3 (`--output-format=json`), and JSON+, which has histograms.
//!
//! Each job is a point of the workload with its name. Jobs that numjobs created from one section
//! ran at the same time, so they are one point together, as with group_reporting.

use super::{
    Given, Import, Imported, Source, failed,
    fio_job::{Clones, Job, Options},
    held::{Held, check_json},
    system_of,
};
use crate::Error;
use serde::Deserialize;
use std::collections::BTreeMap;
use tailmark_model::secret::{MASK, masked};

pub const IMPORT: Import = Import {
    name: "fio",
    about: "fio's JSON, and its JSON+ with histograms (--output-format=json+), of fio 3",
    read,
    leaves_out: false,
};

/// The first version whose latencies are in nanoseconds.
const VERSION_MIN: u32 = 3;

/// Options that a point has in its name.
const OF_KEY: &[&str] = &["name", "numjobs", "iodepth", "rate_iops", "rate"];

/// Options that say where is read and written.
const OF_PLACE: &[&str] = &["filename", "directory"];

/// Options that make up a workload.
const OF_WORKLOAD: &[&str] = &[
    "blocksize",
    "bs",
    "bsrange",
    "bssplit",
    "random_distribution",
    "readwrite",
    "rw",
    "rwmixread",
    "rwmixwrite",
];

/// What fio writes.
#[derive(Deserialize)]
struct Output {
    #[serde(rename = "fio version", default)]
    version: String,
    #[serde(rename = "global options", default)]
    global: Options,
    #[serde(default)]
    jobs: Vec<Job>,
}

fn read(sources: &[Source], given: &Given) -> Result<Vec<Imported>, Error> {
    let (mut all, mut held) = (Vec::new(), Held::default());
    for source in sources {
        let output = Output::from_source(source)?;
        all.extend(output.points(source, given, &mut held)?);
    }
    Ok(all)
}

impl Output {
    fn from_source(source: &Source) -> Result<Self, Error> {
        let text = String::from_utf8_lossy(&source.bytes);
        // Remarks come before it in one file.
        let begin = if text.starts_with('{') {
            Some(0)
        } else {
            text.find("\n{").map(|at| at + 1)
        };
        let no_json = || {
            failed(
                source,
                "it contains no JSON of fio; run fio with --output-format=json+",
            )
        };
        let output = last_document(&text[begin.ok_or_else(no_json)?..])
            .map_err(|reason| failed(source, reason))?;
        let version = &output.version;
        let numbers = version.strip_prefix("fio-");
        let major = numbers.and_then(|numbers| numbers.split(['.', '-']).next()?.parse().ok());
        if major.is_none_or(|major: u32| major < VERSION_MIN) {
            let reason =
                format!("its `fio version` is `{version}`, not fio-{VERSION_MIN} or later");
            return Err(failed(source, reason));
        }
        Ok(output)
    }

    fn points(
        mut self,
        source: &Source,
        given: &Given,
        held: &mut Held,
    ) -> Result<Vec<Imported>, Error> {
        self.jobs.retain(Job::did_anything);
        for job in &mut self.jobs {
            for (name, value) in &self.global {
                let known = job.options.entry(name.clone());
                known.or_insert_with(|| value.clone());
            }
            for (name, value) in &mut job.options {
                *value = without_secret(name, value);
            }
        }
        if self.jobs.is_empty() {
            return Err(failed(
                source,
                "no job in it read, wrote or trimmed anything",
            ));
        }
        let checked = self.jobs.iter().try_for_each(Job::check_one_section);
        checked.map_err(|reason| failed(source, reason))?;
        let common = common(&self.jobs);
        let settings: Options = common
            .iter()
            .filter(|(name, _)| !is_one_of(&[OF_KEY, OF_PLACE, OF_WORKLOAD], name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let place = OF_PLACE.iter().find_map(|name| common.get(*name));
        let system = system_of(source, given, "fio");
        let mut all = Vec::new();
        for clones in clones(self.jobs) {
            let refused = |reason| failed(source, reason);
            let workload = given
                .workload
                .clone()
                .unwrap_or_else(|| clones.name().to_owned());
            let own = clones.options().iter().filter(|(name, _)| {
                !settings.contains_key(*name) && !is_one_of(&[OF_KEY, OF_PLACE], name)
            });
            let group = format!("fio job {workload}");
            let mut facts: Vec<_> = own
                .map(|(name, value)| (group.clone(), name.clone(), value.clone()))
                .collect();
            facts.push((group, "latency".to_owned(), clones.latency().to_owned()));
            facts.push(("fio".to_owned(), "version".to_owned(), self.version.clone()));
            let phase = clones.phase().map_err(refused)?;
            held.add_phase(&phase).map_err(refused)?;
            all.push(Imported {
                system: system.clone(),
                workload: Some(workload),
                distribution: clones.distribution(),
                threads: given.threads.unwrap_or_else(|| clones.threads()),
                target_rate: clones.target_rate().map_err(refused)?,
                phase,
                place: place.cloned().unwrap_or_default(),
                settings: settings.clone(),
                file: source.path.clone(),
                facts,
                ..Imported::default()
            });
        }
        Ok(all)
    }
}

/// The last of several documents. With `--status-interval` fio repeatedly writes its state, and the
/// result at the end. Other text after a document is ignored.
fn last_document(mut text: &str) -> Result<Output, String> {
    let no_json = |why: &dyn std::fmt::Display| format!("it is not fio's JSON: {why}");
    loop {
        // Within a document fio indents what begins a line.
        check_json(text.find("\n{").map_or(text, |end| &text[..end]))?;
        let mut documents = serde_json::Deserializer::from_str(text).into_iter();
        let Some(output) = documents.next() else {
            return Err(no_json(&"it is empty"));
        };
        let output = output.map_err(|error: serde_json::Error| no_json(&error))?;
        let rest = &text[documents.byte_offset()..];
        let next = if rest.trim_start().starts_with('{') {
            rest.find('{')
        } else {
            rest.find("\n{").map(|at| at + 1)
        };
        match next {
            Some(at) => text = &rest[at..],
            None => return Ok(output),
        }
    }
}

/// The value of an option without the secret in it: `http_pass`, a command before the run, an address.
fn without_secret(name: &str, value: &str) -> String {
    let begin = format!("{name}=");
    let shown = masked(&format!("{begin}{value}"));
    shown.strip_prefix(&begin).unwrap_or(MASK).to_owned()
}

/// The options that all jobs have alike.
fn common(jobs: &[Job]) -> Options {
    let mut jobs = jobs.iter().map(|job| &job.options);
    let mut common = jobs.next().cloned().unwrap_or_default();
    for options in jobs {
        common.retain(|name, value| options.get(name) == Some(value));
    }
    common
}

fn is_one_of(lists: &[&[&str]], name: &str) -> bool {
    lists.iter().any(|list| list.contains(&name))
}

/// The jobs of each section and group together, in the order of the first of each.
fn clones(jobs: Vec<Job>) -> Vec<Clones> {
    let mut order = Vec::new();
    let mut together: BTreeMap<(String, i64), Vec<Job>> = BTreeMap::new();
    for job in jobs {
        let name = (job.name.clone(), job.group);
        if !together.contains_key(&name) {
            order.push(name.clone());
        }
        together.entry(name).or_default().push(job);
    }
    let clones = |name| Clones(together.remove(name).unwrap_or_default());
    order.iter().map(clones).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailmark_model::{Bounded, Kind, QUANTILES, finding::SUMMARY_ONLY};

    /// Real outputs of fio 3.33.
    const PLUS: &str = include_str!("../../tests/inputs/fio-plus.json");
    const CLONES: &str = include_str!("../../tests/inputs/fio-clones.json");
    const SECTIONS: &str = include_str!("../../tests/inputs/fio-sections.json");

    /// Reads, writes, seconds, and the median of reads in nanoseconds, as fio counted them in PLUS.
    const EXPECTED: (u64, u64, f64, f64) = (5_662, 2_532, 1.044, 342_016.0);

    fn import(text: &str, given: &Given) -> Result<Vec<Imported>, Error> {
        let source = Source {
            path: "nvme-fio.json".into(),
            bytes: text.as_bytes().to_vec(),
        };
        IMPORT.import(&[source], given)
    }

    fn all(text: &str) -> Vec<Imported> {
        import(text, &Given::default()).unwrap()
    }

    #[test]
    fn a_group_of_jobs_is_one_point_with_its_histograms() {
        let imported = all(PLUS).remove(0);
        assert_eq!(imported.workload.as_deref(), Some("mix"));
        assert_eq!((imported.system.as_str(), imported.threads), ("nvme", 8));
        assert_eq!(
            (imported.distribution.as_str(), imported.target_rate),
            ("uniform", None)
        );
        let phase = &imported.phase;
        assert_eq!(
            (phase.operations, phase.duration_s),
            (EXPECTED.0 + EXPECTED.1, EXPECTED.2)
        );
        let [read, update] = [Kind::Read, Kind::Update].map(|kind| &phase.kinds[&kind]);
        assert_eq!((read.count, read.service.len()), (EXPECTED.0, EXPECTED.0));
        assert_eq!(
            (update.count, update.service.len()),
            (EXPECTED.1, EXPECTED.1)
        );
        assert_eq!(read.bytes, EXPECTED.0 * 4096);
        // fio's own median, within the width of its bins.
        let median = read.ranked_service().quantile(QUANTILES[0]).unwrap().value;
        assert!((median / EXPECTED.3 - 1.0).abs() < 0.016, "{median}");
        assert!(phase.findings.is_empty());
    }

    #[test]
    fn no_secret_of_an_option_is_kept() {
        for (name, value) in [
            ("http_pass", "hunter2"),
            ("http_s3_key", "hunter2"),
            ("http_swift_auth_token", "hunter2"),
            ("exec_prerun", "mysql -uroot -phunter2"),
            ("filename", "https://me:hunter2@host/file"),
        ] {
            let kept = without_secret(name, value);
            assert!(
                !kept.contains("hunter2") && kept.contains(MASK),
                "{name}: {kept}"
            );
        }
        for (name, value) in [
            ("rw", "randread"),
            ("filename", "/dev/nvme0n1"),
            ("bs", "4k"),
        ] {
            assert_eq!(without_secret(name, value), value);
        }
    }

    #[test]
    fn options_and_version_are_kept() {
        let imported = all(PLUS).remove(0);
        assert_eq!(imported.place, "/mnt/nvme0");
        assert_eq!(imported.settings["ioengine"], "libaio");
        assert!(!imported.settings.contains_key("iodepth"));
        let facts = imported.facts("nvme", "fio");
        let said: Vec<_> = facts
            .iter()
            .map(|f| [f.group.as_str(), &f.name, &f.value].join(": "))
            .collect();
        for fact in [
            "imported from: nvme-fio.json: fio",
            "fio: version: fio-3.33",
            "fio job mix: rwmixread: 70",
            "fio job mix: latency: from submission to completion (clat)",
        ] {
            assert!(said.iter().any(|said| said == fact), "{fact} in {said:?}");
        }
    }

    #[test]
    fn jobs_that_numjobs_made_are_one_point_at_the_sum_of_their_rates() {
        let points = all(CLONES);
        assert_eq!(points.len(), 1);
        assert_eq!((points[0].threads, points[0].target_rate), (2, Some(600.0)));
        let phase = &points[0].phase;
        assert_eq!(phase.kinds[&Kind::Read].count, 400);
        let read = phase.kinds[&Kind::Read].ranked_service();
        // Quantiles of two jobs are none of both together.
        assert_eq!(read.quantile(QUANTILES[0]), None);
        let [min, mean, max] = [read.min(), read.mean(), read.max()].map(|ns| ns.unwrap().value);
        assert!(0.0 < min && min < mean && mean < max);
        assert!(SUMMARY_ONLY.is_among(&phase.findings));
    }

    #[test]
    fn at_a_rate_the_response_time_is_unknown() {
        let histograms = PLUS.replace("\"rwmixread\"", "\"rate_iops\" : \"9000\", \"rwmixread\"");
        assert_eq!(all(&histograms)[0].target_rate, Some(36_000.0));
        let of_writes = histograms.replace("\"9000\"", "\",9000\"");
        assert_eq!(
            all(&of_writes)[0].target_rate,
            None,
            "reads are not limited"
        );
        let with_zero = histograms.replace("\"9000\"", "\"0,9000\"");
        assert_eq!(all(&with_zero)[0].target_rate, None, "0 is no limit");
        for text in [CLONES, &histograms] {
            let point = all(text).remove(0);
            for result in point.phase.kinds.values() {
                assert!(result.ranked_service().mean().is_some());
                assert_eq!(result.ranked_response().mean(), None);
            }
        }
        let closed = all(PLUS).remove(0);
        let read = &closed.phase.kinds[&Kind::Read];
        assert_eq!(read.ranked_response().mean(), read.ranked_service().mean());
    }

    #[test]
    fn sections_are_points_of_their_own() {
        let points = all(SECTIONS);
        let names: Vec<_> = points
            .iter()
            .map(|point| point.workload.as_deref())
            .collect();
        assert_eq!(names, [Some("reads"), Some("writes")]);
        let kinds = |at: usize| points[at].phase.kinds.keys().copied().collect::<Vec<_>>();
        assert_eq!((kinds(0), kinds(1)), (vec![Kind::Read], vec![Kind::Update]));
        let read = points[0].phase.kinds[&Kind::Read].ranked_service();
        assert_eq!(read.quantile(QUANTILES[0]), Some(Bounded::exact(92_672.0)));
        assert_eq!(points[0].settings["ioengine"], "psync");
        assert_eq!(points[1].distribution, "sequential");
    }

    #[test]
    fn sections_that_fio_reported_together_are_refused() {
        // As fio 3.33 reports three jobs that read and two that write at a rate.
        let mixed = r#"{"fio version": "fio-3.33", "global options": {"group_reporting": "1"},
            "jobs": [{"jobname": "readers", "job_runtime": 10003,
            "job options": {"rw": "randwrite", "numjobs": "2", "rate_iops": "100"},
            "read": {"total_ios": 48285, "runtime": 2003},
            "write": {"total_ios": 401, "runtime": 2002}}]}"#;
        let error = import(mixed, &Given::default()).unwrap_err().to_string();
        assert!(error.contains("5 jobs, but its section has 2"), "{error}");
        let one = mixed.replace(r#""numjobs": "2""#, r#""numjobs": "5""#);
        assert_eq!(all(&one)[0].threads, 5);
    }

    #[test]
    fn a_rate_has_the_suffixes_of_fio() {
        let rate = |text: &str, base: &str| {
            let options =
                format!("\"rate_iops\": \"{text}\", \"kb_base\": \"{base}\", \"rwmixread\"");
            all(&PLUS.replace("\"rwmixread\"", &options))[0].target_rate
        };
        // Two jobs of two directions each.
        for (text, binary, decimal) in [
            ("1k", 1024.0, 1000.0),
            ("1Ki", 1000.0, 1024.0),
            ("2MiB", 2e6, 2_097_152.0),
            ("2mb", 2_097_152.0, 2e6),
        ] {
            assert_eq!(rate(text, "1024"), Some(4.0 * binary), "{text}");
            assert_eq!(rate(text, "1000"), Some(4.0 * decimal), "{text}");
        }
    }

    #[test]
    fn what_the_user_says_counts_first() {
        let given = Given {
            system: Some("x".into()),
            workload: Some("w".into()),
            threads: Some(3),
            unit_ns: None,
            ..Given::default()
        };
        let imported = import(PLUS, &given).unwrap().remove(0);
        assert_eq!((imported.system.as_str(), imported.threads), ("x", 3));
        assert_eq!(imported.workload.as_deref(), Some("w"));
    }

    #[test]
    fn remarks_before_the_json_are_skipped() {
        let text = format!("note: both iodepth >= 1 and synchronous I/O engine\n{PLUS}\n");
        assert_eq!(all(&text).len(), 1);
    }

    #[test]
    fn of_several_documents_the_last_is_the_result() {
        // As fio writes them with --status-interval: what there is so far, and the result.
        let sofar = PLUS.replace("5662", "1000");
        let texts = [
            format!("{sofar}\n{PLUS}"),
            format!("{}{PLUS}", sofar.trim_end()),
            format!("note: a\n{sofar}\n{sofar}\nnote: b\n{PLUS}\nnote: c\n"),
        ];
        for text in texts {
            let point = all(&text).remove(0);
            assert_eq!(point.phase.kinds[&Kind::Read].count, EXPECTED.0);
        }
        assert_ne!(all(&sofar)[0].phase.kinds[&Kind::Read].count, EXPECTED.0);
        let cut = format!("{PLUS}\n{}", &PLUS[..PLUS.len() / 2]);
        let error = import(&cut, &Given::default()).unwrap_err().to_string();
        assert!(error.contains("not fio's JSON"), "{error}");
    }

    #[test]
    fn what_is_no_result_of_fio_3_is_refused() {
        let refusal = |text: &str| import(text, &Given::default()).unwrap_err().to_string();
        assert!(refusal("jobs=1").contains("no JSON of fio"));
        assert!(refusal("{").contains("not fio's JSON"));
        assert!(refusal("{}").contains("not fio-3 or later"));
        assert!(refusal(&PLUS.replace("fio-3.33", "fio-2.21")).contains("`fio-2.21`"));
        assert!(refusal(r#"{"fio version": "fio-3.1", "jobs": []}"#).contains("no job in it"));
        let error = refusal(&CLONES.replace("200,100", "fast"));
        assert!(
            error.contains("rate_iops") && error.contains("fast"),
            "{error}"
        );
    }
}

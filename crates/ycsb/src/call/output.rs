//! The output at the end of a call: its groups, and single samples.

use super::Call;
use crate::{
    decorators::{Sample, Samples, Verify},
    exporter::Line,
    measurement::OutputFormat,
    tally::{MeasurementInterval, Tallies},
    watch::Measured,
};
use anyhow::{Context, bail};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    sync::PoisonError,
};
use tailmark_console::{Closed, closed};
use tailmark_model::{Phase, histogram, new_latencies};
use tailmark_study::{NewFile, refuse_block_device};

impl Call {
    /// Writes the final block.
    pub(super) fn finish(
        &self,
        phase: &Phase,
        verify: Option<&Verify>,
        samples: Option<&Samples>,
    ) -> anyhow::Result<()> {
        let mut measured = self.watch.measured();
        let Measured {
            all,
            series,
            log_error,
            ..
        } = &mut *measured;
        if let Some(error) = log_error.take() {
            bail!("failed to write a histogram log: {error}");
        }
        if let Some(verify) = verify {
            let tally = verify.tally.lock().unwrap_or_else(PoisonError::into_inner);
            all.insert("VERIFY".to_owned(), tally.clone());
        }
        if let Some(samples) = samples
            && self.watch.interval != MeasurementInterval::Intended
        {
            let samples = samples.lock().unwrap_or_else(PoisonError::into_inner);
            take_latencies(all, &samples);
        }
        let mut lines = overall(phase);
        lines.extend(self.watch.formats.lines(all, series));
        let failed = |path: &PathBuf| format!("failed to write `{}`", path.display());
        if let Some(samples) = samples {
            match &self.raw_file {
                Some(path) => {
                    let file = File::options().create(true).append(true).open(path);
                    let mut file = BufWriter::new(file.with_context(|| failed(path))?);
                    self.write_samples(samples, &mut file)
                        .with_context(|| failed(path))?;
                }
                None => self
                    .watch
                    .console
                    .write(|out| Ok(self.write_samples(samples, out)?))?,
            }
        }
        match &self.export_file {
            Some(path) => {
                let mut file = NewFile::create(path.as_ref()).with_context(|| failed(path))?;
                self.exporter
                    .write(&lines, &mut file)
                    .with_context(|| failed(path))?;
                file.finish().with_context(|| failed(path))?;
            }
            None => self
                .watch
                .console
                .write(|out| Ok(self.exporter.write(&lines, out)?))?,
        }
        Ok(())
    }

    fn write_samples(&self, samples: &Samples, out: &mut dyn Write) -> io::Result<()> {
        let mut samples = samples.lock().unwrap_or_else(PoisonError::into_inner);
        samples.sort_by_key(|sample| (sample.group, sample.at_ms));
        let formats = &self.watch.formats.formats;
        let prefix = formats
            .iter()
            .find(|(_, format)| *format == OutputFormat::Raw)
            .map_or("", |(name, _)| name);
        let mut group = "";
        for sample in &*samples {
            if sample.group != group {
                group = sample.group;
                writeln!(
                    out,
                    "{prefix}{group} latency raw data: op, timestamp(ms), latency(us)"
                )?;
            }
            writeln!(out, "{prefix}{group},{},{}", sample.at_ms, sample.us)?;
        }
        out.flush()
    }
}

/// Checks before a run that a file can be written at its end. An existing file keeps its content,
/// and a missing one is not created. A pipe or a terminal is not checked.
pub(super) fn try_write(path: &Path) -> anyhow::Result<()> {
    let failed = || format!("failed to write `{}`", path.display());
    refuse_block_device(path).with_context(failed)?;
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => bail!("`{}` is a directory", path.display()),
        Ok(found) if !found.is_file() => Ok(()),
        Ok(_) => {
            let opened = File::options().append(true).open(path);
            opened.map(drop).with_context(failed)
        }
        Err(_) => {
            let made = File::options().write(true).create_new(true).open(path);
            made.with_context(failed)?;
            fs::remove_file(path).with_context(failed)
        }
    }
}

/// Ignores that the reader of the output is gone, because the measurement is complete.
pub(super) fn unless_closed(written: anyhow::Result<()>) -> anyhow::Result<()> {
    match written {
        Err(error) if closed(&error) == Some(Closed::Pipe) => Ok(()),
        written => written,
    }
}

/// Gives the groups the latencies of their samples, so that a summary is that of the file beside it:
/// the clients' loop measures the keeping of samples too.
fn take_latencies(groups: &mut Tallies, samples: &[Sample]) {
    let mut latencies = BTreeMap::new();
    for sample in samples {
        let own = latencies.entry(sample.group).or_insert_with(new_latencies);
        histogram::record(own, sample.us * 1000, 1);
    }
    for (group, own) in latencies {
        if let Some(tally) = groups.get_mut(group) {
            tally.latencies = own;
        }
    }
}

/// The lines before the groups. There is no collector of garbage, which is why it took no time.
fn overall(phase: &Phase) -> Vec<Line> {
    // To the end of the last operation, as YCSB has it.
    let ms = ((phase.elapsed_s() * 1000.0) as u64).max(1);
    vec![
        Line::whole("OVERALL", "RunTime(ms)", ms),
        Line::double(
            "OVERALL",
            "Throughput(ops/sec)",
            phase.operations as f64 * 1000.0 / ms as f64,
        ),
        Line::whole("TOTAL_GCs", "Count", 0),
        Line::whole("TOTAL_GC_TIME", "Time(ms)", 0),
        Line::double("TOTAL_GC_TIME_%", "Time(%)", 0.0),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::Tally;

    #[test]
    fn samples_give_latencies_to_the_groups_that_are_there() {
        let names = ["READ", "READ-ERROR"].map(str::to_owned);
        let mut groups: Tallies = names.map(|name| (name, Tally::default())).into();
        let sample = |group, us| Sample {
            group,
            at_ms: 0,
            us,
        };
        // Errors that are tracked have a group of their own.
        take_latencies(&mut groups, &[sample("READ", 7), sample("READ-FAILED", 9)]);
        let latencies = groups
            .iter()
            .map(|(name, tally)| (name.as_str(), tally.latencies.max() / 1000));
        assert_eq!(
            latencies.collect::<Vec<_>>(),
            [("READ", 7), ("READ-ERROR", 0)]
        );
    }
}

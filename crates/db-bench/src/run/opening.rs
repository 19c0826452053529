//! Opens the database of a call, and refuses one that it must not write to.

use super::{BenchmarkRun, checked};
use crate::{
    benchmarks::{Action, ListedBenchmark, Tool},
    measure::Needs,
    options,
};
use anyhow::{Context, bail, ensure};
use std::path::Path;
use tailmark_driver::{
    Access, Database, Params,
    db::{NewestOptions, RocksDb},
};

impl BenchmarkRun<'_> {
    /// The permitted access to an existing database.
    pub(super) fn access(&self, entries: &[ListedBenchmark]) -> anyhow::Result<Access> {
        let read_only = self.read_only_flag();
        let mut only_reads = true;
        for entry in entries {
            let reads = match entry.action {
                Action::Tool(tool) => matches!(tool, Tool::Print(_) | Tool::Memstats),
                // It is skipped.
                Action::Measure(measure) if measure.needs.is_fresh() => true,
                Action::Measure(measure) => !measure.workload(entry.name, self.flags)?.writes(),
            };
            if let Some(flag) = read_only.filter(|_| !reads) {
                bail!(
                    "--{flag} opens the database read-only, but {} writes to it: leave out one of \
                     them",
                    entry.name
                );
            }
            only_reads &= reads;
        }
        Ok(if read_only.is_some() {
            Access::Read
        } else if only_reads {
            Access::ReadCompatible
        } else if self.upgrade {
            Access::Upgrade
        } else {
            Access::Write
        })
    }

    /// The flag that opens the database only for reading, without changes. A secondary and a
    /// follower also follow a database that is being written; nothing here does.
    pub(super) fn read_only_flag(&self) -> Option<&'static str> {
        let flags = ["readonly", "use_secondary_db", "open_as_follower"];
        flags.into_iter().find(|name| self.flags.flag(name))
    }

    pub(super) fn open_with(&mut self, params: &Params) -> anyhow::Result<()> {
        let database = RocksDb::open(params);
        let database = database.map_err(|error| options::in_flags(self.flags, error))?;
        let notices = params.settings.notices().iter().cloned();
        let remarks = database.remarks().into_iter().map(|remark| remark.text);
        for text in notices.chain(remarks) {
            // A call opens several databases with the same flags.
            if self.warned.insert(text.clone()) {
                self.console.warn(&format!("warning: {text}"));
            }
        }
        self.database = Some(database);
        self.id = self.id(self.place()?);
        Ok(())
    }

    pub(super) fn place(&self) -> anyhow::Result<&Path> {
        let place = self.params.location.path();
        place.context("--db is not a directory")
    }

    /// The name that RocksDB gave the database in a directory.
    pub(super) fn id(&self, place: &Path) -> Option<String> {
        (self.driver.identity)(place).ok().flatten()?.id
    }

    pub(super) fn database(&self) -> anyhow::Result<&RocksDb> {
        self.database.as_ref().context("the database is not open")
    }

    /// Refuses to remove a database that another program made, unless the call asks for it. db_bench
    /// removes it by default, whatever it holds.
    pub(super) fn refuse_foreign(&self, place: &Path) -> anyhow::Result<()> {
        let is_asked = self
            .flags
            .given()
            .any(|(name, _)| name == "use_existing_db");
        if is_asked || !place.join("CURRENT").exists() {
            return Ok(());
        }
        let newest = NewestOptions::read(place)?;
        let found = (self.driver.identity)(place)?;
        ensure!(
            newest.is_some_and(|newest| newest.is_tailmarks)
                && found.is_none_or(|found| found.is_confirmed),
            "`{}` holds a database of another program, which this call would remove: name another \
             --db, or keep the database (--use_existing_db=1)",
            place.display()
        );
        Ok(())
    }

    /// Creates a fresh database, with synchronous writes if required.
    pub(super) fn reopen(&mut self, needs: Needs) -> anyhow::Result<()> {
        self.database = None;
        let confirm = |held: &Path| {
            if self.id(held) == self.id {
                Ok(())
            } else {
                Err("another database has replaced it".to_owned())
            }
        };
        (self.driver.destroy)(&self.params, &confirm)?;
        if needs == Needs::FreshSync {
            let mut given = options::settings(self.flags, self.place()?, self._directory.path())?;
            given.insert("sync".to_owned(), "true".to_owned());
            let settings = checked(self.driver, self.flags, &given, &self.params.data)?;
            let params = Params {
                settings,
                ..self.params.clone()
            };
            return self.open_with(&params);
        }
        self.open_with(&self.params.clone())
    }
}

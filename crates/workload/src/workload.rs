//! A workload: groups of clients, and what each group does.

use crate::{Distribution, Error, Form, Mix, Wave, db_bench::Task};
use tailmark_driver::Kind;

/// A named set of operations.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    /// The name in plans and reports.
    pub name: String,
    /// One line for `list`.
    pub about: String,
    /// At least one; most workloads have one.
    pub groups: Vec<Group>,
    /// How the records look that are read and written.
    pub form: Form,
    /// The keys that are drawn from, where that is not every loaded one.
    pub range: Option<KeyRange>,
}

/// Consecutive keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyRange {
    /// The number of the first.
    pub first: u64,
    /// How many, at least 1.
    pub count: u64,
}

/// Clients that do the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Group {
    /// Which of the clients are in it.
    pub clients: GroupClients,
    /// What they do.
    pub mix: Mix,
    /// Which records they do it to.
    pub distribution: Distribution,
    /// How many records a scan fetches.
    pub scan: ScanLength,
    /// Whether reads and scans fetch the whole record, or one uniformly chosen field.
    pub read_all_fields: bool,
    /// What they do in place of the mix: one of db_bench's benchmarks.
    pub task: Option<Task>,
    /// Operations per second over the clients of the group, in place of the point's rate.
    pub rate: Option<f64>,
    /// What the rate swings by, where there is one.
    pub wave: Option<Wave>,
}

/// Which clients of a point are in a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupClients {
    /// Those that no other group names; several such groups share them evenly.
    Rest,
    /// So many.
    Exactly(u32),
    /// So many more than the point has. What they do is recorded by kind, but is no operation of
    /// the point, and they end when its clients have ended.
    Beside(u32),
}

/// How many records a scan fetches: `min..=max`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScanLength {
    /// The least, from 1.
    pub min: u32,
    /// The most.
    pub max: u32,
    /// How the length is drawn.
    pub choice: LengthChoice,
}

/// How a length is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LengthChoice {
    /// Every length equally often.
    Uniform,
    /// Zipfian with exponent 0.99; the least length is the most frequent.
    Zipfian,
}

impl ScanLength {
    /// YCSB's default: 1 to 1,000 records, uniform.
    pub const DEFAULT: Self = Self {
        min: 1,
        max: 1_000,
        choice: LengthChoice::Uniform,
    };
}

impl Group {
    /// Whether each of its clients goes through the same keys in order, so that each has its own
    /// share of the operations and none may do a part of another's.
    #[must_use]
    pub fn is_done_by_each(&self) -> bool {
        use crate::db_bench::{Job, Order};
        let job = self.task.map(|task| task.job);
        matches!(
            job,
            Some(Job::Walk(_) | Job::Write(Order::Sequential) | Job::Delete(Order::Sequential))
        )
    }

    /// All clients, whole records, and YCSB's default lengths of scans.
    #[must_use]
    pub const fn new(mix: Mix, distribution: Distribution) -> Self {
        Self {
            clients: GroupClients::Rest,
            mix,
            distribution,
            scan: ScanLength::DEFAULT,
            read_all_fields: true,
            task: None,
            rate: None,
            wave: None,
        }
    }
}

impl Workload {
    /// A workload of one group of all clients.
    #[must_use]
    pub fn new(name: impl Into<String>, about: impl Into<String>, group: Group) -> Self {
        Self {
            name: name.into(),
            about: about.into(),
            groups: vec![group],
            form: Form::default(),
            range: None,
        }
    }

    /// A workload of these groups.
    #[must_use]
    pub fn of_groups(
        name: impl Into<String>,
        about: impl Into<String>,
        groups: Vec<Group>,
    ) -> Self {
        let (name, about) = (name.into(), about.into());
        Self {
            name,
            about,
            groups,
            form: Form::default(),
            range: None,
        }
    }

    /// Inserts only: what loads a data set.
    #[must_use]
    pub fn load() -> Self {
        let mix = Mix {
            insert: 1.0,
            ..Mix::NONE
        };
        Self::new(
            "load",
            "100 % insert",
            Group::new(mix, Distribution::Sequential),
        )
    }

    /// The same with another distribution, in every group that has a mix.
    #[must_use]
    pub fn with_distribution(mut self, distribution: Distribution) -> Self {
        for group in self.groups.iter_mut().filter(|group| group.task.is_none()) {
            group.distribution = distribution;
        }
        self
    }

    /// The name of the distribution of those groups that draw keys; `mixed` where they differ.
    #[must_use]
    pub fn distribution_name(&self) -> &'static str {
        let mut names = self
            .groups
            .iter()
            .filter(|group| group.mix.draws_keys())
            .map(|group| group.distribution.name());
        match names.next() {
            None => self
                .groups
                .first()
                .map_or("none", |group| group.distribution.name()),
            Some(first) if names.all(|name| name == first) => first,
            Some(_) => "mixed",
        }
    }

    /// What a database must be able to do. A read-modify-write needs reads and updates.
    #[must_use]
    pub fn kinds(&self) -> Vec<Kind> {
        let sent = |kind: &Kind| self.groups.iter().any(|group| group.sends(*kind));
        Kind::ALL.iter().copied().filter(sent).collect()
    }

    /// Checks that operations can be drawn from it.
    ///
    /// # Errors
    /// Names what is out of its range.
    pub fn validate(&self) -> Result<(), Error> {
        let (workload, empty) = (self.name.clone(), self.groups.is_empty());
        if empty {
            return Err(Error::Empty {
                workload,
                what: "groups",
            });
        }
        self.groups
            .iter()
            .try_for_each(|group| group.validate(&self.name))
    }
}

impl Group {
    /// Whether its clients are beside those of the point.
    #[must_use]
    pub const fn is_beside(&self) -> bool {
        matches!(self.clients, GroupClients::Beside(_))
    }

    fn sends(&self, kind: Kind) -> bool {
        match &self.task {
            Some(task) => task.job.kinds().contains(&kind),
            None => self.mix.sends(kind),
        }
    }

    fn validate(&self, workload: &str) -> Result<(), Error> {
        match &self.task {
            Some(task) => task.validate(workload)?,
            None => self.mix.validate(workload)?,
        }
        self.distribution.validate(workload)?;
        if let Some(wave) = &self.wave {
            wave.validate(workload)?;
        }
        let bad = |what, got: u32, accepted| {
            let (workload, got) = (workload.to_owned(), f64::from(got));
            Err(Error::BadNumber {
                workload,
                what,
                got,
                accepted,
            })
        };
        match (self.scan, self.clients) {
            (ScanLength { min: 0, .. }, _) => bad("least length of a scan", 0, "1 or more"),
            (ScanLength { min, max, .. }, _) if max < min => {
                bad("greatest length of a scan", max, "no less than the least")
            }
            (_, GroupClients::Exactly(0) | GroupClients::Beside(0)) => {
                bad("number of clients of a group", 0, "1 or more")
            }
            _ => Ok(()),
        }
    }
}

/// Which group each client is in, as an index into the groups: those beside the point's come first,
/// then the `clients` of the point.
///
/// Groups of a given number are filled first, in their order; the other clients are dealt in turn
/// to the groups of the rest or, where there is none, to all groups.
#[must_use]
pub fn assign_groups(workload: &Workload, clients: u32) -> Vec<usize> {
    let clients = clients as usize;
    let groups = || {
        workload
            .groups
            .iter()
            .enumerate()
            .filter(|(_, group)| !group.is_beside())
    };
    let beside = workload
        .groups
        .iter()
        .enumerate()
        .flat_map(|(index, group)| {
            let count = match group.clients {
                GroupClients::Beside(count) => count,
                GroupClients::Rest | GroupClients::Exactly(_) => 0,
            };
            std::iter::repeat_n(index, count as usize)
        });
    let rest: Vec<usize> = groups()
        .filter(|(_, g)| g.clients == GroupClients::Rest)
        .map(|(index, _)| index)
        .collect();
    let dealt = if rest.is_empty() {
        groups().map(|(index, _)| index).collect()
    } else {
        rest
    };
    let of_the_point = groups()
        .flat_map(|(index, group)| match group.clients {
            GroupClients::Exactly(count) => std::iter::repeat_n(index, count as usize),
            GroupClients::Rest | GroupClients::Beside(_) => std::iter::repeat_n(index, 0),
        })
        .chain(dealt.iter().copied().cycle())
        .take(clients);
    beside.chain(of_the_point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(clients: GroupClients, mix: Mix) -> Group {
        Group {
            clients,
            ..Group::new(mix, Distribution::Uniform)
        }
    }

    fn workload(groups: Vec<Group>) -> Workload {
        Workload {
            name: "own".into(),
            about: String::new(),
            groups,
            form: Form::default(),
            range: None,
        }
    }

    const READS: Mix = Mix {
        read: 1.0,
        ..Mix::NONE
    };
    const WRITES: Mix = Mix {
        insert: 1.0,
        ..Mix::NONE
    };

    #[test]
    fn one_writer_stays_one_among_any_number_of_readers() {
        let own = workload(vec![
            group(GroupClients::Rest, READS),
            group(GroupClients::Exactly(1), WRITES),
        ]);
        assert_eq!(assign_groups(&own, 4), [1, 0, 0, 0]);
        assert_eq!(assign_groups(&own, 1), [1]);
    }

    #[test]
    fn groups_of_the_rest_share_evenly() {
        let rest = || group(GroupClients::Rest, READS);
        let own = workload(vec![
            rest(),
            group(GroupClients::Exactly(2), WRITES),
            rest(),
        ]);
        assert_eq!(assign_groups(&own, 7), [1, 1, 0, 2, 0, 2, 0]);
    }

    #[test]
    fn clients_beside_the_point_are_added_to_it() {
        let own = workload(vec![
            group(GroupClients::Rest, READS),
            group(GroupClients::Beside(1), WRITES),
        ]);
        assert_eq!(assign_groups(&own, 3), [1, 0, 0, 0]);
    }

    #[test]
    fn clients_beyond_the_given_numbers_are_dealt_to_all_groups() {
        let own = workload(vec![
            group(GroupClients::Exactly(1), READS),
            group(GroupClients::Exactly(2), WRITES),
        ]);
        assert_eq!(assign_groups(&own, 6), [0, 1, 1, 0, 1, 0]);
    }

    #[test]
    fn a_read_modify_write_needs_reads_and_updates() {
        let mix = Mix {
            read_modify_write: 1.0,
            ..Mix::NONE
        };
        let own = workload(vec![group(GroupClients::Rest, mix)]);
        assert_eq!(own.kinds(), [Kind::Read, Kind::Update]);
        assert_eq!(Workload::load().kinds(), [Kind::Insert]);
    }

    #[test]
    fn the_distribution_is_that_of_the_groups_that_draw_keys() {
        let reader = |distribution| Group::new(READS, distribution);
        let writer = Group::new(WRITES, Distribution::Sequential);
        let one = workload(vec![writer, reader(Distribution::Latest)]);
        assert_eq!(one.distribution_name(), "latest");
        let two = workload(vec![
            reader(Distribution::Uniform),
            reader(Distribution::Latest),
        ]);
        assert_eq!(two.distribution_name(), "mixed");
        assert_eq!(
            two.with_distribution(Distribution::Zipfian)
                .distribution_name(),
            "zipfian"
        );
    }

    #[test]
    fn refuses_what_cannot_be_drawn() {
        let scan = |min, max| {
            let scan = ScanLength {
                min,
                max,
                choice: LengthChoice::Uniform,
            };
            workload(vec![Group {
                scan,
                ..group(GroupClients::Rest, READS)
            }])
        };
        for (bad, word) in [
            (workload(Vec::new()), "groups"),
            (scan(0, 10), "least length"),
            (scan(10, 9), "greatest length"),
            (
                workload(vec![group(GroupClients::Exactly(0), READS)]),
                "clients",
            ),
            (
                workload(vec![group(GroupClients::Rest, Mix::NONE)]),
                "weight",
            ),
        ] {
            let error = bad.validate().expect_err(word).to_string();
            assert!(error.contains(word), "{error}");
        }
        assert_eq!(scan(10, 10).validate(), Ok(()));
    }
}

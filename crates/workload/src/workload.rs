//! A workload: groups of clients, and the work of each group.

use crate::{ClientGroup, Distribution, Error, GroupClients, GroupOperations, Mix, RecordFormat};
use tailmark_driver::OperationKind;

/// A named set of operations.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    /// The name in plans and reports.
    pub name: String,
    /// One line for `list`.
    pub about: String,
    /// At least one; most workloads have one.
    pub groups: Vec<ClientGroup>,
    /// The format of its records.
    pub format: RecordFormat,
    /// The keys to draw from, if not all loaded ones.
    pub range: Option<KeyRange>,
}

/// Consecutive keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyRange {
    /// The number of the first key.
    pub first: u64,
    /// The number of keys, at least 1.
    pub count: u64,
}

impl Workload {
    /// A workload of one group of all clients.
    pub fn new(name: impl Into<String>, about: impl Into<String>, group: ClientGroup) -> Self {
        Self::of_groups(name, about, vec![group])
    }

    /// A workload of these groups.
    pub fn of_groups(
        name: impl Into<String>,
        about: impl Into<String>,
        groups: Vec<ClientGroup>,
    ) -> Self {
        let (name, about) = (name.into(), about.into());
        Self {
            name,
            about,
            groups,
            format: RecordFormat::default(),
            range: None,
        }
    }

    /// Inserts only, to load a data set.
    pub fn load() -> Self {
        let mix = Mix {
            insert: 1.0,
            ..Mix::NONE
        };
        Self::new(
            "load",
            "100 % insert",
            ClientGroup::new(mix, Distribution::Sequential),
        )
    }

    /// The same with another distribution in every group that has a mix.
    #[must_use]
    pub fn with_distribution(mut self, distribution: Distribution) -> Self {
        for mixed in self.groups.iter_mut().filter_map(ClientGroup::mix_mut) {
            mixed.distribution = distribution;
        }
        self
    }

    /// The name of the distribution of groups that draw keys; `mixed` if they differ.
    pub fn distribution_name(&self) -> &'static str {
        let mut names = self
            .groups
            .iter()
            .filter_map(ClientGroup::mix)
            .filter(|mixed| mixed.mix.draws_keys())
            .map(|mixed| mixed.distribution.name());
        match names.next() {
            None => self
                .groups
                .first()
                .map_or("none", |group| group.distribution().name()),
            Some(first) if names.all(|name| name == first) => first,
            Some(_) => "mixed",
        }
    }

    /// The requests that a database must support. A read-modify-write needs reads and updates.
    pub fn kinds(&self) -> Vec<OperationKind> {
        let sent = |kind: &OperationKind| self.groups.iter().any(|group| group.sends(*kind));
        OperationKind::ALL.iter().copied().filter(sent).collect()
    }

    /// Whether it sends requests of db_bench's own: several records in one, or a step of an iterator.
    pub fn sends_special(&self) -> bool {
        self.groups.iter().any(|group| match &group.operations {
            GroupOperations::Mix(_) => false,
            GroupOperations::DbBench(own) => own.op.is_special(own.layout.batch),
        })
    }

    /// Whether any of its clients changes records, those in the background included.
    pub fn writes(&self) -> bool {
        self.kinds().into_iter().any(OperationKind::writes)
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

/// The group of each client, as an index: background clients come first, then the `clients` of the
/// point.
///
/// Groups with a fixed number of clients are filled first, in order. The other clients are dealt in
/// turn to groups of the kind `Rest` or, if there is none, to all groups.
pub fn assign_groups(workload: &Workload, clients: u32) -> Vec<usize> {
    let clients = clients as usize;
    let groups = || {
        workload
            .groups
            .iter()
            .enumerate()
            .filter(|(_, group)| !group.is_background())
    };
    let background = workload
        .groups
        .iter()
        .enumerate()
        .flat_map(|(index, group)| {
            let count = match group.clients {
                GroupClients::Background(count) => count,
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
            GroupClients::Rest | GroupClients::Background(_) => std::iter::repeat_n(index, 0),
        })
        .chain(dealt.iter().copied().cycle())
        .take(clients);
    background.chain(of_the_point).collect()
}

/// One workload known by name: a row of [`WORKLOADS`](crate::WORKLOADS).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WorkloadRow {
    /// The name in plans and reports.
    pub name: &'static str,
    /// One line for `list`.
    pub about: &'static str,
    /// The work of the clients. Most workloads have one group.
    pub groups: &'static [ClientGroup],
}

impl WorkloadRow {
    /// The workload.
    pub fn workload(&self) -> Workload {
        Workload::of_groups(self.name, self.about, self.groups.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LengthChoice, ScanLength};

    fn group(clients: GroupClients, mix: Mix) -> ClientGroup {
        ClientGroup {
            clients,
            ..ClientGroup::new(mix, Distribution::Uniform)
        }
    }

    fn workload(groups: Vec<ClientGroup>) -> Workload {
        Workload {
            name: "own".into(),
            about: String::new(),
            groups,
            format: RecordFormat::default(),
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
    fn background_clients_are_added_to_those_of_the_point() {
        let own = workload(vec![
            group(GroupClients::Rest, READS),
            group(GroupClients::Background(1), WRITES),
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
        assert_eq!(own.kinds(), [OperationKind::Read, OperationKind::Update]);
        assert_eq!(Workload::load().kinds(), [OperationKind::Insert]);
        assert!(own.writes() && Workload::load().writes());
        assert!(!workload(vec![group(GroupClients::Rest, READS)]).writes());
    }

    #[test]
    fn the_distribution_is_that_of_the_groups_that_draw_keys() {
        let reader = |distribution| ClientGroup::new(READS, distribution);
        let writer = ClientGroup::new(WRITES, Distribution::Sequential);
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
            let mut own = group(GroupClients::Rest, READS);
            own.mix_mut().expect("a mix").scan = scan;
            workload(vec![own])
        };
        for (bad, word) in [
            (workload(Vec::new()), "groups"),
            (scan(0, 10), "minimum length"),
            (scan(10, 9), "maximum length"),
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

//! The table of private facts: serial numbers, host names and addresses.

use crate::{Fact, server::plain};

/// Private facts: group and name, sorted. A group also stands for its numbered groups.
pub const PRIVATE_FACTS: &[(&str, &str)] = &[
    ("device", "cloud volume"),
    ("device", "serial number"),
    ("kernel", "command line"),
    ("machine", "hostname"),
    ("machine", "serial number"),
    ("rank", "hostname"),
    ("server", "name of the host"),
];

impl Fact {
    /// Whether the fact identifies a piece of hardware or a machine.
    pub fn is_private(&self) -> bool {
        // What a rank says of its own place is private as that of rank 0 is.
        let group = self.group.split(" of rank ").next().unwrap_or(&self.group);
        PRIVATE_FACTS.contains(&(plain(group), self.name.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_facts_are_sorted_and_unique() {
        assert!(PRIVATE_FACTS.is_sorted_by(|a, b| a < b));
    }
}

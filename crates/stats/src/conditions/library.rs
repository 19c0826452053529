//! The library of an embedded database: one condition, however many facts follow from it.
//!
//! Such a database reports which library it runs. If two systems run different ones, everything else
//! that the databases report and no setting says is a default of their versions.

use super::{ConditionName, Conditions, Inequality, Part};

/// The name of the setting, of the fact and of the condition.
const LIBRARY: &str = "library";
/// Facts that tell two libraries apart.
const TELLING: &[&str] = &[LIBRARY, "version", "library_sha256", "build"];
/// What a database reports does not follow from its library if it is this.
const ACCESS: &str = "database access";

/// What the libraries of two systems are to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Libraries {
    /// At least one of them reports none.
    Unknown,
    Same,
    Different,
}

impl Conditions {
    fn reported(&self, name: &str) -> Option<&str> {
        self.get(&(Part::Fact, format!("database {name}")))
    }

    pub(super) fn libraries(&self, other: &Self) -> Libraries {
        let differ = |name: &&str| self.reported(name) != other.reported(name);
        match (self.reported(LIBRARY), other.reported(LIBRARY)) {
            (None, _) | (_, None) => Libraries::Unknown,
            _ if TELLING.iter().any(differ) => Libraries::Different,
            _ => Libraries::Same,
        }
    }

    /// The libraries of two systems, if they differ.
    pub(super) fn unequal_library(&self, other: &Self) -> Option<Inequality> {
        if self.libraries(other) != Libraries::Different {
            return None;
        }
        let names = [self, other].map(Self::library_name);
        let [a, b] = if names[0] == names[1] {
            [self, other].map(|of| format!("{}, {}", of.library_name(), of.library_content()))
        } else {
            names
        };
        Some(Inequality {
            name: LIBRARY.to_owned(),
            a: Some(a),
            b: Some(b),
        })
    }

    fn library_name(&self) -> String {
        let fact = |name| self.reported(name).unwrap_or("unknown");
        format!("{} ({})", fact("version"), fact(LIBRARY))
    }

    /// The beginning of its digest, or how it was built.
    fn library_content(&self) -> String {
        match self.reported("library_sha256") {
            Some(sum) => sum.chars().take(12).collect(),
            None => self.reported("build").unwrap_or("unknown").to_owned(),
        }
    }

    /// The libraries, if they are what is compared: those of two systems on one device.
    #[must_use]
    pub fn compared_library(&self, other: &Self, is_same_system: bool) -> Option<Inequality> {
        let is_compared = !is_same_system && self.is_on_device_of(other);
        is_compared.then(|| self.unequal_library(other)).flatten()
    }

    /// Whether a difference is that of the libraries.
    pub(super) fn follows_from_library(libraries: Libraries, name: &ConditionName) -> bool {
        match name {
            (Part::Setting, name) => name == LIBRARY && libraries != Libraries::Unknown,
            (Part::Fact, name) => {
                libraries == Libraries::Different && name.starts_with("database ") && name != ACCESS
            }
            _ => false,
        }
    }
}

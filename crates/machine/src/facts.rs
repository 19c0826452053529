//! Facts about the machine and about the place of each system.
//!
//! A fact that the machine does not report is left out. None is guessed, except the kind of
//! virtualisation, which says that it is a guess.

mod device;
mod dmi;
mod file_system;
mod machine;
mod place;
mod surroundings;

pub use device::device_facts;
pub use machine::machine_facts;
pub use place::place_facts;

use bytesize::ByteSize;
use tailmark_model::Fact;

/// The name of this machine.
pub fn hostname() -> String {
    let uname = rustix::system::uname();
    uname.nodename().to_string_lossy().into_owned()
}

/// Facts of one group in the making.
struct FactGroup<'a> {
    system: Option<&'a str>,
    name: String,
    facts: Vec<Fact>,
}

impl<'a> FactGroup<'a> {
    fn new(system: Option<&'a str>, name: impl Into<String>) -> Self {
        Self {
            system,
            name: name.into(),
            facts: Vec::new(),
        }
    }

    /// Adds a fact, unless the machine does not report it.
    fn add(&mut self, name: &str, value: impl IntoText) {
        if let Some(value) = value.into_text().filter(|value| !value.is_empty()) {
            self.facts.push(Fact {
                system: self.system.map(str::to_owned),
                group: self.name.clone(),
                name: name.to_owned(),
                value,
            });
        }
    }
}

/// A type that can be the value of a fact.
trait IntoText {
    fn into_text(self) -> Option<String>;
}

impl IntoText for String {
    fn into_text(self) -> Option<String> {
        Some(self)
    }
}

impl IntoText for &str {
    fn into_text(self) -> Option<String> {
        Some(self.to_owned())
    }
}

impl<T: IntoText> IntoText for Option<T> {
    fn into_text(self) -> Option<String> {
        self?.into_text()
    }
}

/// Bytes of memory or of a file system: binary units.
fn binary(bytes: u64) -> String {
    ByteSize(bytes).display().iec().to_string()
}

/// Bytes of a device: decimal units, as its label says, and exactly.
fn decimal(bytes: u64) -> String {
    format!("{} ({bytes} bytes)", ByteSize(bytes).display().si())
}

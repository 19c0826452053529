//! Does nothing, so that a run shows the cost of tailmark itself.

use crate::{
    Clients, Completion, DataFiles, Database, Driver, Error, FieldVisitor, Fields, Key, Operation,
    OperationKind, Outcome, Place, Session, Special,
};

/// The row of the driver, and the base of other drivers that store nothing.
pub const DRIVER: Driver = Driver {
    name: "null",
    about: "does nothing; measures tailmark's own overhead",
    place: Place::Nowhere,
    port: None,
    clients: Clients::Threads,
    depth: |_| None,
    supports: OperationKind::ALL,
    supports_special: true,
    settings: &[],
    stored: &[],
    entry: "",
    files: DataFiles::CHANGED,
    check: |_| Ok(()),
    open: |_| Ok(Box::new(Null)),
    check_open: |_| Ok(()),
    look: None,
    identity: |_| Ok(None),
    destroy: |_, _| Ok(()),
    check_destroy: |_| Ok(()),
    space: |_, _| 0,
    cache: |_, _| 0,
    page_cache: |_| false,
    adopted: |_, settings| settings.clone(),
    background_threads: "",
    // It has none, so that the plan for a cluster can be rehearsed.
    tells_nodes: true,
    reshapes: |_| false,
    semantics: |_| None,
    snapshot: None,
};

struct Null;

impl Database for Null {
    fn session(&self) -> Result<Box<dyn Session>, Error> {
        Ok(Box::new(Null))
    }
}

/// Reads the keys of a request, as if it had been carried out.
fn pretend(special: Special<'_>) -> Outcome {
    let (names, records) = match special {
        Special::ReadMany { keys }
        | Special::InsertMany { keys, .. }
        | Special::DeleteMany { keys } => (keys.names, keys.iter().len() as u32),
        Special::Seek { start, .. } => (start.name, 1),
        Special::Next { .. } => (&[][..], 1),
    };
    let bytes = std::hint::black_box(names).len() as u64;
    Outcome { records, bytes }
}

impl Session for Null {
    fn execute<'a>(&'a mut self, operation: Operation<'a>) -> Completion<'a> {
        // Reads the key, so that the compiler cannot optimise it away.
        let (key, records) = match operation {
            Operation::Read { key, .. }
            | Operation::Insert { key, .. }
            | Operation::Update { key, .. }
            | Operation::Delete { key } => (key, 1),
            Operation::Scan { start, records, .. } => (start, records),
            Operation::Special(special) => return Completion::Ready(Ok(pretend(special))),
        };
        let bytes = std::hint::black_box(key.name).len() as u64;
        Completion::Ready(Ok(Outcome { records, bytes }))
    }

    /// A record without fields.
    fn read_verified<'a>(&'a mut self, key: Key<'a>, _: FieldVisitor<'a>) -> Completion<'a> {
        let fields = Fields::All;
        self.execute(Operation::Read { key, fields })
    }
}

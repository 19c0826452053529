//! Examines what a server holds in the place of a data set, without changing anything.
//!
//! Opening a database to create it changes the server. Callers that only want to know what is
//! there, or what a load would change, look.

/// What a server holds in the place of a data set, and which statements would change it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerContents {
    /// The container of the records, for messages: `table ycsb.usertable`.
    pub name: String,
    /// The text that [`crate::Database::set_marker`] stored.
    pub marker: Option<String>,
    /// Whether the container of the records exists.
    pub exists: bool,
    /// The server's id of the container, if a recreated one gets another id.
    pub id: Option<String>,
    /// Whether it holds no record.
    pub is_empty: bool,
    /// An existing container without a marker that tailmark did not create, although tables would
    /// be created in it: `keyspace ycsb`.
    pub foreign: Option<String>,
    /// Whether the container in [`Self::foreign`] is empty.
    pub is_bare: bool,
    /// Whether nothing of it exists, not even the container of its tables.
    pub is_nothing: bool,
    /// The id of the study whose load created it, and has not marked it yet.
    pub made_for: Option<String>,
    /// What opening with [`crate::Access::Create`] sends to the server: the exact statements, or a
    /// description.
    pub creates: Vec<String>,
    /// The same for [`crate::Database::set_marker`].
    pub marks: String,
    /// The same for the driver's `destroy`; `None` if it removes nothing there, because others may
    /// keep their own records in the same place.
    pub removes: Option<String>,
}

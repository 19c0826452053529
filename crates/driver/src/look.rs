//! What a server holds in the place of a data set, found out without changing anything there.
//!
//! Opening a database to create it changes the server. Whoever only wants to know what is there, or
//! what a load would change, looks.

/// What a server holds in the place of a data set, and what would change it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Look {
    /// What holds the records, for messages: `table ycsb.usertable`.
    pub name: String,
    /// The text that [`crate::Database::set_marker`] kept.
    pub marker: Option<String>,
    /// Whether what holds the records exists.
    pub exists: bool,
    /// What the server names it by, if one that is created again in its place has another name.
    pub id: Option<String>,
    /// Whether it holds no record.
    pub is_empty: bool,
    /// What exists, has no marker and was not created by tailmark, although tables would be created
    /// in it: `keyspace ycsb`.
    pub foreign: Option<String>,
    /// Whether what [`Self::foreign`] names holds nothing at all.
    pub is_bare: bool,
    /// Whether nothing exists of it, not even what would hold its tables.
    pub is_nothing: bool,
    /// The id of the study whose load created what exists, and has not marked it yet.
    pub made_for: Option<String>,
    /// What opening with [`crate::Access::Create`] sends to the server: the very statements, or what
    /// they do in words.
    pub creates: Vec<String>,
    /// The same of [`crate::Database::set_marker`].
    pub marks: String,
    /// The same of the driver's `destroy`; none if it removes nothing there, because others may keep
    /// their own records in the same place.
    pub removes: Option<String>,
}

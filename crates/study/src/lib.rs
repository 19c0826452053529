//! The study file: how everything about one plan is stored, imported, exported and shared.

pub mod encoding;
mod error;
pub mod export;
mod file;
pub mod import;
pub mod own_files;
pub mod owner;
pub mod redact;
mod study;
mod unlogged;

pub use error::{Error, is_wrong_place};
pub use export::{FORMATS, Format};
pub use file::{
    NewFile, create_dir_with, create_whole, draft, left_drafts, open_own, refuse_output,
    replace_file,
};
pub use own_files::OwnFiles;
pub use redact::Redaction;
pub use study::{Study, pack_phase, searches, unpack_phase};

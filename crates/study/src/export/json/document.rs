//! A JSON document that is written incrementally and laid out for readers: two levels of members
//! have their own lines, everything below is on one line.

use super::super::failed;
use crate::Error;
use serde_json::Value;
use std::io::{self, Write};
use tailmark_model::json_text;

/// An object that is being written.
pub struct Document<'o> {
    out: &'o mut dyn Write,
    is_empty: bool,
}

impl<'o> Document<'o> {
    pub fn begin(out: &'o mut dyn Write) -> Result<Self, Error> {
        out.write_all(b"{").map_err(failed(FORMAT))?;
        Ok(Self {
            out,
            is_empty: true,
        })
    }

    pub fn member(&mut self, name: &str, value: &Value) -> Result<(), Error> {
        self.name(name)?;
        lay_out(self.out, value, 1, 1).map_err(failed(FORMAT))
    }

    /// A member whose elements are written one after the other.
    pub fn list(&mut self, name: &str) -> Result<List<'_>, Error> {
        self.name(name)?;
        self.out.write_all(b"[").map_err(failed(FORMAT))?;
        Ok(List {
            out: &mut *self.out,
            is_empty: true,
        })
    }

    pub fn end(self) -> Result<(), Error> {
        self.out.write_all(b"\n}\n").map_err(failed(FORMAT))
    }

    fn name(&mut self, name: &str) -> Result<(), Error> {
        let comma = separator(&mut self.is_empty);
        write!(self.out, "{comma}\n  \"{name}\": ").map_err(failed(FORMAT))
    }
}

/// A list of it that is being written.
pub struct List<'o> {
    out: &'o mut dyn Write,
    is_empty: bool,
}

impl List<'_> {
    pub fn element(&mut self, value: &Value) -> Result<(), Error> {
        let comma = separator(&mut self.is_empty);
        write!(self.out, "{comma}\n    ").map_err(failed(FORMAT))?;
        lay_out(self.out, value, 2, 2).map_err(failed(FORMAT))
    }

    pub fn end(self) -> Result<(), Error> {
        let end = if self.is_empty { "]" } else { "\n  ]" };
        self.out.write_all(end.as_bytes()).map_err(failed(FORMAT))
    }
}

/// What stands before the next one.
fn separator(is_empty: &mut bool) -> &'static str {
    if std::mem::replace(is_empty, false) {
        ""
    } else {
        ","
    }
}

const FORMAT: &str = super::FORMAT.name;

/// Writes a value on one line.
fn plain(out: &mut dyn Write, value: &Value) -> io::Result<()> {
    out.write_all(json_text(&value.to_string()).as_bytes())
}

/// Writes a value at a depth. Members of that many levels get their own lines.
fn lay_out(out: &mut dyn Write, value: &Value, depth: usize, levels: usize) -> io::Result<()> {
    if levels == 0 {
        return plain(out, value);
    }
    let indent = 2 * (depth + 1);
    let mut is_empty = true;
    let ends = match value {
        Value::Object(members) if !members.is_empty() => {
            out.write_all(b"{")?;
            for (name, member) in members {
                let comma = separator(&mut is_empty);
                write!(
                    out,
                    "{comma}\n{:indent$}{}: ",
                    "",
                    json_text(&Value::from(name.as_str()).to_string())
                )?;
                lay_out(out, member, depth + 1, levels - 1)?;
            }
            "}"
        }
        Value::Array(elements) if !elements.is_empty() => {
            out.write_all(b"[")?;
            for element in elements {
                let comma = separator(&mut is_empty);
                write!(out, "{comma}\n{:indent$}", "")?;
                lay_out(out, element, depth + 1, levels - 1)?;
            }
            "]"
        }
        _ => return plain(out, value),
    };
    write!(out, "\n{:1$}{ends}", "", 2 * depth)
}

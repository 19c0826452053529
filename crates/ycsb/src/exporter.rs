//! YCSB's three output formats: text, consecutive JSON objects, and the same as one array.

use super::java;
use std::io::{self, Write};

/// A value of the output.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// A whole number.
    Whole(i64),
    /// A number as Java writes a double.
    Double(f64),
}

/// One line of the output.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// `OVERALL`, `READ`, ...
    pub group: String,
    /// `Operations`, `Return=OK`, ...
    pub name: String,
    /// Its value.
    pub value: Value,
}

impl Line {
    /// A line with a whole number; one that is too large is the maximum.
    pub fn whole(group: &str, name: impl Into<String>, value: u64) -> Self {
        let value = Value::Whole(i64::try_from(value).unwrap_or(i64::MAX));
        Self {
            group: group.to_owned(),
            name: name.into(),
            value,
        }
    }

    /// A line with a double.
    pub fn double(group: &str, name: impl Into<String>, value: f64) -> Self {
        Self {
            group: group.to_owned(),
            name: name.into(),
            value: Value::Double(value),
        }
    }
}

/// A way to write lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exporter {
    /// `[GROUP], name, value`
    Text,
    /// Objects one after the other: not one JSON document.
    Json,
    /// An array of objects.
    JsonArray,
}

impl Exporter {
    /// The exporter for a class; text, with the reason, if there is none of this name.
    pub fn named(class: &str) -> (Self, Option<String>) {
        match class.rsplit('.').next() {
            Some("TextMeasurementsExporter") => (Self::Text, None),
            Some("JSONMeasurementsExporter") => (Self::Json, None),
            Some("JSONArrayMeasurementsExporter") => (Self::JsonArray, None),
            _ => {
                let why =
                    format!("Could not find exporter {class}, will use default text reporter.");
                (Self::Text, Some(why))
            }
        }
    }

    /// Writes all lines.
    ///
    /// # Errors
    /// If `out` cannot be written.
    pub fn write(self, lines: &[Line], out: &mut dyn Write) -> io::Result<()> {
        if self == Self::JsonArray {
            write!(out, "[ ")?;
        }
        for (at, line) in lines.iter().enumerate() {
            let value = match line.value {
                Value::Whole(value) => value.to_string(),
                Value::Double(value) => java::double(value),
            };
            let object = || {
                // A number that JSON does not have is a text, as Jackson writes it.
                let value = match line.value {
                    Value::Double(number) if !number.is_finite() => format!("\"{value}\""),
                    _ => value.clone(),
                };
                let [metric, name] = [&line.group, &line.name].map(|text| quoted(text));
                format!(
                    "{{\n  \"metric\" : {metric},\n  \"measurement\" : {name},\n  \"value\" : {value}\n}}"
                )
            };
            match self {
                Self::Text => writeln!(out, "[{}], {}, {value}", line.group, line.name)?,
                Self::Json if at > 0 => write!(out, " {}", object())?,
                Self::JsonArray if at > 0 => write!(out, ", {}", object())?,
                Self::Json | Self::JsonArray => write!(out, "{}", object())?,
            }
        }
        if self == Self::JsonArray {
            write!(out, " ]")?;
        }
        out.flush()
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(exporter: Exporter) -> String {
        let lines = [
            Line::whole("OVERALL", "RunTime(ms)", 58),
            Line::double("OVERALL", "Throughput(ops/sec)", 1e7),
        ];
        let mut out = Vec::new();
        exporter.write(&lines, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn each_class_writes_its_own_form() {
        for (class, text) in [
            (
                "site.ycsb.measurements.exporter.TextMeasurementsExporter",
                "[OVERALL], RunTime(ms), 58\n[OVERALL], Throughput(ops/sec), 1.0E7\n",
            ),
            (
                "com.yahoo.ycsb.measurements.exporter.JSONMeasurementsExporter",
                "{\n  \"metric\" : \"OVERALL\",\n  \"measurement\" : \"RunTime(ms)\",\n  \"value\" : 58\n} \
                 {\n  \"metric\" : \"OVERALL\",\n  \"measurement\" : \"Throughput(ops/sec)\",\n  \"value\" : 1.0E7\n}",
            ),
            (
                "site.ycsb.measurements.exporter.JSONArrayMeasurementsExporter",
                "[ {\n  \"metric\" : \"OVERALL\",\n  \"measurement\" : \"RunTime(ms)\",\n  \"value\" : 58\n}, \
                 {\n  \"metric\" : \"OVERALL\",\n  \"measurement\" : \"Throughput(ops/sec)\",\n  \"value\" : 1.0E7\n} ]",
            ),
        ] {
            let (exporter, why) = Exporter::named(class);
            assert_eq!((written(exporter).as_str(), why), (text, None));
        }
        assert!(Exporter::named("my.Exporter").1.is_some());
    }
}

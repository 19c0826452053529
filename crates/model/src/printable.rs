//! Foreign text made safe for a terminal, a table or a file name.
//!
//! Names and texts in a study, an import or a server's answer are input. Printed as they are, they
//! could move the cursor, reverse the order of surrounding words, run as a formula in a
//! spreadsheet, or name a file in another directory. So there is one function for each place where
//! they are written.

use sha2::{Digest, Sha256};
use std::{borrow::Cow, fmt::Write};

/// Whether a character has an effect instead of being shown: a control character, a sign that turns
/// the direction of writing, or a line separator.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Text on one line, with hidden characters escaped: `\u{1b}`, `\n`.
pub fn printable(text: &str) -> Cow<'_, str> {
    written_out(text, is_hidden)
}

/// The same for text of several lines, which keeps its lines and tabs.
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    written_out(text, |c| is_hidden(c) && !matches!(c, '\n' | '\t'))
}

fn written_out(text: &str, is_hidden: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_hidden(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// A cell of a CSV table, on one line. Text that a spreadsheet would take for a formula gets an
/// apostrophe in front; numbers stay as they are.
pub fn csv_cell(text: &str) -> Cow<'_, str> {
    let shown = written_out(text, |c| is_hidden(c) && c != '\t');
    let begins = shown.starts_with([
        '=', '+', '-', '@', '\t', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}',
    ]);
    // `+12 %` is a number of a report.
    let is_number = || shown.trim_end_matches([' ', '%']).parse::<f64>().is_ok();
    if begins && !is_number() {
        return Cow::Owned(format!("'{shown}"));
    }
    shown
}

/// JSON text that is safe to print: hidden characters are escaped, and it still parses to the same
/// value.
pub fn json_text(json: &str) -> Cow<'_, str> {
    let is_hidden = |c: char| is_hidden(c) && !matches!(c, '\n' | '\t' | '\r');
    if !json.contains(is_hidden) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if is_hidden(c) {
            // Outside of strings JSON has none of them, and all are of 16 bits.
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Members that every JavaScript object has. If a system had such a name, a lookup would find the
/// member although nothing was stored.
const OF_EVERY_OBJECT: [&str; 12] = [
    "__defineGetter__",
    "__defineSetter__",
    "__lookupGetter__",
    "__lookupSetter__",
    "__proto__",
    "constructor",
    "hasOwnProperty",
    "isPrototypeOf",
    "propertyIsEnumerable",
    "toLocaleString",
    "toString",
    "valueOf",
];
/// A zero-width space.
const NO_WIDTH: char = '\u{200b}';

/// A name for scripts. A zero-width space follows a name that every object has.
pub fn script_name(name: &str) -> Cow<'_, str> {
    if OF_EVERY_OBJECT.contains(&name) {
        Cow::Owned(format!("{name}{NO_WIDTH}"))
    } else {
        Cow::Borrowed(name)
    }
}

/// JSON text for a script within a page: nothing in it ends the script or is a member of every
/// object. JSON text within a string of it is treated in the same way.
pub fn script_json(json: &str) -> Cow<'_, str> {
    let mut out = json_text(json);
    if out.contains('<') {
        out = Cow::Owned(out.replace('<', "\\u003c"));
    }
    for name in OF_EVERY_OBJECT {
        if out.contains(name) {
            let safe = script_name(name);
            let plain = out.replace(&format!("\"{name}\""), &format!("\"{safe}\""));
            let nested = plain.replace(&format!("\"{name}\\\""), &format!("\"{safe}\\\""));
            out = Cow::Owned(nested);
        }
    }
    out
}

/// The longest file name in bytes, without its extension.
const FILE_NAME_MAX: usize = 100;
/// Names that some systems reserve for devices.
const RESERVED: [&str; 4] = ["con", "prn", "aux", "nul"];
/// Names that are reserved with a digit after them.
const RESERVED_NUMBERED: [&str; 2] = ["com", "lpt"];

/// Bytes as hexadecimal digits, as `sha256sum` prints them.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A file name, without its extension, for a foreign name: one path component that every file
/// system accepts. Different names may map to the same one.
pub fn file_name(name: &str) -> String {
    let mut out = one_part(name);
    if out.len() > FILE_NAME_MAX {
        let hash = hex(&Sha256::digest(name)[..4]);
        out.truncate(out.floor_char_boundary(FILE_NAME_MAX - 1 - hash.len()));
        out = format!("{out}-{hash}");
    }
    let stem = out.split('.').next().unwrap_or_default().to_lowercase();
    let numbered = stem.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_reserved = RESERVED.contains(&stem.as_str())
        || RESERVED_NUMBERED.contains(&numbered) && numbered.len() + 1 == stem.len();
    if out.is_empty() || is_reserved {
        out.insert(0, '-');
    }
    out
}

/// Whether a name with its extension is one path component as [`file_name`] makes them: not a
/// directory, not a hidden file, and nothing that a terminal would obey.
pub fn is_file_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= 255 && one_part(name) == name
}

/// A name without directory separators, hidden characters and leading dots.
fn one_part(name: &str) -> String {
    let is_allowed = |c: char| !is_hidden(c) && !"/\\:*?\"<>|".contains(c);
    let mut out: String = name
        .chars()
        .map(|c| if is_allowed(c) { c } else { '-' })
        .collect();
    let dots = out.len() - out.trim_start_matches(['.', ' ']).len();
    out.replace_range(..dots, &"-".repeat(dots.min(1)));
    out.truncate(out.trim_end_matches(['.', ' ']).len());
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailmark_testing::HOSTILE_NAMES;

    #[test]
    fn what_is_hidden_is_written_out() {
        assert_eq!(
            printable("Drive A, Laufwerk Ä, כונן"),
            "Drive A, Laufwerk Ä, כונן"
        );
        assert_eq!(
            printable("a\u{1b}[2J\nb\u{202e}c\u{9b}d"),
            "a\\u{1b}[2J\\nb\\u{202e}c\\u{9b}d"
        );
        assert_eq!(printable_lines("a\n\tb\r"), "a\n\tb\\r");
    }

    #[test]
    fn no_cell_is_a_formula_and_numbers_are_numbers() {
        for formula in [
            "=1+1",
            "+1+1",
            "-cmd|' /C calc'!A0",
            "@SUM(A1)",
            "\t=1",
            "\u{ff1d}1",
        ] {
            assert_eq!(csv_cell(formula), format!("'{formula}"));
        }
        assert_eq!(csv_cell("\r\n=1"), "\\r\\n=1");
        for number in ["-1.5", "+12 %", "-1e-7", "≥84.2", "12"] {
            assert_eq!(csv_cell(number), number);
        }
    }

    #[test]
    fn json_reads_the_same_and_has_nothing_hidden() {
        for name in HOSTILE_NAMES {
            let value = serde_json::json!({ *name: [*name] });
            let text = value.to_string();
            let shown = json_text(&text);
            assert!(!shown.contains(is_hidden), "{shown:?}");
            assert_eq!(
                serde_json::from_str::<serde_json::Value>(&shown).unwrap(),
                value
            );
        }
    }

    #[test]
    fn a_script_finds_no_name_in_every_object() {
        let inner = serde_json::json!({"__proto__": "</script>"}).to_string();
        let text = serde_json::json!({"toString": ["constructor", "constructors", inner]});
        let text = script_json(&text.to_string()).into_owned();
        assert!(!text.contains('<'), "{text}");
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        let list = value[&*script_name("toString")].as_array().unwrap();
        assert_eq!(list[0], "constructor\u{200b}");
        assert_eq!(list[1], "constructors");
        let nested: serde_json::Value = serde_json::from_str(list[2].as_str().unwrap()).unwrap();
        assert_eq!(nested["__proto__\u{200b}"], "</script>");
    }

    #[test]
    fn every_name_gives_the_name_of_one_file() {
        for name in HOSTILE_NAMES {
            let file = file_name(name);
            let mut parts = std::path::Path::new(&file).components();
            assert!(
                matches!(parts.next(), Some(std::path::Component::Normal(_)))
                    && parts.next().is_none(),
                "{name:?} gives {file:?}"
            );
            assert!(
                !file.starts_with('.') && !file.contains(is_hidden),
                "{file:?}"
            );
            assert!(file.len() <= FILE_NAME_MAX, "{file:?}");
        }
        for (name, file) in [
            ("peaks-ycsb-a", "peaks-ycsb-a"),
            ("a/../../../pw/owned", "a-..-..-..-pw-owned"),
            ("../x", "--x"),
            ("..", "-"),
            ("", "-"),
            ("con", "-con"),
            ("LPT1.x", "-LPT1.x"),
            ("com10", "com10"),
            ("console", "console"),
        ] {
            assert_eq!(file_name(name), file);
        }
        let [a, b] = ["a", "b"].map(|end| file_name(&format!("{}{end}", "ä".repeat(200))));
        assert_ne!(a, b);
    }
}

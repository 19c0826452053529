//! Java's property files, and the properties of one call.
//!
//! `-P` files are read in order and a later one wins. Every `-p` wins over every file, wherever it
//! stands. Lookups are recorded, so that an unused property can be reported with the nearest used
//! name. YCSB itself silently ignores a misspelt name.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

/// The properties of one call.
#[derive(Debug, Clone, Default)]
pub struct Properties {
    values: BTreeMap<String, String>,
    read: RefCell<BTreeSet<String>>,
    warned: RefCell<Vec<String>>,
}

/// A value that the property does not accept.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("property {name} is `{value}`, but it must be {accepted}")]
pub struct BadProperty {
    name: String,
    value: String,
    accepted: String,
}

/// An escape that Java does not read either.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("`\\u{0}` is not \\u and four hexadecimal digits; a backslash itself is `\\\\`")]
pub struct BadEscape(String);

impl Properties {
    /// Sets a property, in place of an earlier value.
    pub fn set(&mut self, name: &str, value: &str) {
        self.values.insert(name.to_owned(), value.to_owned());
    }

    /// Adds all properties of a file's text.
    ///
    /// # Errors
    /// Shows the first escape that is wrong; nothing is added then.
    pub fn read_text(&mut self, text: &str) -> Result<(), BadEscape> {
        self.values.extend(parse(text)?);
        Ok(())
    }

    /// A property, if it is set.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.read.borrow_mut().insert(name.to_owned());
        self.values.get(name).map(String::as_str)
    }

    /// A property, or YCSB's default.
    pub fn text_or<'a>(&'a self, name: &str, default: &'a str) -> &'a str {
        self.text(name).unwrap_or(default)
    }

    /// A flag: `true` in any case; everything else is false.
    pub fn flag(&self, name: &str, default: bool) -> bool {
        self.text(name).map_or(default, super::java::boolean)
    }

    /// A number, or the default if it is not set.
    ///
    /// # Errors
    /// Names the property, its value and what is accepted.
    pub fn number<T: std::str::FromStr>(
        &self,
        name: &str,
        default: T,
        accepted: &str,
    ) -> Result<T, BadProperty> {
        match self.text(name) {
            None => Ok(default),
            Some(text) => text.trim().parse().map_err(|_| self.refuse(name, accepted)),
        }
    }

    /// The error of a value that is not accepted.
    pub fn refuse(&self, name: &str, accepted: &str) -> BadProperty {
        let value = self.text(name).unwrap_or_default().to_owned();
        BadProperty {
            name: name.to_owned(),
            value,
            accepted: accepted.to_owned(),
        }
    }

    /// Keeps a warning of a value.
    pub fn warn(&self, line: String) {
        self.warned.borrow_mut().push(line);
    }

    /// Warnings of values, and a line for each property that was never read.
    pub fn warnings(&self) -> Vec<String> {
        let read = self.read.borrow();
        let line = |name: &String| {
            let known = read.iter().map(String::as_str);
            let hint = tailmark_driver::did_you_mean(name, known);
            format!("warning: the property `{name}` is not used{hint}")
        };
        let unread = self.values.keys().filter(|name| !read.contains(*name));
        let mut warnings = self.warned.borrow().clone();
        warnings.extend(unread.map(line));
        warnings
    }
}

/// The bytes of a file as text: UTF-8 if valid, otherwise Latin-1, which is Java's encoding of
/// property files.
pub fn decode(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| error.into_bytes().into_iter().map(char::from).collect())
}

/// Names and values of a property file, in order.
///
/// # Errors
/// Shows the first escape that is wrong.
pub fn parse(text: &str) -> Result<Vec<(String, String)>, BadEscape> {
    logical_lines(text).iter().map(|line| split(line)).collect()
}

/// Lines without comments, joined at continuing backslashes. Escapes are still in them.
fn logical_lines(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut open: Option<String> = None;
    for natural in text.replace("\r\n", "\n").split(['\n', '\r']) {
        let line = natural.trim_start_matches([' ', '\t', '\x0c']);
        let joined = match open.take() {
            Some(before) => before + line,
            None if line.is_empty() || line.starts_with(['#', '!']) => continue,
            None => line.to_owned(),
        };
        let slashes = joined.len() - joined.trim_end_matches('\\').len();
        if slashes % 2 == 1 {
            // Of nothing there is no continuation: what follows may be a comment.
            open = Some(joined[..joined.len() - 1].to_owned()).filter(|part| !part.is_empty());
        } else {
            lines.push(joined);
        }
    }
    lines.extend(open);
    lines
}

/// The name ends at the first `=`, `:` or white space that no backslash precedes.
fn split(line: &str) -> Result<(String, String), BadEscape> {
    let is_space = |c: char| matches!(c, ' ' | '\t' | '\x0c');
    let mut escaped = false;
    let end = line.char_indices().find(|&(_, c)| {
        let ends = !escaped && (is_space(c) || c == '=' || c == ':');
        escaped = c == '\\' && !escaped;
        ends
    });
    let end = end.map_or(line.len(), |(at, _)| at);
    let value = line[end..].trim_start_matches(is_space);
    let value = value
        .strip_prefix(['=', ':'])
        .unwrap_or(value)
        .trim_start_matches(is_space);
    Ok((unescape(&line[..end])?, unescape(value)?))
}

/// Resolves escapes; an unknown one is the character itself.
fn unescape(text: &str) -> Result<String, BadEscape> {
    let mut units: Vec<u16> = Vec::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let c = match (c, c == '\\') {
            (c, false) => c,
            (_, true) => match rest.next() {
                Some('t') => '\t',
                Some('n') => '\n',
                Some('r') => '\r',
                Some('f') => '\x0c',
                Some('u') => {
                    let digits: String = rest.by_ref().take(4).collect();
                    units.push(unit(&digits).ok_or(BadEscape(digits))?);
                    continue;
                }
                Some(other) => other,
                None => continue,
            },
        };
        units.extend_from_slice(c.encode_utf16(&mut [0; 2]));
    }
    Ok(String::from_utf16_lossy(&units))
}

/// The UTF-16 unit of four digits.
fn unit(digits: &str) -> Option<u16> {
    let are_digits = digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    are_digits.then(|| u16::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<(String, String)> {
        parse(text).unwrap()
    }

    #[test]
    fn the_syntax_is_that_of_java() {
        for (text, name, value) in [
            ("a=b", "a", "b"),
            ("a = b", "a", "b"),
            ("a:b", "a", "b"),
            ("a b", "a", "b"),
            ("a\t:  b ", "a", "b "),
            ("  a", "a", ""),
            ("a==b", "a", "=b"),
            ("a\\ b=c", "a b", "c"),
            ("a\\=b=c", "a=b", "c"),
            ("a=one,\\\n    two", "a", "one,two"),
            ("a=c:\\\\dir", "a", "c:\\dir"),
            ("a=\\u00e9\\t\\q", "a", "\u{e9}\tq"),
            ("a=\\ud83d\\ude00", "a", "\u{1f600}"),
            ("a=x\\\\", "a", "x\\"),
            ("a\\u003db=c", "a=b", "c"),
            ("a\\\r\n  b\\\n\t=c\\\rd\\", "ab", "cd"),
            (
                "\\ \u{a0}\u{b}\u{85}:\x0c\\\x0c\\0",
                " \u{a0}\u{b}\u{85}",
                "\x0c0",
            ),
            ("a\\:\\#!=\\u0020 \\", "a:#!", "  "),
            ("a=\\uD800\\U0041\u{feff}", "a", "\u{fffd}U0041\u{feff}"),
        ] {
            assert_eq!(pairs(text), [(name.to_owned(), value.to_owned())], "{text}");
        }
    }

    #[test]
    fn an_escape_that_java_refuses_is_refused() {
        for escape in ["u", "users", "u12g4", "u+123", "u\u{ff11}234"] {
            let error = parse(&format!("a=b\nrocksdb.dir=c:\\{escape}")).unwrap_err();
            assert!(error.to_string().contains(&escape[..1]), "{error}");
        }
        let mut properties = Properties::default();
        let error = properties.read_text("a=b\nc=\\users").unwrap_err();
        assert!(error.to_string().starts_with("`\\users` is not"), "{error}");
        assert_eq!(properties.text("a"), None);
    }

    #[test]
    fn comments_and_empty_lines_are_none() {
        assert!(pairs("# a=b\n\n   ! c=d\r\n\r").is_empty());
        assert!(pairs("\\\n# a=b\n\\\n\\").is_empty());
        assert_eq!(
            pairs("a=b\\\n# c").first().map(|p| p.1.as_str()),
            Some("b# c")
        );
    }

    #[test]
    fn later_files_win_and_command_line_wins_over_all() {
        let mut properties = Properties::default();
        properties.read_text("x=1\ny=1\nz=1").unwrap();
        properties.read_text("y=2\nz=2").unwrap();
        properties.set("z", "3");
        let values = ["x", "y", "z"].map(|name| properties.text(name));
        assert_eq!(values, [Some("1"), Some("2"), Some("3")]);
    }

    #[test]
    fn what_nobody_reads_is_named_with_the_nearest() {
        let mut properties = Properties::default();
        properties
            .read_text("recordcuont=5\nfieldcount=3\nsomething.else=1")
            .unwrap();
        assert_eq!(properties.number("recordcount", 0_u64, "a count"), Ok(0));
        assert_eq!(properties.number("fieldcount", 10, "a count"), Ok(3));
        assert_eq!(
            properties.warnings(),
            [
                "warning: the property `recordcuont` is not used; did you mean `recordcount`?",
                "warning: the property `something.else` is not used"
            ]
        );
    }

    #[test]
    fn a_bad_number_is_refused_with_what_is_accepted() {
        let mut properties = Properties::default();
        properties.set("recordcount", "many");
        let error = properties
            .number("recordcount", 0_u64, "a whole number")
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "property recordcount is `many`, but it must be a whole number"
        );
    }

    #[test]
    fn files_are_utf_8_or_latin_1() {
        assert_eq!(decode(b"caf\xc3\xa9".to_vec()), "caf\u{e9}");
        assert_eq!(decode(b"caf\xe9".to_vec()), "caf\u{e9}");
    }
}

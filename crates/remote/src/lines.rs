//! Text from another machine, read with limits and without terminal control.
//!
//! A compromised host may send anything. The length and the rate of lines are limited, and no
//! control character reaches a message, a fact or a log.

use serde_json::Value;
use std::{
    borrow::Cow,
    io::{self, BufRead, Read},
    time::Instant,
};

/// The longest line that an agent may send, bytes: 1 MiB. All facts of a large machine take a tenth.
pub const LINE_BYTES_MAX: usize = 1 << 20;
/// Lines per second that an agent may send on average. A full set of probes takes about twenty.
const LINES_PER_S: f64 = 1000.0;
/// Lines that may come at once, for example after a minute without network.
const LINES_BURST: f64 = 20_000.0;
/// Characters of a foreign text that a message repeats.
const QUOTED_MAX: usize = 200;

/// Reads one line of at most `max` bytes, without its end. `None` at the end of the input.
///
/// # Errors
/// If it cannot be read, or is longer. No more than `max` bytes of it are kept.
pub fn line(from: &mut impl BufRead, max: usize) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(max).unwrap_or(u64::MAX).saturating_add(1);
    if from.take(limit).read_until(b'\n', &mut bytes)? == 0 {
        return Ok(None);
    }
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
    } else if bytes.len() > max {
        return Err(io::Error::other(format!(
            "a line is longer than {max} bytes"
        )));
    }
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// The number of lines that may still come.
#[derive(Debug)]
pub struct Rate {
    left: f64,
    last: Instant,
}

impl Rate {
    /// None have come so far.
    pub fn new(now: Instant) -> Self {
        Self {
            left: LINES_BURST,
            last: now,
        }
    }

    /// Counts a line that comes now.
    ///
    /// # Errors
    /// If it is one too many.
    pub fn count(&mut self, now: Instant) -> Result<(), String> {
        let since = now.saturating_duration_since(self.last).as_secs_f64();
        self.left = (self.left + since * LINES_PER_S).min(LINES_BURST) - 1.0;
        self.last = now;
        if self.left < 0.0 {
            return Err(format!("it sends more than {LINES_PER_S} lines per second"));
        }
        Ok(())
    }
}

/// Cleans every text of a JSON value, names of members included, see [`printable`].
pub fn clean(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(cleaned) = printable(text) {
                *text = cleaned;
            }
        }
        Value::Array(values) => values.iter_mut().for_each(clean),
        Value::Object(members) => {
            let all = std::mem::take(members).into_iter();
            *members = all
                .map(|(name, mut member)| {
                    clean(&mut member);
                    (printable(&name).into_owned(), member)
                })
                .collect();
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A text without control characters (C0 such as ESC, DEL and C1) and without characters that
/// reorder or hide text. Line breaks and tabs become spaces, so that a text stays one line.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(|c: char| c.is_control() || is_hidden(c)) {
        return Cow::Borrowed(text);
    }
    let shown = text.chars().filter_map(|c| match c {
        '\n' | '\r' | '\t' => Some(' '),
        c if c.is_control() || is_hidden(c) => None,
        c => Some(c),
    });
    Cow::Owned(shown.collect())
}

/// The same of several lines, which stay lines with their tabs.
pub fn printable_lines(text: &str) -> String {
    let is_kept = |c: &char| matches!(c, '\n' | '\t') || !(c.is_control() || is_hidden(*c));
    text.chars().filter(is_kept).collect()
}

/// Whether a character changes the direction of text, breaks a line or is not seen: bidi controls
/// (UAX #9), line and paragraph separators, zero-width spaces and marks, and the byte order mark.
const fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// The beginning of a foreign text as a message repeats it.
pub fn quoted(text: &str) -> String {
    let text = printable(text);
    let mut begin: String = text.chars().take(QUOTED_MAX).collect();
    if begin.len() < text.len() {
        begin.push_str("...");
    }
    begin
}

/// Foreign text for a message: its beginning, and its end, where `ssh` gives the reason.
pub fn shortened(text: &str) -> String {
    let text = printable(text);
    let count = text.chars().count();
    if count <= 2 * QUOTED_MAX {
        return text.into_owned();
    }
    let end: String = text.chars().skip(count - QUOTED_MAX).collect();
    format!("{} {end}", quoted(&text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{io::BufReader, time::Duration};

    #[test]
    fn a_line_is_read_up_to_its_limit_and_no_further() {
        let mut long = BufReader::new(&b"four\nfive5\n"[..]);
        assert_eq!(line(&mut long, 4).unwrap().as_deref(), Some("four"));
        let error = line(&mut long, 4).unwrap_err().to_string();
        assert_eq!(error, "a line is longer than 4 bytes");
        let mut input = BufReader::new(&b"\nlast"[..]);
        assert_eq!(line(&mut input, 4).unwrap().as_deref(), Some(""));
        assert_eq!(line(&mut input, 4).unwrap().as_deref(), Some("last"));
        assert_eq!(line(&mut input, 4).unwrap(), None);
    }

    #[test]
    fn a_rate_allows_a_burst_and_ends_a_flood() {
        let start = Instant::now();
        let mut flood = Rate::new(start);
        let mut at_once = (0..).take_while(|_| flood.count(start).is_ok());
        assert_eq!(at_once.by_ref().count(), LINES_BURST as usize);
        let mut rate = Rate::new(start);
        for ms in 0..100_000 {
            rate.count(start + Duration::from_millis(ms)).unwrap();
        }
    }

    #[test]
    fn every_text_of_a_value_loses_what_a_terminal_obeys() {
        let mut value =
            serde_json::json!({"a\u{1b}[2J": ["b\u{202e}c", 1, null, {"d": "e\nf\u{9b}m"}]});
        clean(&mut value);
        assert_eq!(
            value,
            serde_json::json!({"a[2J": ["bc", 1, null, {"d": "e fm"}]})
        );
        assert!(matches!(printable("größe ≥ 5 µs"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_message_repeats_a_part_of_a_long_text() {
        let text = format!("begin{}end", "x".repeat(10_000));
        assert!(quoted(&text).len() <= QUOTED_MAX + 3);
        let short = shortened(&text);
        assert!(short.starts_with("begin") && short.ends_with("end") && short.len() < 500);
        assert_eq!(shortened("Permission denied"), "Permission denied");
    }
}

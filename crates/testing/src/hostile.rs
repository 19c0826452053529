//! Names that do harm if they are written without escaping: one list for the tests of all outputs.

/// A name for each way in which a text has been taken for something else.
pub const HOSTILE_NAMES: &[&str] = &[
    // A terminal obeys these: a title, a cleared screen, an eight-bit control, a bell.
    "esc \u{1b}]0;owned\u{7}\u{1b}[2J x",
    "csi \u{9b}31m x",
    "line\r\nerror: forged",
    "nul \0 x",
    "del \u{7f} x",
    // These turn the order of what follows.
    "rtl \u{202e}txt.exe",
    "isolate \u{2066}\u{2069}\u{200f}\u{61c} x",
    "separator \u{2028}\u{2029} x",
    // Formulas of spreadsheets.
    "=HYPERLINK(\"http://x\",\"y\")",
    "+1+cmd|' /C calc'!A0",
    "-2+3+cmd",
    "@SUM(1+1)",
    "\t=1+1",
    "\r=1+1",
    // HTML, scripts and Markdown.
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "\"><svg onload=alert(1)>",
    "[a](javascript:alert(1)) ![b](http://x) | c | `d`",
    "${7*7} {{7*7}} `\\`",
    // Members that every object of JavaScript has.
    "__proto__",
    "constructor",
    "toString",
    // Names of files.
    "a/../../../pw/owned",
    "../owned",
    "/etc/owned",
    "..",
    ".",
    ".hidden",
    "con",
    "back\\slash:*?",
    " ",
    "-rf",
];

/// Whether a character of a text is one that must not be printed raw: all that a terminal obeys but
/// the ends of lines and tabs, and what turns the order.
pub fn is_raw(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t'))
        || matches!(c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

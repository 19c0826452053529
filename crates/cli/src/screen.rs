//! The target of text output: a terminal, with its width and colours, or something else.

use std::{io::IsTerminal, os::fd::AsFd};
use tailmark_report::Screen;

/// The terminal of standard output or standard error. `NO_COLOR` is obeyed (<https://no-color.org>),
/// and a terminal that is `dumb` or has no name gets no colours.
pub fn of(stream: &(impl AsFd + IsTerminal)) -> Screen {
    if !stream.is_terminal() {
        return Screen::default();
    }
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    let wants_colors = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let size = terminal_size::terminal_size_of(stream);
    let columns = size.map_or(Screen::COLUMNS_UNKNOWN, |(width, _)| width.0.into());
    Screen::new(columns, wants_colors && !is_dumb)
}

/// The same for tables that programs read line by line: without a terminal, as wide as necessary.
pub fn wide(stream: &(impl AsFd + IsTerminal)) -> Screen {
    if stream.is_terminal() {
        of(stream)
    } else {
        Screen::new(*Screen::COLUMNS.end(), false)
    }
}

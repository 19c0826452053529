//! An error in one line.

use crate::printable;

/// An error and its causes, in one line. Messages from servers may contain line breaks and terminal
/// commands, which are escaped.
pub fn in_one_line(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let causes: Vec<_> = causes.map(ToString::to_string).collect();
    printable(&causes.join(": ")).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[test]
    fn what_a_server_says_stays_in_its_line() {
        let said = io::Error::other("no\nnot touched: all is well\r\u{1b}[2J\u{202e}");
        assert_eq!(
            in_one_line(&said),
            r"no\nnot touched: all is well\r\u{1b}[2J\u{202e}"
        );
    }
}

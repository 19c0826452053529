//! What the programs share at their edges: standard output and error, exit codes, Ctrl-C.

mod exit;
mod interrupt;
mod output;
mod refused;

pub use exit::Exit;
pub use interrupt::{listen, take_signals};
pub use output::{Closed, Console, closed};
pub use refused::Refused;

//! Information about a run in the command line that YCSB echoes.

use super::number;
use std::path::Path;

/// The information in the echoed command line.
#[derive(Debug, Default)]
pub struct Command {
    /// Clients.
    pub threads: Option<u32>,
    /// Operations per second that were asked for.
    pub target: Option<f64>,
    /// Its file, without path and ending.
    pub workload: Option<String>,
    /// The distribution of keys.
    pub distribution: Option<String>,
    /// Whether it was a load.
    pub is_load: bool,
}

impl Command {
    /// Of the first line that is one.
    pub fn from_text(text: &str) -> Self {
        let mut command = Self::default();
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("Command line: "));
        let mut words = line.unwrap_or_default().split_whitespace();
        while let Some(word) = words.next() {
            match word {
                "-threads" => command.threads = words.next().and_then(|n| n.parse().ok()),
                "-target" => command.target = words.next().and_then(number),
                "-load" => command.is_load = true,
                "-P" => {
                    let stem = words.next().map(Path::new).and_then(Path::file_stem);
                    command.workload = stem.map(|stem| stem.to_string_lossy().into_owned());
                }
                "-p" => match words.next().and_then(|pair| pair.split_once('=')) {
                    Some(("threadcount", n)) => command.threads = n.parse().ok(),
                    Some(("target", n)) => command.target = number(n),
                    Some(("requestdistribution", name)) => {
                        command.distribution = Some(name.to_owned());
                    }
                    _ => {}
                },
                _ => {}
            }
        }
        command.target = command.target.filter(|rate| *rate > 0.0);
        command
    }
}

//! The command line options of YCSB's wrapper (`bin/ycsb run rocksdb ...`) and of its Java client
//! (`-db CLASS -t ...`), and a few of our own.

use super::properties::{BadEscape, Properties, decode};
use std::path::{Path, PathBuf};
use tailmark_driver::read_stream;

/// The action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// The loading phase.
    Load,
    /// The transaction phase.
    Run,
}

/// A command line.
#[derive(Debug, Default)]
pub struct Options {
    /// The database as the wrapper names it, if it did.
    pub database: Option<String>,
    /// Every property, files and `-p` together.
    pub properties: Properties,
    /// The last workload file.
    pub workload_file: Option<PathBuf>,
    /// What stands before every status line.
    pub label: String,
    /// The study that the run lands in.
    pub out: Option<PathBuf>,
    /// The system's name in the study, if it is not the database's.
    pub system: Option<String>,
    /// Whether the version that wrote the database may be locked out of it.
    pub upgrade: bool,
    /// Only the help was asked for.
    pub help: bool,
    /// The action, if the command line names one.
    action: Option<Action>,
}

/// A command line that is refused.
#[derive(Debug, thiserror::Error)]
pub enum BadOptions {
    /// An unknown option.
    #[error("Unknown option {0}")]
    Unknown(String),
    /// An option without its value.
    #[error("Missing argument value for {0}.")]
    NoValue(&'static str),
    /// A number that is none.
    #[error("{option} is `{value}`, but it must be a whole number from 0 up")]
    NoNumber {
        /// The option.
        option: &'static str,
        /// As given.
        value: String,
    },
    /// A property without a value.
    #[error(
        "Argument '-p' expected to be in key=value format (e.g., -p operationcount=99999), but it \
         is `{0}`"
    )]
    NoPair(String),
    /// A property file that cannot be read.
    #[error("Unable to open the properties file `{path}`")]
    File {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// A property file that is none.
    #[error("failed to read the properties file `{path}`")]
    Syntax {
        /// The file.
        path: String,
        /// Why.
        source: BadEscape,
    },
    /// A command that only YCSB's wrapper has.
    #[error("this program does not support the command `{0}`; use `load` or `run`")]
    Command(String),
    /// The wrapper's form without a database.
    #[error("`{0}` requires the name of a database; try `tailmark ycsb {0} rocksdb ...`")]
    NoDatabase(String),
}

impl Options {
    /// Reads the words after `tailmark ycsb`.
    ///
    /// # Errors
    /// Names the word that is wrong.
    pub fn parse(words: &[String]) -> Result<Self, BadOptions> {
        let mut options = Self::default();
        let mut given = Vec::new();
        let mut words = words.iter().map(String::as_str).peekable();
        if let Some(command) = words.next_if(|word| !word.starts_with('-')) {
            options.action = Some(match command {
                "load" => Action::Load,
                "run" => Action::Run,
                other => return Err(BadOptions::Command(other.to_owned())),
            });
            match words.next_if(|word| !word.starts_with('-')) {
                Some(database) => options.database = Some(database.to_owned()),
                None if words.peek().is_some_and(|word| is_help(word)) => {}
                None => return Err(BadOptions::NoDatabase(command.to_owned())),
            }
        }
        while let Some(word) = words.next() {
            let mut value = |option| words.next().ok_or(BadOptions::NoValue(option));
            match word {
                "-threads" => given.push(("threadcount", number("-threads", value("-threads")?)?)),
                "-target" => given.push(("target", number("-target", value("-target")?)?)),
                "-load" => options.action = Some(Action::Load),
                "-t" => options.action = Some(Action::Run),
                "-s" => given.push(("status", "true".to_owned())),
                "-db" => given.push(("db", value("-db")?.to_owned())),
                "-l" | "-label" => options.label = value("-l")?.to_owned(),
                "-P" => options.read_file(value("-P")?)?,
                "-p" => {
                    let pair = value("-p")?;
                    let (name, text) = pair
                        .split_once('=')
                        .ok_or_else(|| BadOptions::NoPair(pair.to_owned()))?;
                    given.push((name, text.to_owned()));
                }
                // What the wrapper starts Java with.
                "-cp" | "-jvm-args" => drop(value("-cp")?),
                word if word.starts_with("-jvm-args=") => {}
                "-o" | "--output" => options.out = Some(value("-o")?.into()),
                "--system" => options.system = Some(value("--system")?.to_owned()),
                "--upgrade" => options.upgrade = true,
                "--for-ycsb" => given.push(("tailmark.forycsb", "true".to_owned())),
                word if is_help(word) => options.help = true,
                other => return Err(BadOptions::Unknown(other.to_owned())),
            }
        }
        for (name, value) in given {
            options.properties.set(name, &value);
        }
        Ok(options)
    }

    /// What to do: as the command line says, else as the property `dotransactions` does.
    pub fn action(&self) -> Action {
        let transactions = self.properties.flag("dotransactions", true);
        self.action.unwrap_or(if transactions {
            Action::Run
        } else {
            Action::Load
        })
    }

    /// What stands before status lines.
    pub fn label_or(&self, properties: &Properties) -> String {
        if self.label.is_empty() {
            properties.text_or("label", "").to_owned()
        } else {
            self.label.clone()
        }
    }

    fn read_file(&mut self, path: &str) -> Result<(), BadOptions> {
        let bytes = read_stream(Path::new(path)).map_err(|source| BadOptions::File {
            path: path.to_owned(),
            source,
        })?;
        let read = self.properties.read_text(&decode(bytes));
        read.map_err(|source| BadOptions::Syntax {
            path: path.to_owned(),
            source,
        })?;
        self.workload_file = Some(path.into());
        Ok(())
    }
}

fn is_help(word: &str) -> bool {
    matches!(word, "-h" | "-help" | "--help")
}

fn number(option: &'static str, value: &str) -> Result<String, BadOptions> {
    match value.trim().parse::<u64>() {
        Ok(number) => Ok(number.to_string()),
        Err(_) => Err(BadOptions::NoNumber {
            option,
            value: value.to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn parse(line: &str) -> Result<Options, BadOptions> {
        Options::parse(
            &line
                .split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>(),
        )
    }

    fn file(text: &str) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file
    }

    #[test]
    fn the_form_of_the_wrapper_and_of_java_say_the_same() {
        let wrapper =
            parse("load rocksdb -s -threads 8 -target 100 -p a=b=c -l x -jvm-args -Xmx1g").unwrap();
        assert_eq!(wrapper.database.as_deref(), Some("rocksdb"));
        let java =
            parse("-db site.ycsb.BasicDB -load -s -threads 8 -target 100 -p a=b=c -l x").unwrap();
        assert_eq!(java.properties.text("db"), Some("site.ycsb.BasicDB"));
        for options in [wrapper, java] {
            assert_eq!(options.action(), Action::Load);
            assert_eq!(options.label, "x");
            for (name, value) in [
                ("status", "true"),
                ("threadcount", "8"),
                ("target", "100"),
                ("a", "b=c"),
            ] {
                assert_eq!(options.properties.text(name), Some(value));
            }
        }
    }

    #[test]
    fn options_win_over_files_wherever_they_stand() {
        let (one, two) = (file("x=1\ny=1\nthreadcount=2\n"), file("y=2\n"));
        let paths = [one.path(), two.path()].map(|path| path.display().to_string());
        let line = format!(
            "run basic -p x=9 -threads 4 -P {} -P {}",
            paths[0], paths[1]
        );
        let options = parse(&line).unwrap();
        let values = ["x", "y", "threadcount"].map(|name| options.properties.text(name));
        assert_eq!(values, ["9", "2", "4"].map(Some));
        assert_eq!(options.workload_file.as_deref(), Some(two.path()));
    }

    #[test]
    fn without_an_action_the_property_decides() {
        assert_eq!(parse("-db x").unwrap().action(), Action::Run);
        assert_eq!(
            parse("-db x -p dotransactions=false").unwrap().action(),
            Action::Load
        );
        assert_eq!(
            parse("-t -p dotransactions=false").unwrap().action(),
            Action::Run
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (line, words) in [
            ("run rocksdb -foo", "Unknown option -foo"),
            (
                "run rocksdb -threads",
                "Missing argument value for -threads.",
            ),
            ("run rocksdb -threads many", "`many`"),
            ("run rocksdb -p recordcount", "key=value"),
            ("run rocksdb -P /no/such/file", "/no/such/file"),
            ("shell rocksdb", "`shell`"),
            ("run", "name of a database"),
        ] {
            let error = parse(line).unwrap_err().to_string();
            assert!(error.contains(words), "{line}: {error}");
        }
    }
}

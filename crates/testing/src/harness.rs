//! Tests that discover at run time that they cannot run. They are `ignored`, by name and with the
//! reason, in cargo's summary. Rust's own harness cannot do that, and would count them as passed.
//!
//! A test program has `harness = false` in its manifest, imports [`test`](crate::test), which
//! replaces Rust's own `#[test]`, and has a `main` that returns [`run`].

use libtest_mimic::{Arguments, Completion, Trial};
use std::{any::Any, env, fmt::Display, panic::resume_unwind, process::ExitCode, thread};

/// One test of a program, as the attribute lists it.
#[derive(Debug)]
pub struct Test {
    /// Modules and name, from the program's on.
    pub name: &'static str,
    /// The test itself.
    pub run: fn(),
}

inventory::collect!(Test);

/// The end of a test that cannot run.
struct Ignored(String);

/// Runs the tests of this program selected by its arguments, which are those of Rust's harness.
pub fn run() -> ExitCode {
    let mut tests: Vec<_> = inventory::iter::<Test>.into_iter().collect();
    tests.sort_by_key(|test| test.name);
    let trials = tests.into_iter().map(trial).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn trial(test: &'static Test) -> Trial {
    let name = test
        .name
        .split_once("::")
        .map_or(test.name, |(_, name)| name);
    Trial::ignorable_test(name, move || match on_a_thread(name, test.run) {
        Ok(()) => Ok(Completion::Completed),
        Err(panic) => Ok(Completion::ignored_with(reason(panic))),
    })
}

/// Runs a test on a thread of its own, as Rust's harness does: its name is in the message of a
/// panic.
fn on_a_thread(name: &str, test: fn()) -> thread::Result<()> {
    let thread = thread::Builder::new().name(name.to_owned()).spawn(test);
    thread.expect("a thread can be started").join()
}

/// Why a test could not run; any other panic is resumed.
fn reason(panic: Box<dyn Any + Send>) -> String {
    match panic.downcast::<Ignored>() {
        Ok(ignored) => ignored.0,
        Err(panic) => resume_unwind(panic),
    }
}

/// Ends a test that needs something which a machine may well be without: root, loop devices, a
/// disk. It is ignored.
pub fn not_here(why: impl Display) -> ! {
    // Without the message of a panic.
    resume_unwind(Box::new(Ignored(why.to_string())))
}

/// Ends a test that needs something which `./dev test` installs or starts. It is ignored, but in CI
/// (where `CI` is set) it fails.
///
/// # Panics
/// In CI.
pub fn not_installed(why: impl Display) -> ! {
    assert!(!is_ci(), "{why}; in CI it must be there");
    not_here(why)
}

/// Whether this is CI, where everything that `./dev test` installs or starts must be there.
pub fn is_ci() -> bool {
    env::var("CI").is_ok_and(|value| !matches!(&*value, "" | "0" | "false"))
}

/// The contact points of a live server, which `TEST_<DRIVER>` names.
pub fn server(driver: &str) -> String {
    let variable = format!("TEST_{}", driver.to_uppercase());
    match (env::var(&variable), driver) {
        (Ok(hosts), _) => hosts,
        // Those that `./dev test` starts.
        (Err(_), "cassandra" | "redis") => not_installed(format!("{variable} names no server")),
        (Err(_), _) => not_here(format!("{variable} names no server")),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    /// Rust leaves a function with its own `#[test]` out of a program without its harness.
    #[test]
    fn no_test_of_a_program_that_is_run_here_is_skipped() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut looked_at = 0;
        for folder in fs::read_dir(crates).unwrap() {
            let folder = folder.unwrap().path();
            let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
            for target in manifest
                .split("\n[[")
                .filter(|row| row.starts_with("test]]"))
            {
                let name = target.split('"').nth(1).unwrap();
                for file in files(&folder.join("tests"), name) {
                    let text = fs::read_to_string(&file).unwrap();
                    let is_own = text.lines().any(|line| {
                        line.starts_with("use tailmark_testing::") && line.contains("test}")
                            || line == "use tailmark_testing::test;"
                    });
                    looked_at += u32::from(text.contains("#[test"));
                    assert!(is_own || !text.contains("#[test"), "{}", file.display());
                }
            }
        }
        assert!(looked_at > 20, "{looked_at}");
    }

    /// The files of a test program: its own, and those of the folder with its name.
    fn files(tests: &Path, name: &str) -> Vec<std::path::PathBuf> {
        let alone = tests.join(format!("{name}.rs"));
        let mut files: Vec<_> = Some(alone)
            .into_iter()
            .filter(|file| file.exists())
            .collect();
        let mut folders = vec![tests.join(name)];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path)
                } else {
                    files.push(path)
                }
            }
        }
        files.retain(|file| file.extension().is_some_and(|e| e == "rs") && file.exists());
        files
    }
}

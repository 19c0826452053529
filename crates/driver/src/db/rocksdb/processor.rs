//! The processor that RocksDB is compiled for, and whether it computes CRC32C in hardware.
//!
//! RocksDB is compiled for a baseline (`.cargo/config.toml`). With software CRC32C it reads and
//! loads at two thirds of its speed, and a benchmark must not slow down what it measures. If the
//! processor lacks the baseline, an error is printed before any RocksDB code runs, because its
//! constructors run before `main` and would end the program with SIGILL. Rust code is compiled for
//! any processor.

/// How RocksDB was built: compiler and flags, if `./dev` built it.
const BUILD: Option<&str> = option_env!("ROCKSDB_BUILD");

/// The flags of the baseline that `cargo` gave to the C++ compiler.
#[cfg(target_arch = "x86_64")]
const FLAGS: Option<&str> = option_env!("CXXFLAGS_x86_64_unknown_linux_gnu");
#[cfg(target_arch = "aarch64")]
const FLAGS: Option<&str> = option_env!("CXXFLAGS_aarch64_unknown_linux_gnu");
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const FLAGS: Option<&str> = None;

/// How RocksDB was built, for the study.
pub(super) fn build() -> String {
    let flags = FLAGS.unwrap_or("for the compiler's own choice of processor");
    BUILD.map_or_else(|| format!("by its crate, {flags}"), str::to_owned)
}

/// What the beginning of RocksDB's own log says about CRC32C: `Supported on x86`, `Not supported on
/// x86`.
pub(super) fn crc32c(log: &str) -> Option<&str> {
    let (_, said) = log.split_once("Fast CRC32 supported: ")?;
    said.lines().next().map(str::trim)
}

/// Whether RocksDB says that it computes CRC32C without the processor's instruction.
pub(super) fn is_software(said: &str) -> bool {
    said.starts_with("Not supported")
}

/// A feature of the baseline, and whether this processor has it.
type Feature = (&'static str, bool);

/// The baseline in the compiler's notation. Builds for another processor are not checked.
const BASELINE: &str = if cfg!(target_arch = "x86_64") {
    "-march=x86-64-v3"
} else {
    "-march=armv8-a+crc+crypto"
};

/// The features of x86-64-v3, and pclmulqdq.
#[cfg(target_arch = "x86_64")]
fn features() -> [Feature; 14] {
    macro_rules! features {
        ($($name:tt)*) => { [$(($name, std::arch::is_x86_feature_detected!($name))),*] };
    }
    features!["avx" "avx2" "bmi1" "bmi2" "cmpxchg16b" "f16c" "fma" "lzcnt" "movbe" "pclmulqdq"
        "popcnt" "sse4.1" "sse4.2" "ssse3"]
}

/// The features of armv8-a+crc+crypto.
#[cfg(target_arch = "aarch64")]
fn features() -> [Feature; 4] {
    use std::arch::is_aarch64_feature_detected as has;
    [
        ("aes", has!("aes")),
        ("crc", has!("crc")),
        ("neon", has!("neon")),
        ("sha2", has!("sha2")),
    ]
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn features() -> [Feature; 0] {
    []
}

/// Ends the program with one error if the processor lacks a feature of the baseline.
#[expect(
    unsafe_code,
    reason = "nothing of the standard library that allocates or locks runs before `main`"
)]
extern "C" fn check() {
    let say = |text: &str| {
        // SAFETY: the bytes are those of a string; what cannot be written is of no consequence.
        unsafe { libc::write(2, text.as_ptr().cast(), text.len()) };
    };
    let Some(flags) = FLAGS.filter(|flags| flags.contains(BASELINE)) else {
        return;
    };
    let mut missing = features().into_iter().filter(|(_, has)| !has).peekable();
    if missing.peek().is_none() {
        return;
    }
    say("error: this processor lacks");
    for (name, _) in missing {
        say(" ");
        say(name);
    }
    say(", which RocksDB was compiled for (");
    say(flags);
    say("); compile it with other CXXFLAGS for this processor (docs/ARCHITECTURE.md)\n");
    // SAFETY: it ends the program and runs no other code of it.
    unsafe { libc::_exit(1) };
}

/// Run by the loader before every constructor, of this program and of its libraries.
#[expect(unsafe_code, reason = "the loader finds it by the section's name")]
#[used]
#[unsafe(link_section = ".preinit_array")]
static CHECK: extern "C" fn() = check;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_log_says_of_crc32c_is_read() {
        let log = "2026/11/22 Compression algorithms supported:\n\
                   2026/11/22 Fast CRC32 supported: Supported on x86\n2026/11/22 DMutex";
        assert_eq!(crc32c(log), Some("Supported on x86"));
        assert!(!is_software("Supported on x86"));
        assert!(is_software("Not supported on x86"));
        assert_eq!(crc32c(""), None);
    }
}

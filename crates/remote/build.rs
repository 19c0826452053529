//! Takes the agent into the program where `TAILMARK_AGENT` names it; `./dev` builds one that needs no
//! library of the machine it is copied to. Without it, it is looked for beside the program. The agent is
//! a program of this crate: its own build is without the feature, and needs no agent first.

use std::{env, fs, path::Path};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is_embedded = env::var_os("CARGO_FEATURE_EMBEDDED").is_some();
    if is_embedded {
        println!("cargo::rerun-if-env-changed=TAILMARK_AGENT");
    }
    let directory = env::var_os("OUT_DIR").expect("cargo says where output goes");
    let taken = Path::new(&directory).join("agent");
    let agent = env::var_os("TAILMARK_AGENT").filter(|path| is_embedded && !path.is_empty());
    let bytes = match agent {
        None => Vec::new(),
        Some(path) => {
            println!("cargo::rerun-if-changed={}", path.to_string_lossy());
            fs::read(&path).unwrap_or_else(|error| {
                panic!("TAILMARK_AGENT is {}: {error}", path.to_string_lossy())
            })
        }
    };
    fs::write(taken, bytes).expect("the output directory can be written");
}

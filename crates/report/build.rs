//! Brings Apache ECharts into the build. The script is taken from the sources of the crate that
//! carries it, which cargo has unpacked because it is a dependency of this build, and is checked
//! against its known digest. So it is neither committed nor fetched, by a build or by a report.

use sha2::{Digest, Sha256};
use std::{
    env,
    error::Error,
    fs,
    path::{Path, PathBuf},
};

/// The crate that carries the script. No line of it is used. `Cargo.toml` pins this version.
const CARRIER: &str = "charming-0.6.0";
const SCRIPT: &str = "src/asset/echarts-5.5.1.min.js";
const SHA256: &str = "e84270bd0cd5bdf60fefc26d00c2a391cb2e81f4d26a7a9ee16185a54773a3cf";

/// Names the script where cargo keeps its sources elsewhere.
const VARIABLE: &str = "TAILMARK_ECHARTS";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={VARIABLE}");
    let looked_in = places()?;
    let mut files = looked_in.iter();
    let script = files.find(|file| file.is_file()).ok_or_else(|| {
        let places: Vec<_> = looked_in.iter().map(|place| place.display().to_string()).collect();
        format!(
            "the ECharts script is in none of {}; set {VARIABLE} to the file `{SCRIPT}` of {CARRIER}",
            places.join(", ")
        )
    })?;
    let text = fs::read(script)?;
    let digest: String = Sha256::digest(&text)
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    if digest != SHA256 {
        let file = script.display();
        return Err(format!("`{file}` has the SHA-256 {digest}, but {SHA256} is expected").into());
    }
    fs::write(
        PathBuf::from(env::var("OUT_DIR")?).join("echarts.min.js"),
        text,
    )?;
    Ok(())
}

/// Where the script may be: in cargo's registries, or in a directory of vendored crates above this
/// one.
fn places() -> Result<Vec<PathBuf>, Box<dyn Error>> {
    if let Some(file) = env::var_os(VARIABLE) {
        return Ok(vec![file.into()]);
    }
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(Path::new(&env::var_os("HOME")?).join(".cargo")));
    let registries = home
        .ok_or("neither CARGO_HOME nor HOME is set")?
        .join("registry/src");
    let inside = fs::read_dir(&registries).into_iter().flatten().flatten();
    let mut places: Vec<_> = inside
        .map(|registry| registry.path().join(CARRIER))
        .collect();
    places.sort();
    let own = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let (name, _) = CARRIER.split_once('-').ok_or("the carrier has a version")?;
    let vendored = own.ancestors().map(|above| above.join("vendor"));
    places.extend(vendored.flat_map(|vendor| [vendor.join(CARRIER), vendor.join(name)]));
    places.iter_mut().for_each(|place| place.push(SCRIPT));
    Ok(places)
}

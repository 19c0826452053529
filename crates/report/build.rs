//! Brings Apache ECharts into the build: the script is taken from the package of the `charming`
//! crate, which cargo has fetched already, and is checked against its known digest. So it is
//! neither committed nor asked for over the network by a report.

use sha2::{Digest, Sha256};
use std::{env, error::Error, fs, path::PathBuf, process::Command};

const PACKAGE: (&str, &str) = ("charming", "0.6.0");
const SCRIPT: &str = "src/asset/echarts-5.5.1.min.js";
const SHA256: &str = "e84270bd0cd5bdf60fefc26d00c2a391cb2e81f4d26a7a9ee16185a54773a3cf";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let script = package_directory()?.join(SCRIPT);
    let text =
        fs::read(&script).map_err(|e| format!("failed to read `{}`: {e}", script.display()))?;
    let digest: String = Sha256::digest(&text)
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    if digest != SHA256 {
        return Err(format!(
            "`{}` has the SHA-256 {digest}, but {SHA256} is expected",
            script.display()
        )
        .into());
    }
    fs::write(
        PathBuf::from(env::var("OUT_DIR")?).join("echarts.min.js"),
        text,
    )?;
    Ok(())
}

/// Where cargo keeps the package that carries the script.
fn package_directory() -> Result<PathBuf, Box<dyn Error>> {
    let metadata = metadata(&["--offline"]).or_else(|_| metadata(&[]))?;
    let (name, version) = PACKAGE;
    metadata["packages"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|p| p["name"] == name && p["version"] == version)
        .and_then(|p| {
            PathBuf::from(p["manifest_path"].as_str()?)
                .parent()
                .map(PathBuf::from)
        })
        .ok_or_else(|| format!("cargo metadata names no package {name} {version}").into())
}

fn metadata(more: &[&str]) -> Result<serde_json::Value, Box<dyn Error>> {
    let output = Command::new(env::var("CARGO")?)
        .args([
            "metadata",
            "--format-version",
            "1",
            "--filter-platform",
            &env::var("HOST")?,
        ])
        .args(more)
        .current_dir(env::var("CARGO_MANIFEST_DIR")?)
        .output()?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr);
        return Err(format!("cargo metadata failed: {}", reason.trim()).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

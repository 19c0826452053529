//! A `/sys` with devices that the machine does not have.

use std::{fs, io, os::unix::fs::symlink};
use tempfile::TempDir;

/// A `/sys` for a test: devices by directory, each with its attributes.
///
/// # Panics
/// If it cannot be created.
pub fn sys_with(devices: &[(&str, &[(&str, &str)])]) -> TempDir {
    make(devices).expect("a test may write to the temporary directory")
}

fn make(devices: &[(&str, &[(&str, &str)])]) -> io::Result<TempDir> {
    let sys = tempfile::tempdir()?;
    for links in ["class/block", "dev/block"] {
        fs::create_dir_all(sys.path().join(links))?;
    }
    for (device, attributes) in devices {
        let directory = sys.path().join("devices").join(device);
        for (name, value) in *attributes {
            let path = directory.join(name);
            fs::create_dir_all(path.parent().unwrap_or(&directory))?;
            fs::write(path, value)?;
            if *name == "dev" {
                symlink(&directory, sys.path().join("dev/block").join(value.trim()))?;
                let link = directory.file_name().unwrap_or_default();
                symlink(&directory, sys.path().join("class/block").join(link))?;
            }
        }
    }
    Ok(sys)
}

/// A folder with attributes: lines `PATH:VALUE`, as `grep -r .` prints them, and comments from `#`
/// on.
///
/// # Panics
/// If it cannot be created.
pub fn recorded(tree: &str) -> TempDir {
    make_tree(tree).expect("a test may write to the temporary directory")
}

fn make_tree(tree: &str) -> io::Result<TempDir> {
    let root = tempfile::tempdir()?;
    let lines = tree.lines().filter(|line| !line.starts_with('#'));
    for (path, value) in lines.filter_map(|line| line.rsplit_once(':')) {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap_or(root.path()))?;
        fs::write(path, format!("{value}\n"))?;
    }
    Ok(root)
}

//! A path under the name that the kernel uses.

use std::path::{Path, PathBuf};

/// The kernel's name of a path: with links resolved as far as it exists.
#[must_use]
pub fn real_path(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for above in path.ancestors() {
        if let Ok(real) = above.canonicalize() {
            let rest = path.strip_prefix(above).unwrap_or(Path::new(""));
            return if rest.as_os_str().is_empty() {
                real
            } else {
                real.join(rest)
            };
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_path_that_is_not_there_yet_is_known_by_what_is_there_of_it() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let link = top.join("link");
        fs::create_dir(top.join("there")).unwrap();
        std::os::unix::fs::symlink(top.join("there"), &link).unwrap();
        assert_eq!(real_path(&link), top.join("there"));
        assert_eq!(real_path(&link.join("not/yet")), top.join("there/not/yet"));
    }
}

//! A loop device, a plan for it, and the program in a mount namespace of its own with a journal of its
//! own.

#![allow(dead_code, reason = "not every test needs all of it")]

use std::{
    fs::{self, File},
    os::unix::fs::FileExt,
    path::PathBuf,
    process::{Command, Output, Stdio},
};
use tailmark_prepare::Uses;
use tailmark_testing::{LoopDevice, Program, err, not_here, out};
use tempfile::TempDir;

/// The program.
pub const TAILMARK: Program = Program(env!("CARGO_BIN_EXE_tailmark"));
/// Bytes of the device.
pub const BYTES: u64 = 64 << 20;

/// Runs the plan, with consent to erase the device.
pub const RUN: &str = "$tailmark run plan.toml -o out --erase $serial $unseen";
/// Prepares the device of the plan and does nothing else, with the same consent.
pub const PREPARE: &str =
    "$tailmark device prepare plan.toml --system disk --erase $serial $unseen";

/// A loop device, and a directory for a study and a journal.
pub struct Bench {
    pub device: LoopDevice,
    pub image: PathBuf,
    pub dir: TempDir,
}

impl Bench {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        fs::create_dir(top.join("state")).unwrap();
        let image = top.join("image");
        let device = LoopDevice::new(&image, BYTES);
        Self { device, image, dir }
    }

    /// The directory, without links.
    pub fn dir(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    /// What agrees that the device is erased.
    pub fn serial(&self) -> &str {
        self.image.to_str().unwrap()
    }

    /// Writes a plan of one short point, with these lines of its system.
    pub fn plan_of(&self, system: &str) {
        self.write_plan("", "operations = 100", system);
    }

    /// Writes a plan with these lines at its top, of its sweep and of its system.
    pub fn write_plan(&self, top: &str, sweep: &str, system: &str) {
        let text = format!(
            "{top}\n[database]\ndriver = 'file'\n[dataset]\nrecords = 200\n[sweep]\n\
             workloads = 'ycsb-c'\nthreads = 1\n{sweep}\nwarmup = '0s'\n[[system]]\n{system}\n"
        );
        fs::write(self.dir().join("plan.toml"), text).unwrap();
    }

    /// Writes a plan whose system is in a directory that this device is mounted on.
    pub fn plan(&self, prepare: &str, more: &str) {
        let system = format!(
            "name = 'disk'\npath = '{}/data'\n[system.prepare]\ndevice = '{}'\n{prepare}",
            self.dir().join("mounted").display(),
            self.device.path().display(),
        );
        let top = format!("same_device = true\n{more}");
        self.write_plan(&top, "operations = 100", &system);
    }

    /// What makes and mounts a file system here.
    pub fn file_system(&self) -> String {
        let mount = self.dir().join("mounted");
        format!(
            "erase = 'discard'\nfilesystem = 'ext4'\nmount_options = 'noatime'\nmount = '{}'\n",
            mount.display()
        )
    }

    /// Runs a script in namespaces of its own, with the program as `$tailmark`, and with what is
    /// here as `/var/lib`.
    pub fn script(&self, script: &str) -> Output {
        let unseen = Uses::look().unseen().to_vec();
        let unseen = unseen
            .iter()
            .map(|program| format!("--trust-program={}", program.name));
        let unseen: Vec<_> = unseen.collect();
        let before = "mount --make-rprivate / && mount --bind state /var/lib && exec 2>&1\n";
        let output = Command::new("unshare")
            .args(["--mount", "--net", "sh", "-c", &format!("{before}{script}")])
            .env("tailmark", TAILMARK.0)
            .env("unseen", unseen.join(" "))
            .env("serial", self.serial())
            .env("device", self.device.path())
            .current_dir(self.dir())
            .stdin(Stdio::null())
            .output();
        match output {
            Ok(output) if err(&output).starts_with("unshare:") => not_here(err(&output)),
            Ok(output) => output,
            Err(why) => not_here(why),
        }
    }

    /// The same; what it said, when it has succeeded.
    pub fn done(&self, script: &str) -> String {
        self.ended(script, 0)
    }

    /// The same; what it said, when it has ended with this exit code.
    pub fn ended(&self, script: &str, code: i32) -> String {
        let output = self.script(script);
        assert_eq!(output.status.code(), Some(code), "{}", out(&output));
        out(&output)
    }

    /// What is stored in the image at a place that only data is at.
    pub fn sample(&self) -> [u8; 4] {
        let mut bytes = [0; 4];
        File::open(&self.image)
            .unwrap()
            .read_exact_at(&mut bytes, 32 << 20)
            .unwrap();
        bytes
    }

    pub fn put_data(&self) {
        let file = fs::OpenOptions::new()
            .write(true)
            .open(self.device.path())
            .unwrap();
        file.write_all_at(b"mine", 32 << 20).unwrap();
        file.sync_all().unwrap();
    }

    /// Facts of what was prepared: names and values.
    pub fn facts(&self) -> Vec<(String, String)> {
        let facts = TAILMARK.exported(&self.dir(), "facts");
        let own = facts.iter().filter(|fact| fact["group"] == "preparation");
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        own.map(|fact| (text(&fact["name"]), text(&fact["value"])))
            .collect()
    }
}

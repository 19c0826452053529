//! Logs of an NVMe drive that answers: an emulated one, in a guest that this program runs itself in.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

use std::{
    env,
    fs::{File, OpenOptions, Permissions},
    os::unix::{
        fs::{FileExt, OpenOptionsExt, PermissionsExt},
        process::CommandExt,
    },
    path::Path,
    process::{Command, ExitCode},
    thread,
    time::{Duration, Instant},
};
use tailmark_machine::probe::{PROBES, Probe, Reading, Target};
use tailmark_testing::{guest, test};

const DRIVE: &str = "/dev/nvme0n1";
const BLOCK: usize = 128 << 10;
const WRITES: u64 = 64;
const READS: u64 = 32;
/// A unit of data in the log.
const UNIT: f64 = 512_000.0;

fn main() -> ExitCode {
    match env::args().nth(1).as_deref() {
        Some("in-guest") => in_guest(),
        Some("as-user") => as_user(),
        _ => return tailmark_testing::run(),
    }
    ExitCode::SUCCESS
}

#[test]
fn a_drive_counts_what_is_written_and_read_in_its_log() {
    let said = guest::run_in_guest(&env::current_exe().unwrap(), &["in-guest"], &[64 << 20]);
    let number = |name: &str| -> f64 {
        let line = said
            .iter()
            .find_map(|line| line.strip_prefix(&format!("{name} = ")));
        line.unwrap_or_else(|| panic!("{name} of {said:#?}"))
            .parse()
            .unwrap()
    };
    // The drive counts in units, and begins one where anything is of it.
    for (name, requests) in [("write", WRITES), ("read", READS)] {
        let bytes = (requests as usize * BLOCK) as f64;
        let rise = number(&format!("rise of {name}_bytes"));
        assert!((rise - bytes).abs() <= UNIT, "{name}: {rise} of {bytes}");
        let commands = number(&format!("rise of {name}_commands"));
        assert!(
            commands >= requests as f64,
            "{name}: {commands} of {requests}"
        );
    }
    let temperature = number("temperature_c");
    assert!((10.0..100.0).contains(&temperature), "{temperature}");
    assert!(said.contains(&"subject = nvme0n1".to_owned()), "{said:#?}");
    // What QEMU's drive states of its only power state.
    assert_eq!((number("power_state"), number("power_w_max")), (0.0, 25.0));
    // It is neither one for data centres nor a volume of a cloud.
    let ocp = "nvme-ocp: `nvme0n1` has no log C0h (OCP SMART extended): status 0x";
    assert!(said.iter().any(|line| line.starts_with(ocp)), "{said:#?}");
    assert!(
        said.contains(&"cloud-volume: does not apply".to_owned()),
        "{said:#?}"
    );
    let refused = "only root (CAP_SYS_ADMIN) can read log 02h (SMART) of `nvme0n1`";
    for who in ["closed", "open"] {
        let expected = format!("{who} to users: {refused}");
        assert!(said.contains(&expected), "{said:#?}");
    }
}

fn open(name: &str) -> Result<Option<Box<dyn Probe>>, String> {
    let target = Target {
        places: vec![DRIVE.into()],
        ..Target::default()
    };
    let row = PROBES.iter().find(|row| row.name == name).unwrap();
    (row.open)(&target).map_err(|error| error.to_string())
}

/// What is done in the guest, as root.
fn in_guest() {
    let end = Instant::now() + Duration::from_secs(60);
    while !Path::new(DRIVE).exists() && Instant::now() < end {
        thread::sleep(Duration::from_millis(50));
    }
    let mut probe = open("nvme-smart").unwrap().unwrap();
    let before = probe.sample().unwrap();
    use_drive();
    let after = probe.sample().unwrap();
    guest::say(&format!("subject = {}", after[0].subject));
    let value =
        |readings: &[Reading], name: &str| readings.iter().find(|r| r.name == name).unwrap().value;
    guest::say(&format!(
        "temperature_c = {}",
        value(&after, "temperature_c")
    ));
    for name in [
        "write_bytes",
        "read_bytes",
        "write_commands",
        "read_commands",
    ] {
        let rise = value(&after, name) - value(&before, name);
        guest::say(&format!("rise of {name} = {rise}"));
    }
    for name in ["nvme-ocp", "cloud-volume"] {
        let opened = open(name).map(|found| found.map_or("does not apply", |_| "is there"));
        guest::say(&format!(
            "{name}: {}",
            opened.map_or_else(|e| e, str::to_owned)
        ));
    }
    let power = open("nvme-power").unwrap().unwrap().sample().unwrap();
    for reading in power {
        guest::say(&format!("{} = {}", reading.name, reading.value));
    }
    for (who, mode) in [("closed", 0o600), ("open", 0o666)] {
        std::fs::set_permissions(DRIVE, Permissions::from_mode(mode)).unwrap();
        let program = env::current_exe().unwrap();
        let output = Command::new(program)
            .arg("as-user")
            .uid(1000)
            .gid(1000)
            .output()
            .unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        let said = said.trim().trim_start_matches("guest: ");
        guest::say(&format!("{who} to users: {said}"));
    }
}

/// Writes and reads past the page cache, in requests that the drive takes whole.
fn use_drive() {
    let direct = rustix::fs::OFlags::DIRECT.bits() as i32;
    let mut options = OpenOptions::new();
    let options = options.read(true).write(true).custom_flags(direct);
    let drive: File = options.open(DRIVE).unwrap();
    let mut buffer = vec![7_u8; BLOCK + 4096];
    let skip = buffer.as_ptr().align_offset(4096);
    let block = &mut buffer[skip..skip + BLOCK];
    for slot in 0..WRITES {
        drive.write_all_at(block, slot * BLOCK as u64).unwrap();
    }
    for slot in 0..READS {
        drive.read_exact_at(block, slot * BLOCK as u64).unwrap();
    }
    drive.sync_all().unwrap();
}

fn as_user() {
    match open("nvme-smart") {
        Ok(_) => guest::say("it can be read"),
        Err(error) => guest::say(&error),
    }
}

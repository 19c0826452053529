//! Any output of `wipefs`, a journal, a drive or the kernel is either parsed or refused.

use super::nvme::{Controller, Namespace, SanitizeState};
use super::{change, signature, uses};
use tailmark_testing::Trial;

#[test]
fn mutated_signatures_are_read_or_refused() {
    let sample = br#"{"signatures": [
        {"device":"x","offset":"0x0","type":"xfs","uuid":"1-2","label":"tailmark"},
        {"device":"x","offset":"0x200","type":"gpt","uuid":null,"label":null}]}"#;
    let trial = Trial {
        name: "wipefs",
        samples: &[sample.to_vec(), b"\n".to_vec()],
        words: &[
            "signatures",
            "type",
            "uuid",
            "label",
            "null",
            "tailmark",
            "ext4",
        ],
        inputs: 2_000,
    };
    trial.run(|input| {
        if let Ok(found) = signature::parse(input, "sda", "S-1") {
            // Ours is only what says so in full.
            for signature in found.iter().filter(|signature| signature.is_ours) {
                assert!(
                    signature.name.starts_with("xfs") || signature.name.starts_with("ext4"),
                    "{signature:?}"
                );
            }
        }
    });
}

#[test]
fn mutated_journals_are_read_or_refused() {
    let sample = br#"{"version":1,"boot":"b","changes":[
        {"path":"/proc/sys/vm/swappiness","old":"60","requested":"1","now":null},
        {"mounted":"/mnt/a","device":"259:0"},{"emulated":"/var/lib/x"}]}"#;
    let trial = Trial {
        name: "journal",
        samples: &[sample.to_vec()],
        words: &[
            "version", "changes", "mounted", "emulated", "now", "old", "null",
        ],
        inputs: 2_000,
    };
    trial.run(|input| drop(change::parse(input)));
}

#[test]
fn mutated_tables_of_swap_and_mounts_at_start_are_read() {
    let trial = Trial {
        name: "fstab",
        samples: &[
            b"UUID=0a-1b / ext4 defaults 0 1\n# /dev/null\n/dev/null none swap sw 0 0\n".to_vec(),
            b"Filename Type Size Used Priority\n/dev/null partition 1 0 -2\n".to_vec(),
        ],
        words: &["UUID=", "LABEL=\"", "/dev/", "root=", "resume=", "\\040"],
        inputs: 1_000,
    };
    trial.run(|input| {
        let text = String::from_utf8_lossy(input);
        drop(uses::named_at_start(&text, &text));
        drop(uses::swaps(&text));
    });
}

#[test]
fn mutated_structures_of_a_drive_are_read() {
    let mut sample = vec![0; 4096];
    (sample[26], sample[130], sample[256], sample[524]) = (1, 12, 10, 1);
    let trial = Trial {
        name: "identify",
        samples: &[sample],
        words: &["S6CKNT0W1", "\0"],
        inputs: 2_000,
    };
    trial.run(|input| {
        let mut bytes = input.to_vec();
        bytes.resize(4096, 0);
        drop(Controller::parse(&bytes));
        assert!(Namespace::parse(&bytes).format < 64);
        let _ = SanitizeState::parse(&bytes);
    });
}

//! Facts from the firmware: the machine, its memory modules, and the cloud that it belongs to.
//!
//! Texts come from `/sys/class/dmi/id`. Memory modules are structures of type 17 of the SMBIOS
//! specification (DSP0134, 7.18), which the kernel shows only to root.

use super::{FactGroup, binary};
use crate::sysfs;
use std::{collections::BTreeMap, fs, path::Path};

/// The place of the firmware's texts.
pub const DMI: &str = "/sys/class/dmi/id";
/// Where its structures are.
const ENTRIES: &str = "/sys/firmware/dmi/entries";

/// Types of memory, by their number (DSP0134, 7.18.2).
const MEMORY_TYPES: &[(u8, &str)] = &[
    (0x12, "DDR"),
    (0x13, "DDR2"),
    (0x18, "DDR3"),
    (0x1a, "DDR4"),
    (0x1b, "LPDDR"),
    (0x1c, "LPDDR2"),
    (0x1d, "LPDDR3"),
    (0x1e, "LPDDR4"),
    (0x1f, "non-volatile memory"),
    (0x20, "HBM"),
    (0x21, "HBM2"),
    (0x22, "DDR5"),
    (0x23, "LPDDR5"),
    (0x24, "HBM3"),
];

/// Every cloud that is known, by name: the text that identifies it, its prefix, and the text with
/// the instance type, if there is one.
const CLOUDS: &[(&str, &str, &str, Option<&str>)] = &[
    ("Alibaba Cloud", "sys_vendor", "Alibaba Cloud", None),
    (
        "Amazon EC2",
        "sys_vendor",
        "Amazon EC2",
        Some("product_name"),
    ),
    ("DigitalOcean", "sys_vendor", "DigitalOcean", None),
    (
        "Google Cloud",
        "product_name",
        "Google Compute Engine",
        None,
    ),
    ("Hetzner", "sys_vendor", "Hetzner", None),
    // The tag of every machine of Azure, whatever its kind.
    (
        "Microsoft Azure",
        "chassis_asset_tag",
        "7783-7084-3265-9085-8269-3286-77",
        None,
    ),
    ("Oracle Cloud", "chassis_asset_tag", "OracleCloud.com", None),
];

/// Adds facts about the machine.
pub fn add_machine(group: &mut FactGroup<'_>, dmi: &Path) {
    let text = |name: &str| sysfs::text(&dmi.join(name));
    group.add("vendor", text("sys_vendor"));
    group.add("product", text("product_name"));
    group.add("board", text("board_name"));
    group.add("firmware", text("bios_version"));
    group.add("firmware date", text("bios_date"));
    group.add("serial number", text("product_serial"));
    let is_it = |(_, name, start, _): &&(_, &str, &str, _)| {
        text(name).is_some_and(|text| text.starts_with(start))
    };
    let cloud = CLOUDS.iter().find(is_it);
    group.add("cloud", cloud.map(|row| row.0));
    group.add("cloud instance", cloud.and_then(|row| text(row.3?)));
}

/// Adds the memory modules, with equal ones counted.
pub fn add_memory(group: &mut FactGroup<'_>) {
    let entries = Path::new(ENTRIES);
    let names = sysfs::names(entries).into_iter();
    let raw = names
        .filter(|name| name.starts_with("17-"))
        .filter_map(|name| fs::read(entries.join(name).join("raw")).ok());
    let mut modules: BTreeMap<String, u32> = BTreeMap::new();
    for module in raw.filter_map(|raw| module(&raw)) {
        *modules.entry(module).or_default() += 1;
    }
    let modules = modules
        .iter()
        .map(|(module, count)| format!("{count} x {module}"));
    group.add("modules", modules.collect::<Vec<_>>().join(", "));
}

/// A memory module in a few words; `None` if the slot is empty, or it is another structure.
fn module(raw: &[u8]) -> Option<String> {
    /// The value that says that the size is in another field, in MiB.
    const EXTENDED: u16 = 0x7fff;
    let length = usize::from(*raw.get(1)?);
    let fields = raw.get(..length).filter(|fields| fields[0] == 17)?;
    let byte = |at: usize| fields.get(at).copied();
    let short = |at: usize| Some(u16::from_le_bytes([byte(at)?, byte(at + 1)?]));
    let long = |at: usize| Some(u32::from(short(at)?) | u32::from(short(at + 2)?) << 16);
    let bytes = match short(0x0c)? {
        0 | 0xffff => return None,
        EXTENDED => u64::from(long(0x1c)? & 0x7fff_ffff) << 20,
        kib if kib & 0x8000 != 0 => u64::from(kib & 0x7fff) << 10,
        mib => u64::from(mib) << 20,
    };
    let kind = MEMORY_TYPES
        .iter()
        .find(|(number, _)| Some(*number) == byte(0x12));
    let kind = kind.map(|(_, kind)| format!(" {kind}"));
    // The highest value says that a speed is in another field.
    let speed = |at: usize, extended: usize| match short(at)? {
        0 => None,
        u16::MAX => long(extended),
        speed => Some(u32::from(speed)),
    };
    let speed = match (speed(0x20, 0x58), speed(0x15, 0x54)) {
        (Some(now), Some(most)) if now < most => format!(" at {now} MT/s (of {most})"),
        (Some(speed), _) | (None, Some(speed)) => format!(" at {speed} MT/s"),
        (None, None) => String::new(),
    };
    Some(format!(
        "{}{}{speed}",
        binary(bytes),
        kind.unwrap_or_default()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A structure of version 3.3.
    fn structure(fields: &[(usize, &[u8])]) -> Vec<u8> {
        let mut raw = vec![0; 0x5c];
        raw[0] = 17;
        raw[1] = 0x5c;
        for (at, bytes) in fields {
            raw[*at..at + bytes.len()].copy_from_slice(bytes);
        }
        raw.extend(b"DIMM 0\0\0");
        raw
    }

    #[test]
    fn a_module_is_described_by_size_type_and_speed() {
        let ddr5 = structure(&[
            (0x0c, &[0xff, 0x7f]),
            (0x12, &[0x22]),
            (0x15, &5600_u16.to_le_bytes()),
            (0x1c, &65536_u32.to_le_bytes()),
            (0x20, &4800_u16.to_le_bytes()),
        ]);
        assert_eq!(
            module(&ddr5).as_deref(),
            Some("64.0 GiB DDR5 at 4800 MT/s (of 5600)")
        );
        let ddr4 = structure(&[
            (0x0c, &16384_u16.to_le_bytes()),
            (0x12, &[0x1a]),
            (0x15, &2933_u16.to_le_bytes()),
            (0x20, &2933_u16.to_le_bytes()),
        ]);
        assert_eq!(module(&ddr4).as_deref(), Some("16.0 GiB DDR4 at 2933 MT/s"));
    }

    #[test]
    fn an_empty_slot_and_what_is_cut_off_are_no_modules() {
        assert_eq!(module(&structure(&[])), None);
        assert_eq!(module(&[]), None);
        assert_eq!(module(&[17, 200, 0]), None);
        let whole = structure(&[(0x0c, &[0, 8])]);
        // Version 2.0 ends before the type.
        let mut old = whole[..0x12].to_vec();
        old[1] = 0x12;
        assert_eq!(module(&old).as_deref(), Some("2.0 GiB"));
    }

    #[test]
    fn a_machine_of_a_cloud_is_told_by_its_firmware() {
        assert!(CLOUDS.is_sorted_by(|a, b| a.0 < b.0));
        let dir = tempfile::tempdir().unwrap();
        let facts = |texts: &[(&str, &str)]| {
            for name in ["sys_vendor", "product_name", "chassis_asset_tag"] {
                fs::write(dir.path().join(name), "").unwrap();
            }
            for (name, text) in texts {
                fs::write(dir.path().join(name), format!("{text}\n")).unwrap();
            }
            let mut group = FactGroup::new(None, "machine");
            add_machine(&mut group, dir.path());
            let clouds = group
                .facts
                .into_iter()
                .filter(|f| f.name.starts_with("cloud"));
            clouds.map(|fact| fact.value).collect::<Vec<_>>()
        };
        let amazon = [
            ("sys_vendor", "Amazon EC2"),
            ("product_name", "i4i.2xlarge"),
        ];
        assert_eq!(facts(&amazon), ["Amazon EC2", "i4i.2xlarge"]);
        let azure = [
            ("sys_vendor", "Microsoft Corporation"),
            ("chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77"),
        ];
        assert_eq!(facts(&azure), ["Microsoft Azure"]);
        assert_eq!(
            facts(&[("sys_vendor", "Microsoft Corporation")]),
            Vec::<String>::new()
        );
    }
}

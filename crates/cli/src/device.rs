//! `tailmark device`: lists the block devices of this machine, and shows everything known about
//! one.

use crate::{
    args::{DeviceArgs, DeviceCommand, ListDevicesArgs, ShowDeviceArgs, TextFormat},
    screen,
};
use serde_json::{Value, json};
use std::{io, path::Path};
use tailmark_console::{Console, Exit, Refused};
use tailmark_machine::{BlockDevice, DeviceUse, device_facts, device_named, devices, places_of};
use tailmark_model::{Fact, json_text, number, printable};
use tailmark_report::{Cell, Column, Table, TableRow, text_table};

/// The version of the documents' schema.
const VERSION: u32 = 1;

/// The columns of the list.
const COLUMNS: [&str; 9] = [
    "name",
    "size",
    "kind",
    "transport",
    "model",
    "serial number",
    "file system",
    "mounted on",
    "used by",
];

/// Carries out the subcommand.
pub fn device(args: &DeviceArgs, console: &Console) -> anyhow::Result<Exit> {
    match &args.command {
        DeviceCommand::List(args) => list(args, console),
        DeviceCommand::Show(args) => show(args, console),
        DeviceCommand::Prepare(args) => crate::prepare::prepare(args, console),
    }
}

fn list(args: &ListDevicesArgs, console: &Console) -> anyhow::Result<Exit> {
    let devices = devices();
    match args.format {
        TextFormat::Text => {
            let table = Table {
                columns: COLUMNS
                    .map(|title| Column {
                        numeric: title == "size",
                        ..Column::text(title)
                    })
                    .into(),
                rows: devices.iter().map(row).collect(),
                ..Table::default()
            };
            let screen = screen::wide(&io::stdout());
            console.say(&text_table(&table, screen).join("\n"))?;
        }
        TextFormat::Json => {
            let devices: Vec<_> = devices.iter().map(document).collect();
            let document = json!({ "version": VERSION, "devices": devices });
            console.say(&json_text(&serde_json::to_string_pretty(&document)?))?;
        }
    }
    Ok(Exit::Done)
}

fn show(args: &ShowDeviceArgs, console: &Console) -> anyhow::Result<Exit> {
    let shown = shown(&args.device)?;
    match args.format {
        TextFormat::Text => {
            for (index, device) in shown.iter().enumerate() {
                if index > 0 {
                    console.say("")?;
                }
                for line in lines(&device_facts("", device)) {
                    console.say(&printable(&line))?;
                }
            }
        }
        TextFormat::Json => {
            let devices: Vec<_> = shown.iter().map(facts_document).collect();
            let document = json!({ "version": VERSION, "devices": devices });
            console.say(&json_text(&serde_json::to_string_pretty(&document)?))?;
        }
    }
    Ok(Exit::Done)
}

/// The devices that were asked for: of a controller all its namespaces.
fn shown(name: &str) -> Result<Vec<BlockDevice>, Refused> {
    let path = if name.contains('/') {
        Path::new(name).to_owned()
    } else {
        Path::new("/dev").join(name)
    };
    let places = places_of(&path);
    let devices: Vec<_> = match &places[..] {
        [one] if *one == path => device_named(name).into_iter().collect(),
        namespaces => namespaces
            .iter()
            .filter_map(|at| device_named(&at.display().to_string()))
            .collect(),
    };
    if devices.is_empty() {
        Err(Refused(format!(
            "`{name}` is not on a block device of this machine; `tailmark device list` lists them"
        )))
    } else {
        Ok(devices)
    }
}

fn row(usage: &DeviceUse) -> TableRow {
    let device = &usage.device;
    let is_part = device.name != device.disk;
    // Facts that a partition shares with its disk are shown there.
    let own = |text: Option<&str>| text.filter(|_| !is_part).unwrap_or_default().to_owned();
    let points = usage
        .mount_points
        .iter()
        .map(|point| point.display().to_string());
    // Spaces that do not break stay at the beginning of a cell.
    let indent = if is_part { "\u{a0}\u{a0}" } else { "" };
    let cells = [
        format!("{indent}{}", device.name),
        number::bytes(device.size_bytes as f64),
        device.kind().to_owned(),
        own(device.transport),
        own(device.model.as_deref()),
        own(device.serial.as_deref()),
        usage.file_system.clone().unwrap_or_default(),
        points.collect::<Vec<_>>().join(", "),
        usage.used_by.join(", "),
    ];
    TableRow {
        cells: cells.map(Cell::from).into(),
        total: false,
    }
}

/// Facts under the headings of their groups.
fn lines(facts: &[Fact]) -> Vec<String> {
    let width = facts
        .iter()
        .map(|fact| fact.name.chars().count())
        .max()
        .unwrap_or(0);
    let mut lines = Vec::new();
    let mut group = "";
    for fact in facts {
        if fact.group != group {
            group = &fact.group;
            lines.push(format!("{group}:"));
        }
        lines.push(format!("  {:width$}  {}", fact.name, fact.value));
    }
    lines
}

fn document(usage: &DeviceUse) -> Value {
    let device = &usage.device;
    let points = usage.mount_points.iter();
    let points: Vec<String> = points.map(|at| at.display().to_string()).collect();
    json!({
        "name": device.name,
        "disk": device.disk,
        "size_bytes": device.size_bytes,
        "kind": device.kind(),
        "transport": device.transport,
        "model": device.model,
        "serial_number": device.serial,
        "firmware": device.firmware,
        "file_system": usage.file_system,
        "mount_points": points,
        "used_by": usage.used_by,
        "made_of": device.members,
    })
}

fn facts_document(device: &BlockDevice) -> Value {
    let facts = device_facts("", device);
    let fact = |fact: &Fact| json!({ "group": fact.group, "name": fact.name, "value": fact.value });
    json!({ "name": device.name, "facts": facts.iter().map(fact).collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_device_is_refused_with_where_they_are_listed() {
        let refused = shown("no-such-device").unwrap_err();
        assert!(
            refused.to_string().contains("tailmark device list"),
            "{refused}"
        );
    }
}

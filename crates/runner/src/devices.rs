//! Detects systems of a plan on the same physical device. Comparing them would compare the device
//! with itself.

use crate::{Error, dataset::shared::refuse_shared, places::places};
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};
use tailmark_driver::Place;
use tailmark_machine::physical_devices;
use tailmark_plan::{Plan, SystemPlan};
use tailmark_prepare::real_path;

/// The physical devices below a place.
type Below<'a> = &'a dyn Fn(&Path) -> BTreeSet<String>;
/// Directories that something is mounted on later, with the physical devices that will be below.
pub(crate) type InAdvance = Vec<(PathBuf, BTreeSet<String>)>;

/// Two systems on one device.
#[derive(Debug)]
struct Pair<'a> {
    first: &'a SystemPlan,
    second: &'a SystemPlan,
    devices: String,
}

/// Refuses two systems on one physical device, unless the plan allows it; then the report says what
/// is compared. A ceiling is on the device of its system.
///
/// # Errors
/// Names both systems, the device, and what to write; and as [`refuse_shared`].
pub(crate) fn refuse_one_device(plan: &Plan) -> Result<Vec<String>, Error> {
    refuse_shared(plan)?;
    refuse_by(plan, &physical_devices)
}

/// The same for a dry run, without the places that are to come: what a run creates or mounts is on
/// another device than its directory is now.
///
/// # Errors
/// As [`refuse_one_device`].
pub(crate) fn refuse_one_device_so_far(
    plan: &Plan,
    is_to_come: fn(&SystemPlan) -> bool,
) -> Result<(), Error> {
    refuse_shared(plan)?;
    let so_far = |system: &SystemPlan| {
        if is_to_come(system) {
            BTreeSet::new()
        } else {
            devices(system, &physical_devices)
        }
    };
    refuse_pairs(plan, &so_far).map(drop)
}

/// The same before devices are mounted.
///
/// # Errors
/// As [`refuse_one_device`].
pub(crate) fn refuse_one_device_of(plan: &Plan, in_advance: &InAdvance) -> Result<(), Error> {
    let of_system = |system: &SystemPlan| {
        let watched = system.watched();
        let places = watched.iter().map(|place| real_path(place));
        let to_come = places.filter_map(|place| {
            let on = in_advance
                .iter()
                .find(|(point, _)| place.starts_with(point));
            on.map(|(_, devices)| devices)
        });
        let to_come: BTreeSet<String> = to_come.flatten().cloned().collect();
        if to_come.is_empty() {
            devices(system, &physical_devices)
        } else {
            to_come
        }
    };
    refuse_pairs(plan, &of_system).map(drop)
}

/// The same, with this way to find what lies below a place.
fn refuse_by(plan: &Plan, below: Below<'_>) -> Result<Vec<String>, Error> {
    refuse_pairs(plan, &|system| devices(system, below))
}

/// The same, with this way to find the devices of a system.
fn refuse_pairs(
    plan: &Plan,
    devices: &dyn Fn(&SystemPlan) -> BTreeSet<String>,
) -> Result<Vec<String>, Error> {
    let pairs = pairs(plan, devices);
    match pairs.first() {
        Some(pair) if !plan.general.same_device => Err(Error::SameDevice {
            first: pair.first.name.clone(),
            second: pair.second.name.clone(),
            places: format!("{} and {}", watched(pair.first), watched(pair.second)),
            devices: pair.devices.clone(),
        }),
        _ => Ok(pairs.iter().map(Pair::notice).collect()),
    }
}

impl Pair<'_> {
    fn notice(&self) -> String {
        format!(
            "systems `{}` and `{}` are on one physical device ({}): the comparison shows their \
             settings, not devices",
            self.first.name, self.second.name, self.devices
        )
    }
}

/// Each system with the first one before it on the same device.
fn pairs<'a>(plan: &'a Plan, devices: &dyn Fn(&SystemPlan) -> BTreeSet<String>) -> Vec<Pair<'a>> {
    let mut pairs = Vec::new();
    let mut seen: Vec<(&SystemPlan, BTreeSet<String>)> = Vec::new();
    for second in &plan.systems {
        let devices = devices(second);
        let shared = seen.iter().find_map(|(first, of_first)| {
            let shared: Vec<_> = of_first.intersection(&devices).cloned().collect();
            let is_other = measured_by(first) != measured_by(second);
            (is_other && !shared.is_empty()).then(|| (*first, shared.join(", ")))
        });
        if let Some((first, names)) = shared {
            pairs.push(Pair {
                first,
                second,
                devices: names,
            });
        }
        seen.push((second, devices));
    }
    pairs
}

/// The watched items of a system, in words.
fn watched(system: &SystemPlan) -> String {
    let places = system.watched().into_iter();
    let places = places.map(|place| format!("`{}`", place.display()));
    places.collect::<Vec<_>>().join(", ")
}

/// The system that a ceiling is for, or the system itself.
fn measured_by(system: &SystemPlan) -> &str {
    system.ceiling_for.as_ref().unwrap_or(&system.name)
}

/// The devices that a system is on, or will be when its directory is created; `None` if unknown
/// here.
fn devices(system: &SystemPlan, below: Below<'_>) -> BTreeSet<String> {
    let is_there = |place: &&Path| place.exists() || place.parent().is_some_and(Path::is_dir);
    match system.driver.place {
        Place::Nowhere => BTreeSet::new(),
        _ => {
            let places = places(system);
            let places = places.iter().map(PathBuf::as_path).filter(is_there);
            places.flat_map(below).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailmark_plan::RawPlan;
    use tailmark_testing::assert_says;
    use tempfile::TempDir;

    fn refusal(text: &str) -> Option<String> {
        let plan = RawPlan::parse("test", text).unwrap().check().unwrap();
        let refused = refuse_by(&plan, &one_disk).err();
        refused.map(|error| error.to_string())
    }

    /// A machine with one disk, and with memory below this place.
    fn one_disk(place: &Path) -> BTreeSet<String> {
        let disks: &[_] = if place.iter().any(|name| name == "memory") {
            &[]
        } else {
            &["sda"]
        };
        disks.iter().map(ToString::to_string).collect()
    }

    /// A plan of this driver with places in a directory.
    fn two(driver: &str, keys: &str) -> (TempDir, String) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("memory")).unwrap();
        let place = dir.path().display().to_string();
        let text = keys.replace("DRIVER", driver).replace("DIR", &place);
        (dir, text)
    }

    #[test]
    fn two_directories_on_one_device_are_refused_with_what_to_write() {
        let systems = "[database]\ndriver = 'DRIVER'\n[[system]]\nname = 'a'\npath = 'DIR/x'\n\
                       [[system]]\nname = 'b'\npath = 'DIR'\n";
        let (_dir, text) = two("file", systems);
        let error = refusal(&text).unwrap();
        let parts = [
            "`a` and `b`",
            "one physical device",
            "--set same_device=true",
        ];
        assert_says(&error, &parts);
        let meant = format!("same_device = true\n{text}");
        assert_eq!(refusal(&meant), None);
        let plan = RawPlan::parse("test", &meant).unwrap().check().unwrap();
        let notices = refuse_by(&plan, &one_disk).unwrap();
        assert!(
            notices.len() == 1 && notices[0].contains("not devices"),
            "{notices:?}"
        );
    }

    #[test]
    fn a_ceiling_is_on_the_device_of_its_system_but_not_on_that_of_another() {
        let system = |name: &str, keys: &str| {
            format!("[[system]]\nname = '{name}'\npath = 'DIR/{name}'\n{keys}")
        };
        let plan = |lower: &str| {
            let ceiling = system("c", &format!("ceiling_for = '{lower}'\n"));
            let memory = "[[system]]\nname = 'm'\npath = 'DIR/memory'\n";
            "[database]\ndriver = 'DRIVER'\n".to_owned() + &system("a", "") + &ceiling + memory
        };
        let (_own, own) = two("file", &plan("a"));
        let (_other, other) = two("file", &plan("m"));
        assert_eq!(refusal(&own), None);
        assert!(refusal(&other).unwrap().contains("`a` and `c`"));
    }

    #[test]
    fn memory_is_no_device() {
        let systems = "[database]\ndriver = 'DRIVER'\n[[system]]\nname = 'a'\npath = \
            'DIR/memory/a'\n\
                       [[system]]\nname = 'b'\npath = 'DIR/memory/b'\n";
        let (_dir, text) = two("file", systems);
        assert_eq!(refusal(&text), None);
    }

    #[test]
    fn servers_are_compared_by_what_is_watched_of_them() {
        let plan = |a: &str, b: &str| {
            format!(
                "[database]\ndriver = 'DRIVER'\n[[system]]\nname = 'a'\ncontact_points = 'x:1'\n{a}\n\
                 [[system]]\nname = 'b'\ncontact_points = 'x:1'\n{b}\n"
            )
        };
        let refused = |a: &str, b: &str| {
            let (_dir, text) = two("cassandra", &plan(a, b));
            refusal(&text)
        };
        let (first, second) = ("path = 'DIR/x'", "path = 'DIR/y'");
        assert!(refused(first, second).is_some());
        assert_eq!(refused(first, ""), None, "one address with two services");
        let several = refused(first, "path = ['DIR/memory', 'DIR/y']");
        assert!(several.unwrap().contains("/y`"), "one of several is enough");
    }
}

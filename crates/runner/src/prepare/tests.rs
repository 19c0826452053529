//! The tables of a plan and of this machine name the same.

use super::*;
use tailmark_prepare::Erase;

#[test]
fn steps_are_keys_of_a_plan() {
    let keys: Vec<_> = tailmark_plan::KEYS.iter().map(|key| key.path()).collect();
    // A step that the plan does not ask for, and the other half of `steady`.
    let others = ["unmount", "steady_file"];
    for step in STEPS.iter().filter(|step| !others.contains(&step.name)) {
        assert!(
            keys.contains(&format!("prepare.{}", step.name)),
            "{}",
            step.name
        );
    }
}

#[test]
fn what_a_plan_may_say_is_what_the_host_can_do() {
    assert_eq!(tailmark_plan::ERASES, Erase::NAMES);
    let made: Vec<_> = tailmark_prepare::FILE_SYSTEMS
        .iter()
        .map(|row| row.name)
        .collect();
    assert_eq!(tailmark_plan::FILE_SYSTEMS, made);
}

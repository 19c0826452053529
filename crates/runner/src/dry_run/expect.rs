//! The expectations of a plan in a dry run: what is checked, and what does not hold.

use super::SystemFacts;
use crate::expect::expected;
use tailmark_plan::{Plan, SystemPlan, Unexpected};

/// The expectations about a system, and the differences.
pub fn steps(plan: &Plan, system: &SystemPlan, known: &SystemFacts) -> Vec<String> {
    let all = expected(system);
    if all.is_empty() {
        return Vec::new();
    }
    let mut steps = vec![format!("check that it is as expected: {}", all.join("; "))];
    let consequence = match plan.general.unexpected {
        Unexpected::Error => "cannot be run",
        Unexpected::Finding => "a finding next to every number",
    };
    let wrong = known.unexpected.iter();
    steps.extend(wrong.map(|wrong| format!("{consequence}: {wrong}")));
    steps
}

//! The unique id of a study, so that `tailmark clean` removes only the data of this one.

use std::hash::{BuildHasher, RandomState};

/// A new id: 128 random bits as 32 hexadecimal digits.
pub fn new_study_id() -> String {
    // Its keys are random, and no two of them are the same.
    let random = RandomState::new();
    format!(
        "{:016x}{:016x}",
        random.hash_one(0_u8),
        random.hash_one(1_u8)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_studies_have_one_id() {
        let ids: std::collections::BTreeSet<_> = (0..1000).map(|_| new_study_id()).collect();
        assert_eq!(ids.len(), 1000);
        assert!(ids.iter().all(|id| id.len() == 32));
    }
}

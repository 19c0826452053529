//! A promise that was not kept.

/// What was expected, and what was seen instead.
#[derive(Debug)]
pub struct Broken {
    pub expected: String,
    pub seen: String,
}

pub type Kept<T = ()> = Result<T, Broken>;

/// Holds `kept` against what was expected.
pub fn expect(kept: bool, expected: &str, seen: impl FnOnce() -> String) -> Kept {
    if kept {
        Ok(())
    } else {
        Err(Broken {
            expected: expected.to_owned(),
            seen: seen(),
        })
    }
}

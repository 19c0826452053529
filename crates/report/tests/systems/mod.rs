//! Systems that differ in nothing but their names.

use tailmark_model::System;

pub fn system(name: &str) -> System {
    System {
        name: name.into(),
        driver: "rocksdb".into(),
        place: format!("/mnt/{name}"),
        semantics: "faithful".into(),
        settings: [].into(),
        ceiling_for: None,
    }
}

//! Suggestions for misspelt names.

/// `; did you mean ...?`, or empty if no known name is similar.
pub(super) fn did_you_mean<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let near = known
        .map(|known| (strsim::damerau_levenshtein(name, known), known))
        .min()
        .filter(|(distance, known)| *distance <= 1 + known.len() / 3);
    near.map_or_else(String::new, |(_, near)| format!("; did you mean `{near}`?"))
}

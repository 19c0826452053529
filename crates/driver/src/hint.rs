//! Suggestions for misspelt words.

/// `; did you mean ...?`, or empty if no known word is similar.
#[must_use]
pub fn did_you_mean<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> String {
    nearest(word, known).map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
}

fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|known| (strsim::damerau_levenshtein(word, known), known))
        .min()
        .filter(|(distance, known)| *distance <= 1 + known.len() / 3)
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_named_where_it_is_near() {
        let hint = |word| did_you_mean(word, ["cache", "codec"].into_iter());
        assert_eq!(hint("cahce"), "; did you mean `cache`?");
        assert_eq!(hint("quorum"), "");
    }
}

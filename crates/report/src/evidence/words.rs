//! What texts have in common word by word, and what differs.

/// The longest sequence of words that both have in this order.
pub fn shared<'a>(a: &[&'a str], b: &[&str]) -> Vec<&'a str> {
    // The length for what is left of both, from their ends.
    let mut lengths = vec![vec![0_usize; b.len() + 1]; a.len() + 1];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            lengths[i][j] = match a[i] == b[j] {
                true => lengths[i + 1][j + 1] + 1,
                false => lengths[i + 1][j].max(lengths[i][j + 1]),
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut words = Vec::with_capacity(lengths[0][0]);
    while i < a.len() && j < b.len() {
        if a[i] == b[j] {
            words.push(a[i]);
            (i, j) = (i + 1, j + 1);
        } else if lengths[i + 1][j] >= lengths[i][j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    words
}

/// What stands before, between and behind the shared words, which all are in `words`.
pub fn gaps(shared: &[&str], words: &[&str]) -> Vec<String> {
    let mut gaps = vec![Vec::new()];
    for &word in words {
        let at = gaps.len() - 1;
        match shared.get(at) == Some(&word) {
            true => gaps.push(Vec::new()),
            false => gaps[at].push(word),
        }
    }
    gaps.into_iter().map(|words| words.join(" ")).collect()
}

/// Each value once, in order of appearance.
pub fn distinct<'v>(values: impl Iterator<Item = &'v str>) -> Vec<&'v str> {
    let mut distinct = Vec::new();
    for value in values {
        if !distinct.contains(&value) {
            distinct.push(value);
        }
    }
    distinct
}

/// `12 – 340 reads` of `340 reads` and `12 reads`; none where more than numbers differ.
pub fn range(values: &[&str]) -> Option<String> {
    let words = |value: &&'_ str| value.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let all: Vec<Vec<String>> = values.iter().map(words).collect();
    let first = all.first()?;
    if all.iter().any(|words| words.len() != first.len()) {
        return None;
    }
    let word = |i: usize| range_of_words(all.iter().map(|words| words[i].as_str()));
    let words: Option<Vec<String>> = (0..first.len()).map(word).collect();
    Some(words?.join(" "))
}

fn range_of_words<'v>(words: impl Iterator<Item = &'v str> + Clone) -> Option<String> {
    let first = words.clone().next()?;
    if words.clone().all(|word| word == first) {
        return Some(first.to_owned());
    }
    let parts: Option<Vec<NumberWord<'_>>> = words.map(NumberWord::of).collect();
    let parts = parts?;
    let NumberWord { before, behind, .. } = parts[0];
    let is_alike = |part: &NumberWord<'_>| (part.before, part.behind) == (before, behind);
    // What is below zero has its sign before it, and would be sorted the other way round.
    if before.ends_with(['-', '−']) || !parts.iter().all(is_alike) {
        return None;
    }
    let low = parts.iter().min_by(|a, b| a.value.total_cmp(&b.value))?;
    let high = parts.iter().max_by(|a, b| a.value.total_cmp(&b.value))?;
    Some(format!("{before}{} – {}{behind}", low.number, high.number))
}

/// A word with one number in it: `(97%)`.
struct NumberWord<'w> {
    before: &'w str,
    number: &'w str,
    behind: &'w str,
    value: f64,
}

impl<'w> NumberWord<'w> {
    fn of(word: &'w str) -> Option<Self> {
        let is_digit = |c: char| c.is_ascii_digit();
        let (begin, end) = (word.find(is_digit)?, word.rfind(is_digit)? + 1);
        let number = &word[begin..end];
        Some(Self {
            before: &word[..begin],
            number,
            behind: &word[end..],
            value: number.replace(',', "").parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_before_between_and_behind_the_shared_words() {
        let (a, b) = (["1", "of", "2", "done"], ["3", "of", "4", "failed"]);
        let shared = shared(&a, &b);
        assert_eq!(shared, ["of"]);
        assert_eq!(gaps(&shared, &b), ["3", "4 failed"]);
    }

    #[test]
    fn a_range_is_of_words_that_differ_in_one_number() {
        assert_eq!(
            range(&["340 (9%)", "12 (80%)"]).unwrap(),
            "12 – 340 (9 – 80%)"
        );
        assert_eq!(range(&["same", "same"]).unwrap(), "same");
        for values in [["80 s", "1 h 3 min"], ["5 us", "5 ms"], ["-5", "-3"]] {
            assert_eq!(range(&values), None, "{values:?}");
        }
    }
}

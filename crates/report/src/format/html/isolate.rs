//! Isolates (`bdi`) names in right-to-left scripts or with direction signs, so that they do not
//! change the order of surrounding words and numbers.

/// Text in which no element may stand.
const TEXT_ONLY: [&str; 4] = ["option", "script", "style", "title"];

/// Whether a name could change the order of what stands around it.
fn turns(name: &str) -> bool {
    name.chars().any(|c| {
        matches!(c,
            // Letters of scripts that are written from right to left, and their presentation forms.
            '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefe}'
            | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}'
            // Marks, embeddings, overrides and isolates.
            | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    })
}

/// As text of HTML.
fn escaped(name: &str) -> String {
    let name = name.replace('&', "&amp;").replace('<', "&lt;");
    name.replace('>', "&gt;").replace('"', "&quot;")
}

/// The same HTML with these names set apart wherever they are in its text.
pub fn isolated<'n>(html: String, names: impl Iterator<Item = &'n str>) -> String {
    let mut names: Vec<String> = names.filter(|name| turns(name)).map(escaped).collect();
    if names.is_empty() {
        return html;
    }
    // Of two that begin alike the longer one is meant.
    names.sort_by_key(|name| std::cmp::Reverse(name.len()));
    let mut out = String::with_capacity(html.len() + html.len() / 8);
    let mut rest = html.as_str();
    let mut within = "";
    while let Some((text, from_tag)) = rest.split_once('<') {
        if TEXT_ONLY.contains(&within) {
            out.push_str(text)
        } else {
            set_apart(text, &names, &mut out)
        }
        let (tag, behind) = from_tag.split_once('>').unwrap_or((from_tag, ""));
        within = tag.split([' ', '/']).next().unwrap_or_default();
        out.extend(["<", tag, ">"]);
        rest = behind;
    }
    out.push_str(rest);
    out
}

fn set_apart(text: &str, names: &[String], out: &mut String) {
    let mut rest = text;
    while !rest.is_empty() {
        let first = names
            .iter()
            .filter_map(|name| Some((rest.find(name)?, name)));
        // The first place, and there the longest name, which is the first of them.
        let Some((at, name)) = first.min_by_key(|(at, _)| *at) else {
            break;
        };
        out.extend([&rest[..at], "<bdi>", name, "</bdi>"]);
        rest = &rest[at + name.len()..];
    }
    out.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEBREW: &str = "כונן 2";

    #[test]
    fn a_name_from_right_to_left_is_set_apart_in_text_and_nowhere_else() {
        let html = format!(
            "<title>{HEBREW}</title><p title=\"{HEBREW}\">{HEBREW} has 16, {HEBREW}</p>\
             <select><option value=\"0\">{HEBREW}</option></select> {HEBREW} <b>x</b>"
        );
        let expected = format!(
            "<title>{HEBREW}</title><p title=\"{HEBREW}\"><bdi>{HEBREW}</bdi> has 16, <bdi>{HEBREW}</bdi></p>\
             <select><option value=\"0\">{HEBREW}</option></select> <bdi>{HEBREW}</bdi> <b>x</b>"
        );
        assert_eq!(isolated(html, ["Drive A", HEBREW].into_iter()), expected);
    }

    #[test]
    fn the_longer_of_two_names_is_set_apart_as_one() {
        let longer = format!("{HEBREW} <xfs>");
        let html = format!("<p>{HEBREW} &lt;xfs&gt; and {HEBREW}</p>");
        let expected = format!("<p><bdi>{HEBREW} &lt;xfs&gt;</bdi> and <bdi>{HEBREW}</bdi></p>");
        assert_eq!(isolated(html, [HEBREW, &longer].into_iter()), expected);
    }

    #[test]
    fn signs_that_turn_the_direction_are_kept_in_their_name() {
        let html = "<p>a\u{202e}b has 16</p>".to_owned();
        assert_eq!(
            isolated(html, ["a\u{202e}b"].into_iter()),
            "<p><bdi>a\u{202e}b</bdi> has 16</p>"
        );
    }

    #[test]
    fn pages_without_such_names_are_as_they_were() {
        let html = "<p>Drive A, Laufwerk Ä</p>".to_owned();
        assert_eq!(
            isolated(html.clone(), ["Drive A", "Laufwerk Ä"].into_iter()),
            html
        );
    }
}

//! The comment that identifies a table as created by tailmark.

/// The beginning of the comment.
const MADE: &str = "made by tailmark";
/// The text before the id of the study, if a study created the table.
const FOR_STUDY: &str = " for study ";
/// The end of the comment on the table of markers, if tailmark also created the keyspace.
const WITH_KEYSPACE: &str = ", which made the keyspace too";

/// The content of the comment. It is written together with the table, so even a load that is killed
/// before its first marker leaves no table of unknown origin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct MadeFor {
    /// The id of the study; empty if there is none.
    pub study: String,
    /// Whether the keyspace was created with it.
    pub with_keyspace: bool,
}

impl MadeFor {
    pub fn parse(comment: &str) -> Option<Self> {
        let rest = comment.strip_prefix(MADE)?;
        let (study, with_keyspace) = match rest.strip_suffix(WITH_KEYSPACE) {
            Some(study) => (study, true),
            None => (rest, false),
        };
        let study = match study {
            "" => "",
            named => named.strip_prefix(FOR_STUDY).filter(|id| is_id(id))?,
        };
        Some(Self {
            study: study.to_owned(),
            with_keyspace,
        })
    }

    pub fn comment(&self) -> String {
        let study = &self.study;
        let for_study = if study.is_empty() { "" } else { FOR_STUDY };
        let with_keyspace = if self.with_keyspace {
            WITH_KEYSPACE
        } else {
            ""
        };
        format!("{MADE}{for_study}{study}{with_keyspace}")
    }
}

/// Whether a text is a study id. It comes from a file and goes into a statement.
pub(super) fn is_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_says_for_which_study_a_table_was_made() {
        let id = "0123456789abcdef0123456789abcdef";
        for (study, with_keyspace) in [("", false), ("", true), (id, false), (id, true)] {
            let study = study.to_owned();
            let made = MadeFor {
                study,
                with_keyspace,
            };
            assert_eq!(MadeFor::parse(&made.comment()), Some(made));
        }
        for foreign in [
            "",
            "mine",
            "made by tailmark for me",
            "made by tailmark for study x",
        ] {
            assert_eq!(MadeFor::parse(foreign), None, "{foreign}");
        }
    }
}

//! Clauses about one system against others of which the same is true.

use crate::{
    axis::Axis,
    block::{Span, Text},
};
use tailmark_model::number;

/// Stands in a clause for the names of the others.
pub const OTHERS: &str = "\u{1}";

/// What a sentence says of one system against others of which the same is true.
pub struct Clause<'a> {
    pub a: &'a str,
    pub others: Vec<&'a str>,
    pub is_average: bool,
    pub text: Text,
    /// Whether the first leads at every step, or trails.
    pub leads: Option<bool>,
    /// Whether that may stand at the end of the clause.
    pub can_lead: bool,
}

impl Clause<'_> {
    pub fn is_same(&self, other: &Self) -> bool {
        (self.a, self.is_average, self.leads, self.can_lead)
            == (other.a, other.is_average, other.leads, other.can_lead)
            && self.text == other.text
    }

    /// `delivers`, `ranges`, `is`.
    pub fn verb(&self) -> String {
        let text = self.text.to_plain();
        text.split(' ').next().unwrap_or_default().to_owned()
    }

    /// With the names: `A and B`, in front of a latency `A's and B's`. In a list the verb is that of
    /// the first clause: `delivers 1.7X the ops/s of A and 1.8X those of B`.
    pub fn say(&self, text: Text, is_ops: bool, has_verb: bool) -> Text {
        let (last, head) = self.others.split_last().expect("a clause has another");
        let head = head.iter().map(|name| {
            let end = if is_ops { "" } else { "'s" };
            format!("{name}{end}")
        });
        let names: Vec<String> = head.chain([(*last).to_owned()]).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let names = number::list(&names);
        let verb = format!("{} ", self.verb());
        let listed = |said: &str, is_first: bool| {
            let said = match said.strip_prefix(&verb) {
                Some(rest) if is_first => rest,
                _ => said,
            };
            let said = said.replacen(" the ops/s of ", " those of ", 1);
            said.replacen(" ops/s than ", " than ", 1)
        };
        let spans = self.text.0.iter().enumerate().map(|(i, span)| match span {
            Span::Plain(said) if !has_verb => {
                Span::Plain(listed(said, i == 0).replace(OTHERS, &names))
            }
            Span::Plain(said) => Span::Plain(said.replace(OTHERS, &names)),
            Span::Strong(said) => Span::Strong(said.replace(OTHERS, &names)),
            Span::Badge(_) => span.clone(),
        });
        Text(text.0.into_iter().chain(spans).collect())
    }
}

/// `, and leads at every thread count`: at the end of a clause about an average. If other clauses are
/// about other systems, ` it` or ` them` says whom.
pub fn everywhere_too(axis: Axis, (is_ops, is_better): (bool, bool), whom: &str) -> String {
    let at_every = match axis {
        Axis::Threads => "thread count",
        Axis::Rates => "offered rate",
    };
    let verb = match (is_ops, is_better) {
        (true, true) => "leads",
        (true, false) => "trails",
        (false, true) => "is lower",
        (false, false) => "is higher",
    };
    let whom = if is_ops { whom } else { "" };
    format!(", and {verb}{whom} at every {at_every}")
}

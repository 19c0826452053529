//! Blocks as HTML.

use super::table::{badge_link, table};
use crate::format::{
    names::{Names, finding_anchor},
    units::unbroken,
};
use crate::{Block, Card, Chart, Control, ControlChoice, Figure, FindingEntry, Span, Text};
use maud::{Markup, html};
use tailmark_model::number;

/// One block; `names` are the file names of its tables.
pub fn block(block: &Block, names: &mut Names) -> Markup {
    match block {
        Block::Heading {
            anchor,
            title,
            about,
        } => {
            names.below(anchor);
            html! {
                h3 id=(anchor) { (title) @if !about.is_empty() { " " span.about { (about) } } }
            }
        }
        Block::Text(line) => html! { p { (text(line)) } },
        Block::Statements(lines) => html! {
            ul.statements { @for line in lines { li { (text(line)) } } }
        },
        Block::Cards(of_block) => cards(of_block),
        Block::Table(t) => table(t, names),
        Block::Figure(f) => figure(f),
        Block::Beside(f, lines) => html! {
            div.beside {
                (figure(f))
                ul.statements { @for line in lines { li { (text(line)) } } }
            }
        },
        Block::Findings(entries) => html! {
            div.findings { @for entry in entries { (finding(entry, names)) } }
        },
        Block::Source { title, text } => html! {
            details { summary { (title) } pre { (text) } }
        },
    }
}

fn text(text: &Text) -> Markup {
    html! {
        @for span in &text.0 {
            @match span {
                Span::Plain(words) => (unbroken(words)),
                Span::Strong(words) => { strong { (unbroken(words)) } }
                Span::Badge(badge) => (badge_link(badge)),
            }
        }
    }
}

/// Cards in rows without a hole: as even as possible, and stretched where a row has fewer.
fn cards(cards: &[Card]) -> Markup {
    /// A longer title takes two lines.
    const LETTERS: usize = 20;
    let columns = |most: usize| {
        cards
            .len()
            .div_ceil(cards.len().div_ceil(most).max(1))
            .max(1)
    };
    let style = format!("--wide:{};--medium:{}", columns(5), columns(3));
    let is_tall = cards
        .iter()
        .any(|card| card.title.chars().count() > LETTERS);
    html! { div.cards.tall[is_tall] style=(style) { @for c in cards { (card(c)) } } }
}

fn card(card: &Card) -> Markup {
    let is_words = |value: &str| value.len() > 8 && !value.contains(|c: char| c.is_ascii_digit());
    html! {
        a.card href=[(!card.anchor.is_empty()).then(|| format!("#{}", card.anchor))] {
            span.title { (card.title) }
            @for (i, figure) in card.figures.iter().enumerate() {
                span.value.words[is_words(&figure.value)].second[i > 0] {
                    (unbroken(&figure.value))
                    // A link within the link that the card is would end it.
                    @if i == 0 {
                        @for badge in &card.badges {
                            span.badge title=(badge.code) { (badge.letter) }
                        }
                    }
                }
                span.about { (unbroken(&figure.about)) }
            }
            @for bar in &card.bars {
                span.bar {
                    span.name { (bar.name) }
                    span.number { (bar.value) }
                    span.track {
                        span data-color=(bar.color) style={
                            "width:" (format!("{:.1}", bar.fraction * 100.0)) "%;background:"
                            (bar.color)
                        } {}
                    }
                }
            }
        }
    }
}

/// A longer table is folded, even where its finding is open.
const ROWS_OPEN: usize = 8;

fn finding(entry: &FindingEntry, names: &mut Names) -> Markup {
    let places = entry.places();
    let anchor = finding_anchor(&entry.badge.code);
    names.below(&anchor);
    html! {
        details.finding id=(anchor) open[entry.changes_headline] {
            summary {
                h3 {
                    span.badge { (entry.badge.letter) } " " (entry.title) " "
                    code { (entry.badge.code) }
                    span.about { (number::plural(places as u64, "place")) }
                }
            }
            @if !entry.means.is_empty() { p { (entry.means_before_evidence()) } }
            @for evidence in &entry.evidence {
                p.evidence { (text(&evidence.text)) }
                @if entry.changes_headline && evidence.table.rows.len() > ROWS_OPEN {
                    details {
                        summary { "at " (number::plural(evidence.places as u64, "place")) }
                        (table(&evidence.table, names))
                    }
                } @else {
                    (table(&evidence.table, names))
                }
            }
        }
    }
}

fn figure(figure: &Figure) -> Markup {
    let offered: Vec<&Control> = figure.controls.iter().collect();
    html! {
        div.figure id=(figure.anchor) {
            @if offered.iter().any(|c| c.choices.len() > 1) {
                div.controls { @for c in offered { (control(c)) } }
            }
            div.charts { @for (i, c) in figure.charts.iter().enumerate() { (chart(c, i)) } }
        }
    }
}

/// A control with one choice only is there, but has nothing to offer.
fn control(control: &Control) -> Markup {
    let options: Vec<(&ControlChoice, Markup)> = control
        .choices
        .iter()
        .enumerate()
        .map(|(i, choice)| {
            (
                choice,
                html! { option value=(i) selected[i == control.initial] { (choice.label) } },
            )
        })
        .collect();
    html! {
        label hidden[control.choices.len() < 2] {
            span { (control.label) }
            select data-key=(control.key) autocomplete="off" {
                @for group in options.chunk_by(|a, b| a.0.group == b.0.group) {
                    @if group[0].0.group.is_empty() {
                        @for (_, option) in group { (option) }
                    } @else {
                        optgroup label=(group[0].0.group) {
                            @for (_, option) in group { (option) }
                        }
                    }
                }
            }
        }
    }
}

fn chart(chart: &Chart, index: usize) -> Markup {
    html! {
        figure class=[chart.wide.then_some("wide")] {
            figcaption {
                strong { (chart.title) }
                @if !chart.hint.is_empty() { span.hint { (chart.hint) } }
                span.save {
                    @for kind in ["SVG", "PNG"] {
                        button type="button" data-save=(kind.to_lowercase())
                            aria-label={"Save as " (kind) ": " (chart.title)} { (kind) }
                    }
                }
            }
            div.chart data-chart=(index) role="img" aria-label=(chart.about)
                style={"height:" (chart.height) "px"} {}
            details.numbers {
                summary aria-label={"Numbers: " (chart.title)} { "Numbers" }
            }
        }
    }
}

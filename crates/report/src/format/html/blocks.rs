//! Blocks as HTML.

use crate::{
    Badge, Block, Card, Cell, Chart, Column, Control, ControlChoice, Figure, FindingEntry, Span,
    Table, Text,
};
use maud::{Markup, html};
use tailmark_results::number;

/// One block.
pub fn block(block: &Block) -> Markup {
    match block {
        Block::Heading {
            anchor,
            title,
            about,
        } => html! {
            h3 id=(anchor) { (title) @if !about.is_empty() { " " span.about { (about) } } }
        },
        Block::Text(line) => html! { p { (text(line)) } },
        Block::Statements(lines) => html! {
            ul.statements { @for line in lines { li { (text(line)) } } }
        },
        Block::Cards(cards) => html! { div.cards { @for c in cards { (card(c)) } } },
        Block::Table(t) => table(t),
        Block::Figure(f) => figure(f),
        Block::Findings(entries) => html! {
            div.findings { @for entry in entries { (finding(entry)) } }
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
                Span::Plain(text) => (text),
                Span::Strong(text) => { strong { (text) } }
                Span::Badge(badge) => (badge_link(badge)),
            }
        }
    }
}

fn card(card: &Card) -> Markup {
    let is_words = card.value.len() > 8 && !card.value.contains(|c: char| c.is_ascii_digit());
    html! {
        a.card href=[(!card.anchor.is_empty()).then(|| format!("#{}", card.anchor))] {
            span.title { (card.title) }
            span.value.words[is_words] {
                (card.value)
                // A link within the link that the card is would end it.
                @for badge in &card.badges {
                    span.badge title=(badge.code) { (badge.letter) }
                }
            }
            span.about { (card.about) }
            @for bar in &card.bars {
                span.bar {
                    span.name { (bar.name) }
                    span.number { (bar.value) }
                    span.track {
                        span style={
                            "width:" (format!("{:.1}", bar.fraction * 100.0)) "%;background:"
                            (bar.color)
                        } {}
                    }
                }
            }
        }
    }
}

fn table(table: &Table) -> Markup {
    let grouped = table.columns.iter().any(|c| !c.group.is_empty());
    html! {
        div.table {
            table {
                @if !table.caption.is_empty() { caption { (table.caption) } }
                thead {
                    @if grouped { tr.groups { @for g in groups(&table.columns) { (g) } } }
                    tr {
                        @for (i, column) in table.columns.iter().enumerate() {
                            th scope="col" class=[class(&table.columns, i, false)] {
                                (column.title)
                            }
                        }
                    }
                }
                tbody {
                    @for row in &table.rows {
                        tr class=[row.total.then_some("total")] {
                            @for (i, c) in row.cells.iter().enumerate() {
                                (cell(c, class(&table.columns, i, c.muted)))
                            }
                        }
                    }
                }
            }
            @if !table.note.is_empty() { p.note { (table.note) } }
        }
    }
}

/// Headings over neighbours of one group.
fn groups(columns: &[Column]) -> Vec<Markup> {
    columns
        .chunk_by(|a, b| a.group == b.group)
        .map(|group| {
            let name = &group[0].group;
            html! {
                th colspan=(group.len()) class=[(!name.is_empty()).then_some("first")] { (name) }
            }
        })
        .collect()
}

/// Numbers are set right; the first column of a group gets a rule before it.
fn class(columns: &[Column], index: usize, muted: bool) -> Option<String> {
    let column = &columns[index];
    let first =
        !column.group.is_empty() && (index == 0 || columns[index - 1].group != column.group);
    let names = [("n", column.numeric), ("first", first), ("muted", muted)];
    let class: Vec<&str> = names
        .iter()
        .filter(|(_, on)| *on)
        .map(|(name, _)| *name)
        .collect();
    (!class.is_empty()).then(|| class.join(" "))
}

fn cell(cell: &Cell, class: Option<String>) -> Markup {
    html! {
        td class=[class] title=[(!cell.hint.is_empty()).then_some(&cell.hint)] {
            @if cell.strong { strong { (cell.text) } } @else { (cell.text) }
            @for badge in &cell.badges { (badge_link(badge)) }
            @if !cell.detail.is_empty() { span.detail { (cell.detail) } }
        }
    }
}

fn badge_link(badge: &Badge) -> Markup {
    html! {
        a.badge href={"#finding-" (badge.code)} title=(badge.code) { (badge.letter) }
    }
}

/// A longer table is folded, even where its finding is open.
const ROWS_OPEN: usize = 8;

fn finding(entry: &FindingEntry) -> Markup {
    let places = entry.places();
    html! {
        details.finding id={"finding-" (entry.badge.code)} open[entry.changes_headline] {
            summary {
                h3 {
                    span.badge { (entry.badge.letter) } " " (entry.title) " "
                    code { (entry.badge.code) }
                    span.about { (number::plural(places as u64, "place")) }
                }
            }
            @if !entry.means.is_empty() { p { (entry.means) } }
            @for evidence in &entry.evidence {
                p.evidence { (text(&evidence.text)) }
                @if entry.changes_headline && evidence.table.rows.len() > ROWS_OPEN {
                    details {
                        summary { "at " (number::plural(evidence.places as u64, "place")) }
                        (table(&evidence.table))
                    }
                } @else {
                    (table(&evidence.table))
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
            }
            div.chart data-chart=(index) role="img" aria-label=(chart.about)
                style={"height:" (chart.height) "px"} {}
        }
    }
}

//! Markdown as code forges show it (GitHub Flavored Markdown): text, tables, and charts as SVG
//! files next to it.

use super::{
    Report, cards,
    names::{address, finding_anchor},
};
use crate::{
    Badge, Block, Cell, Column, Figure, FindingEntry, Span, Table, TableRow, Text, drawing::Drawing,
};
use tailmark_model::{number, printable_lines};

/// The text with its charts, which are beside it.
pub fn text(report: &Report, drawings: &[Drawing]) -> String {
    let facts = report.head.facts.iter().map(|fact| escaped(fact));
    let mut parts = vec![
        format!("# {}", line(&report.head.title)),
        facts.collect::<Vec<_>>().join(" · "),
    ];
    for (section, blocks) in &report.sections {
        let (name, title) = (section.name, section.title);
        parts.push(format!("<a id=\"{name}\"></a>\n\n## {title}"));
        parts.extend(blocks.iter().map(|of_block| block(of_block, drawings)));
    }
    parts.push(format!("Made by tailmark {}.", env!("CARGO_PKG_VERSION")));
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n")
}

fn list(texts: &[Text]) -> String {
    let items = texts
        .iter()
        .map(|text| format!("- {}", line_start(&spans(text))));
    items.collect::<Vec<_>>().join("\n")
}

fn block(block: &Block, drawings: &[Drawing]) -> String {
    match block {
        Block::Heading {
            anchor,
            title,
            about,
        } => {
            let about = match about.as_str() {
                "" => String::new(),
                about => format!("\n\n{}", line(about)),
            };
            format!("<a id=\"{anchor}\"></a>\n\n### {}{about}", line(title))
        }
        Block::Text(text) => line_start(&spans(text)),
        Block::Statements(texts) => list(texts),
        Block::Cards(of_cards) => table(&cards(of_cards)),
        Block::Table(of_block) => table(of_block),
        Block::Figure(of_block) => figure(of_block, drawings),
        Block::Beside(of_block, texts) => {
            format!("{}\n\n{}", figure(of_block, drawings), list(texts))
        }
        Block::Findings(entries) => {
            let entries = entries.iter().map(finding);
            entries.collect::<Vec<_>>().join("\n\n")
        }
        Block::Source { title, text } => {
            let fence = fence(text);
            folded(
                &escaped(title),
                &format!("{fence}\n{}\n{fence}", printable_lines(text.trim_end())),
            )
        }
    }
}

/// More backticks than stand together anywhere in a text, and at least three.
fn fence(text: &str) -> String {
    let runs = text.split(|c| c != '`').map(str::len);
    "`".repeat(runs.max().unwrap_or(0).max(2) + 1)
}

fn folded(summary: &str, what: &str) -> String {
    format!("<details><summary>{summary}</summary>\n\n{what}\n\n</details>")
}

fn figure(figure: &Figure, drawings: &[Drawing]) -> String {
    let of_figure = drawings
        .iter()
        .filter(|drawing| drawing.figure.0 == figure.anchor);
    let image = |drawing: &Drawing| {
        let about = format!("{}. {}", drawing.title, drawing.about);
        format!(
            "![{}](charts/{}.svg)",
            line(&about),
            address(drawing.name.as_ref())
        )
    };
    of_figure.map(image).collect::<Vec<_>>().join("\n\n")
}

fn finding(entry: &FindingEntry) -> String {
    let Badge { letter, code } = &entry.badge;
    let all_places = number::plural(entry.places() as u64, "place");
    let mut parts = vec![
        format!("<a id=\"{}\"></a>", finding_anchor(code)),
        format!(
            "### {letter}: {} (`{}`, {all_places})",
            line(&entry.title),
            line(code)
        ),
        line_start(&escaped(entry.means_before_evidence())),
    ];
    for evidence in &entry.evidence {
        parts.push(format!("- {}", line_start(&spans(&evidence.text))));
        let table = table(&evidence.table);
        parts.push(if entry.changes_headline {
            table
        } else {
            let places = number::plural(evidence.places as u64, "place");
            folded(&format!("at {places}"), &table)
        });
    }
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n")
}

fn spans(text: &Text) -> String {
    let span = |span: &Span| match span {
        Span::Plain(words) => escaped(words),
        Span::Strong(words) => strong(&escaped(words)),
        Span::Badge(of_span) => badge(of_span),
    };
    text.0.iter().map(span).collect()
}

/// Leading and trailing spaces stay outside, because they would prevent emphasis.
fn strong(text: &str) -> String {
    let inner = text.trim();
    match text.split_once(inner) {
        Some((before, after)) if !inner.is_empty() => format!("{before}**{inner}**{after}"),
        _ => text.to_owned(),
    }
}

fn badge(badge: &Badge) -> String {
    let anchor = finding_anchor(&badge.code);
    format!(" [\\[{}\\]](#{anchor})", badge.letter)
}

fn table(table: &Table) -> String {
    let title = |column: &Column| {
        let parts = [&column.group, &column.title].map(|part| cell_text(part));
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join("<br>")
    };
    let row = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
    let rule = |column: &Column| if column.numeric { "---:" } else { "---" }.to_owned();
    let mut lines = vec![
        row(table.columns.iter().map(title).collect()),
        row(table.columns.iter().map(rule).collect()),
    ];
    let cells = |TableRow { cells, total }: &TableRow| {
        row(cells.iter().map(|own| cell(own, *total)).collect())
    };
    lines.extend(table.rows.iter().map(cells));
    let parts = [
        strong(&line(&table.caption)),
        lines.join("\n"),
        line_start(&line(&table.note)),
    ];
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("\n\n")
}

fn cell(cell: &Cell, is_total: bool) -> String {
    let text = cell_text(&cell.text);
    let text = if cell.strong || is_total {
        strong(&text)
    } else {
        text
    };
    let badges: String = cell.badges.iter().map(badge).collect();
    match cell_text(&cell.detail).as_str() {
        "" => text + &badges,
        detail => format!("{text}{badges}<br>{detail}"),
    }
}

fn cell_text(text: &str) -> String {
    line(text)
}

/// Text of several lines on one.
fn line(text: &str) -> String {
    escaped(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Text as it reads: nothing in it is taken for Markdown, for HTML, for an address or for a person.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in printable_lines(text).chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '@' => escaped.push_str("&#64;"),
            // A line of its own might be a heading, a list or a table.
            c if c.is_control() => escaped.push(' '),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '$' => {
                escaped.push('\\');
                escaped.push(c);
            }
            c => escaped.push(c),
        }
    }
    escaped.replace("://", ":&#47;&#47;")
}

/// A paragraph that does not begin as a list or as a source does.
fn line_start(text: &str) -> String {
    let text = text.trim_start();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(0);
    let (number, rest) = text.split_at(digits);
    match rest.chars().next() {
        Some('.' | ')') if digits > 0 => format!("{number}\\{rest}"),
        Some('-' | '+' | '=') if digits == 0 => format!("\\{text}"),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_is_taken_for_markdown() {
        assert_eq!(
            escaped("a|b *c* <d> @e [f](g) `h` https://i"),
            "a\\|b \\*c\\* &lt;d&gt; &#64;e \\[f\\](g) \\`h\\` https:&#47;&#47;i"
        );
        assert_eq!(escaped("a\n\tb\u{1b}[2J"), "a  b\\\\u{1b}\\[2J");
        assert_eq!(line_start("    - a"), "\\- a");
        assert_eq!(line_start("1. a"), "1\\. a");
        assert_eq!(line_start("- a"), "\\- a");
        assert_eq!(line_start("1.5 ms"), "1\\.5 ms");
        assert_eq!(line_start("all"), "all");
    }

    #[test]
    fn spaces_stay_outside_of_what_is_emphasised() {
        assert_eq!(strong(" a b "), " **a b** ");
        assert_eq!(strong("  "), "  ");
    }

    #[test]
    fn a_source_ends_with_its_fence() {
        assert_eq!(fence("a ``` b"), "````");
        assert_eq!(fence("a"), "```");
    }

    #[test]
    fn a_table_is_a_table() {
        let row = |text: &str, detail: &str, total| TableRow {
            cells: vec![text.into(), Cell::new("1").with_detail(detail)],
            total,
        };
        let table = Table {
            columns: vec![Column::text("System"), Column::number("peak").group("a|b")],
            rows: vec![row("x\ny", "0.9 – 1.1", false), row("mean", "", true)],
            caption: "Caption".into(),
            note: "A note.".into(),
        };
        assert_eq!(
            super::table(&table),
            "**Caption**\n\n| System | a\\|b<br>peak |\n| --- | ---: |\n| x y | 1<br>0.9 – 1.1 |\n\
             | **mean** | **1** |\n\nA note."
        );
    }
}

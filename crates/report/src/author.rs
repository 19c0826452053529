//! The author's words: Markdown from a plan or the command line as blocks. Only what a report needs
//! is supported: paragraphs, headings, lists and emphasis. Links and pictures become their text, so
//! that a report never refers to anything outside.

use crate::{Block, Data, Text, block::anchor};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use pulldown_cmark::{Event, Parser, Tag, TagEnd};
use tailmark_model::{LOGO_BYTES_MAX, LogoKind, Words};

/// The author's words for a place; empty if there are none.
#[must_use]
pub fn words(data: &Data, place: Words) -> Vec<Block> {
    let settings = data.report_settings();
    let text = settings.words.get(&place);
    text.map_or_else(Vec::new, |text| blocks(text))
}

/// The author's words for the foot of the page, on one line.
#[must_use]
pub fn footer(data: &Data) -> String {
    let blocks = words(data, Words::Footer).into_iter();
    let texts = blocks.flat_map(|block| match block {
        Block::Text(text) => vec![text],
        Block::Statements(items) => items,
        _ => Vec::new(),
    });
    let texts: Vec<String> = texts.map(|text| text.to_plain()).collect();
    texts.join(" ")
}

/// The author's picture, if its bytes are one: its media type and the bytes.
#[must_use]
pub fn logo(data: &Data) -> Option<(LogoKind, Vec<u8>)> {
    let logo = data.report_settings().logo?;
    let bytes = BASE64_STANDARD.decode(logo.base64).ok()?;
    let is_small = bytes.len() as u64 <= LOGO_BYTES_MAX;
    let kind = LogoKind::from_bytes(&bytes).filter(|_| is_small)?;
    Some((kind, bytes))
}

fn blocks(markdown: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut text = Text::default();
    let mut items: Vec<Text> = Vec::new();
    let (mut strong, mut lists) = (0_u32, 0_u32);
    for event in Parser::new(markdown) {
        match event {
            Event::Start(Tag::Strong | Tag::Emphasis) => strong += 1,
            Event::End(TagEnd::Strong | TagEnd::Emphasis) => strong = strong.saturating_sub(1),
            Event::Start(Tag::List(_)) => lists += 1,
            Event::End(TagEnd::Item) => push_text(&mut items, &mut text),
            Event::End(TagEnd::List(_)) => {
                lists = lists.saturating_sub(1);
                if lists == 0 && !items.is_empty() {
                    blocks.push(Block::Statements(std::mem::take(&mut items)));
                }
            }
            Event::Start(Tag::Item) if !text.0.is_empty() => push_text(&mut items, &mut text),
            Event::End(TagEnd::Heading(_)) => {
                let title = std::mem::take(&mut text).to_plain();
                blocks.push(Block::Heading {
                    anchor: anchor(&["words", &title]),
                    title,
                    about: String::new(),
                });
            }
            Event::End(TagEnd::Paragraph | TagEnd::CodeBlock) if lists == 0 => {
                let mut one = Vec::new();
                push_text(&mut one, &mut text);
                blocks.extend(one.into_iter().map(Block::Text));
            }
            Event::Text(words)
            | Event::Code(words)
            | Event::Html(words)
            | Event::InlineHtml(words) => {
                text = if strong > 0 {
                    text.and_strong(&*words)
                } else {
                    text.and(&*words)
                };
            }
            Event::SoftBreak | Event::HardBreak => text = text.and(" "),
            _ => {}
        }
    }
    blocks
}

fn push_text(texts: &mut Vec<Text>, text: &mut Text) {
    if !text.0.is_empty() {
        texts.push(std::mem::take(text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Span;

    #[test]
    fn markdown_becomes_blocks_and_refers_to_nothing_outside() {
        let blocks = blocks(
            "# Why\n\nA *fast* drive,\nand [a link](https://example.org).\n\n- one\n- two **words**\n\n<b>x</b> ![p](p.png)",
        );
        let [
            Block::Heading { title, .. },
            Block::Text(text),
            Block::Statements(items),
            Block::Text(last),
        ] = &blocks[..]
        else {
            panic!("{blocks:?}");
        };
        assert_eq!(title, "Why");
        assert_eq!(text.to_plain(), "A fast drive, and a link.");
        assert_eq!(text.0[1], Span::Strong("fast".into()));
        let items: Vec<String> = items.iter().map(Text::to_plain).collect();
        assert_eq!(items, ["one", "two words"]);
        assert_eq!(last.to_plain(), "<b>x</b> p", "markup is text");
    }
}

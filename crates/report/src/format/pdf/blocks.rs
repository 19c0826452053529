//! Lays blocks out on pages.

use super::{
    fit::Fit,
    flow::{Boxed, Flow, SIDE, WIDTH},
    lines::{Align, Run, lines, runs, set},
    table::{self, Setting},
    tree::{Look, Piece, Placed, TagId, TagNodes},
};
use crate::{
    Block, FindingEntry, Section, Text,
    draw::Drawing,
    format::{cards, names::finding_anchor},
};
use krilla::{
    geom::Size,
    image::Image,
    tagging::{ListNumbering, Tag, TagKind},
};
use std::num::NonZeroU16;
use tailmark_model::number;

pub const INK: Look = Look::ink(9.4);
const MUTED: Look = Look::muted(8.4);
const SOURCE: Look = Look::ink(7.4);
const ACCENT: &str = "#0b5a8f";
/// The letters of a brief, relative to those of a report.
const BRIEF: f32 = 0.94;
/// The room of the author's picture, points.
const LOGO: (f32, f32) = (150.0, 34.0);

/// The look of a heading.
pub const fn heading(size: f32) -> Look {
    Look::ink(size).bold()
}

/// Letters of a brief are as large as it has room for, and stay readable.
pub(super) fn sized(fit: Option<Fit>, look: Look) -> Look {
    const LEAST: f32 = 6.9;
    let of_brief = |dense: Fit| (look.size * BRIEF * dense.text).max(look.size.min(LEAST));
    Look {
        size: fit.map_or(look.size, of_brief),
        ..look
    }
}

/// The result: pages, tags, and the outline.
pub struct Written<'r> {
    /// The pages.
    pub flow: Flow<'r>,
    /// The tags.
    pub tags: TagNodes,
    /// Title and anchor of each section, with those of its headings.
    pub outline: Vec<Entry>,
}

/// An entry of the outline.
#[derive(Debug, Default)]
pub struct Entry {
    /// The title.
    pub title: String,
    /// The target.
    pub anchor: String,
    /// The entries below it.
    pub below: Vec<Entry>,
}

/// Writes blocks onto pages, one below the other.
pub struct Writer<'r> {
    pub(super) drawings: &'r [Drawing],
    pub(super) written: Written<'r>,
    pub(super) section: TagId,
    /// How dense a brief is, which has cards. `None` of a report.
    pub(super) fit: Option<Fit>,
    /// The words that had no room on the first page of a brief.
    pub(super) later: &'r [Block],
    /// Whether the tables of a brief's workloads stand beside their charts.
    pub(super) is_beside: bool,
}

impl<'r> Writer<'r> {
    /// Begins a document with these charts.
    pub fn new(drawings: &'r [Drawing], fit: Option<Fit>) -> Self {
        let mut tags = TagNodes::default();
        let section = tags.root(Tag::Section);
        Self {
            drawings,
            written: Written {
                flow: Flow::default(),
                tags,
                outline: Vec::new(),
            },
            section,
            fit,
            later: &[],
            is_beside: false,
        }
    }

    /// The result.
    pub fn finish(mut self) -> Written<'r> {
        self.written.flow.settle();
        self.written
    }

    /// The author's picture, no larger than it has room over the title.
    pub fn logo(&mut self, image: Image) {
        let (width, height) = image.size();
        let (width, height) = (width as f32, height as f32);
        let scale = (LOGO.0 / width).min(LOGO.1 / height);
        let Some(size) = Size::from_wh(width * scale, height * scale) else {
            return;
        };
        self.written.flow.push(Boxed {
            height: size.height() + 8.0,
            pieces: vec![Placed {
                x: SIDE,
                y: 0.0,
                piece: Piece::Logo { image, size },
                slot: None,
            }],
            ..Boxed::default()
        });
    }

    /// The title, and what was compared when.
    pub fn masthead(&mut self, kicker: &str, title: &str, facts: &[String]) {
        let look = Look {
            color: ACCENT,
            ..heading(7.6)
        };
        let kind = kicker.to_uppercase();
        self.paragraph(Tag::P, &[Run::plain(kind, look)], 0.0, 2.0);
        self.heading(1, title, &[], heading(19.0), 3.0);
        self.paragraph(
            Tag::P,
            &[Run::plain(facts.join("\u{a0}· "), MUTED)],
            0.0,
            10.0,
        );
    }

    /// A section with its heading.
    pub fn section(&mut self, section: &Section, blocks: &'r [Block]) {
        if section.name == "method" {
            std::mem::take(&mut self.later)
                .iter()
                .for_each(|block| self.block(block, section));
        }
        self.section = self.written.tags.root(Tag::Section);
        self.written.flow.space(10.0);
        self.written.outline.push(Entry {
            title: section.title.to_owned(),
            anchor: section.name.to_owned(),
            below: Vec::new(),
        });
        match (section.name, self.fit) {
            // The headline needs no heading of its own.
            ("summary", fit) => {
                let (lead, rest) = blocks.split_at(blocks.len().min(1));
                lead.iter().for_each(|block| self.lead(block));
                if fit.is_some() {
                    self.front(rest, section);
                } else {
                    rest.iter().for_each(|block| self.block(block, section));
                }
            }
            // Those of its workloads are enough in a brief.
            ("workloads", Some(_)) => self.workloads(blocks, section),
            _ => {
                self.heading(2, section.title, &[section.name], heading(14.0), 6.0);
                blocks.iter().for_each(|block| self.block(block, section));
            }
        }
    }

    /// The first words of the report, larger.
    fn lead(&mut self, block: &Block) {
        let Block::Text(text) = block else {
            return;
        };
        let look = self.sized(Look::ink(11.4));
        let tag = self.written.tags.within(self.section, Tag::P);
        self.text(tag, &runs(text, look), 0.0, 7.0, &["summary"], false);
    }

    pub(super) fn block(&mut self, block: &'r Block, section: &Section) {
        match block {
            Block::Heading {
                anchor,
                title,
                about,
            } => {
                if let Some(of_section) = self.written.outline.last_mut() {
                    of_section.below.push(Entry {
                        title: title.clone(),
                        anchor: anchor.clone(),
                        below: Vec::new(),
                    });
                }
                self.written.flow.space(7.0);
                self.heading(3, title, &[anchor], heading(11.0), 3.0);
                if !about.is_empty() {
                    let tag = self.written.tags.within(self.section, Tag::P);
                    self.text(tag, &[Run::plain(about, MUTED)], 0.0, 4.0, &[], true);
                }
            }
            Block::Text(text) => {
                let look = self.sized(INK);
                self.paragraph(Tag::P, &runs(text, look), 0.0, 6.0);
            }
            Block::Statements(texts) => self.list(texts),
            // The table of the first page says the same.
            Block::Cards(of_block) if self.fit.is_some() => self.cards(of_block),
            Block::Cards(_) if section.name == "summary" => {}
            Block::Cards(of_block) => self.table(&cards(of_block)),
            Block::Table(of_block) => self.table(of_block),
            Block::Figure(of_block) => self.figure(of_block),
            Block::Beside(of_block, texts) => self.workload(of_block, texts, None),
            Block::Findings(entries) => entries.iter().for_each(|entry| self.finding(entry)),
            Block::Source { title, text } => self.source(title, text),
        }
    }

    pub(super) fn heading(
        &mut self,
        level: u16,
        text: &str,
        anchors: &[&str],
        look: Look,
        below: f32,
    ) {
        let level = NonZeroU16::new(level).unwrap_or(NonZeroU16::MIN);
        let tag = Tag::Hn(level, Some(text.to_owned()));
        let tag = self.written.tags.within(self.section, tag);
        self.text(tag, &[Run::plain(text, look)], 0.0, below, anchors, true);
    }

    fn paragraph(&mut self, tag: impl Into<TagKind>, runs: &[Run], indent: f32, below: f32) {
        let tag = self.written.tags.within(self.section, tag);
        self.text(tag, runs, indent, below, &[], false);
    }

    /// Lines of text. A paragraph may continue on the next page, but no line is left alone.
    fn text(
        &mut self,
        tag: TagId,
        runs: &[Run],
        indent: f32,
        below: f32,
        anchors: &[&str],
        stays_with_next: bool,
    ) {
        let all = lines(runs, WIDTH - indent);
        let pairs = all.len().max(2) - 1;
        for (i, line) in all.chunks(1).enumerate() {
            let mut pieces = Vec::new();
            let tags = Some((&mut self.written.tags, tag));
            let height = set(line, Align::Left(SIDE + indent), 0.0, tags, &mut pieces);
            let is_last = i + 1 == all.len();
            let anchors = anchors.iter().filter(|_| i == 0);
            self.written.flow.push(Boxed {
                height: height + if is_last { below } else { 0.0 },
                pieces,
                anchors: anchors.map(|anchor| (*anchor).to_owned()).collect(),
                // The first two lines stay together, and so do the last two.
                stays_with_next: stays_with_next || (!is_last && (i == 0 || i + 1 == pairs)),
            });
        }
    }

    pub(super) fn list(&mut self, texts: &[Text]) {
        let list = Tag::L(ListNumbering::Disc);
        let list = self.written.tags.within(self.section, list);
        for text in texts {
            let item = self.written.tags.within(list, Tag::LI);
            self.item(item, text);
        }
        self.written.flow.space(5.0);
    }

    /// A mark, and the text after it.
    fn item(&mut self, item: TagId, text: &Text) {
        const INDENT: f32 = 11.0;
        let label = self.written.tags.within(item, Tag::Lbl);
        let body = self.written.tags.within(item, Tag::LBody);
        let mut pieces = Vec::new();
        let look = self.sized(INK);
        let mark = lines(&[Run::plain("•", look)], WIDTH);
        let to_label = Some((&mut self.written.tags, label));
        set(&mark, Align::Left(SIDE + 2.0), 0.0, to_label, &mut pieces);
        let text = lines(&runs(text, look), WIDTH - INDENT);
        let to_body = Some((&mut self.written.tags, body));
        let height = set(&text, Align::Left(SIDE + INDENT), 0.0, to_body, &mut pieces);
        self.written.flow.push(Boxed {
            height: height + 1.5,
            pieces,
            ..Boxed::default()
        });
    }

    pub(super) fn sized(&self, look: Look) -> Look {
        sized(self.fit, look)
    }

    pub(super) fn table(&mut self, table: &crate::Table) {
        if !table.caption.is_empty() {
            let tag = self.written.tags.within(self.section, Tag::P);
            self.text(
                tag,
                &[Run::plain(&table.caption, heading(8.6))],
                0.0,
                2.0,
                &[],
                true,
            );
        }
        table::push(
            table,
            self.section,
            &mut self.written.tags,
            &mut self.written.flow,
            self.fit
                .map_or(Setting::REPORT, |fit| Setting::brief(fit.text)),
        );
        self.note(table);
    }

    /// What stands below a table.
    pub(super) fn note(&mut self, table: &crate::Table) {
        if !table.note.is_empty() {
            let note = Look::muted(7.6);
            self.written.flow.keep_last();
            self.paragraph(Tag::P, &[Run::plain(&table.note, note)], 0.0, 7.0);
        }
    }

    fn finding(&mut self, entry: &FindingEntry) {
        let anchor = finding_anchor(&entry.badge.code);
        let places = number::plural(entry.places() as u64, "place");
        let title = format!(
            "[{}] {} ({}, {places})",
            entry.badge.letter, entry.title, entry.badge.code
        );
        self.written.flow.space(5.0);
        self.heading(3, &title, &[&anchor], heading(9.8), 2.0);
        if !entry.means.is_empty() {
            self.paragraph(
                Tag::P,
                &[Run::plain(entry.means_before_evidence(), INK)],
                0.0,
                3.0,
            );
        }
        for evidence in &entry.evidence {
            self.list(std::slice::from_ref(&evidence.text));
            if entry.changes_headline {
                self.table(&evidence.table);
            }
        }
    }

    fn source(&mut self, title: &str, text: &str) {
        let name = self.written.tags.within(self.section, Tag::P);
        self.text(
            name,
            &[Run::plain(title, heading(8.6))],
            0.0,
            3.0,
            &[],
            true,
        );
        let code = self.written.tags.within(self.section, Tag::P);
        for line in text.lines() {
            let line = line.replace('\t', "    ");
            // A line of nothing has a height too.
            let line = if line.is_empty() {
                " ".to_owned()
            } else {
                line
            };
            self.text(code, &[Run::plain(line, SOURCE)], 0.0, 0.0, &[], false);
        }
        self.written.flow.space(8.0);
    }

    /// The further sections with their pages, all on one page.
    pub fn contents(&mut self, sections: &[(&Section, &[Block])]) {
        self.section = self.written.tags.root(Tag::Section);
        self.written.flow.space(10.0);
        let level = NonZeroU16::new(2).unwrap_or(NonZeroU16::MIN);
        let tag = Tag::Hn(level, Some("Contents".to_owned()));
        let tag = self.written.tags.within(self.section, tag);
        let words = lines(&[Run::plain("Contents", heading(11.0))], WIDTH);
        let mut head = Boxed::default();
        let tags = Some((&mut self.written.tags, tag));
        head.height = set(&words, Align::Left(SIDE), 0.0, tags, &mut head.pieces) + 3.0;
        let mut entries = Vec::new();
        for (section, blocks) in sections {
            entries.push(self.content(section.title, section.name, 0.0));
            let blocks = blocks.iter().filter(|_| section.name == "workloads");
            for block in blocks {
                if let Block::Heading { anchor, title, .. } = block {
                    entries.push(self.content(title, anchor, 14.0));
                }
            }
        }
        self.written
            .flow
            .push_list(head, &Boxed::default(), entries);
        self.written.flow.space(10.0);
    }

    fn content(&mut self, title: &str, anchor: &str, indent: f32) -> Boxed<'r> {
        let look = Look {
            color: ACCENT,
            size: 8.8,
            ..INK
        };
        let run = Run {
            text: title.to_owned(),
            look,
            link: anchor.to_owned(),
        };
        let tags = &mut self.written.tags;
        let entry = tags.within(self.section, Tag::P);
        let mut pieces = Vec::new();
        let lines = lines(&[run], WIDTH - 60.0);
        let at = Align::Left(SIDE + indent);
        let height = set(&lines, at, 0.0, Some((tags, entry)), &mut pieces);
        let slot = tags.slot(entry);
        pieces.push(Placed {
            x: SIDE + WIDTH,
            y: pieces.last().map_or(0.0, |last| last.y),
            piece: Piece::PageOf {
                anchor: anchor.to_owned(),
                look: Look::muted(look.size),
            },
            slot: Some(slot),
        });
        Boxed {
            height,
            pieces,
            ..Boxed::default()
        }
    }
}

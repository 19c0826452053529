//! Charts as pictures, drawn without a browser: each as the page first shows it, by the same script
//! from the same option. Text is measured and drawn in the program's own font.

pub mod font;
mod script;
#[cfg(test)]
mod tests;

pub use crate::drawing::Drawing;

use crate::{
    Block, Chart, Error, Figure, Section, block::anchor, format::names::Names, parallel, style,
};
use resvg::usvg::{Options, Tree, WriteOptions};
use script::Script;
use serde_json::Value;
use std::borrow::Cow;

/// A chart that waits to be drawn.
struct Sketch<'a> {
    drawing: Drawing,
    chart: &'a Chart,
    variant: Cow<'a, Value>,
}

/// The pictures of all charts with content, in reading order. `widths` are those of full-width
/// charts and of others, in pixels.
///
/// # Errors
/// If the script fails.
pub fn draw(
    sections: &[(&'static Section, Vec<Block>)],
    widths: (f32, f32),
) -> Result<Vec<Drawing>, Error> {
    let sketches = sketches(sections, widths);
    let parts = parallel::of_parts(&sketches, draw_all).into_iter();
    let drawings = parts.collect::<Result<Vec<_>, _>>().map_err(Error::Draw)?;
    Ok(drawings.into_iter().flatten().collect())
}

fn draw_all(sketches: &[Sketch<'_>]) -> Result<Vec<Drawing>, String> {
    let script = Script::load()?;
    let draw = |sketch: &Sketch<'_>| {
        let drawing = &sketch.drawing;
        let drawn = script.draw(&sketch.chart.base, &sketch.variant, drawing.size);
        let drawn = drawn.map_err(|why| format!("{}: {why}", drawing.name))?;
        Ok(Drawing {
            size: (drawing.size.0, drawn.height),
            inner: inner(&drawn.svg),
            ..drawing.clone()
        })
    };
    sketches.iter().map(draw).collect()
}

/// The content between the root's tags.
fn inner(svg: &str) -> String {
    let inner = svg
        .split_once('>')
        .and_then(|(_, rest)| rest.rsplit_once("</svg>"));
    inner.map_or(String::new(), |(inner, _)| inner.to_owned())
}

fn sketches<'a>(
    sections: &'a [(&'static Section, Vec<Block>)],
    widths: (f32, f32),
) -> Vec<Sketch<'a>> {
    let mut sketches: Vec<Sketch<'a>> = Vec::new();
    for (section, blocks) in sections {
        let mut place = "";
        for block in blocks {
            match block {
                // Titles within a section that has one subject are clear without it.
                Block::Heading { title, .. } if section.name == "workloads" => place = title,
                Block::Figure(figure) | Block::Beside(figure, _) => {
                    sketches.extend(of_figure(figure, place, widths))
                }
                _ => {}
            }
        }
    }
    let mut names = Names::default();
    for Sketch { drawing, .. } in &mut sketches {
        names.below(&drawing.name);
        drawing.name = names.next();
    }
    sketches
}

fn of_figure<'a>(figure: &'a Figure, place: &str, widths: (f32, f32)) -> Vec<Sketch<'a>> {
    let charts = figure.charts.iter().enumerate();
    let sketch = |(index, chart): (usize, &'a Chart)| {
        let variant = figure.initial_variant(chart)?;
        let subject = figure.anchor.trim_end_matches("-charts");
        let subject = subject.trim_end_matches("-chart");
        let name = match figure.charts.len() {
            1 => subject.to_owned(),
            _ => anchor(&[subject, &chart.title]),
        };
        let title = match place {
            "" => chart.title.clone(),
            place => format!("{place}: {}", lower_first(&chart.title)),
        };
        let drawing = Drawing {
            name,
            figure: (figure.anchor.clone(), index),
            title,
            hint: hint(figure, chart),
            about: chart.about.clone(),
            size: (
                if chart.wide { widths.0 } else { widths.1 },
                chart.height as f32,
            ),
            inner: String::new(),
        };
        Some(Sketch {
            drawing,
            chart,
            variant,
        })
    };
    charts.filter_map(sketch).collect()
}

fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_lowercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// What is better, and the choice if there is one.
fn hint(figure: &Figure, chart: &Chart) -> String {
    let chosen = figure.controls.iter().filter(|c| c.choices.len() > 1);
    let chosen = chosen.filter_map(|control| {
        let choice = control.choices.get(control.initial)?;
        let group = match choice.group.as_str() {
            group if choice.label.contains(group) => String::new(),
            group => format!("{group}, "),
        };
        Some(format!("{}: {group}{}", control.label, choice.label))
    });
    let chosen: Vec<String> = chosen.collect();
    let chosen = match chart.variants.len() {
        1 => String::new(),
        _ => chosen.join("; "),
    };
    let parts = [chart.hint.as_str(), &chosen];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(". ")
}

/// Above the chart, pixels: title and hint.
const HEAD: f32 = 58.0;
const MARGIN: f32 = 14.0;

impl Drawing {
    /// The widths of charts in files of their own.
    pub const FILE: (f32, f32) = (960.0, 640.0);
    /// The widths of charts in documents. Two of the second width fit side by side.
    pub const PAPER: (f32, f32) = (800.0, 392.0);

    /// The chart without a title.
    ///
    /// # Errors
    /// If the script's SVG is invalid.
    pub fn chart(&self) -> Result<Tree, Error> {
        let (width, height) = self.size;
        self.tree(&format!("{}{}</svg>", open(width, height), self.inner))
    }

    /// The size of the whole picture, pixels.
    #[must_use]
    pub fn whole_size(&self) -> (f32, f32) {
        (self.size.0 + 2.0 * MARGIN, self.size.1 + HEAD + MARGIN)
    }

    /// The whole picture on white: title, hint, and chart.
    ///
    /// # Errors
    /// If the script's SVG is invalid.
    pub fn picture(&self) -> Result<Tree, Error> {
        let (width, height) = self.whole_size();
        let (title, title_size) = fitted(&self.title, font::Weight::Bold, 17.0, self.size.0);
        let (hint, hint_size) = fitted(&self.hint, font::Weight::Regular, 12.0, self.size.0);
        let (ink, muted) = (style::INK, style::MUTED);
        self.tree(&format!(
            "{}<rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\
             <g font-family=\"{}\"><text x=\"{MARGIN}\" y=\"28\" font-size=\"{title_size}\" \
             font-weight=\"bold\" fill=\"{ink}\">{title}</text>\
             <text x=\"{MARGIN}\" y=\"47\" font-size=\"{hint_size}\" fill=\"{muted}\">{hint}</text></g>\
             <g transform=\"translate({MARGIN} {HEAD})\">{}</g></svg>",
            open(width, height),
            font::FAMILY,
            self.inner,
        ))
    }

    /// The whole picture as a file. Its letters are shapes, so that it looks the same everywhere.
    ///
    /// # Errors
    /// If the script's SVG is invalid.
    pub fn svg(&self) -> Result<String, Error> {
        let options = WriteOptions {
            coordinates_precision: 2,
            transforms_precision: 4,
            ..WriteOptions::default()
        };
        let svg = self.picture()?.to_string(&options);
        let (root, rest) = svg.split_once('>').unwrap_or_default();
        let (title, about) = (escaped(&self.title), escaped(&self.about));
        let about = format!(
            "<title>{title}</title><desc>{about} {}</desc>",
            escaped(&self.hint)
        );
        let named = format!("{root} role=\"img\" aria-label=\"{title}\"");
        Ok(format!("{named}>{about}{rest}"))
    }

    /// The whole picture as a bitmap with twice the resolution.
    ///
    /// # Errors
    /// If the script's SVG is invalid.
    pub fn png(&self) -> Result<Vec<u8>, Error> {
        const SCALE: f32 = 2.0;
        let tree = self.picture()?;
        let size = tree.size().to_int_size();
        let failed = |why: &str| Error::Draw(format!("{}: {why}", self.name));
        let image = tiny_skia::Pixmap::new(size.width() * 2, size.height() * 2);
        let mut image = image.ok_or_else(|| failed("the picture is too large"))?;
        let scale = tiny_skia::Transform::from_scale(SCALE, SCALE);
        resvg::render(&tree, scale, &mut image.as_mut());
        image
            .encode_png()
            .map_err(|error| failed(&error.to_string()))
    }

    fn tree(&self, svg: &str) -> Result<Tree, Error> {
        let options = Options {
            font_family: font::FAMILY.to_owned(),
            fontdb: font::database(),
            ..Options::default()
        };
        let svg: String = svg.chars().map(printable).collect();
        let tree = Tree::from_str(&svg, &options);
        tree.map_err(|error| Error::Draw(format!("{}: {error}", self.name)))
    }
}

fn open(width: f32, height: f32) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\" \
         width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">"
    )
}

/// A line that fits into its space: set smaller, and cut if that is not enough.
fn fitted(text: &str, weight: font::Weight, size: f32, room: f32) -> (String, f32) {
    let width = weight.width(text, size);
    let size = (size * room / width.max(room)).max(size * 0.7);
    let mut cut = text.to_owned();
    while weight.width(&cut, size) > room && cut.chars().count() > 1 {
        cut.truncate(cut.char_indices().rev().nth(1).map_or(0, |(at, _)| at));
        cut.push('…');
    }
    (escaped(&cut), size)
}

/// The character, or a replacement for characters that XML and documents may not contain.
#[must_use]
pub fn printable(c: char) -> char {
    match c {
        '\n' | '\t' => c,
        '\u{fffe}' | '\u{ffff}' | '\u{feff}' => char::REPLACEMENT_CHARACTER,
        '\u{e000}'..='\u{f8ff}' | '\u{f0000}'.. => char::REPLACEMENT_CHARACTER,
        c if c.is_control() => char::REPLACEMENT_CHARACTER,
        c => c,
    }
}

/// As text of XML.
fn escaped(text: &str) -> String {
    let text: String = text.chars().map(printable).collect();
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

//! Charts of blocks, and their controls.

use serde_json::Value;
use std::borrow::Cow;
use tailmark_model::Metric;

/// Charts under common controls.
#[derive(Debug, Clone)]
pub struct Figure {
    /// Unique in the report; lower case, digits and dashes.
    pub anchor: String,
    /// The controls. Every combination of choices is one variant of every chart.
    pub controls: Vec<Control>,
    /// The charts.
    pub charts: Vec<Chart>,
}

/// One choice to be made.
#[derive(Debug, Clone)]
pub struct Control {
    /// Controls of the same key follow each other throughout the report.
    pub key: &'static str,
    /// The subject of the choice.
    pub label: String,
    /// The possible choices.
    pub choices: Vec<ControlChoice>,
    /// The initial choice: an index into `choices`.
    pub initial: usize,
}

impl Control {
    /// Choices of these names; the first is chosen at first if `initial` is none.
    pub fn new(
        key: &'static str,
        label: &str,
        names: impl IntoIterator<Item = impl Into<String>>,
        initial: Option<usize>,
    ) -> Self {
        Self {
            key,
            label: label.into(),
            choices: names.into_iter().map(ControlChoice::new).collect(),
            initial: initial.unwrap_or(0),
        }
    }
}

/// One of the choices of a control.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlChoice {
    /// Choices of a group stand together; empty: none.
    pub group: String,
    /// The label.
    pub label: String,
}

impl ControlChoice {
    /// A choice without a group.
    pub fn new(label: impl Into<String>) -> Self {
        Self {
            group: String::new(),
            label: label.into(),
        }
    }
}

/// One chart: an ECharts option, and what differs with each choice.
///
/// Strings that begin with `@` name functions of the renderer: ways to write a value (`@latency`,
/// `@rate`, ...) and shapes (`@spread`).
#[derive(Debug, Clone)]
pub struct Chart {
    /// Above the chart.
    pub title: String,
    /// Beside the title, for example `higher is better`.
    pub hint: String,
    /// A description in words, for readers who cannot see it.
    pub about: String,
    /// Height in pixels at the width of a page.
    pub height: u32,
    /// Whether it takes the whole width.
    pub wide: bool,
    /// The option that all variants share.
    pub base: Value,
    /// Options merged into `base`, one for each combination of choices, the last control fastest. A
    /// single one serves all combinations; null means that there is nothing to show. A string is
    /// the JSON of an option.
    pub variants: Vec<Value>,
    /// What it shows initially, for formats that draw with characters; `None`: only other formats
    /// show it.
    pub plot: Option<Plot>,
}

/// The content of a chart as numbers.
#[derive(Debug, Clone)]
pub struct Plot {
    /// Over what.
    pub axes: PlotAxes,
    /// Bars or lines, with those of the systems first.
    pub series: Vec<PlotSeries>,
}

/// The axes of a plot.
#[derive(Debug, Clone)]
pub enum PlotAxes {
    /// Bars over these categories.
    Categories(Vec<String>),
    /// Lines from 0 on, over values of a metric.
    Curve {
        /// What y is, in the unit of its row.
        metric: Metric,
        /// Of the axes, x first.
        titles: [String; 2],
        /// The lower end of y. The axis is linear from 0, and logarithmic from any other value.
        low: f64,
        /// The upper end.
        high: f64,
        /// Where y has ticks.
        ticks: Vec<f64>,
    },
}

/// The marks of a system.
#[derive(Debug, Clone)]
pub struct PlotSeries {
    /// The system.
    pub name: String,
    /// Its colour, `#rrggbb`.
    pub color: &'static str,
    /// One mark for each category of a bar chart. `None` if nothing was measured.
    pub marks: Vec<Option<PlotMark>>,
}

/// One value.
#[derive(Debug, Clone, Default)]
pub struct PlotMark {
    /// Where on the axis of x; of bars without meaning.
    pub x: f64,
    /// The value.
    pub y: f64,
    /// Beside it; empty: nothing.
    pub label: String,
    /// Whether it is set apart, as not valid.
    pub is_invalid: bool,
    /// Whether the true one may be higher; of bars.
    pub is_at_least: bool,
}

impl Figure {
    /// The number of variants that the controls span.
    #[must_use]
    pub fn combinations(&self) -> usize {
        self.controls.iter().map(|c| c.choices.len()).product()
    }

    /// The variant of one of its charts that is shown at first: an index into its variants.
    #[must_use]
    pub fn initial(&self, chart: &Chart) -> usize {
        let follow = |index, control: &Control| index * control.choices.len() + control.initial;
        match chart.variants.len() {
            1 => 0,
            _ => self.controls.iter().fold(0, follow),
        }
    }

    /// The option merged into that of one of its charts initially; `None` if there is nothing to
    /// show.
    #[must_use]
    pub fn initial_variant<'c>(&self, chart: &'c Chart) -> Option<Cow<'c, Value>> {
        match chart.variants.get(self.initial(chart))? {
            Value::Null => None,
            Value::String(text) => serde_json::from_str(text).ok().map(Cow::Owned),
            variant => Some(Cow::Borrowed(variant)),
        }
    }
}

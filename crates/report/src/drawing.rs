//! What a chart is as a picture, however it is drawn.

/// A chart of a report as a picture.
#[derive(Debug, Clone)]
pub struct Drawing {
    /// Unique in the report, and short enough for the name of a file: letters, digits and dashes.
    pub name: String,
    /// The anchor of its figure, and its number among the figure's charts.
    pub figure: (String, usize),
    /// Its subject, such as the workload, and its content.
    pub title: String,
    /// What is better, and the shown choice.
    pub hint: String,
    /// A description in words, for readers who cannot see it.
    pub about: String,
    /// In pixels, without title.
    pub size: (f32, f32),
    /// The inside of the SVG.
    pub inner: String,
}

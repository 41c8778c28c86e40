//! Figures as data; `svg.rs` draws them.

use serde::Serialize;

/// One picture: panels next to each other, as (a), (b), … of a paper's figure.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct Figure {
    /// The name of the file, without its ending.
    pub name: String,
    /// The title, which names the paper's figure that it is drawn like.
    pub title: String,
    /// The panels.
    pub panels: Vec<Panel>,
}

/// One diagram.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct Panel {
    /// The title above the diagram.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The curves, in the order of the legend.
    pub series: Vec<Series>,
}

/// An axis.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct Axis {
    /// The quantity, with its unit.
    pub label: String,
    /// The division of the axis.
    pub scale: Scale,
    /// The two ends of the axis; if there are none, they are chosen around the values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ends: Option<(f64, f64)>,
}

/// The division of an axis.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Debug)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Evenly.
    Linear,
    /// By powers of ten; all values are positive.
    Log,
}

/// Points that belong together.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct Series {
    /// The name in the legend.
    pub name: String,
    /// The style in which they are drawn.
    pub style: Style,
    /// The points (x, y).
    pub points: Vec<(f64, f64)>,
}

/// The style in which points are drawn.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Debug)]
#[serde(rename_all = "lowercase")]
pub enum Style {
    /// A line with its points.
    Line,
    /// A line alone, for many points.
    Curve,
    /// A dashed line: an expected or a published value.
    Dashed,
    /// Points alone.
    Dots,
    /// A bar at each point, from the lower end of the axis.
    Bars,
}

impl Figure {
    pub(crate) fn new(name: &str, title: &str, panels: Vec<Panel>) -> Figure {
        Figure { name: name.to_owned(), title: title.to_owned(), panels }
    }
}

impl Panel {
    pub(crate) fn new(title: &str, x: Axis, y: Axis) -> Panel {
        Panel { title: title.to_owned(), x, y, series: Vec::new() }
    }

    pub(crate) fn add(&mut self, name: &str, style: Style, points: impl IntoIterator<Item = (f64, f64)>) {
        self.series.push(Series { name: name.to_owned(), style, points: points.into_iter().collect() });
    }
}

impl Axis {
    pub(crate) fn linear(label: &str) -> Axis {
        Axis { label: label.to_owned(), scale: Scale::Linear, ends: None }
    }

    pub(crate) fn log(label: &str) -> Axis {
        Axis { label: label.to_owned(), scale: Scale::Log, ends: None }
    }

    #[must_use]
    pub(crate) fn between(self, low: f64, high: f64) -> Axis {
        Axis { ends: Some((low, high)), ..self }
    }
}

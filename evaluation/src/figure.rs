//! Curves, as data: what `svg.rs` draws.

use serde::Serialize;

/// One picture: panels beside each other, as (a), (b), … of a paper's figure.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct Figure {
    /// The name of its file.
    pub name: String,
    /// What it shows, and which figure of the paper it is drawn like.
    pub title: String,
    /// The panels.
    pub panels: Vec<Panel>,
}

/// One diagram.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct Panel {
    /// What stands above it.
    pub title: String,
    /// To the right.
    pub x: Axis,
    /// Upwards.
    pub y: Axis,
    /// What is drawn.
    pub series: Vec<Series>,
}

/// An axis.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct Axis {
    /// What is measured, and its unit.
    pub label: String,
    /// How it is divided.
    pub scale: Scale,
    /// Where it begins and ends; without, around the values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ends: Option<(f64, f64)>,
}

/// How an axis is divided.
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
    /// What they are.
    pub name: String,
    /// How they are drawn.
    pub style: Style,
    /// (x, y).
    pub points: Vec<(f64, f64)>,
}

/// How points are drawn.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Debug)]
#[serde(rename_all = "lowercase")]
pub enum Style {
    /// A line with its points.
    Line,
    /// A line alone, for many points.
    Curve,
    /// A dashed line: what is expected, or what another has measured.
    Dashed,
    /// Points alone.
    Dots,
    /// A bar from the ground up at each point.
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

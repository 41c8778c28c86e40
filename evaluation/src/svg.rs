//! Draws figures: plain SVG, with nothing that a browser or a converter would have to fetch.

use std::fmt::Write as _;

use crate::figure::{Axis, Figure, Panel, Scale, Series, Style};
use crate::statistics::truncated;

/// Colours that colour-blind readers can distinguish too (Okabe and Ito 2008).
const COLOURS: [&str; 8] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#b8860b", "#000000", "#999999"];

/// The sizes of a panel's field and of its margins, in pixels.
const FIELD_WIDTH: f64 = 330.0;
const FIELD_HEIGHT: f64 = 240.0;
const LEFT: f64 = 64.0;
const TOP: f64 = 34.0;
const BELOW: f64 = 46.0;
const RIGHT: f64 = 16.0;
/// The number of bars up to which each has its number below.
const BARS_NAMED_MAX: f64 = 16.0;
/// The height of the title.
const HEAD: f64 = 34.0;
const LEGEND_LINE: f64 = 16.0;
const PER_ROW: usize = 2;

/// The figure as an SVG file.
pub(crate) fn draw(figure: &Figure) -> String {
    let columns = figure.panels.len().clamp(1, PER_ROW);
    let rows: Vec<&[Panel]> = figure.panels.chunks(PER_ROW).collect();
    // A bold letter of 15 pixels is about 8.6 wide.
    let width = (columns as f64 * (LEFT + FIELD_WIDTH + RIGHT)).max(24.0 + 8.6 * figure.title.chars().count() as f64);
    let heights: Vec<f64> = rows.iter().map(|row| row.iter().map(height).fold(0.0, f64::max)).collect();
    let total = HEAD + heights.iter().sum::<f64>();
    let mut svg = format!(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:.0} {total:.0}' font-family='sans-serif' \
         font-size='12'>\n<style>.title{{font-size:13px;font-weight:bold}}.grid{{stroke:#ddd}}.axis{{stroke:#888}}</style>\n\
         <rect width='{width:.0}' height='{total:.0}' fill='white'/>\n"
    );
    let _ = writeln!(svg, "<text x='12' y='22' font-size='15px' font-weight='bold'>{}</text>", escaped(&figure.title));
    let mut top = HEAD;
    for (row, height) in rows.iter().zip(heights) {
        for (column, panel) in row.iter().enumerate() {
            let left = column as f64 * (LEFT + FIELD_WIDTH + RIGHT) + LEFT;
            Field::of(panel, left, top + TOP).draw(&mut svg, panel);
        }
        top += height;
    }
    svg.push_str("</svg>\n");
    svg
}

fn height(panel: &Panel) -> f64 {
    TOP + FIELD_HEIGHT + BELOW + LEGEND_LINE * panel.series.len().div_ceil(keys_a_line(panel)) as f64 + 8.0
}

/// The number of keys on a line below a panel: two if their names are short enough.
fn keys_a_line(panel: &Panel) -> usize {
    if panel.series.iter().any(|series| series.name.chars().count() > 24) { 1 } else { 2 }
}

/// The place of a panel, and the ranges of its axes.
struct Field {
    left: f64,
    top: f64,
    x: Range,
    y: Range,
}

/// An axis with its ends and the values of its grid lines.
struct Range {
    scale: Scale,
    low: f64,
    high: f64,
    lines: Vec<f64>,
}

impl Range {
    fn of(axis: &Axis, values: impl Iterator<Item = f64> + Clone) -> Range {
        let (mut low, mut high) = axis.ends.unwrap_or_else(|| {
            let least = values.clone().fold(f64::MAX, f64::min);
            (least, values.fold(f64::MIN, f64::max))
        });
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        match axis.scale {
            Scale::Log => {
                low = low.max(1e-6);
                high = high.max(low * 1.01);
                let lines = decades(low, high);
                Range { scale: Scale::Log, low, high, lines }
            }
            Scale::Linear => {
                if axis.ends.is_none() && low > 0.0 && low < 0.5 * high {
                    low = 0.0;
                }
                if (high - low).abs() < f64::EPSILON {
                    high = low + 1.0;
                }
                let step = step(high - low);
                if axis.ends.is_none() {
                    (low, high) = ((low / step).floor() * step, (high / step).ceil() * step);
                }
                let first = (low / step).ceil();
                let count = truncated((high / step + 1e-9).floor() - first);
                let lines = (0..=count).map(|line| (first + line as f64) * step).collect();
                Range { scale: Scale::Linear, low, high, lines }
            }
        }
    }

    /// Puts a grid line at each whole number if there are few, so that every bar has its number below.
    fn name_bars(&mut self) {
        if self.high - self.low <= BARS_NAMED_MAX {
            let (first, last) = (self.low.ceil(), self.high.floor());
            self.lines = (0..=truncated(last - first)).map(|line| first + line as f64).collect();
        }
    }

    /// The place of a value, from 0 at the low end to 1 at the high one; values beyond are at the edge.
    fn along(&self, value: f64) -> f64 {
        let along = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => (value.max(self.low) / self.low).ln() / (self.high / self.low).ln(),
        };
        along.clamp(0.0, 1.0)
    }
}

/// The step between grid lines: 1, 2 or 5 times a power of ten, so that there are about six.
fn step(length: f64) -> f64 {
    let rough = length / 6.0;
    let power = 10_f64.powf(rough.log10().floor());
    [1.0, 2.0, 5.0, 10.0].map(|times| times * power).into_iter().find(|step| *step >= rough).unwrap_or(rough)
}

/// The grid lines of a logarithmic axis: 1, 2 and 5 times the powers of ten, or the powers alone if there are many.
fn decades(low: f64, high: f64) -> Vec<f64> {
    let times: &[f64] = if high / low > 1e4 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    (-7..15)
        .flat_map(|power| times.iter().map(move |times| times * 10_f64.powi(power)))
        .filter(|at| (low * 0.999..=high * 1.001).contains(at))
        .collect()
}

impl Field {
    fn of(panel: &Panel, left: f64, top: f64) -> Field {
        let points = || panel.series.iter().flat_map(|series| series.points.iter());
        let mut x = Range::of(&panel.x, points().map(|point| point.0));
        if panel.series.iter().any(|series| series.style == Style::Bars) {
            x.name_bars();
        }
        Field { left, top, x, y: Range::of(&panel.y, points().map(|point| point.1)) }
    }

    fn place(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (self.left + FIELD_WIDTH * self.x.along(x), self.top + FIELD_HEIGHT * (1.0 - self.y.along(y)))
    }

    fn draw(&self, svg: &mut String, panel: &Panel) {
        let (left, top, right, bottom) = (self.left, self.top, self.left + FIELD_WIDTH, self.top + FIELD_HEIGHT);
        let _ = writeln!(svg, "<text x='{left}' y='{}' class='title'>{}</text>", top - 10.0, escaped(&panel.title));
        for x in &self.x.lines {
            let (at, _) = self.place((*x, self.y.low));
            let _ = writeln!(svg, "<path d='M{at:.1} {top}V{bottom}' class='grid'/>");
            let _ = writeln!(svg, "<text x='{at:.1}' y='{}' text-anchor='middle'>{}</text>", bottom + 15.0, name(*x));
        }
        for y in &self.y.lines {
            let (_, at) = self.place((self.x.low, *y));
            let _ = writeln!(svg, "<path d='M{left} {at:.1}H{right}' class='grid'/>");
            let _ = writeln!(svg, "<text x='{}' y='{:.1}' text-anchor='end'>{}</text>", left - 6.0, at + 4.0, name(*y));
        }
        let _ = writeln!(svg, "<path d='M{left} {top}V{bottom}H{right}' class='axis' fill='none'/>");
        let middle = left + FIELD_WIDTH / 2.0;
        let label = escaped(&panel.x.label);
        let _ = writeln!(svg, "<text x='{middle:.1}' y='{}' text-anchor='middle'>{label}</text>", bottom + 32.0);
        let (across, up) = (left - 48.0, top + FIELD_HEIGHT / 2.0);
        let label = escaped(&panel.y.label);
        let _ = writeln!(
            svg,
            "<text x='{across:.1}' y='{up:.1}' text-anchor='middle' transform='rotate(-90 {across:.1} {up:.1})'>{label}</text>"
        );
        let keys = keys_a_line(panel);
        for (number, series) in panel.series.iter().enumerate() {
            let colour = COLOURS[number % COLOURS.len()];
            self.draw_series(svg, series, colour, number, panel.series.len());
            let (x, y) = (
                left + (number % keys) as f64 * FIELD_WIDTH / 2.0,
                bottom + BELOW + 6.0 + LEGEND_LINE * (number / keys) as f64,
            );
            draw_key(svg, series, colour, (x, y));
        }
    }

    fn draw_series(&self, svg: &mut String, series: &Series, colour: &str, number: usize, of: usize) {
        let places: Vec<(f64, f64)> = series.points.iter().map(|point| self.place(*point)).collect();
        let path = places.iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect::<Vec<_>>().join("L");
        match series.style {
            _ if places.is_empty() => {}
            Style::Line | Style::Curve => {
                let _ = writeln!(svg, "<path d='M{path}' fill='none' stroke='{colour}' stroke-width='1.6'/>");
            }
            Style::Dashed => {
                let _ = writeln!(
                    svg,
                    "<path d='M{path}' fill='none' stroke='{colour}' stroke-width='1.4' stroke-dasharray='6 4'/>"
                );
            }
            Style::Dots => {}
            Style::Bars => {
                let widest = FIELD_WIDTH / (1.4 * places.len() as f64 * of as f64);
                let width = widest.clamp(0.6, 24.0);
                let aside = (number as f64 - (of as f64 - 1.0) / 2.0) * width;
                let ground = self.top + FIELD_HEIGHT;
                for (x, y) in &places {
                    let _ = writeln!(
                        svg,
                        "<rect x='{:.1}' y='{y:.1}' width='{width:.1}' height='{:.1}' fill='{colour}'/>",
                        x + aside - width / 2.0,
                        ground - y
                    );
                }
            }
        }
        if matches!(series.style, Style::Line | Style::Dots) {
            let radius = if series.points.len() <= 60 { 2.4 } else { 1.5 };
            for (x, y) in &places {
                let _ = writeln!(svg, "<circle cx='{x:.1}' cy='{y:.1}' r='{radius}' fill='{colour}'/>");
            }
        }
    }
}

fn draw_key(svg: &mut String, series: &Series, colour: &str, (x, y): (f64, f64)) {
    let mark = match series.style {
        Style::Dots => format!("<circle cx='{:.1}' cy='{y:.1}' r='2.4' fill='{colour}'/>", x + 9.0),
        Style::Bars => format!("<rect x='{x:.1}' y='{:.1}' width='18' height='8' fill='{colour}'/>", y - 4.0),
        Style::Dashed => {
            format!("<path d='M{x:.1} {y:.1}h18' stroke='{colour}' stroke-width='1.6' stroke-dasharray='6 4'/>")
        }
        Style::Line | Style::Curve => {
            format!("<path d='M{x:.1} {y:.1}h18' stroke='{colour}' stroke-width='1.6'/>")
        }
    };
    let _ = writeln!(svg, "{mark}<text x='{:.1}' y='{:.1}'>{}</text>", x + 23.0, y + 4.0, escaped(&series.name));
}

/// The label of a number at an axis.
fn name(value: f64) -> String {
    let rounded = (value * 1e6).round() / 1e6;
    let (number, unit) = match rounded.abs() {
        large if large >= 1e9 => (rounded / 1e9, " G"),
        large if large >= 1e6 => (rounded / 1e6, " M"),
        large if large >= 1e4 => (rounded / 1e3, " k"),
        _ => (rounded, ""),
    };
    format!("{number}{unit}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_axis_has_lines_at_round_numbers() {
        let range = Range::of(&Axis::linear("x"), [3.0, 97.0].into_iter());
        assert_eq!(range.lines, [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        let range = Range::of(&Axis::log("x"), [100.0, 5000.0].into_iter());
        assert_eq!(range.lines, [100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0]);
    }

    #[test]
    fn every_bar_has_its_number_where_there_are_few() {
        let lines = |high: f64| {
            let mut panel = Panel::new("p", Axis::linear("x").between(0.5, high), Axis::linear("y"));
            panel.add("s", Style::Bars, [(1.0, 1.0), (2.0, 3.0)]);
            Field::of(&panel, 0.0, 0.0).x.lines
        };
        assert_eq!(lines(3.5), [1.0, 2.0, 3.0]);
        assert_eq!(lines(100.0), [20.0, 40.0, 60.0, 80.0, 100.0]);
    }

    #[test]
    fn a_point_is_where_its_values_say() {
        let mut panel = Panel::new("p", Axis::linear("x").between(0.0, 10.0), Axis::log("y").between(1.0, 100.0));
        panel.add("s", Style::Line, [(5.0, 10.0)]);
        let (x, y) = Field::of(&panel, 0.0, 0.0).place((5.0, 10.0));
        assert!((x - FIELD_WIDTH / 2.0).abs() < 1e-9 && (y - FIELD_HEIGHT / 2.0).abs() < 1e-9);
    }

    #[test]
    fn a_figure_with_nothing_in_it_is_drawn_all_the_same() {
        let panel = Panel::new("a < b & c", Axis::linear("x"), Axis::log("y"));
        let svg = draw(&Figure::new("f", "t", vec![panel]));
        assert!(svg.contains("a &lt; b &amp; c") && svg.ends_with("</svg>\n") && !svg.contains("NaN"));
    }

    proptest! {
        #[test]
        fn a_linear_axis_has_a_few_round_lines_inside_its_ends(low in -1e4..1e4_f64, length in 1e-3..1e5_f64) {
            let range = Range::of(&Axis::linear("x"), [low, low + length].into_iter());
            prop_assert!(range.low <= low + 1e-9 && range.high >= low + length - 1e-9);
            prop_assert!((2..=13).contains(&range.lines.len()), "{:?}", range.lines);
            let slack = 1e-6 * (range.high - range.low);
            prop_assert!(range.lines.iter().all(|line| (range.low - slack..=range.high + slack).contains(line)));
            let steps: Vec<f64> = range.lines.windows(2).map(|pair| pair[1] - pair[0]).collect();
            prop_assert!(steps.iter().all(|step| (step - steps[0]).abs() < slack), "{steps:?}");
            prop_assert!(range.along(low) <= range.along(low + length));
        }

        #[test]
        fn a_logarithmic_axis_places_values_by_their_ratio(low in 1e-3..1e3_f64, factor in 1.5..1e6_f64, share in 0.0..1.0_f64) {
            let range = Range::of(&Axis::log("x"), [low, low * factor].into_iter());
            prop_assert!((range.along(low * factor.powf(share)) - share).abs() < 1e-9);
            prop_assert!(range.lines.iter().all(|line| (low * 0.99..=low * factor * 1.01).contains(line)));
            prop_assert_eq!((range.along(low / 2.0), range.along(low * factor * 2.0)), (0.0, 1.0));
        }

        #[test]
        fn a_step_is_1_2_or_5_times_a_power_of_ten_and_gives_four_to_six_parts(length in 1e-6..1e9_f64) {
            let step = step(length);
            let digit = step / 10_f64.powf((step * 1.000_001).log10().floor());
            prop_assert!([1.0, 2.0, 5.0].iter().any(|round| (digit - round).abs() < 1e-6), "{digit}");
            prop_assert!((2.3..=6.000_001).contains(&(length / step)), "{length} {step}");
        }
    }

    #[test]
    fn numbers_at_an_axis_are_short() {
        for (value, expected) in [
            (0.0, "0"),
            (0.1 + 0.2, "0.3"),
            (9999.0, "9999"),
            (10_000.0, "10 k"),
            (-20_000.0, "-20 k"),
            (2_500_000.0, "2.5 M"),
            (3e9, "3 G"),
        ] {
            assert_eq!(name(value), expected);
        }
    }

    #[test]
    fn every_style_is_drawn_with_a_key_and_all_panels_are_inside_the_picture() {
        let styles = [Style::Line, Style::Curve, Style::Dashed, Style::Dots, Style::Bars];
        let panel = |count: usize| {
            let mut panel = Panel::new("p", Axis::linear("x"), Axis::linear("y"));
            for (number, style) in styles.into_iter().enumerate() {
                panel.add(&format!("series {number}"), style, (0..count).map(|x| (x as f64, (x * number) as f64)));
            }
            panel
        };
        for count in [0, 1, 2, 80] {
            let svg = draw(&Figure::new("f", "t", vec![panel(count), panel(1), panel(2)]));
            assert!((0..5).all(|number| svg.contains(&format!(">series {number}</text>"))), "{count}");
            assert_eq!(svg.matches("class='title'").count(), 3);
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{count}");
        }
        // Two panels to a row: the third begins a second one.
        let heights: Vec<f64> = [1, 2, 3]
            .map(|panels| {
                let svg = draw(&Figure::new("f", "t", (0..panels).map(|_| panel(2)).collect()));
                let view = svg.split("viewBox='").nth(1).and_then(|rest| rest.split('\'').next()).unwrap();
                view.split(' ').nth(3).unwrap().parse().unwrap()
            })
            .to_vec();
        assert!(heights[0] == heights[1] && heights[2] > 1.8 * heights[0], "{heights:?}");
    }
}

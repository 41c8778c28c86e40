//! Draws time and memory against postings, from the lines that `join` prints, as an SVG file.
//!
//! ```sh
//! for documents in 20000 200000 2000000; do
//!   make_postings --documents $documents --out - | join - --records $((documents * 60)) --memory-budget 1GiB -o links
//! done > 1GiB.ndjson
//! draw_growth --series 1GiB=1GiB.ndjson --series 256MiB=256MiB.ndjson --out docs/growth.svg
//! ```

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser;
use serde_json::Value;

/// Draws time and memory against postings.
#[derive(Parser, Debug)]
#[command(after_help = "Example: draw_growth --series 1GiB=1GiB.ndjson --out growth.svg")]
struct Arguments {
    /// A memory budget and the lines that `join` printed under it: SIZE=FILE
    #[arg(long, value_parser = series, required = true)]
    series: Vec<(String, PathBuf)>,
    /// File of the picture
    #[arg(long)]
    out: PathBuf,
}

type AnyError = Box<dyn std::error::Error + Send + Sync>;

fn series(text: &str) -> Result<(String, PathBuf), String> {
    let (name, path) = text.split_once('=').ok_or("not SIZE=FILE")?;
    name.parse::<bytesize::ByteSize>()?;
    Ok((name.to_owned(), path.into()))
}

/// One run of `join`.
#[derive(Clone, Copy, Debug)]
struct Point {
    postings: f64,
    processor_seconds: f64,
    peak_bytes: f64,
}

/// The runs under one budget.
struct Series {
    name: String,
    budget_bytes: f64,
    points: Vec<Point>,
}

impl Series {
    fn read(name: &str, path: &Path) -> Result<Series, AnyError> {
        let text = fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let mut points = Vec::new();
        for line in text.lines() {
            let line: Value = serde_json::from_str(line)?;
            let number = |key: &str| line[key].as_f64().ok_or(format!("{}: a line without `{key}`", path.display()));
            points.push(Point {
                postings: number("postings")?,
                processor_seconds: number("processor_seconds")?,
                peak_bytes: number("peak_resident_bytes")?,
            });
        }
        points.sort_by(|a, b| a.postings.total_cmp(&b.postings));
        let budget_bytes = name.parse::<bytesize::ByteSize>()?.as_u64() as f64;
        Ok(Series { name: name.to_owned(), budget_bytes, points })
    }
}

/// One of the two diagrams: logarithmic on both axes, so that linear growth is a straight line.
struct Diagram {
    title: &'static str,
    /// Top left corner.
    top: f64,
    x: (f64, f64),
    y: (f64, f64),
}

/// The label at the end of a line, and its distance below it.
struct Label<'a> {
    name: &'a str,
    down: f64,
}

const LEFT: f64 = 70.0;
const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 250.0;
/// Colours that can be distinguished by colour-blind readers too (Okabe and Ito 2008).
const COLOURS: [&str; 4] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7"];

impl Diagram {
    fn place(&self, x: f64, y: f64) -> (f64, f64) {
        let along = |value: f64, (low, high): (f64, f64)| (value / low).ln() / (high / low).ln();
        (LEFT + WIDTH * along(x, self.x), self.top + HEIGHT * (1.0 - along(y, self.y)))
    }

    fn draw_frame(&self, svg: &mut String, y_name: fn(f64) -> String) {
        let (top, bottom, right) = (self.top, self.top + HEIGHT, LEFT + WIDTH);
        let _ = writeln!(svg, "<text x='{LEFT}' y='{}' class='title'>{}</text>", top - 12.0, self.title);
        for x in decades(self.x.0, self.x.1) {
            let (at, _) = self.place(x, self.y.0);
            let _ = writeln!(svg, "<path d='M{at:.1} {top}V{bottom}' class='grid'/>");
            let _ =
                writeln!(svg, "<text x='{at:.1}' y='{}' text-anchor='middle'>{}</text>", bottom + 18.0, millions(x));
        }
        for y in decades(self.y.0, self.y.1) {
            let (_, at) = self.place(self.x.0, y);
            let _ = writeln!(svg, "<path d='M{LEFT} {at:.1}H{right}' class='grid'/>");
            let _ =
                writeln!(svg, "<text x='{}' y='{:.1}' text-anchor='end'>{}</text>", LEFT - 8.0, at + 4.0, y_name(y));
        }
    }

    fn draw_line(&self, svg: &mut String, points: impl Iterator<Item = (f64, f64)>, colour: &str, label: &Label<'_>) {
        let places: Vec<(f64, f64)> = points.map(|(x, y)| self.place(x, y)).collect();
        let path: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
        let _ = writeln!(svg, "<path d='M{}' fill='none' stroke='{colour}' stroke-width='2'/>", path.join("L"));
        for (x, y) in &places {
            let _ = writeln!(svg, "<circle cx='{x:.1}' cy='{y:.1}' r='3' fill='{colour}'/>");
        }
        if let Some((x, y)) = places.last() {
            let (x, y, name) = (x + 8.0, y + label.down, label.name);
            let _ = writeln!(svg, "<text x='{x:.1}' y='{y:.1}' fill='{colour}'>{name}</text>");
        }
    }
}

/// The values at which an axis has a line: 1, 2 and 5 times the powers of ten within its ends.
fn decades(low: f64, high: f64) -> Vec<f64> {
    let powers = (-3..13).map(|power| 10f64.powi(power));
    powers.flat_map(|power| [1.0, 2.0, 5.0].map(|step| step * power)).filter(|at| (low..=high).contains(at)).collect()
}

/// The ends of an axis, widened to numbers that it has lines at, but not for a twentieth.
fn ends(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let (low, high) = (values.clone().fold(f64::MAX, f64::min), values.fold(0.0, f64::max));
    let lines = decades(f64::MIN_POSITIVE, f64::MAX);
    let below = lines.iter().rev().find(|&&line| line <= low).copied();
    let above = lines.iter().find(|&&line| line >= 0.95 * high).copied();
    (below.unwrap_or(low), above.unwrap_or(high))
}

fn millions(postings: f64) -> String {
    format!("{} M", postings / 1e6)
}

fn seconds(seconds: f64) -> String {
    format!("{seconds} s")
}

fn megabytes(bytes: f64) -> String {
    format!("{} MB", bytes / 1e6)
}

fn draw(all: &[Series]) -> String {
    let points = || all.iter().flat_map(|series| series.points.iter().copied());
    let x = ends(points().map(|point| point.postings));
    let budgets = all.iter().map(|series| series.budget_bytes);
    let time = Diagram {
        title: "Processor seconds against postings; dashes: in proportion",
        top: 40.0,
        x,
        y: ends(points().map(|point| point.processor_seconds)),
    };
    let memory = Diagram {
        title: "Greatest resident memory against postings; dots: the budget",
        top: 370.0,
        x,
        y: ends(points().map(|point| point.peak_bytes).chain(budgets)),
    };
    let mut svg = String::from(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 760 660' font-family='sans-serif' font-size='12'>\n\
         <style>.title{font-size:14px;font-weight:bold}.grid{stroke:#ddd}</style>\n\
         <rect width='760' height='660' fill='white'/>\n",
    );
    time.draw_frame(&mut svg, seconds);
    memory.draw_frame(&mut svg, megabytes);
    for (number, (series, colour)) in all.iter().zip(COLOURS.iter().cycle()).enumerate() {
        // Lines that end in one place still have names apart.
        let label = Label { name: &series.name, down: 12.0 - 14.0 * number as f64 };
        let points = series.points.iter();
        time.draw_line(&mut svg, points.clone().map(|p| (p.postings, p.processor_seconds)), colour, &label);
        memory.draw_line(&mut svg, points.map(|p| (p.postings, p.peak_bytes)), colour, &label);
        let (_, y) = memory.place(x.0, series.budget_bytes);
        let right = LEFT + WIDTH;
        let _ = writeln!(svg, "<path d='M{LEFT} {y:.1}H{right}' stroke='{colour}' stroke-dasharray='2 4'/>");
    }
    if let Some(least) = all.first().and_then(|series| series.points.first()) {
        let slope = least.processor_seconds / least.postings;
        let (from, to) = (time.place(x.0, slope * x.0), time.place(x.1, slope * x.1));
        let (x1, y1, x2, y2) = (from.0, from.1, to.0, to.1);
        let _ = writeln!(svg, "<path d='M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}' stroke='#888' stroke-dasharray='6 4'/>");
    }
    svg.push_str("</svg>\n");
    svg
}

fn main() -> Result<(), AnyError> {
    let arguments = Arguments::parse();
    let series = arguments.series.iter().map(|(name, path)| Series::read(name, path)).collect::<Result<Vec<_>, _>>()?;
    fs::write(&arguments.out, draw(&series))?;
    Ok(())
}

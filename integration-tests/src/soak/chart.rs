//! The picture of a soak: memory, open files and disk over time, for the coordinator and for all workers together.

use std::fmt::Write as _;

use super::sample::{Sample, Use};

const WIDTH: f64 = 760.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 740.0;
const HEIGHT: f64 = 150.0;
const GAP: f64 = 64.0;
const TOP: f64 = 74.0;

/// A figure of what processes use.
type Figure = fn(&Use) -> f64;
/// The coordinator or the workers of a sample.
type Side = fn(&Sample) -> &Use;

/// Draws samples as SVG.
pub fn draw(samples: &[Sample], title: &str) -> String {
    let panels: [(&str, Figure); 3] = [
        ("Memory, MB", |used| used.memory_bytes as f64 / 1e6),
        ("Open files", |used| used.open_files as f64),
        ("State on disk, MB", |used| used.disk_bytes as f64 / 1e6),
    ];
    let height = TOP + (HEIGHT + GAP) * panels.len() as f64;
    let mut svg = format!(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH:.0} {height:.0}' font-family='sans-serif' font-size='12'>\n\
         <style>.title{{font-size:14px;font-weight:bold}}.grid{{stroke:#ddd}}.c{{fill:none;stroke:#0072b2;stroke-width:2}}\
         .w{{fill:none;stroke:#d55e00;stroke-width:2;stroke-dasharray:6 3}}</style>\n\
         <rect width='{WIDTH:.0}' height='{height:.0}' fill='white'/>\n<text x='{LEFT}' y='24' class='title'>{title}</text>\n\
         <path d='M{LEFT} 40h30' class='c'/><text x='106' y='44'>coordinator</text>\n\
         <path d='M200 40h30' class='w'/><text x='236' y='44'>all workers together</text>\n"
    );
    for (number, (name, value)) in panels.iter().enumerate() {
        panel(&mut svg, samples, TOP + (HEIGHT + GAP) * number as f64, name, *value);
    }
    svg.push_str("</svg>\n");
    svg
}

fn panel(svg: &mut String, samples: &[Sample], top: f64, name: &str, value: fn(&Use) -> f64) {
    let last = samples.last().map_or(1, |sample| sample.seconds).max(1) as f64;
    let all = samples.iter().flat_map(|sample| [value(&sample.coordinator), value(&sample.workers)]);
    let most = nice(all.fold(1.0, f64::max));
    let bottom = top + HEIGHT;
    let _ = writeln!(svg, "<text x='{LEFT}' y='{:.0}' class='title'>{name}</text>", top - 8.0);
    for part in 0..=4 {
        let (level, y) = (most * f64::from(part) / 4.0, bottom - HEIGHT * f64::from(part) / 4.0);
        let _ = writeln!(svg, "<path d='M{LEFT} {y:.1}H{RIGHT}' class='grid'/>");
        let _ = writeln!(svg, "<text x='{:.0}' y='{:.1}' text-anchor='end'>{level}</text>", LEFT - 8.0, y + 4.0);
    }
    for part in 0..=4 {
        let x = LEFT + (RIGHT - LEFT) * f64::from(part) / 4.0;
        let minutes = last / 60.0 * f64::from(part) / 4.0;
        let _ = writeln!(svg, "<text x='{x:.1}' y='{:.0}' text-anchor='middle'>{minutes:.0} min</text>", bottom + 18.0);
    }
    let sides: [(&str, Side); 2] = [("c", |sample| &sample.coordinator), ("w", |sample| &sample.workers)];
    for (class, side) in sides {
        let point = |sample: &Sample| {
            let x = LEFT + (RIGHT - LEFT) * sample.seconds as f64 / last;
            format!("{x:.1},{:.1}", bottom - HEIGHT * value(side(sample)) / most)
        };
        let points: Vec<String> = samples.iter().map(point).collect();
        let _ = writeln!(svg, "<polyline points='{}' class='{class}'/>", points.join(" "));
    }
}

/// The next number of the form 1, 2, 4 or 8 times a power of ten.
fn nice(most: f64) -> f64 {
    let power = 10_f64.powf(most.log10().floor());
    [1.0, 2.0, 4.0, 8.0, 10.0].into_iter().map(|step| step * power).find(|level| *level >= most).unwrap_or(most)
}

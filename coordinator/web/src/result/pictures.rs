//! Charts, drawn here as SVG that takes its colours from the style sheet.

use cognate_result::browse::ClusterPage;
use cognate_result::report::LinkRow;
use cognate_result::report::{BucketRow, HistogramSection};

/// Maximum members of a graph: more are not readable.
const NODES_MAX: usize = 40;
const GRAPH_SIZE: f64 = 460.0;
const GRAPH_RADIUS: f64 = 195.0;

/// The strengths of links, as bars.
pub(super) struct HistogramPicture {
    pub(super) title: String,
    pub(super) links: u64,
    pub(super) documents: u64,
    pub(super) by_resemblance: Vec<Bar>,
    pub(super) by_containment: Vec<Bar>,
}

/// A bar of a histogram, within 400 by 100.
pub(super) struct Bar {
    pub(super) x: usize,
    pub(super) height: u64,
    pub(super) from: i64,
    pub(super) to: i64,
    pub(super) links: u64,
    pub(super) documents: u64,
}

impl HistogramPicture {
    pub(super) fn of(histogram: &HistogramSection, is_log: bool) -> HistogramPicture {
        HistogramPicture {
            title: match histogram.view.as_deref() {
                Some("text") => "Similarity of texts".to_owned(),
                Some(_) => "Similarity of bytes".to_owned(),
                None => "Similarity of documents".to_owned(),
            },
            links: histogram.links,
            documents: histogram.documents,
            by_resemblance: bars(&histogram.resemblance, is_log),
            by_containment: bars(&histogram.containment, is_log),
        }
    }
}

fn bars(rows: &[BucketRow], is_log: bool) -> Vec<Bar> {
    #[expect(clippy::cast_precision_loss, reason = "a picture")]
    let value = |links: u64| if is_log { (links as f64 + 1.0).log10() } else { links as f64 };
    let most = rows.iter().map(|row| value(row.links)).fold(0.0, f64::max);
    let bar = |(place, row): (usize, &BucketRow)| {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 100")]
        let height = if most > 0.0 { (value(row.links) / most * 100.0).round() as u64 } else { 0 };
        Bar {
            x: place * 20,
            // A bar that is not empty has to be visible.
            height: if row.links > 0 { height.max(1) } else { 0 },
            from: row.from.0 / 100,
            to: row.to.0 / 100,
            links: row.links,
            documents: row.documents,
        }
    };
    rows.iter().enumerate().map(bar).collect()
}

/// Below the middle of a member.
const NODE_ROOM: i64 = 24;

/// Members on a circle, and links between them.
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    pub(super) edges: Vec<Edge>,
    /// No lower than its lowest member.
    pub(super) height: i64,
    /// Members that are left out.
    pub(super) left_out: u64,
}

pub(super) struct Node {
    pub(super) place: usize,
    pub(super) x: i64,
    pub(super) y: i64,
    pub(super) is_pivot: bool,
}

pub(super) struct Edge {
    pub(super) from: (i64, i64),
    pub(super) to: (i64, i64),
    pub(super) a: usize,
    pub(super) b: usize,
    pub(super) percent: i64,
    /// True if it reaches the threshold.
    pub(super) is_kept: bool,
    /// 1 to 4: the stronger, the thicker.
    pub(super) width: i64,
}

impl Graph {
    /// The graph of a cluster; of a large one, of the members with the strongest links.
    pub(super) fn of(cluster: &ClusterPage, threshold: i64) -> Graph {
        let mut shown: Vec<usize> = vec![cluster.pivot.place];
        for place in cluster.links.iter().flat_map(|link| [link.a, link.b]) {
            if shown.len() < NODES_MAX && !shown.contains(&place) {
                shown.push(place);
            }
        }
        shown.sort_unstable();
        let count = shown.len();
        let nodes: Vec<Node> = shown
            .iter()
            .enumerate()
            .map(|(number, place)| {
                let (x, y) = on_circle(number, count);
                Node { place: *place, x, y, is_pivot: *place == cluster.pivot.place }
            })
            .collect();
        let at = |place: usize| nodes.iter().find(|node| node.place == place).map(|node| (node.x, node.y));
        let edge = |link: &LinkRow| {
            let strength = link.resemblance.map_or(0, |resemblance| resemblance.0);
            Some(Edge {
                from: at(link.a)?,
                to: at(link.b)?,
                a: link.a,
                b: link.b,
                percent: strength / 100,
                is_kept: link.resemblance.is_none_or(|resemblance| resemblance.0 >= threshold),
                width: 1 + strength * 3 / 10_000,
            })
        };
        let edges = cluster.links.iter().filter_map(edge).collect();
        Graph {
            height: nodes.iter().map(|node| node.y).max().unwrap_or(0) + NODE_ROOM,
            edges,
            left_out: cluster.members.total.saturating_sub(count as u64),
            nodes,
        }
    }
}

#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "a picture of at most forty points")]
fn on_circle(number: usize, count: usize) -> (i64, i64) {
    let angle = std::f64::consts::TAU * number as f64 / count.max(1) as f64 - std::f64::consts::FRAC_PI_2;
    let middle = GRAPH_SIZE / 2.0;
    ((middle + GRAPH_RADIUS * angle.cos()).round() as i64, (middle + GRAPH_RADIUS * angle.sin()).round() as i64)
}

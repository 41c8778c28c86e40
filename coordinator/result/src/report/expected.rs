//! The expected error of the shares of a result: how far they are from what documents truly share.
//!
//! It is that of the pairs which the sites of the scan measured exactly. If they are too few, it is the greatest that
//! `cognate evaluate in-common` found in any pair of public folders (`evaluation/pages/in-common-errors.csv`, with which a test
//! compares it).

use cognate_result_file::{ExactPair, Layer, row};

use super::{ExactSiteRow, ExpectedError, Ratio, Report};
use crate::error::Error;

/// The least number of pairs of which a ninth decile says anything.
pub const EXACT_PAIRS_MIN: u64 = 10;

/// The errors in public folders, the greatest of any two, in ten-thousandths.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Public {
    median: i64,
    p90: i64,
    pairs: u64,
}

const BYTES_FINE: Public = Public { median: 207, p90: 727, pairs: 2155 };
const BYTES_COARSE_1000: Public = Public { median: 7656, p90: 9304, pairs: 2155 };
const BYTES_COARSE_100: Public = Public { median: 4088, p90: 7138, pairs: 2155 };
const TEXT_FINE: Public = Public { median: 131, p90: 213, pairs: 24 };
const TEXT_COARSE_200: Public = Public { median: 2873, p90: 3699, pairs: 24 };
const TEXT_COARSE_100: Public = Public { median: 1917, p90: 2482, pairs: 24 };

/// The comparison of one view.
struct Compared {
    is_text: bool,
    is_fine: bool,
    chunk_bytes: u64,
}

row! {
    /// What a site measured in all.
    struct SiteSums {
        site: String = "site",
        sampled_pairs: u64 = "sum(sampled_pairs)",
        measured_pairs: u64 = "sum(measured_pairs)",
        failure: Option<String> = "max(failure)",
        refused: bool = "max(refused)",
        read_bytes: u64 = "sum(read_bytes)",
    }
}

impl Report {
    /// The expected error of the shares; none where the method has no chunks.
    pub(super) fn expected_error(&self) -> Result<Option<ExpectedError>, Error> {
        let compared = |layer: Layer| {
            let is_fine = layer.precision? == "fine";
            Some(Compared { is_text: layer.view == "text", is_fine, chunk_bytes: layer.chunk_bytes.unwrap_or(0) })
        };
        let layers = self.records("ORDER BY t.number")?.into_iter().filter_map(compared);
        let Some(public) = layers.map(|layer| layer.public()).reduce(Public::or) else { return Ok(None) };
        let both = |pair: ExactPair| {
            let sides = [(pair.size_bytes_a, pair.true_bytes_a), (pair.size_bytes_b, pair.true_bytes_b)];
            sides.map(|(size, truth)| Ratio::of(pair.reported_bytes.abs_diff(truth), size).0)
        };
        let mut errors: Vec<i64> = self.records("")?.into_iter().flat_map(both).collect();
        errors.sort_unstable();
        let sites: Vec<SiteSums> =
            self.rows(&format!("SELECT {} FROM exact_site GROUP BY site ORDER BY site", SiteSums::select()), ())?;
        let sites = sites.into_iter().map(|sums| ExactSiteRow {
            measured_pairs: sums.measured_pairs,
            read_bytes: sums.read_bytes,
            reason: sums.failure,
            refused: sums.refused,
            sampled_pairs: sums.sampled_pairs,
            site: sums.site,
        });
        let sites = sites.collect();
        let pairs = errors.len() as u64 / 2;
        Ok(Some(match pairs < EXACT_PAIRS_MIN {
            true => ExpectedError {
                median: Ratio(public.median),
                p90: Ratio(public.p90),
                pairs: public.pairs,
                sites,
                sites_pairs: pairs,
                source: "public",
            },
            false => ExpectedError {
                median: Ratio(quantile(&errors, 5)),
                p90: Ratio(quantile(&errors, 9)),
                pairs,
                sites,
                sites_pairs: pairs,
                source: "sites",
            },
        }))
    }
}

/// The least of some ascending values, at least one, that so many tenths of them do not exceed.
fn quantile(ascending: &[i64], tenths: usize) -> i64 {
    ascending[(ascending.len() * tenths).div_ceil(10) - 1]
}

impl Compared {
    fn public(&self) -> Public {
        match (self.is_text, self.is_fine, self.chunk_bytes <= 100) {
            (false, true, _) => BYTES_FINE,
            (false, false, true) => BYTES_COARSE_100,
            (false, false, false) => BYTES_COARSE_1000,
            (true, true, _) => TEXT_FINE,
            (true, false, true) => TEXT_COARSE_100,
            (true, false, false) => TEXT_COARSE_200,
        }
    }
}

impl Public {
    /// The error of two views together: the greater.
    fn or(self, other: Public) -> Public {
        Public { median: self.median.max(other.median), p90: self.p90.max(other.p90), pairs: self.pairs + other.pairs }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_the_values_does_not_exceed_a_quantile() {
        let values: Vec<i64> = (1..=10).collect();
        assert_eq!([quantile(&values, 5), quantile(&values, 9), quantile(&values, 10)], [5, 9, 10]);
        assert_eq!([quantile(&[3], 5), quantile(&[3], 9)], [3, 3]);
        assert_eq!([quantile(&values[..3], 5), quantile(&values[..3], 9)], [2, 3]);
    }

    /// The greatest errors of a way to measure in the committed table, over all folders that are compared by bytes or by text.
    fn of_table(is_text: bool, way: &str) -> Public {
        let table =
            include_str!("../../../../evaluation/pages/in-common-errors.csv").replace("chunks, mean", "chunks of");
        let rows: Vec<Vec<&str>> = table.lines().skip(1).map(|line| line.split(',').collect()).collect();
        let rows = rows.iter().filter(|row| row[3].trim_matches('"') == way && row[0].ends_with("(text)") == is_text);
        let ten_thousandths = |points: &str| {
            let hundredths = 100.0 * points.parse::<f64>().unwrap();
            i64::from((0..10_000).find(|whole| f64::from(*whole) >= hundredths - 1e-9).unwrap())
        };
        let of_rows = rows.map(|row| Public {
            median: ten_thousandths(row[5]),
            p90: ten_thousandths(row[6]),
            pairs: row[1].parse().unwrap(),
        });
        of_rows.reduce(Public::or).unwrap()
    }

    #[test]
    fn public_errors_are_those_of_the_evaluation() {
        for (own, is_text, way) in [
            (BYTES_FINE, false, "fine chunks of what is left"),
            (BYTES_COARSE_1000, false, "chunks of 1000"),
            (BYTES_COARSE_100, false, "chunks of 100"),
            (TEXT_FINE, true, "fine chunks of what is left"),
            (TEXT_COARSE_200, true, "chunks of 200"),
            (TEXT_COARSE_100, true, "chunks of 100"),
        ] {
            assert_eq!(own, of_table(is_text, way), "{way}, text: {is_text}");
        }
    }

    #[test]
    fn the_error_of_two_views_is_the_greater() {
        let compared = |is_text, is_fine, chunk_bytes| Compared { is_text, is_fine, chunk_bytes }.public();
        assert_eq!(compared(false, true, 50), BYTES_FINE);
        assert_eq!([compared(false, false, 100), compared(false, false, 101)], [BYTES_COARSE_100, BYTES_COARSE_1000]);
        let both = compared(false, true, 1000).or(compared(true, true, 200));
        assert_eq!((both.p90, both.pairs), (BYTES_FINE.p90.max(TEXT_FINE.p90), BYTES_FINE.pairs + TEXT_FINE.pairs));
    }
}

//! Numbers for people: counts, sizes, shares, durations and moments. Text, pages, workbooks and HTML all use these, so that
//! one number has the same digits wherever it is shown.

use bytesize::ByteSize;
use cognate_proto::v1::MethodSpec;
use cognate_result::report::Ratio;

/// A count with its thousands apart: `108,804`.
pub fn count(count: u64) -> String {
    let digits = count.to_string();
    let mut shown = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// A size in decimal units: `597.1 MB` for 597,100,000 bytes.
pub fn bytes(bytes: u64) -> String {
    ByteSize(bytes).display().si().to_string()
}

/// A part of a total in percent: `93.8 %`. Less than all is never shown as all, and more than nothing never as nothing;
/// of an empty total it is a dash. A share that a report stores has the same digits as the part that it came from.
pub fn percent(part: u64, total: u64) -> String {
    if total == 0 { "–".to_owned() } else { share(Ratio::of(part, total).0) }
}

/// A share in ten-thousandths, as results store it, in percent.
pub fn share(ten_thousandths: i64) -> String {
    match (ten_thousandths, tenths(ten_thousandths)) {
        (1.., 0) => "< 0.1 %".to_owned(),
        (_, tenths) => format!("{}.{} %", tenths / 10, tenths % 10),
    }
}

/// A share as a number for cells that show it in percent with one decimal: the digits are those of [`share`].
#[expect(clippy::cast_precision_loss, reason = "a share is 0 to 1")]
pub fn cell(ten_thousandths: i64) -> f64 {
    tenths(ten_thousandths) as f64 / 1000.0
}

/// Tenths of a percent, rounded down.
fn tenths(ten_thousandths: i64) -> i64 {
    ten_thousandths.clamp(0, 10_000) / 10
}

/// A distance between two shares, in ten-thousandths, as points of percent with one decimal, rounded up: `1.3`.
pub fn points(ten_thousandths: i64) -> String {
    let tenths = ten_thousandths.max(0).unsigned_abs().div_ceil(10);
    format!("{}.{}", tenths / 10, tenths % 10)
}

/// A duration in at most two units: `1 h 5 min`.
pub fn duration(seconds: u64) -> String {
    let units = [(86_400, "d"), (3600, "h"), (60, "min"), (1, "s")];
    let mut rest = seconds;
    let mut words = Vec::new();
    for (each, unit) in units {
        if rest >= each && words.len() < 2 {
            words.push(format!("{} {unit}", rest / each));
            rest %= each;
        } else if !words.is_empty() {
            break;
        }
    }
    if words.is_empty() { "0 s".to_owned() } else { words.join(" ") }
}

/// A moment to the second, in UTC; a dash for one that no calendar has.
pub fn moment(time: i64) -> String {
    jiff::Timestamp::from_second(time)
        .map_or_else(|_| "—".to_owned(), |time| time.strftime("%Y-%m-%d %H:%M:%S UTC").to_string())
}

/// A moment for programs: RFC 3339; empty for one that no calendar has.
pub fn stamp(time: i64) -> String {
    jiff::Timestamp::from_second(time).map_or_else(|_| String::new(), |time| time.to_string())
}

/// The distance of a moment from now, in words: `2 hours ago`.
pub fn ago(time: i64, now: i64) -> String {
    let apart = time.abs_diff(now);
    let unit = |each: u64, unit: &str| {
        let count = apart / each;
        let many = if count == 1 { "" } else { "s" };
        match time > now {
            true => format!("in {count} {unit}{many}"),
            false => format!("{count} {unit}{many} ago"),
        }
    };
    match apart {
        0..=4 => "just now".to_owned(),
        5..60 => unit(1, "second"),
        60..3600 => unit(60, "minute"),
        3600..86_400 => unit(3600, "hour"),
        86_400..2_592_000 => unit(86_400, "day"),
        _ => jiff::Timestamp::from_second(time)
            .map_or_else(|_| "—".to_owned(), |time| time.strftime("%Y-%m-%d").to_string()),
    }
}

/// A view in words.
pub fn view(view: &str) -> &str {
    match view {
        "raw" | "" => "bytes",
        "auto" => "bytes, and text of office files",
        "office" => "text of office files",
        "both" => "bytes and text",
        view => view,
    }
}

/// A method in words: `chunks of the bytes, mean 1,000`. The default method needs no name.
pub fn method(name: &str, view: &str, chunk_bytes: u64, param: &str) -> String {
    let view = self::view(view);
    let mut words = vec![match name {
        "tttd" | "" => format!("chunks of the {view}"),
        name => format!("{name} over the {view}"),
    }];
    if chunk_bytes > 0 {
        words.push(format!("mean {}", count(chunk_bytes)));
    }
    words.push(param.to_owned());
    words.retain(|word| !word.is_empty());
    words.join(", ")
}

/// The same of a method as messages have it.
pub fn method_of(spec: &MethodSpec) -> String {
    method(&spec.name, &spec.view, spec.chunk_bytes, &spec.param)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<I: Copy + std::fmt::Debug>(show: impl Fn(I) -> String, cases: &[(I, &str)]) {
        for (input, shown) in cases {
            assert_eq!(show(*input), *shown, "{input:?}");
        }
    }

    #[test]
    fn shares_are_never_rounded_to_all_or_nothing() {
        let cases = [((999_999, 1_000_000), "99.9 %"), ((1, 1_000_000), "< 0.1 %"), ((0, 10), "0.0 %")];
        check(|(part, total)| percent(part, total), &cases);
        check(
            |(part, total)| percent(part, total),
            &[((10, 10), "100.0 %"), ((0, 0), "–"), ((u64::MAX, u64::MAX), "100.0 %")],
        );
    }

    #[test]
    fn a_stored_share_has_the_digits_of_the_part_that_it_came_from() {
        check(
            share,
            &[(0, "0.0 %"), (1, "< 0.1 %"), (10, "0.1 %"), (9_999, "99.9 %"), (10_000, "100.0 %"), (-1, "0.0 %")],
        );
    }

    #[test]
    fn a_part_and_its_stored_share_have_the_same_digits() {
        for (part, total) in [(1, 3), (74_996, 100_000), (74_995, 100_000), (1, 100_000), (99_999, 100_000), (7, 7)] {
            assert_eq!(percent(part, total), share(Ratio::of(part, total).0), "{part} of {total}");
        }
        assert_eq!([cell(7_499), cell(9_999), cell(10_000), cell(-1)], [0.749, 0.999, 1.0, 0.0]);
    }

    #[test]
    fn points_are_rounded_up() {
        check(points, &[(0, "0.0"), (1, "0.1"), (10, "0.1"), (121, "1.3"), (10_000, "100.0"), (-5, "0.0")]);
    }

    #[test]
    fn counts_have_their_thousands_apart() {
        check(count, &[(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")]);
    }

    #[test]
    fn sizes_are_decimal() {
        check(bytes, &[(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (597_100_000, "597.1 MB")]);
    }

    #[test]
    fn durations_have_at_most_two_units() {
        check(duration, &[(0, "0 s"), (59, "59 s"), (61, "1 min 1 s"), (3600, "1 h"), (90_061, "1 d 1 h")]);
    }

    #[test]
    fn moments_are_in_utc_and_their_distance_in_words() {
        assert_eq!((moment(0), stamp(1)), ("1970-01-01 00:00:00 UTC".to_owned(), "1970-01-01T00:00:01Z".to_owned()));
        let cases = [
            ((100, 100), "just now"),
            ((40, 100), "1 minute ago"),
            ((0, 7300), "2 hours ago"),
            ((90_000, 0), "in 1 day"),
        ];
        check(|(time, now)| ago(time, now), &cases);
    }

    #[test]
    fn the_default_method_is_told_without_its_name() {
        assert_eq!(method("tttd", "raw", 1000, ""), "chunks of the bytes, mean 1,000");
        assert_eq!(method("tttd", "office", 50, ""), "chunks of the text of office files, mean 50");
        assert_eq!(method("shingle", "text", 0, "w=9"), "shingle over the text, w=9");
    }
}

//! Documents that are cut off or broken: what comes before the damage is read, and the document says that it is a part.

use cognate_view::{Limits, Outcome, Reason};

use crate::make;
use crate::reader::{lines, walked};

/// Words without an order that a compressor could use, so that half of the file is half of the text.
fn text() -> String {
    let mut state = 1_u64;
    let mut word = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        format!("{:x}", state >> 40)
    };
    (0..400_000).map(|_| word() + " ").collect::<String>().trim_end().to_owned()
}

const IN_PART: Outcome = Outcome::InPart(Reason::Damaged);

#[test]
fn a_compressed_file_is_read_up_to_its_damage() {
    let text = text();
    let tar = make::tar(&[("first", b"complete"), ("notes.txt", text.as_bytes())]);
    for (what, bytes) in [
        ("gzip", make::gzip(text.as_bytes())),
        ("bzip2", make::bzip2(text.as_bytes())),
        ("xz", make::xz(text.as_bytes())),
        ("zstd", make::zstd(text.as_bytes())),
        ("zip", make::zip(&[("notes.txt", text.as_bytes())])),
        ("7z", make::seven_zip(&[("notes.txt", text.as_bytes())])),
        ("tar", tar.clone()),
        ("tar.gz", make::gzip(&tar)),
        ("tar.zst", make::zstd(&tar)),
    ] {
        let cut = &bytes[..bytes.len() * 6 / 10];
        let mut broken = bytes.clone();
        broken[bytes.len() * 6 / 10] ^= 0x55;
        for (damage, bytes) in [("cut", cut), ("broken", &broken[..])] {
            // The directory of a 7z is its end. A tar has no checksums of its files: the file around it has one, at its end.
            if (what, damage) == ("7z", "cut") || (damage == "broken" && matches!(what, "tar" | "tar.gz")) {
                continue;
            }
            let name = if what.starts_with("tar") { "notes.tar" } else { "notes.txt" };
            let parts = walked(name, bytes, &Limits::default());
            let part = parts.iter().find(|part| part.name == "notes.txt").unwrap_or_else(|| panic!("{what} {damage}"));
            assert_eq!(part.outcome, IN_PART, "{what} {damage}");
            let same = part.text.bytes().zip(text.bytes()).take_while(|(read, there)| read == there).count();
            assert!(same * 4 >= text.len(), "{what} {damage}: {same} bytes of {}", text.len());
            if what.starts_with("tar") {
                assert_eq!(lines(&parts[..1]), ["first: complete"], "{what} {damage}");
            }
        }
    }
}

#[test]
fn an_archive_in_a_stream_that_is_cut_off_has_the_members_before_the_cut() {
    let filler = text();
    let zip = make::zip(&[("a.txt", b"first"), ("b.txt", filler.as_bytes())]);
    let gzip = make::gzip(&zip);
    let parts = walked("x.zip", &gzip[..gzip.len() / 2], &Limits::default());
    let names: Vec<(&str, Outcome)> = parts.iter().map(|part| (part.name.as_str(), part.outcome)).collect();
    let damaged = Outcome::Unextractable(Reason::Damaged);
    assert_eq!(names, [("x.zip!/a.txt", Outcome::Text), ("x.zip!/b.txt", IN_PART), ("x.zip", damaged), ("", damaged)]);
}

/// A document whose parts are stored, so that one of them can be broken alone.
fn office(parts: &[(&str, &str)]) -> Vec<u8> {
    let parts: Vec<(&str, &[u8])> = parts.iter().map(|(name, part)| (*name, part.as_bytes())).collect();
    make::zip(&parts)
}

const SLIDES: [(&str, &str); 5] = [
    ("[Content_Types].xml", "<Types/>"),
    ("ppt/presentation.xml", "<p><sldId r:id='1'/><sldId r:id='2'/></p>"),
    (
        "ppt/_rels/presentation.xml.rels",
        "<Relationships><Relationship Id='1' Type='x/slide' Target='a.xml'/><Relationship Id='2' Type='x/slide' Target='b.xml'/></Relationships>",
    ),
    ("ppt/a.xml", "<s><a:p><a:r><a:t>first words</a:t></a:r></a:p><a:p><a:r><a:t>more</a:t></a:r></a:p></s>"),
    ("ppt/b.xml", "<s><a:p><a:r><a:t>second words</a:t></a:r></a:p></s>"),
];

#[test]
fn a_broken_part_of_an_office_file_costs_its_own_words_alone() {
    let mut broken = SLIDES;
    broken[3].1 = "<s><a:p><a:r><a:t>first words</a:t></a:r></a:p><a:p></wrong></s>";
    let parts = walked("x.pptx", &office(&broken), &Limits::default());
    assert_eq!(lines(&parts), [": in part (damaged): first words\nsecond words"]);
}

#[test]
fn an_office_file_that_is_cut_off_is_read_as_far_as_it_goes() {
    let whole = office(&SLIDES);
    assert_eq!(lines(&walked("", &whole, &Limits::default())), [": first words\nmore\nsecond words"]);
    let last = whole.windows(9).position(|name| name == b"ppt/b.xml").unwrap();
    let parts = walked("", &whole[..last], &Limits::default());
    assert_eq!(lines(&parts), [": in part (damaged): first words\nmore"]);
    let followed = [&whole[..], &[0; 80_000]].concat();
    assert_eq!(
        lines(&walked("", &followed, &Limits::default())),
        [": in part (damaged): first words\nmore\nsecond words"]
    );
}

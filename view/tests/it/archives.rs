//! The members of archives, and their names.

use cognate_view::{Limits, Parts, Reason};
use proptest::prelude::*;

use crate::make::{self, DEFLATED, Style, Zip, tar_entry};
use crate::reader::{because, collect, file, lines, own, pool, read, walked};

fn check(name: &str, bytes: &[u8], wanted: &[&str]) {
    assert_eq!(lines(&walked(name, bytes, &Limits::default())), wanted);
}

#[test]
fn members_come_before_their_container_under_names_of_their_own() {
    let inner = make::zip(&[("letter.txt", b"Dear all")]);
    let outer = make::zip(&[("a/b.txt", b"first"), ("mail.zip", &inner), ("z", b"")]);
    let wanted = ["a/b.txt: first", "mail.zip!/letter.txt: Dear all", "mail.zip: container", "z: ", ": container"];
    check("outer.zip", &outer, &wanted);
    let pool = pool(Limits::default());
    assert_eq!(lines(&read(&pool, "outer.zip", &outer)), wanted, "the same through a child");
}

#[test]
fn a_compressed_file_has_one_member() {
    let text = "one and two ".repeat(20_000);
    let wanted = format!("notes.txt: {}", text.trim_end());
    for bytes in [
        make::gzip(text.as_bytes()),
        make::bzip2(text.as_bytes()),
        make::xz(text.as_bytes()),
        make::zstd(text.as_bytes()),
    ] {
        for name in ["notes.txt.gz", "in/a/NOTES.gz", "x"] {
            let wanted = wanted.replace("notes.txt", if name == "x" { "content" } else { "notes.txt" });
            let wanted = if name.contains("NOTES") { wanted.replace("notes.txt", "NOTES") } else { wanted };
            // Names are derived by the pool; a walk is given what it derives.
            let hint = if name == "x" {
                ""
            } else if name.contains("NOTES") {
                "NOTES"
            } else {
                "notes.txt"
            };
            check(hint, &bytes, &[&wanted, ": container"]);
        }
    }
    check("", &make::gzip_named("own.txt", b"text"), &["own.txt: text", ": container"]);
    check("outer.txt", &make::gzip_named("own.txt", b"text"), &["outer.txt: text", ": container"]);
    let through = lines(&read(&pool(Limits::default()), "in/notes.txt.gz", &make::gzip(b"text")));
    assert_eq!(through, ["notes.txt: text", ": container"]);
}

#[test]
fn a_compressed_tar_archive_is_one_archive() {
    let tar = make::tar(&[("a/b", b"one"), ("c", b"two")]);
    for bytes in [make::gzip(&tar), make::bzip2(&tar), make::xz(&tar), make::zstd(&tar)] {
        check("x.tar", &bytes, &["a/b: one", "c: two", ": container"]);
    }
    let nested = make::zip(&[("in.tgz", &make::gzip(&tar)), ("n.txt.gz", &make::gzip(b"n"))]);
    let wanted =
        ["in.tgz!/a/b: one", "in.tgz!/c: two", "in.tgz: container", "n.txt.gz!/n.txt: n", "n.txt.gz: container"];
    check("", &nested, &[&wanted[..], &[": container"]].concat());
    // Compressed twice it is an archive in an archive.
    check(
        "",
        &make::gzip(&make::gzip(&tar)),
        &["content!/a/b: one", "content!/c: two", "content: container", ": container"],
    );
}

#[test]
fn streams_of_several_members_are_read_to_the_end() {
    let two = |one: Vec<u8>, two: Vec<u8>| [one, two].concat();
    for bytes in [
        two(make::gzip(b"one "), make::gzip(b"two")),
        two(make::bzip2(b"one "), make::bzip2(b"two")),
        two(make::xz(b"one "), make::xz(b"two")),
        two(make::zstd(b"one "), make::zstd(b"two")),
        // A skippable frame, and bytes after a gzip file that are no member.
        [&[0x50, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 1, 2, 3][..], &make::zstd(b"one two")].concat(),
        two(make::gzip(b"one two"), vec![0; 512]),
    ] {
        check("x", &bytes, &["x: one two", ": container"]);
    }
}

#[test]
fn seven_zip_archives_are_read() {
    let bytes = make::seven_zip(&[("a/b.txt", b"one"), ("empty", b""), ("c.gz", &make::gzip(b"two"))]);
    check("", &bytes, &["a/b.txt: one", "c.gz!/c: two", "c.gz: container", "empty: ", ": container"]);
}

#[test]
fn zip_archives_are_read_however_they_are_written() {
    let text = b"some text, some text, some text";
    for method in [0, 8, 12, 93] {
        for descriptor in [false, true] {
            for wide in [false, true] {
                let mut zip = Zip::default();
                let style = Style { method, descriptor, wide, ..Style::default() };
                zip.add("a", text, style);
                zip.add("b", b"more", style);
                let wanted = ["a: some text, some text, some text", "b: more", ": container"];
                let bytes = zip.finish();
                check("", &bytes, &wanted);
                // A program may come before it.
                check("", &[b"PK\x03\x04".as_slice(), &[b'x'; 1000], &bytes].concat(), &wanted);
            }
        }
    }
}

#[test]
fn an_archive_that_ends_as_one_of_very_many_members_is_read() {
    let mut zip = Zip::default();
    zip.add("a", b"text", DEFLATED);
    zip.add("b", b"more", DEFLATED);
    check("", &zip.finish_as_of_many(), &["a: text", "b: more", ": container"]);
}

#[test]
fn a_directory_that_begins_elsewhere_is_damage_and_never_an_empty_archive() {
    let mut zip = Zip::default();
    zip.add("a", b"text", DEFLATED);
    let mut bytes = zip.finish();
    let length_at = bytes.len() - 10;
    bytes[length_at] -= 1;
    check("", &bytes, &["a: text", ": (damaged)"]);
}

#[test]
fn folders_links_and_devices_are_no_documents() {
    let mut zip = Zip::default();
    zip.add("folder/", b"", Style::default());
    zip.add("link", b"/etc/passwd", Style { mode: 0o120_777, ..Style::default() });
    zip.add("file", b"text", Style { mode: 0o100_644, ..DEFLATED });
    check("", &zip.finish(), &["file: text", ": container"]);
    let mut tar = Vec::new();
    for (name, kind) in [("folder/", b'5'), ("hard", b'1'), ("link", b'2'), ("device", b'3'), ("pipe", b'6')] {
        tar.extend(tar_entry(name, kind, b""));
    }
    tar.extend(tar_entry("file", 0, b"text"));
    check("", &tar, &["file: text", ": container"]);
}

#[test]
fn names_lead_nowhere_else_and_never_double() {
    let names = ["../../etc/passwd", "/root/x", "a//./b", "a/b", "a/b", ""];
    let members: Vec<(&str, &[u8])> = names.iter().map(|&name| (name, b"t".as_slice())).collect();
    let wanted = ["etc/passwd: t", "root/x: t", "a/b: t", "a/b~2: t", "a/b~3: t", "unnamed: t", ": container"];
    check("", &make::zip(&members), &wanted);
    check("", &make::tar(&members), &wanted);
}

#[test]
fn locked_members_are_reported_and_the_others_read() {
    let mut zip = Zip::default();
    zip.add("locked", b"secret bytes", Style { flags: 1, ..Style::default() });
    zip.add("odd", b"by an unknown method", Style { method: 98, ..Style::default() });
    zip.add("open", b"text", DEFLATED);
    let wanted = ["locked: (encrypted)", "odd: (a format that is not supported)", "open: text", ": container"];
    check("", &zip.finish(), &wanted);
}

#[test]
fn long_names_of_tar_archives_are_read() {
    let long = format!("{}end.txt", "long/".repeat(50));
    let gnu =
        [tar_entry("././@LongLink", b'L', format!("{long}\0").as_bytes()), tar_entry("cut", b'0', b"gnu")].concat();
    check("", &gnu, &[&format!("{long}: gnu"), ": container"]);
    let record = |key: &str, value: &str| {
        let rest = format!(" {key}={value}\n");
        let length = (rest.len()..).find(|length| length.to_string().len() + rest.len() == *length).unwrap();
        format!("{length}{rest}")
    };
    let records = [record("mtime", "1.5"), record("path", &long)].concat();
    let pax = [
        tar_entry("pax_global_header", b'g', record("comment", "x").as_bytes()),
        tar_entry("pax", b'x', records.as_bytes()),
        tar_entry("cut", b'0', b"pax"),
        tar_entry("next", b'0', b"plain"),
    ];
    check("", &pax.concat(), &[&format!("{long}: pax"), "next: plain", ": container"]);
    let mut prefixed = tar_entry("name", b'0', b"posix");
    prefixed[345..348].copy_from_slice(b"a/b");
    make::signed(&mut prefixed[..512]);
    check("", &prefixed, &["a/b/name: posix", ": container"]);
}

#[test]
fn holes_of_sparse_files_are_zeros() {
    let mut entry = tar_entry("sparse", b'S', b"startend");
    let number = |field: &mut [u8], number: usize| field[..11].copy_from_slice(format!("{number:011o}").as_bytes());
    for (piece, (place, length)) in [(0, 5), (1000, 3), (1003, 0)].into_iter().enumerate() {
        number(&mut entry[386 + 24 * piece..], place);
        number(&mut entry[398 + 24 * piece..], length);
    }
    number(&mut entry[483..], 1003);
    entry[257..265].copy_from_slice(b"ustar  \0");
    make::signed(&mut entry[..512]);
    let bytes = [entry, tar_entry("next", b'0', b"text")].concat();
    // Zeros within text are no text: the kind of the document shows it.
    check("", &bytes, &["sparse: no text", "next: text", ": container"]);
}

#[test]
fn archives_are_read_in_archives_to_the_allowed_depth() {
    let limits = Limits { depth_max: 3, ..Limits::default() };
    let mut bytes = b"text".to_vec();
    for depth in 1..=3 {
        bytes = make::zip(&[(&depth.to_string(), &bytes)]);
    }
    assert_eq!(lines(&walked("", &bytes, &limits))[0], "3!/2!/1: text");
    let bytes = make::zip(&[("4", &bytes), ("next", b"text")]);
    let parts = walked("", &bytes, &limits);
    let wanted =
        ["4!/3!/2: (archives too deep in archives)", "4!/3: container", "4: container", "next: text", ": container"];
    assert_eq!(lines(&parts), wanted);
}

#[test]
fn members_that_memory_does_not_hold_are_read_as_they_come_or_refused() {
    // A quarter of the memory for members, half of that for one: 2 MiB.
    let limits = Limits { memory_bytes_max: 16 << 20, ..Limits::default() };
    let text: String = (0..200_000).map(|number| format!("play {number} ")).collect();
    let html = format!("<html><body><p>{text}</p></body></html>");
    let tar = make::tar(&[("t.txt", text.as_bytes()), ("small", b"s")]);
    let pdf = [b"%PDF-1.7\n".as_slice(), text.as_bytes()].concat();
    let members: &[(&str, &[u8])] =
        &[("t.txt", text.as_bytes()), ("h.html", html.as_bytes()), ("x.tar", &tar), ("p.pdf", &pdf), ("last", b"l")];
    for bytes in [make::zip(members), make::gzip(&make::tar(members))] {
        let parts = walked("", &bytes, &limits);
        let texts: Vec<&str> =
            parts.iter().filter(|part| part.text.len() > 10).map(|part| part.name.as_str()).collect();
        assert_eq!(texts, ["t.txt", "h.html", "x.tar!/t.txt"], "{:?}", lines(&parts));
        for part in parts.iter().filter(|part| part.text.len() > 10) {
            assert!(part.text == text.trim_end(), "{}: {} of {} bytes", part.name, part.text.len(), text.len());
        }
        let others: Vec<String> = lines(&parts).into_iter().filter(|line| line.len() < 100).collect();
        assert_eq!(others, ["x.tar!/small: s", "x.tar: container", "p.pdf: (too large)", "last: l", ": container"]);
    }
}

#[test]
fn members_without_text_are_skipped_unread() {
    let noise: Vec<u8> = (0..300_000_u32).flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    let parts = walked("", &make::zip(&[("picture", &noise), ("text", b"t")]), &Limits::default());
    assert_eq!(lines(&parts), ["picture: no text", "text: t", ": container"]);
}

#[test]
fn too_many_members_are_too_many() {
    let limits = Limits { members_max: 10, ..Limits::default() };
    let members: Vec<(String, &[u8])> = (0..20).map(|number| (number.to_string(), b"t".as_slice())).collect();
    let members: Vec<(&str, &[u8])> = members.iter().map(|(name, bytes)| (name.as_str(), *bytes)).collect();
    for bytes in [make::zip(&members), make::tar(&members), make::gzip(&make::tar(&members)), make::seven_zip(&members)]
    {
        let parts = walked("", &bytes, &limits);
        assert_eq!((parts.len(), own(&parts)), (11, because(Reason::TooMany)));
    }
    let ten = make::zip(&members[..10]);
    assert_eq!(lines(&walked("", &ten, &limits)).last().unwrap(), ": container");
}

fn members() -> impl Strategy<Value = Vec<(String, String)>> {
    let name = "[a-zA-Zäöü0-9][a-zA-Zäöü0-9._-]{0,11}(/[a-z]{1,8}){0,2}x";
    proptest::collection::btree_map(name, "[ -~äß€\n]{0,2000}", 1..8).prop_map(|map| map.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn members_of_an_archive_read_as_they_do_outside_of_it(members in members(), salt in 0..64_u16) {
        let limits = Limits::default();
        let alone: Vec<String> = members.iter().map(|(name, text)| {
            let parts = walked("", text.as_bytes(), &limits);
            lines(&parts).concat().replacen("", name, 1)
        }).collect();
        let list: Vec<(&str, &[u8])> = members.iter().map(|(name, text)| (name.as_str(), text.as_bytes())).collect();
        let mut zip = Zip::default();
        for (place, (name, bytes)) in list.iter().enumerate() {
            let bit = |bit: usize| usize::from(salt) >> ((place + bit) % 6) & 1 == 1;
            let method = [0, 8, 12, 93][usize::from(bit(0)) + 2 * usize::from(bit(1))];
            zip.add(name, bytes, Style { method, descriptor: bit(2), wide: bit(3), ..Style::default() });
        }
        let tar = make::tar(&list);
        let archives =
            [zip.finish(), make::gzip(&tar), make::zstd(&tar), make::xz(&tar), make::bzip2(&tar), make::seven_zip(&list), tar];
        for bytes in archives {
            let mut parts = lines(&walked("", &bytes, &limits));
            prop_assert_eq!(parts.pop().unwrap(), ": container");
            // 7z keeps what is empty apart.
            let (mut parts, mut alone) = (parts, alone.clone());
            parts.sort();
            alone.sort();
            prop_assert_eq!(parts, alone);
        }
    }
}

#[test]
fn attachments_of_mail_are_documents_and_messages_have_their_hash() {
    let mail = b"From: a@example.org\r\nTo: b@example.org\r\nSubject: Water levels\r\nMessage-ID: <1@example.org>\r\nDate: Mon, 1 Jan 2024 10:00:00 +0000\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=\"x\"\r\n\r\n--x\r\nContent-Type: text/plain\r\n\r\nSee the attachment.\r\n--x\r\nContent-Type: text/plain; name=\"levels.txt\"\r\nContent-Disposition: attachment; filename=\"levels.txt\"\r\n\r\nThe levels are high.\r\n--x--\r\n";
    let mut stream = Vec::new();
    let bytes = make::zip(&[("m.eml", mail)]);
    cognate_view::walk(file(&bytes), Some(""), &Limits::default(), &mut stream).unwrap();
    let parts = collect(Parts::new(stream.as_slice()));
    assert_eq!(lines(&parts)[0], "m.eml!/levels.txt: The levels are high.");
    assert!(parts[1].name == "m.eml" && parts[1].text.contains("See the attachment."), "{parts:?}");
    let mut parts = Parts::new(stream.as_slice());
    while let Some(head) = parts.next_part().unwrap() {
        assert_eq!(parts.outcome().unwrap().message_id_hash.is_some(), head.name == "m.eml");
    }
    // A message that holds more than may be opened says so, and its text is no use without.
    let limits = Limits { depth_max: 1, ..Limits::default() };
    assert_eq!(lines(&walked("", &bytes, &limits))[0], "m.eml: (archives too deep in archives)");
}

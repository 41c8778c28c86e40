//! Pages that are pictures: counted without recognition, read with it, by a program that may do nothing else.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cognate_view::{CHILD_ARGUMENT, Kind, Limits, Outcome, Pool, Reason, Recogniser, Recognition, RecognitionError};

use crate::make::zip;
use crate::reader::{PROGRAM, because, lines, own, pool, read};

/// The beginning of what the program for tests answers to a picture, and the rest.
const TEXT: &str = "This is the recognised text of one page.";

fn settings() -> Recognition {
    Recognition { program: PROGRAM.into(), ..Recognition::of_languages(vec!["eng".into(), "xyz".into()]) }
}

fn recogniser(settings: Recognition) -> Arc<Recogniser> {
    Arc::new(Recogniser::open(PROGRAM, settings).unwrap())
}

fn recognising(settings: Recognition) -> Pool {
    let recogniser = Some(recogniser(settings));
    Pool::with_recogniser(PROGRAM, [CHILD_ARGUMENT], NonZeroUsize::MIN, Limits::default(), recogniser).unwrap()
}

/// A JPEG by its header, with an order for the program.
fn jpeg(width: u16, height: u16, order: &str) -> Vec<u8> {
    let mut bytes = vec![0xFF, 0xD8, 0xFF, 0xC0, 0, 17, 8];
    bytes.extend(height.to_be_bytes());
    bytes.extend(width.to_be_bytes());
    bytes.extend([0; 20]);
    bytes.extend(format!("!{order};").bytes());
    bytes
}

fn page(order: &str) -> Vec<u8> {
    jpeg(2480, 3508, order)
}

/// A length as TIFF has it.
fn short(length: usize) -> u32 {
    u32::try_from(length).unwrap()
}

/// A TIFF of so many pages, each with the order as its data.
fn tiff(orders: &[&str]) -> Vec<u8> {
    let mut file = b"II*\0\0\0\0\0".to_vec();
    let mut link = 4;
    for order in orders {
        let data = short(file.len());
        file.extend(format!("!{order};").bytes());
        let at = short(file.len()).to_le_bytes();
        file[link..link + 4].copy_from_slice(&at);
        let fields = [(256, 1728), (257, 2200), (273, data), (279, short(order.len() + 2))];
        file.extend(u16::try_from(fields.len()).unwrap().to_le_bytes());
        for (tag, value) in fields {
            file.extend(u16::to_le_bytes(tag));
            file.extend([4, 0, 1, 0, 0, 0]);
            file.extend(u32::to_le_bytes(value));
        }
        link = file.len();
        file.extend([0; 4]);
    }
    file
}

/// A PDF whose pages are a picture each (`Err`) or have a line of text each (`Ok`).
fn pdf(pages: &[Result<&str, &str>]) -> Vec<u8> {
    let kids: String = (0..pages.len()).map(|at| format!("{} 0 R ", 4 + 3 * at)).collect();
    let mut objects = vec![
        b"<</Type/Catalog/Pages 2 0 R>>".to_vec(),
        format!("<</Type/Pages/Count {}/Kids[{kids}]>>", pages.len()).into_bytes(),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>".to_vec(),
    ];
    let stream = |dictionary: &str, bytes: &[u8]| {
        let head = format!("<<{dictionary}/Length {}>>stream\n", bytes.len());
        [head.as_bytes(), bytes, b"\nendstream"].concat()
    };
    for (at, page) in pages.iter().enumerate() {
        let (content, picture) = match page {
            Ok(text) => (format!("BT /F 12 Tf 50 700 Td ({text}) Tj ET"), jpeg(8, 8, "")),
            // A stamp is not the text of the page.
            Err(order) => {
                ("q 595 0 0 842 0 0 cm /P Do Q BT /F 9 Tf 9 9 Td (ABC-0001) Tj ET".to_owned(), self::page(order))
            }
        };
        let number = 4 + 3 * at;
        let resources = format!("/Font<</F 3 0 R>>/XObject<</P {} 0 R>>", number + 2);
        let contents = number + 1;
        objects.push(
            format!(
                "<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents {contents} 0 R/Resources<<{resources}>>>>"
            )
            .into_bytes(),
        );
        objects.push(stream("", content.as_bytes()));
        objects.push(stream("/Subtype/Image/Width 2480/Height 3508/Filter/DCTDecode", &picture));
    }
    let (mut file, mut offsets) = (b"%PDF-1.4\n".to_vec(), Vec::new());
    for (at, object) in objects.iter().enumerate() {
        offsets.push(file.len());
        file.extend(format!("{} 0 obj\n", at + 1).bytes());
        file.extend(object);
        file.extend(b"\nendobj\n");
    }
    let start = file.len();
    file.extend(format!("xref\n0 {}\n0000000000 65535 f \n", offsets.len() + 1).bytes());
    offsets.iter().for_each(|offset| file.extend(format!("{offset:010} 00000 n \n").bytes()));
    let end = format!("trailer<</Size {}/Root 1 0 R>>\nstartxref\n{start}\n%%EOF\n", offsets.len() + 1);
    file.extend(end.bytes());
    file
}

const LINE: Result<&str, &str> = Ok("A line of text that is longer than any stamp or number of a page would ever be.");

#[test]
fn pages_that_are_pictures_are_named_and_other_pictures_are_not() {
    let pool = pool(Limits::default());
    let check = |bytes: &[u8], expected: Outcome| assert_eq!(own(&read(&pool, "x", bytes)), expected);
    check(&page(""), Outcome::Pictures);
    check(&tiff(&["", ""]), Outcome::Pictures);
    check(&pdf(&[Err(""), Err("")]), Outcome::Pictures);
    // Most of its pages decide.
    check(&pdf(&[LINE, Err(""), Err("")]), Outcome::Pictures);
    check(&pdf(&[LINE, Err("")]), Outcome::Text);
    check(&jpeg(64, 64, ""), Outcome::NoText);
    check(&jpeg(4032, 3024, ""), Outcome::NoText);
}

#[test]
fn the_text_of_pages_that_are_pictures_is_recognised_at_its_place() {
    let pool = recognising(settings());
    let check = |bytes: &[u8], expected: &[&str]| {
        let text = format!(": recognised: {}", expected.join("\n"));
        assert_eq!(lines(&read(&pool, "x", bytes)), [text]);
    };
    check(&page("one"), &["one", TEXT]);
    check(&jpeg(4032, 3024, "photograph"), &["photograph", TEXT]);
    check(&tiff(&["one", "two"]), &["one", TEXT, "two", TEXT]);
    let line = LINE.unwrap();
    check(&pdf(&[LINE, Err("two"), LINE]), &[line, "ABC-0001", "two", TEXT, line]);
    check(&pdf(&[Err("one"), Err("two")]), &["ABC-0001", "one", TEXT, "ABC-0001", "two", TEXT]);
    let archive = zip(&[("a.jpg", &page("inside")), ("b.txt", b"Text")]);
    let read = lines(&read(&pool, "x.zip", &archive));
    assert_eq!(read, [format!("a.jpg: recognised: inside\n{TEXT}"), "b.txt: Text".into(), ": container".into()]);
}

#[test]
fn the_program_gets_the_languages_and_the_dots_per_inch_and_no_environment() {
    let pool = recognising(settings());
    let asked = |bytes: &[u8]| lines(&read(&pool, "x", bytes)).remove(0);
    assert!(asked(&page("arguments")).contains("stdin stdout -l eng+xyz --psm 3\n"), "{}", asked(&page("arguments")));
    assert!(asked(&pdf(&[Err("arguments")])).contains("--psm 3 --dpi 300\n"));
    assert!(asked(&page("environment")).contains(": LC_ALL=C OMP_THREAD_LIMIT=1\n"), "{}", asked(&page("environment")));
}

#[test]
fn a_program_that_recognises_text_is_confined_by_all_that_this_system_has() {
    let recogniser = recogniser(settings());
    let confinement = recogniser.confinement();
    assert!(confinement.resources && confinement.system_calls, "it lacks {confinement}");
    let pool = recognising(settings());
    let after = |order: &str| lines(&read(&pool, "", &page(order))).remove(0);
    for order in ["create", "remove", "connect", "socket", "start", "thread"] {
        let answer = after(order);
        assert!(answer.starts_with(": recognised: PermissionDenied\n"), "{order}: {answer}");
    }
    assert!(after("own").starts_with(": recognised: done\n"));
    // Kernels without Landlock exist; there the worker says that this restriction is missing.
    if confinement.files {
        for order in ["open", "folder"] {
            let answer = after(order);
            assert!(answer.starts_with(": recognised: PermissionDenied\n"), "{order}: {answer}");
        }
    }
}

#[test]
fn a_failure_of_the_program_is_the_outcome_of_its_document_and_the_next_is_read() {
    let pool = recognising(settings());
    let hasty = recognising(Recognition { page_time_max: Duration::from_millis(1100), ..settings() });
    let check = |pool: &Pool, order: &str, reason: Reason| {
        assert_eq!(own(&read(pool, "", &page(order))), because(reason), "{order}");
        assert_eq!(own(&read(pool, "", &page("next"))), Outcome::Recognised, "after {order}");
    };
    for order in ["fail", "abort", "eat", "flood"] {
        check(&pool, order, Reason::NotRecognised);
    }
    for order in ["wait", "spin"] {
        check(&hasty, order, Reason::RecognitionTimedOut);
    }
    // One page that fails is enough, and what was read before is no text of the document.
    assert_eq!(own(&read(&pool, "", &tiff(&["one", "fail", "three"]))), because(Reason::NotRecognised));
}

#[test]
fn a_document_has_limits_of_pages_and_of_time() {
    let pool = recognising(Recognition { pages_max: 2, ..settings() });
    assert_eq!(own(&read(&pool, "", &tiff(&["1", "2"]))), Outcome::Recognised);
    assert_eq!(own(&read(&pool, "", &tiff(&["1", "2", "3"]))), because(Reason::TooManyPages));
    assert_eq!(own(&read(&pool, "", &pdf(&[Err("1"), Err("2"), Err("3")]))), because(Reason::TooManyPages));
    // Only pages that are pictures count.
    assert_eq!(own(&read(&pool, "", &pdf(&[LINE, Err("1"), LINE, Err("2")]))), Outcome::Recognised);
    let pool = recognising(Recognition { document_time_max: Duration::ZERO, ..settings() });
    assert_eq!(own(&read(&pool, "", &page("x"))), because(Reason::RecognitionTimedOut));
}

#[test]
fn a_program_that_is_missing_or_another_or_lacks_a_language_is_named() {
    let error = |settings| Recogniser::open(PROGRAM, settings).unwrap_err();
    let named = |program: &str| error(Recognition { program: program.into(), ..settings() });
    assert!(matches!(named("/nowhere/tesseract"), RecognitionError::NoProgram(_)));
    assert!(matches!(named("/bin/true"), RecognitionError::NoAnswer(..)));
    let spoken = |language: &str| error(Recognition { languages: vec![language.into()], ..settings() });
    assert_eq!(spoken("deu").to_string(), "the program that recognises text has no language `deu`, but eng, xyz");
    assert!(matches!(spoken("-l"), RecognitionError::BadLanguage(_)));
    assert_eq!(recogniser(settings()).version(), "0.1-test");
    assert!(Path::new(PROGRAM).is_absolute());
}

#[test]
fn what_the_program_reads_depends_on_its_version_and_its_languages() {
    let recipe = recogniser(settings()).recipe();
    assert_eq!(recipe, "tesseract 0.1-test eng+xyz 3 200 60 1800");
    let german = Recognition { languages: vec!["xyz".into()], ..settings() };
    assert_ne!(recogniser(german).recipe(), recipe);
}

#[test]
fn kinds_of_pictures_are_known() {
    let kind = |bytes: &[u8]| read(&pool(Limits::default()), "", bytes).remove(0).kind;
    assert_eq!((kind(&page("")), kind(&tiff(&[""]))), (Kind::Jpeg, Kind::Tiff));
    assert_eq!(kind(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x08\0\0\0\x08\x08\0\0\0\0"), Kind::Png);
}

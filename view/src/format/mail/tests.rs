use crate::format::tests::members_of;
use crate::kind::Kind;
use crate::outcome::Reason;
use crate::text::tests::text_of;

const HEADER: &str = "From: =?utf-8?Q?J=C3=BCrgen?= <j@example.org>\r\nTo: b@example.org, C <c@example.org>\r\n\
    Subject: =?iso-8859-1?Q?Gr=FC=DFe?=\r\n folded\r\nDate: Mon, 1 Jan 2024 10:00:00 +0000\r\nMIME-Version: 1.0\r\n";
const SHOWN: &str = "Grüße folded\nJürgen j@example.org\nb@example.org C c@example.org\n";

fn check(rest: &str, wanted: &str) {
    let message = format!("{HEADER}{rest}");
    assert_eq!(Kind::detect(&mut std::io::Cursor::new(message.as_bytes())).ok(), Some(Kind::Mail));
    assert_eq!(text_of(Kind::Mail, message.as_bytes()).as_deref(), Ok(format!("{SHOWN}{wanted}").trim_end()), "{rest}");
}

#[test]
fn the_header_and_the_plain_body_are_read() {
    check("\r\nHello\r\nyou\r\n\r\nBye\r\n", "Hello you\nBye");
    check(
        "Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nGr=C3=BC=\r\n=C3=9Fe\r\n",
        "Grüße",
    );
    check(
        "Content-Type: text/plain; charset=windows-1251\r\nContent-Transfer-Encoding: base64\r\n\r\nz/Do4uXy\r\n",
        "Привет",
    );
}

#[test]
fn html_is_read_where_there_is_no_plain_body() {
    check("Content-Type: text/html\r\n\r\n<p>one<style>x</style><p>two\r\n", "one\ntwo");
    let both = "Content-Type: multipart/alternative; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nplain\r\n\
        --b\r\nContent-Type: text/html\r\n\r\n<p>page\r\n--b--\r\n";
    check(both, "plain");
}

#[test]
fn attachments_are_members_with_the_bytes_that_were_attached() {
    let message = format!(
        "{HEADER}Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nbody\r\n\
         --b\r\nContent-Type: application/octet-stream; name=\"x.bin\"\r\nContent-Disposition: attachment\r\n\
         Content-Transfer-Encoding: base64\r\n\r\nAAEC/w==\r\n\
         --b\r\nContent-Type: text/plain; charset=iso-8859-1\r\nContent-Disposition: attachment; filename*=utf-8''gr%C3%BC.txt\r\n\
         Content-Transfer-Encoding: quoted-printable\r\n\r\nGr=FC=DFe\r\n\
         --b\r\nContent-Type: message/rfc822\r\n\r\nFrom: d@example.org\r\nSubject: inner\r\n\r\ninner body\r\n--b--\r\n"
    );
    assert_eq!(text_of(Kind::Mail, message.as_bytes()).as_deref(), Ok(&*format!("{SHOWN}body")));
    let members = members_of(Kind::Mail, message.as_bytes()).expect("members");
    assert_eq!(members[0], ("x.bin".to_owned(), vec![0, 1, 2, 255]));
    assert_eq!(members[1], ("grü.txt".to_owned(), b"Gr\xFC\xDFe".to_vec()));
    assert_eq!(members[2].0, "3.eml");
    assert_eq!(text_of(Kind::Mail, &members[2].1).as_deref(), Ok("inner\nd@example.org\ninner body"));
}

#[test]
fn a_message_in_a_message_is_a_document_of_its_own_however_deep() {
    let inner = "Content-Type: message/rfc822\r\n\r\n".repeat(100_000);
    let message = format!("{HEADER}{inner}");
    assert_eq!(text_of(Kind::Mail, message.as_bytes()).as_deref(), Ok(SHOWN.trim_end()));
    let members = members_of(Kind::Mail, message.as_bytes()).expect("members");
    assert_eq!(members.len(), 1);
    assert_eq!(members[0].1.len(), inner.len() - "Content-Type: message/rfc822\r\n\r\n".len());
}

#[test]
fn parts_in_parts_end_somewhere() {
    let mut message = HEADER.to_owned();
    for depth in 0..200 {
        message += &format!("Content-Type: multipart/mixed; boundary=b{depth}\r\n\r\n--b{depth}\r\n");
    }
    assert_eq!(text_of(Kind::Mail, message.as_bytes()), Err(Reason::TooDeep));
}

#[test]
fn a_last_part_without_a_closing_boundary_is_read_to_its_end() {
    let open = "Content-Type: multipart/mixed; boundary=b\r\n\r\nnot shown\r\n--b\r\n\r\nfirst\r\n--bb\r\n--b\r\n\
        Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\nR3LDvMOfZQ";
    check(open, "first --bb\nGrüße");
    check(&format!("{open}==\r\n--b--\r\nnot shown"), "first --bb\nGrüße");
    let inner = "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: multipart/alternative; boundary=bc\r\n\
        \r\n--bc\r\n\r\ninner\r\n--b\r\n\r\nouter\r\n--b--\r\n";
    check(inner, "inner\nouter");
}

#[test]
fn a_boundary_that_is_not_named_is_found() {
    check("Content-Type: multipart/mixed\r\n\r\n--x1\r\n\r\none\r\n--x1\r\n\r\ntwo\r\n--x1--\r\n", "one\ntwo");
    check("Content-Type: multipart/mixed; boundary=y\r\n\r\nno parts at all\r\n", "no parts at all");
}

#[test]
fn a_message_that_is_only_a_picture_has_no_text() {
    let picture = "Content-Type: image/jpeg; name=x.jpg\r\nContent-Disposition: inline\r\nContent-Transfer-Encoding: base64\r\n\r\n/9j/4A==";
    for message in
        [picture.to_owned(), format!("Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n{picture}\r\n--b--")]
    {
        check(&message, "");
        let members = members_of(Kind::Mail, format!("{HEADER}{message}").as_bytes()).expect("members");
        assert_eq!(members, [("x.jpg".to_owned(), vec![0xFF, 0xD8, 0xFF, 0xE0])]);
    }
}

#[test]
fn a_page_is_read_where_the_plain_text_beside_it_is_empty() {
    check(
        "Content-Type: multipart/alternative; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\n \r\n\
         --b\r\nContent-Type: text/html\r\n\r\n<p>page\r\n--b--\r\n",
        "page",
    );
}

#[test]
fn parts_of_a_page_that_are_text_are_documents_inside() {
    let related = "Content-Type: multipart/related; boundary=b\r\n\r\n--b\r\nContent-Type: text/html\r\n\r\n<p>page\r\n\
         --b\r\nContent-Type: text/plain\r\n\r\nnote\r\n--b--\r\n";
    check(related, "page");
    let members = members_of(Kind::Mail, format!("{HEADER}{related}").as_bytes()).expect("members");
    assert_eq!(members, [("1".to_owned(), b"note".to_vec())]);
}

#[test]
fn charsets_are_read_by_their_names_and_by_the_bytes_where_the_name_is_wrong() {
    let check = |charset: &str, bytes: &[u8], wanted: &str| {
        let header = format!("{HEADER}Content-Type: text/plain; charset={charset}\r\n\r\n");
        let message = [header.as_bytes(), bytes].concat();
        assert_eq!(text_of(Kind::Mail, &message).as_deref(), Ok(&*format!("{SHOWN}{wanted}")), "{charset}");
    };
    check("utf-7", b"Gr+APwA3w-e", "Grüße");
    check("unicode-1-1-utf-7", b"Gr+APwA3w-e", "Grüße");
    check("hz-gb-2312", b"a~~b ~{VPND~} c", "a~b 中文 c");
    check("ibm850", b"Gr\x81\xE1e", "Grüße");
    check("cp850", b"Gr\x81\xE1e", "Grüße");
    check("macintosh", b"Gr\x9F\xA7e", "Grüße");
    check("ks_c_5601-1987", b"\xC8\xB8\xC0\xC7", "회의");
    check("us-ascii", "Grüße".as_bytes(), "Grüße");
    check("utf-8", b"Gr\xFC\xDFe aus K\xF6ln", "Grüße aus Köln");
    check("x-unknown", "Grüße".as_bytes(), "Grüße");
    check("\"\"", "Grüße".as_bytes(), "Grüße");
}

#[test]
fn a_header_is_read_as_mail_clients_read_it() {
    let wanted = "a long subject that was broken\nd@example.org\nGrüße";
    let body = "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64\n\nR3LDvMOfZQ==\n";
    let header =
        "Subject: a long subject\nthat was broken\nFrom : d@example.org\n>From - Mon Jan 01 10:00:00 2024\nDate: x\n";
    let plain = format!("{header}{body}");
    for message in [
        plain.clone(),
        plain.replace('\n', "\r\n"),
        plain.replace('\n', "\r"),
        format!("\u{FEFF}{plain}"),
        format!("\n\r\n{plain}"),
        format!("{:<10}\n{plain}<?xml version=\"1.0\"?><plist/>", plain.len()),
    ] {
        let kind = Kind::detect(&mut std::io::Cursor::new(message.as_bytes())).ok();
        assert_eq!(kind, Some(Kind::Mail), "{message:?}");
        assert_eq!(text_of(Kind::Mail, message.as_bytes()).as_deref(), Ok(wanted), "{message:?}");
    }
}

#[test]
fn a_long_header_is_one_of_mail() {
    let long: String = (0..90).map(|at| format!("X-Spam-{at}: {}\n", "y".repeat(900))).collect();
    let message = format!("{long}From: d@example.org\nSubject: x\n\nbody");
    assert_eq!(Kind::detect(&mut std::io::Cursor::new(message.as_bytes())).ok(), Some(Kind::Mail));
    assert_eq!(text_of(Kind::Mail, message.as_bytes()).as_deref(), Ok("x\nd@example.org\nbody"));
}

#[test]
fn a_file_that_stands_in_the_text_is_a_document_inside() {
    let text = "\r\nsee below\r\nbegin 644 note.txt\r\n#0V%T\r\n`\r\nend\r\n";
    check(text, "see below");
    let members = members_of(Kind::Mail, format!("{HEADER}{text}").as_bytes()).expect("members");
    assert_eq!(members, [("note.txt".to_owned(), b"Cat".to_vec())]);
}

#[test]
fn lines_that_were_broken_within_words_are_joined() {
    check(
        "Content-Type: text/plain; format=flowed; delsp=yes\r\n\r\nAlpha gam \r\nma\r\ndelta\r\n",
        "Alpha gamma delta",
    );
}

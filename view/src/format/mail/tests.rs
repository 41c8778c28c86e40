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
fn messages_in_messages_end_somewhere() {
    let message = format!("{HEADER}{}", "Content-Type: message/rfc822\r\n\r\n".repeat(100_000));
    assert_eq!(text_of(Kind::Mail, message.as_bytes()), Err(Reason::TooDeep));
}

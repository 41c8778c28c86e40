use super::*;
use crate::format::compound::compound_of;
use crate::format::{self, message_id_hash};
use crate::kind::Kind;
use crate::text::tests::text_of;

fn wide(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// Numbers with what stands before them.
fn numbers(header_bytes: usize, all: &[(u16, u32)]) -> Vec<u8> {
    let mut bytes = vec![0; header_bytes];
    for (id, number) in all {
        bytes.extend([&NUMBER.to_le_bytes()[..], &id.to_le_bytes(), &[0; 4], &number.to_le_bytes(), &[0; 4]].concat());
    }
    bytes
}

#[test]
fn a_message_is_read_with_its_recipients_and_attachments() {
    let file = compound_of(&[
        ("__properties_version1.0", &numbers(HEADER_BYTES, &[(0x3FFD, 1252)])),
        ("__substg1.0_0037001E", b"Caf\xE9"),
        ("__substg1.0_1000001F", &wide("Hello")),
        ("__substg1.0_0C1A001F", &wide("Ann")),
        ("__substg1.0_10350 1F", b"no property"),
        ("__substg1.0_1035001F", &wide("<CALckR-a8UDkRjO4xJyjd_s0GPxQWw@mail.gmail.com>")),
        ("__recip_version1.0_#00000000/__properties_version1.0", &numbers(SMALL_HEADER_BYTES, &[(0x0C15, 1)])),
        ("__recip_version1.0_#00000000/__substg1.0_3001001F", &wide("Bob")),
        ("__attach_version1.0_#00000000/__substg1.0_37010102", b"plain words"),
        ("__attach_version1.0_#00000000/__substg1.0_3707001F", &wide("notes.txt")),
        ("__attach_version1.0_#00000001/__substg1.0_3001001F", &wide("Forwarded")),
        ("__attach_version1.0_#00000001/__substg1.0_3701000D/__substg1.0_0037001E", b"f\xFCr"),
        (
            "__attach_version1.0_#00000001/__substg1.0_3701000D/__properties_version1.0",
            &numbers(INNER_HEADER_BYTES, &[(0x3FFD, 1252)]),
        ),
        ("__attach_version1.0_#00000002/__substg1.0_3001001F", &wide("nothing")),
    ]);
    assert_eq!(Kind::detect(&mut Cursor::new(&*file)).unwrap(), Kind::Msg);
    assert_eq!(text_of(Kind::Msg, &file).as_deref(), Ok("Café\nAnn\nBob\nHello"));
    let mut found = Vec::new();
    format::members(Kind::Msg, &mut Cursor::new(&*file), &mut |name, member| {
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(member, &mut bytes).unwrap();
        let kind = Kind::detect(&mut Cursor::new(&*bytes)).unwrap();
        found.push(format!("{name} {}", text_of(kind, &bytes).unwrap()));
        Ok(())
    })
    .unwrap();
    assert_eq!(found, ["notes.txt plain words", "Forwarded.msg für"]);
    let hash = message_id_hash(Kind::Msg, &mut Cursor::new(&*file)).unwrap();
    assert_eq!(hash[..4], [0x1d, 0xe3, 0x19, 0xc2], "the same as of the message as it was sent");
}

#[test]
fn what_is_no_message_is_damaged() {
    assert_eq!(text_of(Kind::Msg, b"\xD0\xCF\x11\xE0"), Err(Reason::Damaged));
}

//! The EDRM Message Identification Hash: the same for the same message on every platform.
//!
//! Version 1.0 of the specification (EDRM, January 2023): the MD5 digest of the Message-ID of the header, its angle
//! brackets included, nothing folded and no case changed, written as 32 hexadecimal digits. The example that Relativity
//! documents for it is among the tests.

use md5::{Digest as _, Md5};

use crate::format::msg;
use crate::kind::Kind;
use crate::source::{self, Source};

/// The EDRM Message Identification Hash of a message; `None` if a document is no message or has no Message-ID.
///
/// Of mail only the first part of the header is read, as far as for its detection.
pub fn message_id_hash(kind: Kind, source: &mut dyn Source) -> Option<[u8; 16]> {
    let id = match kind {
        Kind::Mail => message_id(&source::head(source).ok()?)?,
        Kind::Msg => msg::message_id(source)?.trim().as_bytes().to_vec(),
        _ => return None,
    };
    Some(Md5::digest(&id).into())
}

/// The value of the first field of that name: up to its closing bracket, without the line ends of a folded field.
fn message_id(head: &[u8]) -> Option<Vec<u8>> {
    let mut lines = head.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let value = lines.by_ref().take_while(|line| !line.is_empty()).find_map(|line| {
        let (name, value) = line.split_at_checked(b"message-id:".len())?;
        name.eq_ignore_ascii_case(b"message-id:").then_some(value)
    })?;
    let mut id = value.trim_ascii().to_vec();
    for line in lines.take_while(|line| line.first().is_some_and(|byte| matches!(byte, b' ' | b'\t'))) {
        id.extend_from_slice(line.trim_ascii());
    }
    if let Some(end) = id.iter().position(|&byte| byte == b'>') {
        id.truncate(end + 1);
    }
    (!id.is_empty()).then_some(id)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn check(head: &str, wanted: Option<&str>) {
        let found = message_id_hash(Kind::Mail, &mut Cursor::new(head.as_bytes()));
        let found = found.map(|hash| hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
        assert_eq!(found.as_deref(), wanted, "{head:?}");
    }

    #[test]
    fn the_hash_is_that_of_the_documented_example() {
        let example = "1de319c276884bd0c9e2f1621ada26cc";
        let id = "<CALckR-a8UDkRjO4xJyjd_s0GPxQWw@mail.gmail.com>";
        check(&format!("From: a@b\r\nMessage-ID: {id}\r\nSubject: x\r\n\r\n"), Some(example));
        check(&format!("MESSAGE-Id:\r\n {id} (comment)\r\n\r\n"), Some(example));
        check(&format!("From: a@b\n\nMessage-ID: {id}\n"), None);
        check("Message-ID:\nSubject: x\n\n", None);
    }
}

//! Invitations taken apart and put together again, so that a test can send a site another way.
//!
//! `cog1_`, an encoded message in base64url, `_`, and the first eight digits of BLAKE3 over all before. Field 1 of the
//! message holds the addresses.

use data_encoding::BASE64URL_NOPAD;

const PREFIX: &str = "cog1_";

/// The fields of an invitation: number, wire type and what follows, as encoded.
fn fields(line: &str) -> Vec<(u64, Vec<u8>)> {
    let payload = line.trim().strip_prefix(PREFIX).unwrap().rsplit_once('_').unwrap().0;
    let bytes = BASE64URL_NOPAD.decode(payload.as_bytes()).unwrap();
    let mut rest = bytes.as_slice();
    let mut fields = Vec::new();
    while !rest.is_empty() {
        let field = rest;
        let key = varint(&mut rest);
        let length = match key & 7 {
            0 => {
                varint(&mut rest);
                0
            }
            2 => usize::try_from(varint(&mut rest)).unwrap(),
            other => panic!("an invitation has no field of wire type {other}"),
        };
        rest = &rest[length..];
        fields.push((key >> 3, field[..field.len() - rest.len()].to_vec()));
    }
    fields
}

fn varint(rest: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let byte = rest[0];
        *rest = &rest[1..];
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    value
}

/// The same invitation to another address.
pub fn readdressed(line: &str, address: &str) -> String {
    let mut bytes = vec![1 << 3 | 2, u8::try_from(address.len()).unwrap()];
    bytes.extend_from_slice(address.as_bytes());
    for (_, field) in fields(line).iter().filter(|(number, _)| *number != 1) {
        bytes.extend_from_slice(field);
    }
    as_line(&bytes)
}

/// The secret of an invitation.
pub fn secret(line: &str) -> Vec<u8> {
    let (_, field) = fields(line).into_iter().find(|(number, _)| *number == 4).unwrap();
    field[2..].to_vec()
}

/// The same invitation with another secret.
pub fn with_secret(line: &str, secret: &[u8]) -> String {
    let field: Vec<u8> = [&[4 << 3 | 2, 32], secret].concat();
    let others = fields(line).into_iter().map(|(number, bytes)| if number == 4 { field.clone() } else { bytes });
    as_line(&others.collect::<Vec<_>>().concat())
}

fn as_line(bytes: &[u8]) -> String {
    let payload = BASE64URL_NOPAD.encode(bytes);
    let hash = blake3::hash(format!("{PREFIX}{payload}").as_bytes());
    format!("{PREFIX}{payload}_{}", &hash.to_hex()[..8])
}

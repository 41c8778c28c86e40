//! The journal: the record of everything small that cannot be made again from elsewhere. Who is a member, what was
//! launched, what became of it.
//!
//! Append-only and chained: every record holds the hash of the one before it, so that nothing can be changed, taken out or
//! put in without all that follows showing it. The store is a view of it (and of the segments) and can be made anew.
//!
//! File: `cognate journal 1\n`, then records of length (u32, little-endian), BLAKE3 of the record before and the body
//! (32 bytes), and the body, an encoded [`Event`].

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};

use cognate_proto::v1;
use prost::Message as _;

use crate::error::Error;
use crate::store::ScanRow;

const MAGIC: &[u8] = b"cognate journal 1\n";
const HEADER_BYTES: usize = 4 + 32;
const EVENT_BYTES_MAX: usize = 16 << 20;

/// Something that happened and must not be forgotten.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Event {
    /// Seconds since 1970.
    #[prost(sint64, tag = "1")]
    pub(crate) time: i64,
    /// Who did it: the name of an operator or site, or nothing where the coordinator did.
    #[prost(string, tag = "2")]
    pub(crate) by: String,
    #[prost(oneof = "What", tags = "3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14")]
    pub(crate) what: Option<What>,
}

/// What happened.
#[derive(Clone, PartialEq, prost::Oneof)]
pub(crate) enum What {
    /// Somebody was invited.
    #[prost(message, tag = "3")]
    Invited(Invited),
    /// A site is let in without a certificate: the pipe within the process vouches for it.
    #[prost(message, tag = "4")]
    Admitted(v1::Membership),
    /// An invitation was turned into a certificate.
    #[prost(message, tag = "5")]
    Certified(Certified),
    /// A certificate took the place of the one before it.
    #[prost(message, tag = "6")]
    Renewed(Certified),
    /// A member was shut out.
    #[prost(message, tag = "7")]
    Revoked(MemberName),
    /// A member, and all that it sent, was erased.
    #[prost(message, tag = "8")]
    Forgotten(MemberName),
    /// A scan was launched or came a step further.
    #[prost(message, tag = "9")]
    Scan(ScanEvent),
    /// A scan was deleted.
    #[prost(fixed64, tag = "10")]
    ScanDeleted(u64),
    #[prost(message, tag = "11")]
    Profile(v1::Profile),
    #[prost(string, tag = "12")]
    ProfileRemoved(String),
    #[prost(message, tag = "13")]
    Schedule(v1::Schedule),
    #[prost(string, tag = "14")]
    ScheduleRemoved(String),
}

/// An invitation, as far as the coordinator keeps it: never the secret itself.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Invited {
    #[prost(message, required, tag = "1")]
    pub(crate) membership: v1::Membership,
    /// 16 bytes.
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) token_id: Vec<u8>,
    /// BLAKE3 of the secret: 32 bytes.
    #[prost(bytes = "vec", tag = "3")]
    pub(crate) secret_hash: Vec<u8>,
    /// Seconds since 1970.
    #[prost(sint64, tag = "4")]
    pub(crate) expires: i64,
}

/// A certificate that was given.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Certified {
    #[prost(message, required, tag = "1")]
    pub(crate) name: MemberName,
    /// DER.
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) certificate: Vec<u8>,
    /// SHA-256 of the member's public key (`SubjectPublicKeyInfo`, DER): 32 bytes.
    #[prost(bytes = "vec", tag = "3")]
    pub(crate) key_sha256: Vec<u8>,
    /// When it ends; seconds since 1970.
    #[prost(sint64, tag = "4")]
    pub(crate) not_after: i64,
}

/// Which member.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct MemberName {
    #[prost(enumeration = "v1::MemberKind", tag = "1")]
    pub(crate) kind: i32,
    #[prost(string, tag = "2")]
    pub(crate) name: String,
}

/// A scan as it stands after a step.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ScanEvent {
    #[prost(fixed64, tag = "1")]
    pub(crate) id: u64,
    #[prost(message, required, tag = "2")]
    pub(crate) row: ScanRow,
}

/// The open journal, at its end.
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    head: [u8; 32],
    end: u64,
    durable: bool,
}

impl Journal {
    /// Opens or begins the journal, and hands every event in it to `each`. A record at the end that is not whole was
    /// never answered for, and is cut off.
    ///
    /// # Errors
    /// When it cannot be read or written, or a record other than the last does not fit the chain.
    pub(crate) fn open(
        path: &Path,
        durable: bool,
        mut each: impl FnMut(Event) -> Result<(), Error>,
    ) -> Result<Journal, Error> {
        let state = |source| Error::State { path: path.to_owned(), source };
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(state)?;
        let length = file.metadata().map_err(state)?.len();
        if length < MAGIC.len() as u64 {
            file.set_len(0).and_then(|()| file.write_all(MAGIC)).map_err(state)?;
            sync_with_folder(&file, path, durable).map_err(state)?;
            return Ok(Journal { path: path.to_owned(), file, head: [0; 32], end: MAGIC.len() as u64, durable });
        }
        let mut reader = BufReader::with_capacity(1 << 16, File::open(path).map_err(state)?);
        let mut magic = vec![0; MAGIC.len()];
        reader.read_exact(&mut magic).map_err(state)?;
        if magic != MAGIC {
            return Err(damaged(path, 0, "it is not a journal of this version"));
        }
        let (mut head, mut end) = ([0; 32], MAGIC.len() as u64);
        while end < length {
            match read_record(&mut reader, &head, length - end).map_err(state)? {
                Record::Whole { event, hash, bytes } => {
                    each(*event)?;
                    head = hash;
                    end += bytes;
                }
                Record::Torn => {
                    tracing::warn!(path = %path.display(), at = end, "the last record of the journal was cut off: it was never answered for");
                    file.set_len(end).map_err(state)?;
                    break;
                }
                Record::Damaged => return Err(damaged(path, end, "a record does not fit the chain")),
            }
        }
        Ok(Journal { path: path.to_owned(), file, head, end, durable })
    }

    /// Appends an event. Once this returns, it survives.
    pub(crate) fn append(&mut self, event: &Event) -> Result<(), Error> {
        let body = event.encode_to_vec();
        let length = u32::try_from(body.len()).ok().filter(|length| *length as usize <= EVENT_BYTES_MAX);
        let length = length.ok_or_else(|| Error::Invalid("an event is too large for the journal".to_owned()))?;
        let hash = chained(&self.head, &body);
        let mut record = Vec::with_capacity(HEADER_BYTES + body.len());
        record.extend_from_slice(&length.to_le_bytes());
        record.extend_from_slice(&hash);
        record.extend_from_slice(&body);
        let durable = self.durable;
        let written = self.file.write_all(&record).and_then(|()| if durable { self.file.sync_data() } else { Ok(()) });
        written.map_err(|source| {
            // What is half written must not come before what is written next.
            let _ = self.file.set_len(self.end);
            Error::State { path: self.path.clone(), source }
        })?;
        self.head = hash;
        self.end += record.len() as u64;
        Ok(())
    }
}

enum Record {
    Whole {
        event: Box<Event>,
        hash: [u8; 32],
        bytes: u64,
    },
    /// The file ends before the record does.
    Torn,
    Damaged,
}

fn read_record(reader: &mut impl io::Read, head: &[u8; 32], rest: u64) -> io::Result<Record> {
    if rest < HEADER_BYTES as u64 {
        return Ok(Record::Torn);
    }
    let mut header = [0; HEADER_BYTES];
    reader.read_exact(&mut header)?;
    let length = u32::from_le_bytes(header[..4].try_into().expect("four bytes"));
    let bytes = HEADER_BYTES as u64 + u64::from(length);
    if bytes > rest {
        return Ok(Record::Torn);
    }
    if length as usize > EVENT_BYTES_MAX {
        return Ok(Record::Damaged);
    }
    let mut body = vec![0; length as usize];
    reader.read_exact(&mut body)?;
    let hash = chained(head, &body);
    match Event::decode(body.as_slice()) {
        Ok(event) if hash == header[4..] => Ok(Record::Whole { event: Box::new(event), hash, bytes }),
        // A loss of power can leave a record of the right length and the wrong bytes, but only as the last.
        _ if bytes == rest => Ok(Record::Torn),
        _ => Ok(Record::Damaged),
    }
}

fn chained(head: &[u8; 32], body: &[u8]) -> [u8; 32] {
    *blake3::Hasher::new().update(head).update(body).finalize().as_bytes()
}

fn sync_with_folder(file: &File, path: &Path, durable: bool) -> io::Result<()> {
    if durable {
        file.sync_all()?;
        path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())?;
    }
    Ok(())
}

fn damaged(path: &Path, at: u64, detail: &str) -> Error {
    Error::Corrupt { path: path.to_owned(), detail: format!("{detail} at byte {at}") }
}

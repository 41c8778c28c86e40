//! Events without their long lists, for whoever reads the journal backwards: a decision about some thousand clusters has a
//! subject for each, and a page of the audit log shows the first and their number.

use prost::Message as _;
use prost::bytes::{Buf as _, BufMut as _};
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, encode_key, encode_varint, skip_field};

use super::event::Event;

/// The number of a decision among the kinds of events, and of a subject within a decision.
const DECIDED: u32 = 30;
const SUBJECT: u32 = 7;

/// An event; of a decision, with the first of its subjects alone.
#[derive(Clone, PartialEq, Debug)]
pub struct Brief {
    /// The event.
    pub event: Event,
    /// The subjects of a decision, those that are left out too; otherwise 0.
    pub subjects: usize,
}

impl Brief {
    /// Reads the body of a record. The subjects that are left out are counted, and not looked into.
    ///
    /// # Errors
    /// Fails if it is no event.
    pub(super) fn of(body: &[u8]) -> Result<Brief, prost::DecodeError> {
        let mut subjects = 0;
        let short = without(body, &mut |number, field| match number {
            DECIDED => without(field, &mut |number, subject| {
                let is_further = number == SUBJECT && subjects > 0;
                subjects += usize::from(number == SUBJECT);
                Ok(if is_further { None } else { Some(subject.to_vec()) })
            })
            .map(Some),
            _ => Ok(Some(field.to_vec())),
        })?;
        Ok(Brief { event: Event::decode(short.as_slice())?, subjects })
    }
}

/// A message with other values of the fields that have a length, and without those for which there is none.
fn without(
    mut message: &[u8],
    value: &mut impl FnMut(u32, &[u8]) -> Result<Option<Vec<u8>>, prost::DecodeError>,
) -> Result<Vec<u8>, prost::DecodeError> {
    let mut out = Vec::new();
    while message.has_remaining() {
        let field = message;
        let (number, wire_type) = decode_key(&mut message)?;
        if wire_type == WireType::LengthDelimited {
            let mut rest = message;
            let length = usize::try_from(decode_varint(&mut rest)?).unwrap_or(usize::MAX);
            // A length beyond the end is refused here.
            skip_field(wire_type, number, &mut message, DecodeContext::default())?;
            if let Some(bytes) = value(number, &rest[..length])? {
                encode_key(number, wire_type, &mut out);
                encode_varint(bytes.len() as u64, &mut out);
                out.put_slice(&bytes);
            }
        } else {
            skip_field(wire_type, number, &mut message, DecodeContext::default())?;
            out.put_slice(&field[..field.len() - message.len()]);
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use cognate_proto::v1;

    use super::super::event::What;
    use super::*;
    use crate::verdict::{Decided, Decision};

    fn decision(subjects: u8) -> Event {
        let decided = |number: u8| Decided { key: vec![number; 18], digest: vec![1; 16], ..Decided::default() };
        let decision = Decision {
            action: 7,
            scan: 9,
            note: "old release".to_owned(),
            decided: (0..subjects).map(decided).collect(),
            party: "acme".to_owned(),
            label: Some(v1::LabelChange { add: vec!["hot".to_owned()], ..v1::LabelChange::default() }),
            ..Decision::default()
        };
        Event { time: 5, by: "anna".to_owned(), what: Some(What::Decided(decision)) }
    }

    #[test]
    fn a_decision_keeps_its_first_subject_and_the_number_of_all() {
        for subjects in [0, 1, 2, 200] {
            let brief = Brief::of(&decision(subjects).encode_to_vec()).unwrap();
            assert_eq!((brief.event, brief.subjects), (decision(subjects.min(1)), usize::from(subjects)));
        }
    }

    #[test]
    fn every_other_event_is_read_as_it_was_written() {
        let others = [
            Event { time: -3, by: String::new(), what: Some(What::ProfileRemoved("weekly".to_owned())) },
            Event { time: 1, by: "ben".to_owned(), what: Some(What::ScanDeleted(u64::MAX)) },
            Event { time: 0, by: "x".repeat(300), what: None },
        ];
        for event in others {
            let brief = Brief::of(&event.encode_to_vec()).unwrap();
            assert_eq!((brief.event, brief.subjects), (event, 0));
        }
    }

    #[test]
    fn a_body_that_is_cut_is_refused_or_reads_as_the_whole_decoder_reads_it() {
        let body = decision(3).encode_to_vec();
        for length in 0..body.len() {
            let read = Brief::of(&body[..length]).map(|brief| (brief.event.time, brief.event.by));
            let expected = Event::decode(&body[..length]).map(|event| (event.time, event.by));
            assert_eq!(read.ok(), expected.ok(), "{length}");
        }
    }
}

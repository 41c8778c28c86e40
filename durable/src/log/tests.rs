//! Logs that were cut, damaged, or written by a process that ended.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::whole::PRIVATE;

const FORMAT: Format = Format { magic: b"a log 1\n", record_bytes_max: 100 };
/// The same, with longer records.
const LONGER: Format = Format { record_bytes_max: 1000, ..FORMAT };

struct Sample {
    folder: tempfile::TempDir,
    bytes: Vec<u8>,
    /// The place before each record and after the last.
    places: Vec<Place>,
}

impl Sample {
    fn of(bodies: &[Vec<u8>]) -> Sample {
        Sample::in_format(FORMAT, bodies)
    }

    fn in_format(format: Format, bodies: &[Vec<u8>]) -> Sample {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut log = Log::open(&path, format, PRIVATE, false).unwrap();
        let mut places = vec![log.place()];
        for body in bodies {
            log.append(body).unwrap();
            places.push(log.place());
        }
        let bytes = std::fs::read(&path).unwrap();
        Sample { folder, bytes, places }
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("log")
    }

    /// What comes after all records if the file goes on with other bytes.
    fn then(&self, bytes: &[u8]) -> Next {
        std::fs::write(self.path(), [&self.bytes[..], bytes].concat()).unwrap();
        let (bodies, place, next) = read(&self.path());
        assert_eq!((bodies.len() + 1, Some(&place)), (self.places.len(), self.places.last()));
        next
    }

    /// The number of records that end at or before a byte.
    fn records_before(&self, byte: usize) -> usize {
        self.places[1..].iter().filter(|place| place.end <= byte as u64).count()
    }
}

/// All records of a log, the place after them, and what follows.
fn read(path: &Path) -> (Vec<Vec<u8>>, Place, Next) {
    let mut records = Records::open(path, FORMAT).unwrap();
    let mut bodies = Vec::new();
    loop {
        match records.next().unwrap() {
            Next::Record(body) => bodies.push(body),
            next => return (bodies, records.place(), next),
        }
    }
}

fn bodies() -> impl Strategy<Value = Vec<Vec<u8>>> {
    vec(vec(any::<u8>(), 0..20), 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn a_log_cut_at_any_byte_has_exactly_its_complete_records_and_continues_after_them(bodies in bodies()) {
        let sample = Sample::of(&bodies);
        for length in 0..=sample.bytes.len() {
            std::fs::write(sample.path(), &sample.bytes[..length]).unwrap();
            let mut log = Log::open(&sample.path(), FORMAT, PRIVATE, false).unwrap();
            let complete = sample.records_before(length);
            let (found, place, next) = read(&sample.path());
            prop_assert_eq!(&found, &bodies[..complete]);
            prop_assert_eq!(place, sample.places[complete]);
            let is_complete = length as u64 <= FORMAT.start().end || place.end == length as u64;
            prop_assert_eq!(next, if is_complete { Next::End } else { Next::Incomplete });
            log.resume(place).unwrap();
            log.append(b"after").unwrap();
            prop_assert_eq!(read(&sample.path()), ([&bodies[..complete], &[b"after".to_vec()]].concat(), log.place(), Next::End));
        }
    }

    #[test]
    fn a_flipped_bit_is_found_at_its_record(bodies in bodies(), bit in 0..8_u8) {
        let sample = Sample::of(&bodies);
        for byte in 0..sample.bytes.len() {
            let mut bytes = sample.bytes.clone();
            bytes[byte] ^= 1 << bit;
            std::fs::write(sample.path(), &bytes).unwrap();
            if byte < FORMAT.magic.len() {
                let is_refused = matches!(Records::open(&sample.path(), FORMAT), Err(OpenError::OtherMagic(_)));
                prop_assert!(is_refused);
                continue;
            }
            let complete = sample.records_before(byte);
            let (found, place, next) = read(&sample.path());
            prop_assert_eq!((&found[..], place), (&bodies[..complete], sample.places[complete]));
            let Next::Changed { is_last, .. } = next else { panic!("{next:?}") };
            prop_assert!(!is_last || complete + 1 == bodies.len());
        }
    }

    #[test]
    fn zeros_after_the_last_record_are_a_record_that_did_not_reach_the_disk(bodies in bodies(), zeros in 1..144_usize) {
        let sample = Sample::of(&bodies);
        std::fs::write(sample.path(), [&sample.bytes[..], &vec![0; zeros]].concat()).unwrap();
        let (found, place, next) = read(&sample.path());
        prop_assert_eq!((found, place), (bodies, sample.places[sample.places.len() - 1]));
        let is_torn = matches!(next, Next::Incomplete | Next::Changed { is_last: true, .. });
        prop_assert!(is_torn);
    }

    #[test]
    fn the_record_that_ends_at_a_place_is_found_from_its_end(bodies in bodies()) {
        let sample = Sample::of(&bodies);
        let records = Records::open(&sample.path(), FORMAT).unwrap();
        prop_assert_eq!(records.ending_at(FORMAT.start()).unwrap(), None);
        for (body, place) in bodies.iter().zip(&sample.places[1..]) {
            prop_assert_eq!(records.ending_at(*place).unwrap(), Some(body.clone()));
            prop_assert_eq!(records.ending_at(Place { hash: [1; 32], ..*place }).unwrap(), None);
            prop_assert_eq!(records.ending_at(Place { end: place.end + 1, ..*place }).unwrap(), None);
        }
    }
}

#[test]
fn a_log_is_read_on_from_any_of_its_places_and_from_no_other() {
    let bodies: Vec<_> = (0..4).map(|number| vec![number; 5]).collect();
    let sample = Sample::of(&bodies);
    let mut records = Records::open(&sample.path(), FORMAT).unwrap();
    for (place, body) in sample.places.iter().zip(&bodies) {
        records.seek(*place).unwrap();
        assert_eq!(records.next().unwrap(), Next::Record(body.clone()));
    }
    records.seek(Place { hash: [1; 32], ..sample.places[1] }).unwrap();
    assert!(matches!(records.next().unwrap(), Next::Changed { is_last: false, .. }));
}

#[test]
fn a_record_that_was_removed_or_repeated_breaks_the_chain() {
    let sample = Sample::of(&[b"a".to_vec(), b"b".to_vec(), b"c".to_vec()]);
    let record = |number: usize| {
        let [from, to] = [number, number + 1].map(|place| usize::try_from(sample.places[place].end).unwrap());
        sample.bytes[from..to].to_vec()
    };
    for order in [[0, 2, 2], [0, 0, 1], [1, 0, 2]] {
        std::fs::write(sample.path(), [FORMAT.magic.to_vec(), order.map(record).concat()].concat()).unwrap();
        assert!(matches!(read(&sample.path()).2, Next::Changed { body: Some(_), is_last: false }), "{order:?}");
    }
}

#[test]
fn a_record_that_is_too_long_is_refused_and_one_that_cannot_be_written_leaves_nothing() {
    let sample = Sample::of(&[b"a".to_vec()]);
    let mut log = Log::open(&sample.path(), FORMAT, PRIVATE, true).unwrap();
    log.resume(sample.places[1]).unwrap();
    assert!(matches!(log.append(&[0; 101]), Err(AppendError::TooLong(101))));
    log.file = File::open(sample.path()).unwrap();
    assert!(matches!(log.append(b"b"), Err(AppendError::Torn(_))));
    assert_eq!((log.place(), std::fs::read(sample.path()).unwrap()), (sample.places[1], sample.bytes.clone()));
}

#[test]
fn a_log_that_is_restarted_is_as_a_new_one_whatever_was_in_it() {
    let sample = Sample::of(&[b"a".to_vec()]);
    std::fs::write(sample.path(), b"something else").unwrap();
    let mut log = Log::open(&sample.path(), FORMAT, PRIVATE, false).unwrap();
    log.restart().unwrap();
    log.append(b"a").unwrap();
    assert_eq!(std::fs::read(sample.path()).unwrap(), sample.bytes);
}

#[test]
fn a_place_outside_of_the_records_is_damage_and_neither_an_end_nor_a_cut() {
    for bodies in [vec![], vec![b"a".to_vec(), vec![7; 100]]] {
        let sample = Sample::of(&bodies);
        let [start, last] = [FORMAT.start(), *sample.places.last().unwrap()];
        let mut records = Records::open(&sample.path(), FORMAT).unwrap();
        for place in [
            Place::default(),
            Place { end: start.end - 1, ..start },
            Place { end: last.end + 1, ..last },
            Place { end: 1 << 40, ..last },
        ] {
            records.seek(place).unwrap();
            assert_eq!(records.next().unwrap(), Next::Changed { body: None, is_last: false }, "{place:?}");
            assert_eq!(records.ending_at(place).unwrap(), None, "{place:?}");
        }
        records.seek(last).unwrap();
        assert_eq!(records.next().unwrap(), Next::End);
    }
}

#[test]
fn more_zeros_than_a_record_has_or_zeros_with_another_byte_are_damage() {
    let sample = Sample::of(&[b"a".to_vec()]);
    let damage = |is_last| Next::Changed { body: None, is_last };
    let most = HEADER_BYTES + FORMAT.record_bytes_max;
    assert_eq!(sample.then(&vec![0; most]), damage(true));
    assert_eq!(sample.then(&vec![0; most + 1]), damage(false));
    for at in HEADER_BYTES..most {
        let mut bytes = vec![0; most];
        bytes[at] = 1;
        assert_eq!(sample.then(&bytes), damage(false), "byte {at}");
    }
    // Of the header the first page was written, and of the checksum at its end nothing.
    let begun = [vec![9; HEADER_BYTES - 8], vec![0; 30]].concat();
    assert_eq!(sample.then(&begun), damage(true));
}

#[test]
fn a_record_that_is_longer_than_the_format_allows_is_damage_although_its_sums_match() {
    for (length, is_read) in [(100, true), (101, false), (1000, false)] {
        let sample = Sample::in_format(LONGER, &[vec![7; length], b"after".to_vec()]);
        let expected =
            if is_read { Next::Record(vec![7; length]) } else { Next::Changed { body: None, is_last: false } };
        assert_eq!(Records::open(&sample.path(), FORMAT).unwrap().next().unwrap(), expected, "{length} bytes");
        let from_its_end = Records::open(&sample.path(), FORMAT).unwrap().ending_at(sample.places[1]).unwrap();
        assert_eq!(from_its_end, is_read.then(|| vec![7; length]), "{length} bytes, from its end");
    }
}

#[test]
fn a_body_that_ends_as_a_record_does_is_found_whole_from_its_end() {
    let other = Sample::of(&[b"inner".to_vec()]);
    let record = &other.bytes[FORMAT.magic.len()..];
    let body = [b"a record follows: ", record].concat();
    let sample = Sample::of(&[b"before".to_vec(), body.clone()]);
    let records = Records::open(&sample.path(), FORMAT).unwrap();
    assert_eq!(records.ending_at(sample.places[2]).unwrap(), Some(body));
}

#[test]
fn a_reader_sees_the_records_that_were_there_when_it_was_opened() {
    let sample = Sample::of(&[b"a".to_vec()]);
    let mut records = Records::open(&sample.path(), FORMAT).unwrap();
    let mut log = Log::open(&sample.path(), FORMAT, PRIVATE, false).unwrap();
    log.resume(sample.places[1]).unwrap();
    log.append(b"b").unwrap();
    log.sync().unwrap();
    assert_eq!(records.length(), sample.bytes.len() as u64);
    assert_eq!(records.next().unwrap(), Next::Record(b"a".to_vec()));
    assert_eq!(records.next().unwrap(), Next::End);
    assert_eq!(read(&sample.path()).0, [b"a", b"b"]);
}

#[test]
fn a_log_that_shrinks_while_it_is_read_ends_with_an_error() {
    // More than a reader holds in memory.
    let sample = Sample::of(&vec![vec![7; 100]; 1000]);
    let mut records = Records::open(&sample.path(), FORMAT).unwrap();
    OpenOptions::new().write(true).open(sample.path()).unwrap().set_len(80_000).unwrap();
    let complete = sample.records_before(80_000);
    for number in 0..complete {
        assert!(matches!(records.next(), Ok(Next::Record(_))), "{number}");
    }
    assert_eq!(records.place(), sample.places[complete]);
    assert_eq!(records.next().unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
}

#[test]
fn a_file_of_another_kind_is_shown_by_its_first_bytes_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other");
    assert!(
        matches!(Records::open(&path, FORMAT), Err(OpenError::Io(error)) if error.kind() == io::ErrorKind::NotFound)
    );
    for (content, shown) in [("", ""), ("a l", "a l"), ("a log 2\n", "a log 2\n"), ("Dear reader, ", "Dear rea")] {
        std::fs::write(&path, content).unwrap();
        let Err(OpenError::OtherMagic(first)) = Records::open(&path, FORMAT) else { panic!("{content}") };
        assert_eq!(first, shown.as_bytes());
        assert_eq!(std::fs::read(&path).unwrap(), content.as_bytes());
    }
    // A writer begins only where no magic would fit.
    Log::open(&path, FORMAT, PRIVATE, false).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"Dear reader, ");
}

#[test]
fn an_error_of_appending_keeps_its_kind_and_says_how_long_a_record_was() {
    let too_long = io::Error::from(AppendError::TooLong(101));
    assert_eq!(
        (too_long.kind(), too_long.to_string()),
        (io::ErrorKind::InvalidInput, "a record of 101 bytes is too long".to_owned())
    );
    for error in [AppendError::Refused, AppendError::Torn] {
        assert_eq!(io::Error::from(error(io::ErrorKind::StorageFull.into())).kind(), io::ErrorKind::StorageFull);
    }
}

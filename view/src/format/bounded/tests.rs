use proptest::prelude::*;

use super::*;
use crate::stop::broken;

fn allowance(left: u64, ratio_max: u64) -> Allowance {
    Allowance { left: Rc::new(Cell::new(left)), ratio_max }
}

/// A reader of a member of which `compressed` bytes were read.
fn bounded<R: Read>(inner: R, allowance: &Allowance, compressed: u64) -> Bounded<R> {
    Bounded::new(inner, allowance.clone(), Rc::new(Cell::new(compressed)), 0)
}

fn outcome(mut reader: impl Read) -> Result<u64, Reason> {
    io::copy(&mut reader, &mut io::sink()).map_err(broken)
}

#[test]
fn the_ratio_counts_after_the_free_bytes() {
    let unlimited = allowance(u64::MAX, 10);
    for (bytes, compressed, result) in [
        (FREE_BYTES, 0, Ok(FREE_BYTES)),
        (FREE_BYTES + 1, 0, Err(Reason::Ratio)),
        (FREE_BYTES + 1000, 100, Ok(FREE_BYTES + 1000)),
        (FREE_BYTES + 1001, 100, Err(Reason::Ratio)),
    ] {
        let member = bounded(io::repeat(b'<').take(bytes), &unlimited, compressed);
        assert_eq!(outcome(member), result, "{bytes} {compressed}");
    }
}

#[test]
fn only_bytes_compressed_since_the_beginning_of_a_member_count() {
    let read = Rc::new(Cell::new(1000));
    let member =
        |before| Bounded::new(io::repeat(b'<').take(FREE_BYTES + 1), allowance(u64::MAX, 1), Rc::clone(&read), before);
    assert_eq!(outcome(member(0)), Ok(FREE_BYTES + 1));
    assert_eq!(outcome(member(1000)), Err(Reason::Ratio));
}

#[test]
fn all_members_share_one_allowance() {
    let shared = allowance(1000, 1);
    assert_eq!(outcome(bounded(io::repeat(b'<').take(600), &shared, 0)), Ok(600));
    assert_eq!(outcome(bounded(io::repeat(b'<').take(400), &shared, 0)), Ok(400));
    assert_eq!(outcome(bounded(io::repeat(b'<').take(1), &shared, 0)), Err(Reason::TooLarge));
}

#[test]
fn xml_without_tags_is_refused_and_other_bytes_are_not() {
    let unlimited = allowance(u64::MAX, u64::from(u32::MAX));
    let long = TOKEN_BYTES_MAX as u64 + BUFFER_BYTES as u64;
    let text = || io::repeat(b'x').take(long);
    assert_eq!(outcome(bounded(text(), &unlimited, 1)), Err(Reason::TooLarge));
    assert_eq!(outcome(bounded(text(), &unlimited, 1).any_bytes()), Ok(long));
    let with_tag = text().chain(&b"<a>"[..]).chain(io::repeat(b'x').take(1));
    assert_eq!(outcome(bounded(with_tag.take(long / 2), &unlimited, 1)), Ok(long / 2));
    let parted = io::repeat(b'x').take(long / 2).chain(&b">"[..]).chain(io::repeat(b'x').take(long / 2));
    assert_eq!(outcome(bounded(parted, &unlimited, 1)), Ok(long / 2 * 2 + 1));
}

#[test]
fn a_counted_source_counts_reads_and_not_seeks() {
    let mut source = io::Cursor::new(b"0123456789".as_slice());
    let (mut counted, count) = Counted::new(&mut source);
    counted.read_exact(&mut [0; 4]).unwrap();
    counted.seek(SeekFrom::Start(8)).unwrap();
    assert_eq!(count.get(), 4);
    let mut rest = Vec::new();
    counted.read_to_end(&mut rest).unwrap();
    assert_eq!((rest.as_slice(), count.get()), (&b"89"[..], 6));
}

proptest! {
    #[test]
    fn bytes_within_the_limits_come_out_unchanged(
        bytes in prop::collection::vec(any::<u8>(), 0..40_000),
        sizes in prop::collection::vec(1_usize..20_000, 1..9),
    ) {
        let mut reader = bounded(bytes.as_slice(), &allowance(40_000, 1), 0);
        let mut all : Vec<u8> = Vec::new();
        for size in sizes.iter().cycle() {
            let mut piece = vec![0; *size];
            let read = reader.read(&mut piece).unwrap();
            if read == 0 {
                break;
            }
            all.extend(&piece[..read]);
        }
        prop_assert_eq!(all, bytes);
    }
}

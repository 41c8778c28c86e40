use proptest::prelude::*;

use super::*;
use crate::budget::{Budget, fault};
use crate::limits::Limits;

const HEAD: &[u8] = b"0123456789";

fn with_source<T>(stream: &mut dyn Read, size: Option<u64>, test: impl FnOnce(&mut ForwardSource<'_>) -> T) -> T {
    let budget = Budget::new(&Limits::default(), 1);
    let held = budget.hold(HEAD.len() as u64);
    test(&mut ForwardSource::new(HEAD.to_vec(), held, stream, size))
}

#[test]
fn a_source_can_be_rewound_until_it_leaves_its_head() {
    with_source(&mut &b"abc"[..], Some(13), |source| {
        let mut bytes = [0; 10];
        for _ in 0..3 {
            source.read_exact(&mut bytes).unwrap();
            assert_eq!(bytes, HEAD);
            assert_eq!(source.seek(SeekFrom::Start(0)).unwrap(), 0);
        }
        let mut all = Vec::new();
        source.read_to_end(&mut all).unwrap();
        assert_eq!(all, b"0123456789abc");
        assert_eq!(source.stream_position().unwrap(), 13);
        assert_eq!(source.seek(SeekFrom::Start(0)).unwrap_err().kind(), io::ErrorKind::Unsupported);
    });
}

#[test]
fn seeks_stay_within_the_head() {
    with_source(&mut io::empty(), Some(12), |source| {
        for (to, place) in [
            (SeekFrom::Start(10), Some(10)),
            (SeekFrom::Start(11), None),
            (SeekFrom::Current(-3), Some(7)),
            (SeekFrom::Current(-8), None),
            (SeekFrom::End(-3), Some(9)),
            (SeekFrom::End(-1), None),
            (SeekFrom::End(-13), None),
            (SeekFrom::Start(2), Some(2)),
            (SeekFrom::Current(0), Some(2)),
        ] {
            assert_eq!(source.seek(to).ok(), place, "{to:?}");
        }
    });
    with_source(&mut io::empty(), None, |source| {
        assert_eq!(source.length_bytes(), u64::MAX);
        assert!(source.seek(SeekFrom::End(0)).is_err(), "no end is known");
    });
}

#[test]
fn the_memory_of_the_head_is_given_back_after_it() {
    let budget = Budget::new(&Limits { memory_bytes_max: 64 << 20, ..Limits::default() }, 1);
    let free = budget.may_hold();
    let held = budget.hold(12 << 20);
    let mut stream = &b"abc"[..];
    let mut source = ForwardSource::new(HEAD.to_vec(), held, &mut stream, None);
    source.read_exact(&mut [0; 10]).unwrap();
    assert!(budget.may_hold() < free);
    assert_eq!(source.read(&mut []).unwrap(), 0, "an empty read takes nothing from the stream");
    assert!(budget.may_hold() < free);
    source.read_exact(&mut [0; 1]).unwrap();
    assert_eq!(budget.may_hold(), free);
}

#[test]
fn a_broken_stream_leaves_its_reason() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(fault(Reason::Ratio))
        }
    }
    with_source(&mut Broken, None, |source| {
        let failed = source.failed();
        source.read_exact(&mut [0; 10]).unwrap();
        assert_eq!(failed.get(), None);
        assert!(source.read(&mut [0; 1]).is_err());
        assert_eq!(failed.get(), Some(Reason::Ratio));
    });
}

proptest! {
    /// A cursor over the same bytes is the model, as long as the source allows a step.
    #[test]
    fn a_source_reads_the_bytes_of_a_cursor(steps in prop::collection::vec((any::<bool>(), 0_u64..14), 0..30)) {
        let all = [HEAD, b"abcdef"].concat();
        let mut model = io::Cursor::new(all.as_slice());
        with_source(&mut &b"abcdef"[..], Some(16), |source| {
            for (seeks, number) in steps {
                if seeks {
                    if source.seek(SeekFrom::Start(number)).is_ok() {
                        model.set_position(number);
                    }
                } else {
                    let mut bytes = vec![0; usize::try_from(number).unwrap()];
                    let read = source.read(&mut bytes).unwrap();
                    let mut expected = vec![0; read];
                    model.read_exact(&mut expected).unwrap();
                    prop_assert_eq!(&bytes[..read], expected.as_slice());
                }
                prop_assert_eq!(source.stream_position().unwrap(), model.position());
            }
            Ok(())
        })?;
    }
}

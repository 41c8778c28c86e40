//! Damage at every byte, and counts that agree or differ.

use std::time::Duration;

use cognate_durable::log::{Format, HEADER_BYTES};
use cognate_proto::v1::{KeepAlive, ReceivedIndex};

use super::*;
use crate::ledger::count::{Agreement, Counts, Indexes};
use crate::ledger::read;

fn clock() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_800_000_000)
}

fn batch(epoch: u64, sequence: u64, digest: u8) -> IndexEntry {
    IndexEntry {
        repository: "main".into(),
        method_id: vec![3; 16],
        epoch,
        sequence,
        body_bytes: 100 + sequence,
        body_digest: vec![digest; 16],
        documents: 1,
        contents: 1,
        chunks: 2,
        scope: Vec::new(),
    }
}

fn filled(folder: &Path) {
    let ledger = Ledger::open(folder, clock).unwrap();
    ledger.record(Kind::Hello, "hub:7443", &KeepAlive {}, None).unwrap();
    for sequence in 1..=3 {
        ledger.record(Kind::Batch, "hub:7443", &KeepAlive {}, Some(batch(7, sequence, 9))).unwrap();
    }
    ledger.record(Kind::Seal, "hub:7443", &KeepAlive {}, Some(batch(7, 3, 0))).unwrap();
}

/// The offset of each entry, and the end of the file.
fn places(bytes: &[u8]) -> Vec<usize> {
    let mut places = vec![FORMAT.magic.len()];
    while places[places.len() - 1] < bytes.len() {
        let at = places[places.len() - 1];
        let length = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        places.push(at + HEADER_BYTES + length);
    }
    places
}

#[test]
fn every_flipped_bit_names_its_entry_and_ends_a_start() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    let path = folder.path().join("ledger");
    let intact = std::fs::read(&path).unwrap();
    let places = places(&intact);
    assert!(read::verify(folder.path(), false).unwrap().is_ok());
    for position in 0..intact.len() {
        for bit in [0, 3, 7] {
            let mut bytes = intact.clone();
            bytes[position] ^= 1 << bit;
            std::fs::write(&path, &bytes).unwrap();
            let damage = read::verify(folder.path(), false).unwrap().unwrap_err();
            let expected = places.iter().filter(|place| **place <= position).count().max(1) as u64;
            assert_eq!(damage.number, expected, "byte {position}: {damage}");
            let start = Ledger::open(folder.path(), clock);
            assert!(start.is_err(), "a start did not notice byte {position}");
        }
    }
}

#[test]
fn a_ledger_continues_after_a_restart_and_a_ledger_that_was_cut_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    let ledger = Ledger::open(folder.path(), clock).unwrap();
    assert_eq!(ledger.totals().messages, 5);
    ledger.record(Kind::KeepAlive, "hub:7443", &KeepAlive {}, None).unwrap();
    drop(ledger);
    assert_eq!(read::verify(folder.path(), false).unwrap().unwrap().totals.messages, 6);
    let path = folder.path().join("ledger");
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    assert!(matches!(Ledger::open(folder.path(), clock), Err(LedgerError::Damaged { .. })));
}

#[test]
fn removed_and_swapped_entries_are_reported_at_the_first_of_them() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    let path = folder.path().join("ledger");
    let intact = std::fs::read(&path).unwrap();
    let places = places(&intact);
    let entry = |number: usize| &intact[places[number - 1]..places[number]];
    let check = |order: &[usize], expected: u64| {
        let parts: Vec<&[u8]> =
            std::iter::once(FORMAT.magic).chain(order.iter().map(|number| entry(*number))).collect();
        std::fs::write(&path, parts.concat()).unwrap();
        let damage = read::verify(folder.path(), false).unwrap().unwrap_err();
        assert_eq!(damage.number, expected, "{order:?}: {damage}");
    };
    check(&[2, 3, 4, 5], 1);
    check(&[1, 3, 4, 5], 2);
    check(&[1, 2, 4, 5], 3);
    check(&[1, 2, 3, 4], 5);
    check(&[], 1);
    check(&[1, 3, 2, 4, 5], 2);
    check(&[1, 2, 3, 5, 4], 4);
    check(&[1, 1, 2, 3, 4, 5], 2);
}

#[test]
fn an_incomplete_last_entry_is_removed_by_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    let path = folder.path().join("ledger");
    let mut bytes = std::fs::read(&path).unwrap();
    let intact = bytes.clone();
    bytes.extend_from_slice(&intact[FORMAT.magic.len()..FORMAT.magic.len() + 20]);
    std::fs::write(&path, &bytes).unwrap();
    assert!(read::verify(folder.path(), false).unwrap().is_err());
    assert!(read::verify(folder.path(), true).unwrap().is_ok());
    drop(Ledger::open(folder.path(), clock).unwrap());
    assert_eq!(std::fs::read(&path).unwrap(), intact);
}

#[test]
fn after_a_failed_write_every_write_fails() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(folder.path(), clock).unwrap();
    let no_entry_fits = Format { record_bytes_max: 0, ..FORMAT };
    let log = Log::open(&folder.path().join("ledger"), no_entry_fits, PRIVATE, true).unwrap();
    ledger.turns.with_files(|files| files.log = log);
    for _ in 0..2 {
        let error = ledger.record(Kind::Hello, "hub", &KeepAlive {}, None).unwrap_err().to_string();
        assert!(error.contains("nothing is sent"), "{error}");
    }
}

fn head_of(digests: &[u8]) -> Vec<u8> {
    let chain =
        |head: [u8; 32], digest: &u8| *blake3::Hasher::new().update(&head).update(&[*digest; 16]).finalize().as_bytes();
    digests.iter().fold([0; 32], chain).to_vec()
}

fn received(epoch: u64, digests: &[u8]) -> ReceivedIndex {
    let batches = digests.len() as u64;
    ReceivedIndex {
        repository: "main".into(),
        method_id: vec![3; 16],
        epoch,
        batches,
        body_bytes: (1..=batches).map(|sequence| 100 + sequence).sum(),
        head: head_of(digests),
    }
}

fn indexes(messages: &[(Kind, IndexEntry)]) -> Indexes {
    let mut indexes = Indexes::default();
    for (kind, index) in messages {
        indexes.take(&Entry { kind: (*kind).into(), index: Some(index.clone()), ..Entry::default() });
    }
    indexes
}

#[test]
fn a_seal_is_known_by_all_of_its_counts_and_stays_known_after_batches_were_sent_again() {
    let sent = indexes(&[
        (Kind::Open, batch(7, 0, 0)),
        (Kind::Seal, batch(7, 0, 0)),
        (Kind::Batch, batch(7, 1, 1)),
        (Kind::Batch, batch(7, 2, 2)),
        (Kind::Seal, batch(7, 2, 0)),
        (Kind::Ended, IndexEntry::default()),
        // Again from the second batch, to a coordinator that lost it.
        (Kind::Batch, batch(7, 2, 4)),
        (Kind::Batch, batch(7, 3, 5)),
        (Kind::Seal, batch(7, 3, 0)),
        // After a gap.
        (Kind::Batch, batch(8, 2, 1)),
        (Kind::Seal, batch(8, 2, 0)),
    ]);
    let counts = |digests: &[u8]| {
        let ReceivedIndex { batches, body_bytes, head, .. } = received(7, digests);
        Counts { batches, body_bytes, head: head.try_into().unwrap() }
    };
    for sealed in [&[][..], &[1, 2], &[1, 4, 5]] {
        assert!(sent.was_sealed("main", 7, &counts(sealed)), "{sealed:?}");
    }
    let whole = counts(&[1, 4, 5]);
    for other in [
        counts(&[1]),
        counts(&[1, 4]),
        counts(&[1, 2, 5]),
        Counts { body_bytes: 1, ..whole },
        Counts { head: [1; 32], ..whole },
    ] {
        assert!(!sent.was_sealed("main", 7, &other), "{other:?}");
    }
    assert!(!sent.was_sealed("main", 8, &counts(&[1, 1])), "there is a gap");
    assert!(!sent.was_sealed("other", 7, &whole) && !sent.was_sealed("main", 9, &whole));
}

#[test]
fn counts_agree_after_batches_were_sent_again() {
    let agreement = |messages: &[(Kind, IndexEntry)], received: &ReceivedIndex| {
        indexes(messages).compare(std::slice::from_ref(received))[0].agreement
    };
    let sent = [
        (Kind::Open, batch(7, 0, 0)),
        (Kind::Batch, batch(7, 1, 1)),
        (Kind::Batch, batch(7, 2, 2)),
        (Kind::Batch, batch(7, 3, 3)),
        // Interrupted after the first batch; the batches that follow differ and are shorter.
        (Kind::Open, batch(7, 0, 0)),
        (Kind::Batch, batch(7, 2, 4)),
        (Kind::Seal, batch(7, 2, 0)),
        (Kind::Ended, IndexEntry::default()),
    ];
    assert_eq!(agreement(&sent, &received(7, &[1, 4])), Agreement::Same);
    assert_eq!(agreement(&sent, &received(7, &[1, 2])), Agreement::Differs);
    assert_eq!(agreement(&sent, &received(7, &[1])), Agreement::Behind);
    assert_eq!(agreement(&sent, &received(7, &[1, 4, 5])), Agreement::Differs);
    assert_eq!(agreement(&sent, &ReceivedIndex { body_bytes: 1, ..received(7, &[1, 4]) }), Agreement::Differs);
    assert_eq!(agreement(&sent[..4], &received(7, &[1])), Agreement::UnderWay);
    assert_eq!(agreement(&sent[..4], &received(7, &[2])), Agreement::Differs);
    let nothing = indexes(&sent).compare(&[]);
    assert_eq!((nothing.len(), nothing[0].agreement), (1, Agreement::Behind));
    // Without an answer to the seal the coordinator may have less, and nothing that is different.
    let unanswered = &sent[..7];
    assert_eq!(agreement(unanswered, &received(7, &[1])), Agreement::NotAcknowledged);
    assert_eq!(indexes(unanswered).compare(&[])[0].agreement, Agreement::NotAcknowledged);
    assert_eq!(agreement(unanswered, &received(7, &[1, 4])), Agreement::Same);
    assert_eq!(agreement(unanswered, &received(7, &[2])), Agreement::Differs);
    assert_eq!(agreement(unanswered, &received(7, &[1, 4, 5])), Agreement::Differs);
    let of_another = indexes(&sent).compare(&[received(8, &[1])]);
    let of_another: Vec<(u64, Agreement)> = of_another.iter().map(|row| (row.epoch, row.agreement)).collect();
    assert_eq!(of_another, [(7, Agreement::Behind), (8, Agreement::Differs)]);
    // A refusal is no acknowledgement, and neither is the end of a sync that came after it.
    let mut refused = unanswered.to_vec();
    refused.extend([(Kind::Failed, IndexEntry::default()), (Kind::Ended, IndexEntry::default())]);
    assert_eq!(agreement(&refused, &received(7, &[1])), Agreement::NotAcknowledged);
    assert_eq!(agreement(&refused, &received(7, &[2])), Agreement::Differs);
}

#[test]
fn a_coordinator_with_an_earlier_state_is_behind_and_one_with_another_state_differs() {
    let first = [
        (Kind::Open, batch(7, 0, 0)),
        (Kind::Batch, batch(7, 1, 1)),
        (Kind::Batch, batch(7, 2, 2)),
        (Kind::Batch, batch(7, 3, 3)),
        (Kind::Seal, batch(7, 3, 0)),
        (Kind::Ended, IndexEntry::default()),
    ];
    let rows = |messages: &[(Kind, IndexEntry)], received: &[ReceivedIndex]| -> Vec<(u64, Agreement, u64)> {
        let rows = indexes(messages).compare(received);
        rows.iter().map(|row| (row.epoch, row.agreement, row.missing_batches())).collect()
    };
    let behind = |missing: u64| (7, Agreement::Behind, missing);
    // Every earlier state, down to that of before the first sync.
    assert_eq!(rows(&first, &[received(7, &[1, 2, 3])]), [(7, Agreement::Same, 0)]);
    assert_eq!(rows(&first, &[received(7, &[1, 2])]), [behind(1)]);
    assert_eq!(rows(&first, &[received(7, &[1])]), [behind(2)]);
    assert_eq!(rows(&first, &[ReceivedIndex { head: vec![0; 32], ..received(7, &[]) }]), [behind(3)]);
    assert_eq!(rows(&first, &[]), [behind(3)]);
    // Nothing else is an earlier state: other batches, the same ones in another order, other bytes, more batches, another index.
    let differs = [(7, Agreement::Differs, 0)];
    for other in [&[4][..], &[2, 1], &[1, 3], &[1, 2, 4], &[1, 2, 3, 4]] {
        assert_eq!(rows(&first, &[received(7, other)]), differs, "{other:?}");
    }
    assert_eq!(rows(&first, &[ReceivedIndex { body_bytes: 1, ..received(7, &[1, 2]) }]), differs);
    assert_eq!(rows(&first, &[ReceivedIndex { head: vec![0; 32], ..received(7, &[1, 2]) }]), differs);
    assert_eq!(rows(&first, &[received(7, &[1, 2, 3]), received(8, &[1])])[1], (8, Agreement::Differs, 0));
    // The index was started again since. A restored coordinator has the one of before, and nothing of the latest.
    let mut second = first.to_vec();
    second.extend([
        (Kind::Open, batch(8, 0, 0)),
        (Kind::Batch, batch(8, 1, 5)),
        (Kind::Seal, batch(8, 1, 0)),
        (Kind::Ended, IndexEntry::default()),
    ]);
    let of_before = [(7, Agreement::Same, 0), (8, Agreement::Behind, 1)];
    assert_eq!(rows(&second, &[received(7, &[1, 2, 3])]), of_before);
    assert_eq!(rows(&second, &[received(7, &[1])]), [behind(2), (8, Agreement::Behind, 1)]);
    assert_eq!(rows(&second, &[received(7, &[4])]), [(7, Agreement::Differs, 0), (8, Agreement::Behind, 1)]);
    assert_eq!(rows(&second, &[ReceivedIndex { body_bytes: 101, ..received(8, &[5]) }]), [(8, Agreement::Same, 0)]);
    // The next sync sends the rest, and the counts agree.
    let mut third = first.to_vec();
    third.extend([(Kind::Open, batch(7, 0, 0)), (Kind::Batch, batch(7, 2, 4))]);
    assert_eq!(rows(&third, &[received(7, &[1])]), [(7, Agreement::UnderWay, 0)]);
    third.push((Kind::Seal, batch(7, 2, 0)));
    third.push((Kind::Ended, IndexEntry::default()));
    assert_eq!(rows(&third, &[received(7, &[1, 4])]), [(7, Agreement::Same, 0)]);
    assert_eq!(rows(&third, &[received(7, &[1])]), [behind(1)]);
}

#[test]
fn after_a_loss_of_power_at_any_moment_the_ledger_has_every_message_that_was_sent_and_opens() {
    let folder = tempfile::tempdir().unwrap();
    let recording = cognate_disk_faults::record(folder.path()).unwrap();
    let ledger = Ledger::open(folder.path(), clock).unwrap();
    for sequence in 1..=3 {
        // Not synced by itself.
        ledger.record(Kind::Hello, "hub:7443", &KeepAlive {}, None).unwrap();
        ledger.record(Kind::Batch, "hub:7443", &KeepAlive {}, Some(batch(7, sequence, 9))).unwrap();
        recording.mark(2 * sequence);
    }
    drop(ledger);
    let states = recording.finish();
    for moment in 0..states.moments() {
        for state in states.at(moment, 60, 3) {
            let folder = tempfile::tempdir().unwrap();
            state.write_to(folder.path()).unwrap();
            let ledger =
                Ledger::open(folder.path(), clock).unwrap_or_else(|error| panic!("{}: {error}", state.description));
            let messages = ledger.totals().messages;
            assert!(messages >= state.acknowledged.unwrap_or_default(), "{}: {messages}", state.description);
            ledger.record(Kind::Hello, "hub:7443", &KeepAlive {}, None).unwrap();
            drop(ledger);
            assert_eq!(
                read::verify(folder.path(), false).unwrap().unwrap().totals.messages,
                messages + 1,
                "{}",
                state.description
            );
        }
    }
}

#[test]
fn whatever_call_to_the_disk_fails_the_ledger_names_it_and_loses_no_message_that_was_sent() {
    use cognate_disk_faults::{Disk, Fault, Operation, errors, inject};

    for operation in [Operation::Create, Operation::Write, Operation::Sync, Operation::Resize] {
        for number in 1.. {
            let folder = tempfile::tempdir().unwrap();
            let files = errors::below(folder.path(), "*");
            let injection = inject(Fault { operation, files, number, error: 28, disk: Disk::Recovers });
            let mut sent = 0;
            let mut errors = vec![];
            for _ in 0..5 {
                let recorded = Ledger::open(folder.path(), clock).and_then(|ledger| {
                    assert!(ledger.totals().messages >= sent, "{operation:?} {number}");
                    while sent < 4 {
                        ledger.record(Kind::Batch, "hub:7443", &KeepAlive {}, Some(batch(7, sent + 1, 9)))?;
                        sent += 1;
                        let again = ledger.record(Kind::Hello, "hub:7443", &KeepAlive {}, None);
                        again?;
                    }
                    Ok(())
                });
                match recorded {
                    Ok(()) => break,
                    Err(error) => errors.push(error.to_string()),
                }
            }
            assert_eq!(sent, 4, "{operation:?} {number}: {errors:?}");
            assert!(
                errors.iter().all(|error| error.contains("No space left") && error.contains("ledger")),
                "{errors:?}"
            );
            assert!(read::verify(folder.path(), false).unwrap().is_ok(), "{operation:?} {number}");
            if injection.fired() == 0 {
                assert!(number > 1 || operation == Operation::Resize, "{operation:?}: no call failed");
                break;
            }
        }
    }
}

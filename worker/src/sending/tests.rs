//! Windows that fill, open, and refuse what cannot be.

use cognate_proto::limits::{WINDOW_BATCHES, WINDOW_BYTES};

use super::sync::{Arc, AtomicU64, Ordering};
use super::window::Window;

fn window(credit: u64) -> Window {
    Window::new(Arc::new(AtomicU64::new(credit)))
}

#[test]
fn a_window_is_full_by_the_smallest_of_credit_opening_and_number_of_batches() {
    // By the opening.
    let mut open = window(WINDOW_BYTES);
    open.open(100, 0);
    open.send(1, 60);
    assert_eq!([40, 41].map(|bytes| open.is_full(bytes)), [false, true]);
    // By the credit, also one that comes later.
    let credit = Arc::new(AtomicU64::new(80));
    let mut paid = Window::new(Arc::clone(&credit));
    paid.open(100, 0);
    paid.send(1, 60);
    assert_eq!([20, 21].map(|bytes| paid.is_full(bytes)), [false, true]);
    credit.store(90, Ordering::Relaxed);
    assert_eq!([30, 31].map(|bytes| paid.is_full(bytes)), [false, true]);
    // By this site's own memory, whatever the coordinator says.
    let mut large = window(u64::MAX);
    large.open(u64::MAX, 0);
    large.send(1, WINDOW_BYTES);
    assert!(large.is_full(1));
    // By the number of batches.
    let mut many = window(WINDOW_BYTES);
    for number in 1..=WINDOW_BATCHES as u64 {
        assert!(!many.is_full(1), "batch {number} has to wait");
        many.send(number, 1);
    }
    assert!(many.is_full(1));
}

#[test]
fn a_batch_that_is_alone_goes_through_the_smallest_window() {
    let mut small = window(0);
    small.open(0, 0);
    assert!(!small.is_full(1000));
    small.send(1, 1000);
    assert!(small.is_full(1));
    small.acknowledge(1).unwrap();
    assert!(!small.is_full(1000));
}

#[test]
fn an_acknowledgement_frees_what_it_is_about_and_no_other_may_come() {
    let mut window = window(WINDOW_BYTES);
    window.open(WINDOW_BYTES, 4);
    assert!(window.acknowledge(5).unwrap_err().contains("not sent"));
    for (sequence, bytes) in [(5, 10), (6, 20), (7, 30)] {
        window.send(sequence, bytes);
    }
    // The one of the opening comes again, and frees nothing.
    for (acknowledged, left) in [(4, 60), (6, 30), (6, 30), (7, 0)] {
        window.acknowledge(acknowledged).unwrap();
        assert_eq!(window.under_way_bytes(), left, "after {acknowledged}");
    }
    assert!(window.acknowledge(8).unwrap_err().contains("not sent"));
    assert!(window.acknowledge(6).unwrap_err().contains("takes an earlier one back"));
}

//! The window of a push and the credits of its session in every order of their threads, by loom.

/// In place of those of the standard library: each of their calls is a place at which another thread may go on.
mod sync {
    pub(super) use loom::sync::Arc;
    pub(super) use loom::sync::atomic::{AtomicU64, Ordering};
}
#[allow(clippy::duplicate_mod, reason = "it is the same code over another number")]
#[path = "window.rs"]
mod window;

use loom::thread;

use self::sync::{Arc, AtomicU64, Ordering};
use self::window::Window;

#[test]
fn in_no_order_of_threads_is_more_under_way_than_a_credit_allowed_and_a_push_never_stands_still() {
    loom::model(|| {
        let credit = Arc::new(AtomicU64::new(10));
        let session = {
            let credit = Arc::clone(&credit);
            thread::spawn(move || [4, 8].into_iter().for_each(|bytes| credit.store(bytes, Ordering::Relaxed)))
        };
        let mut window = Window::new(Arc::clone(&credit));
        window.open(100, 0);
        let (mut acknowledged, mut most) = (0, 0);
        for sequence in 1..=4 {
            while window.is_full(4) {
                acknowledged += 1;
                window.acknowledge(acknowledged).unwrap();
            }
            window.send(sequence, 4);
            most = most.max(window.under_way_bytes());
        }
        assert!(most <= 10, "{most} bytes were under way");
        session.join().unwrap();
        // The last credit counts from now on.
        while window.is_full(4) {
            acknowledged += 1;
            window.acknowledge(acknowledged).unwrap();
        }
        window.send(5, 4);
        assert_eq!(window.under_way_bytes(), 8);
    });
}

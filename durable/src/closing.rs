//! Things of others that may panic while they are closed.
//!
//! sled syncs its file as it is closed, and panics if the disk refuses that: such a panic would take the place of the reason for which
//! the process ends. What was not synced is missing after a loss of power, as after a kill, and is found at the next start.

use std::cell::Cell;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static IS_CLOSING: Cell<bool> = const { Cell::new(false) };
}
static HOOK: Once = Once::new();

/// Something that is closed when this is dropped. A panic in its depths then ends nothing and is not printed.
#[derive(Debug)]
pub struct Closing<T>(Option<T>);

impl<T> Closing<T> {
    /// Takes over its end.
    pub fn new(inner: T) -> Closing<T> {
        Closing(Some(inner))
    }
}

impl<T> Deref for Closing<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect("it is there until it is dropped")
    }
}

impl<T> Drop for Closing<T> {
    fn drop(&mut self) {
        // A thread that panics already may not change the hook; then a second panic is printed.
        if !std::thread::panicking() {
            HOOK.call_once(|| {
                let before = take_hook();
                set_hook(Box::new(move |panic| {
                    if !IS_CLOSING.get() {
                        before(panic);
                    }
                }));
            });
        }
        let inner = self.0.take();
        let was_closing = IS_CLOSING.replace(true);
        // The disk that refused is no news: whoever wrote to it last was told.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(inner)));
        IS_CLOSING.set(was_closing);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    static PRINTED: AtomicUsize = AtomicUsize::new(0);

    struct Panics;

    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("the disk is full");
        }
    }

    #[test]
    fn a_panic_while_something_is_closed_ends_nothing_and_is_not_printed_and_others_are() {
        let this = std::thread::current().id();
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            if std::thread::current().id() == this {
                PRINTED.fetch_add(1, Ordering::Relaxed);
            } else {
                before(panic);
            }
        }));
        let caught = catch_unwind(|| drop(Closing::new(Panics)));
        assert_eq!((caught.is_ok(), PRINTED.load(Ordering::Relaxed)), (true, 0));
        let caught = catch_unwind(|| drop(Panics));
        assert_eq!((caught.is_err(), PRINTED.load(Ordering::Relaxed)), (true, 1));
        assert_eq!(*Closing::new(5), 5);
    }
}

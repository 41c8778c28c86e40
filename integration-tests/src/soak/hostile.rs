//! Trees of sites that mean harm: files that are small and have very many documents inside, in other numbers at each time.

use std::path::Path;

/// Messages of a mailbox, which the limit of documents inside of one just allows.
const MESSAGES: u32 = 99_000;
/// Mailboxes of the first site: more documents than a third of the default quota.
const MAILBOXES: u32 = 12;
/// Files of the second site, with long names.
const FILES: u32 = 20_000;

/// Writes the tree of a hostile site, or changes it. `turn` is another number each time.
///
/// # Panics
/// Panics if it cannot be written.
pub(super) fn write(folder: &Path, site: usize, turn: u64) {
    let write = |name: String, bytes: &[u8]| std::fs::write(folder.join(name), bytes).expect("the tree can be written");
    match site % 3 {
        0 => {
            (0..MAILBOXES).for_each(|number| write(format!("{number}.mbox"), &mailbox(u64::from(number) << 32 | turn)))
        }
        1 => {
            let long = "n".repeat(180);
            (0..FILES).for_each(|number| {
                write(format!("{long}-{number}-{}", turn % 4), format!("{number} {turn}").as_bytes())
            });
        }
        // All of it is one chunk again and again, beside one mailbox that comes and goes.
        _ => {
            write("repeated".to_owned(), &b"the same again ".repeat(4 << 20));
            write(format!("{}.mbox", turn % 2), &mailbox(turn));
            let _ = std::fs::remove_file(folder.join(format!("{}.mbox", (turn + 1) % 2)));
        }
    }
}

fn mailbox(number: u64) -> Vec<u8> {
    let message = |message: u32| {
        format!("From a@b Mon Jan  1 10:00:00 2024\nFrom: a@b\nSubject: {message}\n\nText {number} {message}.\n\n")
    };
    (0..MESSAGES).map(message).collect::<String>().into_bytes()
}

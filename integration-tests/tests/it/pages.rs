//! The pages in a real browser, one journey a file. After each it is checked that nothing came from elsewhere and nothing was
//! complained about.
//!
//! Tests wait for the effect of a click (`see`, `see_begin`, `see_at`, `wait`) before they check it.

mod dropping;
mod every;
mod finding;
mod hostile;
mod keyboard;
mod labels;
mod launching;
mod looking;
mod numbers;
mod people;
mod plans;
mod templates;
mod triage;
mod wrong;

use cognate_integration_tests::{Browser, Dice, Federation, Files};

/// Lines of words, as somebody would write them.
fn prose(dice: &mut Dice, bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 16);
    let mut column = 0;
    while text.len() < bytes {
        let letters = dice.between(2, 9);
        text.extend((0..letters).map(|_| char::from(*dice.pick(b"aaeeiioouthnsrdlmcp"))));
        column += letters + 1;
        text.push(if column > 70 { '\n' } else { ' ' });
        column %= 71;
    }
    text
}

/// A text with some words in the middle of it written again.
fn revised(dice: &mut Dice, text: &str, bytes: usize) -> String {
    let from = text.len() / 3;
    [&text[..from], &prose(dice, bytes), &text[from + bytes..]].concat()
}

/// Two offices: texts in several versions, a folder that was moved, copies of one of its documents, and what is nobody
/// else's.
fn offices(own_seed: u64) -> Federation {
    let mut federation = Federation::new(own_seed);
    let dice = &mut federation.dice;
    let (mut paris, mut tokyo) = (Files::new(), Files::new());
    for (name, revised_bytes) in [("budget", 900), ("handbook", 25_000), ("roadmap", 900)] {
        let text = prose(dice, 60_000);
        paris.insert(format!("plans/{name}.txt"), text.clone().into());
        tokyo.insert(format!("versions/{name}.txt"), revised(dice, &text, revised_bytes).into());
        if name == "budget" {
            tokyo.insert("versions/budget (old).txt".to_owned(), revised(dice, &text, 3000).into());
        }
    }
    for number in 1..=6 {
        let text = prose(dice, 9000);
        paris.insert(format!("projects/atlas/minutes {number}.txt"), text.clone().into());
        tokyo.insert(format!("archive/2024/atlas/minutes {number}.txt"), text.clone().into());
        if number == 1 {
            tokyo.insert("desk/Copy of minutes 1.txt".to_owned(), text.clone().into());
            tokyo.insert("desk/minutes 1 (1).txt".to_owned(), text.into());
        }
    }
    for number in 0..3 {
        paris.insert(format!("own/letter {number}.txt"), prose(dice, 4000).into());
        tokyo.insert(format!("own/offer {number}.txt"), prose(dice, 4000).into());
    }
    federation.add("paris", &paris);
    federation.add("tokyo", &tokyo);
    federation.sandbox.settle();
    federation.start_all();
    federation
}

/// A scan from the command line: its id.
fn scanned(federation: &Federation) -> String {
    federation.scan(&[]).report()["scan"]["id"].as_str().unwrap().to_owned()
}

/// Opens a page of a result by its tab.
fn tab(browser: &Browser, label: &str, heading: &str) {
    browser.click_text(label);
    browser.see_begin("h1", heading);
}

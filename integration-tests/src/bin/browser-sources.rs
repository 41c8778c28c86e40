//! Prints what the module of the page of finds is built from: `query/browser.sh` records it next to the module.

#[expect(clippy::print_stdout, reason = "it is a program")]
fn main() {
    print!("{}", cognate_integration_tests::browser_sources::browser_sources());
}

//! Names that nobody would choose: every page shows them, none obeys them, and none becomes wider than the screen.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use cognate_integration_tests::{Browser, Federation, Files};

use super::{prose, revised, scanned};

/// Paths that would be programs, addresses, other files, or lines of their own; some go through a folder.
const HOSTILE: [&str; 5] = [
    "<script>window.obeyed=1</script><img src=x onerror=window.obeyed=1>",
    "\"><svg onload=window.obeyed=1> ' & &amp; {{7*7}}",
    "annual\u{202e}fdp.exe \u{2066}left\u{2069} \u{200f}",
    "line\none\r\ttab \u{1b}[31mred\u{7}",
    "=cmd|'/C calc'!A0",
];

/// A path of four thousand bytes, in which no word ends.
fn long() -> String {
    let part = "long".repeat(60);
    format!("{}end.txt", format!("{part}/").repeat(16))
}

/// Two sites with such names everywhere: in copies, in versions, in what is nobody else's.
fn federation() -> Federation {
    let mut federation = Federation::new(1151);
    let (mut paris, mut tokyo) = (Files::new(), Files::new());
    let long = long();
    for name in HOSTILE.iter().copied().chain([long.as_str()]) {
        let dice = &mut federation.dice;
        let (version, copy) = (prose(dice, 30_000), prose(dice, 5000));
        paris.insert(format!("{name}/versions.txt"), version.clone().into());
        tokyo.insert(format!("{name}/versions.txt"), revised(dice, &version, 900).into());
        paris.insert(format!("copies {name}"), copy.clone().into());
        tokyo.insert(format!("moved/copies {name}"), copy.into());
        paris.insert(format!("own {name}"), prose(dice, 3000).into());
    }
    for (site, files) in [("paris", &paris), ("tokyo", &tokyo)] {
        federation.add(site, files);
        let odd = federation.site(site).folder().join(OsStr::from_bytes(b"not \xff\xfe utf-8"));
        std::fs::write(odd, prose(&mut federation.dice, 2000)).unwrap();
    }
    federation.sandbox.settle();
    federation.start_all();
    federation
}

/// The first address on the page that begins like this.
fn first(browser: &Browser, begin: &str) -> String {
    let script = format!("return document.querySelector(\"main a[href^='{begin}']\").getAttribute('href')");
    browser.script(&script).as_str().unwrap().to_owned()
}

#[test]
fn every_page_shows_hostile_names_obeys_none_and_is_no_wider_than_the_screen() {
    let federation = federation();
    let id = scanned(&federation);
    let Some(browser) = Browser::signed_in(&federation) else { return };
    let scan = format!("/scans/{id}");
    browser.open(&format!("{scan}/clusters"));
    let cluster = first(&browser, &format!("{scan}/clusters/raw/"));
    browser.open(&format!("{scan}/identical"));
    let set = first(&browser, &format!("{scan}/identical/"));
    // All that a result has, and of all names at once.
    let pages = [
        ("run", scan.clone(), "Scan "),
        ("result", format!("{scan}/result"), "Result of "),
        ("clusters", format!("{scan}/clusters"), "Clusters "),
        ("cluster", cluster, ""),
        ("identical", format!("{scan}/identical"), "Identical sets"),
        ("set", set, ""),
        ("folders", format!("{scan}/folders"), "Folders"),
        ("documents", format!("{scan}/documents"), "Documents"),
        ("plan", format!("{scan}/plan?keep=reference:paris/kb"), "Plan"),
        ("review", format!("{scan}/review"), "Review"),
        ("verdicts", format!("{scan}/verdicts"), "Verdicts"),
        ("glossary", "/glossary".to_owned(), "Glossary"),
    ];
    for (name, path, heading) in pages {
        browser.open(&path);
        browser.see_begin("h1", heading);
        assert!(!browser.has("main img, main script, main svg[onload]"), "{path}");
        browser.shoot(&format!("hostile-{name}"));
        assert!(browser.script("return window.obeyed === undefined").as_bool().unwrap(), "{path}");
        browser.check();
    }
    browser.open(&format!("{scan}/documents"));
    let shown = browser.text("main");
    for told in ["<script>window.obeyed=1</script>", "\\u{202e}", "\\u{a}", "\\u{1b}", "=cmd|", "longlong", "{{7*7}}"] {
        assert!(shown.contains(told), "{told}: {shown}");
    }
    // Each cluster is reached by its name, and each folder by its own.
    browser.open(&format!("{scan}/clusters"));
    let clusters = browser.texts("ol.rows a").len();
    assert_eq!(clusters, HOSTILE.len() + 1);
    for row in 1..=clusters {
        browser.open(&format!("{scan}/clusters"));
        browser.click(&format!("ol.rows > li:nth-child({row}) > a"));
        browser.wait("the row is open", |browser| browser.has(&format!("ol.rows > li:nth-child({row})[aria-current]")));
        browser.wait("a cluster is shown", |browser| browser.has(".map svg, figure.pair"));
        browser.check_widths();
        browser.check();
    }
}

//! Every page of the router, without exception: WCAG, a telephone, the dark, and paper.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use cognate_integration_tests::Browser;
use cognate_integration_tests::binary::workspace;

use super::{offices, scanned};

/// Routes that answer with something else than a page that is read.
const NO_PAGES: [(&str, &str); 13] = [
    ("/cases/{name}/export", "a file"),
    ("/audit/csv", "a file"),
    ("/favicon.ico", "a picture"),
    ("/livez", "for programs"),
    ("/metrics", "for programs"),
    ("/readyz", "for programs"),
    ("/scans/{id}/audit/{extension}", "a file, which tests of the audit print"),
    ("/scans/{id}/ended", "leads to the result"),
    ("/scans/{id}/export/{extension}", "a file"),
    ("/scans/{id}/live", "part of the page of a scan"),
    ("/scans/{id}/plan/{site}/{extension}", "a file"),
    ("/scans/{id}/verdicts/csv", "a file"),
    ("/static/icon.svg", "a picture"),
];

/// The routes of a file that answer a GET.
fn routes_of(source: &str) -> Vec<String> {
    let route = |part: &str| {
        let (path, rest) = part.trim_start().strip_prefix('"')?.split_once('"')?;
        let call = rest.split([';', '}']).next()?;
        call.contains("get(").then(|| path.to_owned())
    };
    source.split(".route(").skip(1).filter_map(route).collect()
}

fn collect_routes(folder: &Path, routes: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            collect_routes(&path, routes);
        } else if name.ends_with(".rs") && name != "api.rs" {
            routes.extend(routes_of(&std::fs::read_to_string(&path).unwrap()));
        }
    }
}

/// The routes that show a page.
fn pages() -> BTreeSet<String> {
    let mut routes = BTreeSet::new();
    collect_routes(&workspace().join("coordinator/web/src"), &mut routes);
    for (path, what) in NO_PAGES {
        assert!(routes.remove(path), "{path} is listed as {what}, and is no route");
    }
    routes.retain(|path| !path.starts_with("/static/"));
    routes
}

#[test]
fn routes_are_found_in_the_sources() {
    let source =
        "Router::new()\n.route(\"/a\", get(a)).route(\"/a/{id}\", post(change))\n.route(\n\"/b\",\nget(b).post(c),\n)";
    assert_eq!(routes_of(source), ["/a", "/b"]);
    let pages = pages();
    assert!(pages.len() > 30 && pages.contains("/scans/{id}/clusters/{view}/{name}"), "{pages:?}");
}

#[test]
fn every_page_is_accessible_narrow_dark_and_printed() {
    let federation = offices(1161);
    let id = scanned(&federation);
    let budget = federation.site("paris").folder().join("plans/budget.txt");
    let budget = budget.to_str().unwrap();
    federation.operate(&["watch", "add", "leak", budget]).expect(0);
    federation.operate(&["case", "new", "leak-7", budget]).expect(0);
    let Some(browser) = Browser::signed_in(&federation) else { return };
    let first = |page: &str, css: &str| {
        browser.open(page);
        browser.wait("the list is shown", |browser| browser.has(css));
        browser
            .script(&format!("return document.querySelector({css:?}).getAttribute('href')"))
            .as_str()
            .unwrap()
            .to_owned()
    };
    let scan = format!("/scans/{id}");
    let cluster = first(&format!("{scan}/clusters"), "ol.rows a");
    let set = first(&format!("{scan}/identical"), "tbody th a");
    browser.open(&format!("{scan}/review"));
    browser.fill("#pairs", "2");
    browser.click_text("Draw a sample");
    browser.see_at("/samples/");
    let sample = browser.path();
    browser.open("/templates");
    browser.click_text("Search");
    browser.see_at("/templates/suggested/");
    let suggested = browser.path();
    let explain = format!("{scan}/explain?a=paris/kb/plans/budget.txt&b=tokyo/kb/versions/budget.txt");
    let addresses = BTreeMap::from([
        ("/", "/".to_owned()),
        ("/audit", "/audit".to_owned()),
        ("/cases", "/cases".to_owned()),
        ("/cases/{name}", "/cases/leak-7".to_owned()),
        ("/find", "/find".to_owned()),
        ("/find/hashes", "/find/hashes".to_owned()),
        ("/glossary", "/glossary".to_owned()),
        ("/people", "/people".to_owned()),
        ("/scans", "/scans".to_owned()),
        ("/scans/new", "/scans/new".to_owned()),
        ("/scans/{id}", scan.clone()),
        ("/scans/{id}/clusters", format!("{scan}/clusters")),
        ("/scans/{id}/clusters/{view}/{name}", cluster),
        ("/scans/{id}/documents", format!("{scan}/documents")),
        ("/scans/{id}/explain", explain),
        ("/scans/{id}/folders", format!("{scan}/folders")),
        ("/scans/{id}/identical", format!("{scan}/identical")),
        ("/scans/{id}/identical/{set}", set),
        ("/scans/{id}/plan", format!("{scan}/plan?keep=newest")),
        ("/scans/{id}/result", format!("{scan}/result")),
        ("/scans/{id}/review", format!("{scan}/review")),
        ("/scans/{id}/review/rule", format!("{scan}/review/rule?rule=newest")),
        ("/scans/{id}/samples/{sample}", sample),
        ("/scans/{id}/tree/{site}/{repository}", format!("{scan}/tree/paris/kb")),
        ("/scans/{id}/verdicts", format!("{scan}/verdicts")),
        ("/schedules", "/schedules".to_owned()),
        ("/sign-in", "/sign-in".to_owned()),
        ("/sites", "/sites".to_owned()),
        ("/templates", "/templates".to_owned()),
        ("/templates/suggested/{id}", suggested),
        ("/watches", "/watches".to_owned()),
        ("/watches/{name}", "/watches/leak".to_owned()),
    ]);
    let listed: BTreeSet<String> = addresses.keys().map(|route| (*route).to_owned()).collect();
    assert_eq!(listed, pages(), "each route of the router that shows a page has an address here");
    let avoided = crate::documents::avoided_words();
    for (route, address) in &addresses {
        browser.open(address);
        browser.wait("the page has a heading", |browser| browser.has("h1"));
        let heading = browser.text("h1");
        assert!(!heading.is_empty() && heading != "Not found", "{address}: {heading}");
        // Pages are for those who are signed in, and the one where they do so has no link to another.
        let has_glossary = browser.has("footer a[href='/glossary']");
        assert_eq!(has_glossary, *route != "/sign-in", "{address}: the glossary is in reach");
        let text = browser.script("return document.documentElement.innerText");
        let avoided = crate::documents::first_avoided(text.as_str().unwrap(), &avoided);
        assert_eq!(avoided, None, "{address}: a word that pages do not use");
        let name: String = route.chars().map(|letter| if letter.is_alphanumeric() { letter } else { '-' }).collect();
        browser.shoot_checked(&format!("every{name}"));
        let paper = browser.printed(&format!("every{name}"));
        assert!(paper.contains(&heading) && !paper.contains("Sign out"), "{address} on paper:\n{paper}");
    }
    browser.check();
}

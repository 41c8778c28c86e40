//! Measures what pages ask of a result, at the server: `cargo run --release -p cognate-result --example browse -- FILE`.

#![expect(clippy::print_stdout, reason = "it talks to people")]

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use cognate_result::browse::{Browse, ClusterQuery, DocumentQuery, SetFilter, Sort, Window};
use cognate_result::plan::Keep;
use cognate_storage::store::Store;

const ROUNDS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("say which result")?;
    let file = Path::new(&file);
    let begun = Instant::now();
    let browse = Browse::open(file)?;
    println!(
        "{:>8.1} ms  opened, and what pages need made where it was missing",
        begun.elapsed().as_secs_f64() * 1000.0
    );
    drop(browse);
    measure("opened", || Ok(usize::from(Browse::open(file)?.sites().is_empty())))?;
    let browse = Browse::open(file)?;
    measure("first page of the result", || Ok(browse.summary()?.largest.len()))?;
    let sorts: Vec<String> = Sort::columns().flat_map(|name| [name.to_owned(), format!("-{name}")]).collect();
    for sort in &sorts {
        let order: Sort = sort.parse()?;
        let filter = "".parse()?;
        measure(&format!("clusters by {sort}"), || Ok(browse.clusters(&filter, order, Window::default())?.rows.len()))?;
    }
    for query in [
        "site=site-1",
        "site=site-1&site=site-2",
        "across=1",
        "relation=group",
        "view=raw",
        "least=80",
        "least=50&least_max=70",
        "mean=60",
        "contains=90",
        "size=1MB",
        "members=10",
        "path=budget",
        "path=nowhere",
        "path=*/d07/*report*",
        "path=a",
        "from=2020-01-01&to=2020-02-01",
        "verdict=open",
        "site=site-1&across=1&least=40&contains=80&path=report&verdict=open",
    ] {
        let filter = query.parse()?;
        let mut total = 0;
        let took = measure(query, || {
            let page = browse.clusters(&filter, Sort::default(), Window::default())?;
            total = page.total;
            Ok(page.rows.len())
        })?;
        let _ = took;
        println!("{:>11}  {total} clusters", "");
    }
    let all = "".parse()?;
    measure("the last page", || {
        Ok(browse.clusters(&all, Sort::default(), Window { page: 1999, rows: 50 })?.rows.len())
    })?;
    let numbers = browse.cluster_numbers(&"members=30".parse()?)?;
    for number in [Some(&0), numbers.first()].into_iter().flatten() {
        measure("one cluster", || {
            Ok(browse.cluster(*number, &ClusterQuery::default())?.map_or(0, |page| page.members.rows.len()))
        })?;
        measure("its neighbours", || Ok(usize::from(browse.neighbours(&all, Sort::default(), *number)?.0.is_some())))?;
    }
    for (name, query) in [
        ("documents", DocumentQuery::default()),
        ("documents, unique", DocumentQuery { status: Some("unique".into()), ..DocumentQuery::default() }),
        ("documents at a site", DocumentQuery { site: Some("site-3".into()), ..DocumentQuery::default() }),
        ("documents by path", DocumentQuery { path: Some("*minutes*v1*".into()), ..DocumentQuery::default() }),
        ("documents, largest first", DocumentQuery { largest_first: true, ..DocumentQuery::default() }),
    ] {
        measure(name, || Ok(browse.documents(&query, Window::default())?.rows.len()))?;
        measure(&format!("{name}, page 5000"), || {
            Ok(browse.documents(&query, Window { page: 5000, rows: 50 })?.rows.len())
        })?;
    }
    for query in ["", "across=1&site=site-2", "path=budget"] {
        let filter = SetFilter::parse(query)?;
        measure(&format!("identical sets {query}"), || Ok(browse.sets(&filter, Window::default())?.rows.len()))?;
    }
    let folder = tempfile::tempdir()?;
    let store = Store::open(&folder.path().join("store"), &folder.path().join("journal"), false)?;
    for rules in
        [&["newest"][..], &["reference:site-1", "shortest-path"], &["not-a-copy", "path:**/p0*/*", "longest-path"]]
    {
        let rules = rules.iter().map(|rule| rule.parse()).collect::<Result<_, _>>()?;
        let keep = Keep { rules, min_copies: 1 };
        let names: Vec<String> = keep.rules.iter().map(ToString::to_string).collect();
        let names = names.join(", ");
        measure(&format!("plan by {names}, for a page"), || {
            Ok(usize::try_from(browse.plan(&store, &keep, 100)?.totals.groups)?)
        })?;
        measure(&format!("plan by {names}, for a file"), || {
            let mut count = 0;
            browse.report().plan(&keep, |decision| {
                count += usize::from(decision.left.is_none());
                Ok::<_, cognate_result::Error>(())
            })?;
            Ok(count)
        })?;
    }
    let status = std::fs::read_to_string("/proc/self/status")?;
    for line in status.lines().filter(|line| line.starts_with("VmHWM") || line.starts_with("RssAnon")) {
        println!("{line}");
    }
    Ok(())
}

/// The slowest of some rounds.
fn measure(name: &str, mut what: impl FnMut() -> Result<usize, Box<dyn Error>>) -> Result<f64, Box<dyn Error>> {
    let mut slowest: f64 = 0.0;
    let mut first = 0.0;
    let mut rows = 0;
    for round in 0..ROUNDS {
        let begun = Instant::now();
        rows = what()?;
        let took = begun.elapsed().as_secs_f64() * 1000.0;
        slowest = slowest.max(took);
        if round == 0 {
            first = took;
        }
    }
    println!("{slowest:>8.1} ms  {name} ({rows} rows, first time {first:.1} ms)");
    Ok(slowest)
}

//! Edges between the modules of a crate, read from its paths: which module names another, and whether that goes in a circle.
//!
//! A module is a file. No modules may form a circle; only a module and its own parts may refer to each other, since they are
//! one thing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A place in the tree of modules, from the root of the crate.
type Place = Vec<String>;

/// The modules of one crate and the modules that each names.
pub(super) struct Modules {
    edges: BTreeMap<Place, BTreeSet<Place>>,
}

impl Modules {
    /// Reads the sources of a crate, given with their paths below `src`. Tests are left out.
    pub(super) fn of<'a>(sources: impl Iterator<Item = (&'a Path, &'a str)>) -> Modules {
        let sources: BTreeMap<Place, &str> = sources
            .filter(|(path, _)| !path.iter().any(|part| part == "tests" || part == "tests.rs"))
            .map(|(path, text)| (place(path), text))
            .collect();
        let exported = sources.get(&Place::new()).map(|text| exports(text)).unwrap_or_default();
        let mut edges = BTreeMap::new();
        for (module, text) in &sources {
            let named = paths(without_tests(text)).into_iter().filter_map(|path| {
                let target = absolute(module, &path)?;
                let first = target.first().and_then(|first| exported.get(first));
                Some(known(&sources, first.unwrap_or(&target)))
            });
            edges.insert(module.clone(), named.filter(|target| target != module && !target.is_empty()).collect());
        }
        Modules { edges }
    }

    /// A circle of modules in order, as their places, if there is one.
    pub(super) fn circle(&self) -> Option<Vec<String>> {
        let is_one = |a: &Place, b: &Place| a.starts_with(b) || b.starts_with(a);
        let apart = self.edges.iter().filter(|(module, _)| !module.is_empty()).map(|(module, targets)| {
            let others = targets.iter().filter(|target| !is_one(module, target));
            (module.join("/"), others.map(|target| target.join("/")).collect())
        });
        circle_in(&apart.collect())
    }
}

/// Removes modules that name no other again and again; what is left goes in a circle.
fn circle_in(edges: &BTreeMap<String, BTreeSet<String>>) -> Option<Vec<String>> {
    let mut left = edges.clone();
    while let Some(leaf) = left.iter().find(|(_, to)| !to.iter().any(|to| left.contains_key(to))) {
        let leaf = leaf.0.clone();
        left.remove(&leaf);
    }
    let mut walk = vec![left.keys().next()?.clone()];
    loop {
        let last = walk.last().expect("it has a first");
        let next = left[last].iter().find(|to| left.contains_key(*to)).expect("leaves are removed").clone();
        if let Some(begin) = walk.iter().position(|module| *module == next) {
            return Some(walk.split_off(begin));
        }
        walk.push(next);
    }
}

fn place(path: &Path) -> Place {
    let mut place: Place = path.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
    place.retain(|part| part != "lib" && part != "main");
    place
}

/// The text before the unit tests, without comments.
fn without_tests(text: &str) -> String {
    let code = text.find("#[cfg(test)]\nmod tests {").map_or(text, |begin| &text[..begin]);
    code.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// Every path that begins with `crate`, `super` or `self`, in its parts; groups in braces are written out.
fn paths(text: String) -> Vec<Place> {
    let mut paths = Vec::new();
    for start in ["crate::", "super::", "self::"] {
        for (at, _) in text.match_indices(start) {
            let before = text[..at].chars().next_back();
            if before.is_none_or(|before| !before.is_alphanumeric() && before != '_' && before != ':') {
                tree(&text[at..], &Place::new(), &mut paths);
            }
        }
    }
    paths
}

/// Reads one tree of a `use`, or one path, and answers how much was read.
fn tree(text: &str, prefix: &Place, paths: &mut Vec<Place>) -> usize {
    let mut path = prefix.clone();
    let mut at = 0;
    loop {
        let rest = &text[at..];
        let name = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        if rest.starts_with('{') {
            at += 1;
            loop {
                at += text[at..].find(|c: char| !c.is_whitespace() && c != ',').unwrap_or(0);
                if text[at..].starts_with('}') || text[at..].is_empty() {
                    return at + 1;
                }
                let read = tree(&text[at..], &path, paths);
                at += read.max(1);
            }
        }
        if name == 0 {
            return at;
        }
        path.push(rest[..name].to_owned());
        at += name;
        if !text[at..].starts_with("::") {
            paths.push(path);
            // The new name of something imported is part of it.
            return at + text[at..].find([',', '}', ';', '(', '\n']).unwrap_or(0);
        }
        at += 2;
    }
}

/// A path from the root of the crate.
fn absolute(module: &Place, path: &[String]) -> Option<Place> {
    let (first, rest) = path.split_first()?;
    let mut base = match first.as_str() {
        "crate" => Place::new(),
        "self" => module.clone(),
        "super" => module.split_last()?.1.to_vec(),
        _ => return None,
    };
    for part in rest {
        match part.as_str() {
            "super" => drop(base.pop()),
            part => base.push(part.to_owned()),
        }
    }
    Some(base)
}

/// The longest beginning of a path that is a module.
fn known(sources: &BTreeMap<Place, &str>, path: &Place) -> Place {
    (0..=path.len()).rev().map(|end| path[..end].to_vec()).find(|place| sources.contains_key(place)).unwrap_or_default()
}

/// The names that the root of a crate exports, with their paths.
fn exports(text: &str) -> BTreeMap<String, Place> {
    let mut exported = BTreeMap::new();
    for statement in without_tests(text).split(';') {
        let Some((_, tree_text)) = statement.split_once("pub use ") else { continue };
        let mut found = Vec::new();
        tree(tree_text.trim_start_matches("self::"), &Place::new(), &mut found);
        exported.extend(found.into_iter().filter_map(|path| Some((path.last()?.clone(), path))));
    }
    exported
}

#[test]
fn a_circle_is_found_through_groups_parts_and_exports() {
    let check = |sources: &[(&str, &str)], circle: Option<&[&str]>| {
        let modules = Modules::of(sources.iter().map(|(path, text)| (Path::new(*path), *text)));
        let circle = circle.map(|circle| circle.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(modules.circle(), circle, "{sources:?}");
    };
    check(&[("a.rs", "use crate::b::B;"), ("b.rs", "")], None);
    check(&[("a.rs", "use crate::b::B;"), ("b.rs", "use crate::{c, a::{A, Z}};"), ("c.rs", "")], Some(&["a", "b"]));
    check(&[("a.rs", "fn f() { crate::b::g() }"), ("b/part.rs", "use super::super::a::A;"), ("b.rs", "")], None);
    check(
        &[("lib.rs", "mod a;\npub use a::A;"), ("a.rs", "use crate::b::B;"), ("b.rs", "use crate::A;")],
        Some(&["a", "b"]),
    );
    check(&[("a.rs", "use self::part::P;"), ("a/part.rs", "use super::A;")], None);
    check(&[("a.rs", "// crate::b\n#[cfg(test)]\nmod tests {\n use crate::b::B;"), ("b.rs", "use crate::a::A;")], None);
    check(&[("m/x.rs", "use super::y::Y;"), ("m/y.rs", "use super::x::X;"), ("m.rs", "")], Some(&["m/x", "m/y"]));
}

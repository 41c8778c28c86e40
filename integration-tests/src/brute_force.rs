//! The comparison a second time, from its definitions and by brute force: every content with every other.
//!
//! The chunks come from `cognate fingerprint`; nothing else does. This code is slow on purpose, and short enough
//! to be checked by reading.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Value, json};

use crate::sandbox::Sandbox;

/// Rules of a link, and of the contents that count.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// A link needs this many bytes in common.
    pub min_shared_bytes: u64,
    /// Or this share of the smaller: numerator and denominator.
    pub min_containment: (u64, u64),
    /// Only what crosses sites, or parties where there are several, counts.
    pub across_only: bool,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules { min_shared_bytes: 16_384, min_containment: (1, 2), across_only: false }
    }
}

/// A repository that is compared.
#[derive(Clone, Debug)]
struct Repository {
    party: String,
    site: String,
    name: String,
}

/// A document and which content it has.
#[derive(Clone, Debug)]
struct Document {
    repository: usize,
    path: String,
    content: usize,
}

/// The facts that documents with the same bytes share.
#[derive(Debug)]
struct Content {
    digest: String,
    size_bytes: u64,
    /// Bytes of pieces of one byte again and again.
    repeated_bytes: u64,
    payload_bytes: u64,
    /// Occurrences of each tag and length of its chunk; templates apart.
    tags: BTreeMap<String, (u64, u64)>,
    templates: BTreeMap<String, (u64, u64)>,
    documents: Vec<usize>,
}

/// What of one site or party another has too.
#[derive(Default)]
struct PartInCommon {
    documents: u64,
    documents_total: u64,
    contents: BTreeSet<usize>,
    shared_bytes: u64,
    /// Of each content once.
    once_bytes: BTreeMap<usize, u64>,
    template_bytes: u64,
    bytes_total: u64,
}

/// Everything that is compared.
#[derive(Debug)]
pub struct Corpus {
    repositories: Vec<Repository>,
    documents: Vec<Document>,
    /// In the order of their digests.
    contents: Vec<Content>,
    /// Shared bytes of every pair of contents that share any, the smaller number first.
    shared: BTreeMap<(usize, usize), u64>,
}

impl Corpus {
    /// Reads folders, each under a name `[PARTY:]SITE[/REPOSITORY]`, and has them chunked by the binary.
    pub fn read(sandbox: &Sandbox, folders: &[(&str, &Path)], chunk_bytes: u64) -> Corpus {
        let mut rows = Vec::new();
        for (name, folder) in folders {
            let (party, rest) = name.split_once(':').unwrap_or(("home", name));
            let (site, repository) = rest.split_once('/').unwrap_or((rest, "main"));
            let place = [party, site, repository].map(str::to_owned);
            for (path, bytes) in crate::sandbox::contents(folder) {
                rows.push((place.clone(), path.to_str().expect("generated names are UTF-8").to_owned(), bytes));
            }
        }
        rows.sort_by(|a, b| (&a.0[1..], &a.1).cmp(&(&b.0[1..], &b.1)));
        let mut args: Vec<String> =
            ["fingerprint", "--format", "ndjson", "--chunk-bytes"].map(str::to_owned).into_iter().collect();
        args.extend([chunk_bytes.to_string(), "--".to_owned()]);
        let by_place: BTreeMap<(&str, &str), &Path> = folders
            .iter()
            .map(|(name, folder)| {
                let rest = name.split_once(':').map_or(*name, |(_, rest)| rest);
                (rest.split_once('/').unwrap_or((rest, "main")), *folder)
            })
            .collect();
        args.extend(rows.iter().map(|(place, path, _)| {
            by_place[&(place[1].as_str(), place[2].as_str())].join(path).to_str().unwrap().to_owned()
        }));
        // The command line has its limits: files are asked for in several runs.
        let (options, files) = args.split_at(5);
        let mut lines = Vec::new();
        for files in files.chunks(2000) {
            lines.extend(sandbox.cognate(options.iter().chain(files)).expect(0).lines());
        }
        assert_eq!(lines.len(), rows.len(), "a line for every file");
        Corpus::assembled(rows, &lines)
    }

    fn assembled(rows: Vec<([String; 3], String, Vec<u8>)>, lines: &[Value]) -> Corpus {
        let mut places: Vec<&[String; 3]> = rows.iter().map(|(place, ..)| place).collect();
        places.dedup();
        let repository = |[party, site, name]: &[String; 3]| Repository {
            party: party.clone(),
            site: site.clone(),
            name: name.clone(),
        };
        let repositories = places.iter().map(|place| repository(place)).collect();
        let mut contents: BTreeMap<String, Content> = BTreeMap::new();
        let mut hashes: BTreeMap<String, blake3::Hash> = BTreeMap::new();
        let mut digest_of = Vec::new();
        for (number, ((_, _, bytes), line)) in rows.iter().zip(lines).enumerate() {
            let digest = line["content"].as_str().unwrap().to_owned();
            // Documents have the same content in the product exactly if they have the same bytes.
            let hash = blake3::hash(bytes);
            assert_eq!(*hashes.entry(digest.clone()).or_insert(hash), hash, "one digest, two contents");
            let content = contents.entry(digest.clone()).or_insert_with(|| chunked(&digest, bytes, line));
            content.documents.push(number);
            digest_of.push(digest);
        }
        let distinct: BTreeSet<[u8; 32]> = rows.iter().map(|(.., bytes)| *blake3::hash(bytes).as_bytes()).collect();
        assert_eq!(contents.len(), distinct.len(), "as many contents as there are by hashing every file");
        let number_of: BTreeMap<&String, usize> =
            contents.keys().enumerate().map(|(place, digest)| (digest, place)).collect();
        let documents = rows
            .iter()
            .zip(&digest_of)
            .map(|((place, path, _), digest)| Document {
                repository: places.iter().position(|other| *other == place).unwrap(),
                path: path.clone(),
                content: number_of[digest],
            })
            .collect();
        let contents: Vec<Content> = contents.into_values().collect();
        let shared = shared_by_all(&contents);
        Corpus { repositories, documents, contents, shared }
    }

    /// Sets tags aside: they count as templates from now on. Answers what a report must list.
    pub fn set_aside(&mut self, tags: &[String]) -> Value {
        for content in &mut self.contents {
            for tag in tags {
                if let Some((count, length_bytes)) = content.tags.remove(tag) {
                    content.payload_bytes -= count * length_bytes;
                    content.templates.insert(tag.clone(), (count, length_bytes));
                }
            }
        }
        self.shared = shared_by_all(&self.contents);
        let mut rows = BTreeMap::new();
        for document in &self.documents {
            for (tag, (_, length_bytes)) in &self.contents[document.content].templates {
                if tags.contains(tag) {
                    rows.entry(tag).or_insert((0, length_bytes)).0 += 1;
                }
            }
        }
        let rows = rows.into_iter();
        rows.map(|(tag, (documents, length))| json!({"tag": tag, "documents": documents, "length_bytes": length}))
            .collect()
    }

    /// The tags that at least so many of the contents at these places have.
    pub fn common_tags(&self, documents: &[(String, String)], least: usize) -> Vec<String> {
        let is_named = |content: &Content| {
            content.documents.iter().any(|document| {
                let document = &self.documents[*document];
                let site = &self.repositories[document.repository].site;
                documents.iter().any(|(named, path)| named == site && *path == document.path)
            })
        };
        let mut counts = BTreeMap::<&String, usize>::new();
        for content in self.contents.iter().filter(|content| is_named(content)) {
            content.tags.keys().for_each(|tag| *counts.entry(tag).or_default() += 1);
        }
        counts.into_iter().filter(|(_, count)| *count >= least).map(|(tag, _)| tag.clone()).collect()
    }

    /// The identical sets of a report, those whose copies waste most bytes first.
    pub fn identical(&self, rules: Rules) -> Value {
        let mut sets: Vec<usize> =
            (0..self.contents.len()).filter(|content| self.is_identical(*content, rules)).collect();
        sets.sort_by_key(|content| {
            let content = &self.contents[*content];
            let copies = u64::try_from(content.documents.len()).unwrap();
            (Reverse(content.size_bytes * (copies - 1)), content.digest.clone())
        });
        let set = |content: &usize| {
            let content = &self.contents[*content];
            let documents: Vec<Value> = content.documents.iter().map(|document| self.place(*document)).collect();
            json!({"id": content.digest, "tier": "same bytes", "size_bytes": content.size_bytes, "documents": documents})
        };
        sets.iter().map(set).collect()
    }

    /// The clusters of a report.
    pub fn clusters(&self, rules: Rules) -> Value {
        let links = self.links(rules);
        let mut clusters: Vec<(u64, String, Value)> = components(self.contents.len(), &links)
            .into_iter()
            .map(|members| {
                let inside: Vec<_> = links.iter().filter(|link| members.contains(&link.0)).copied().collect();
                self.cluster(&members, &inside, rules)
            })
            .collect();
        clusters.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        clusters.into_iter().map(|(.., cluster)| cluster).collect()
    }

    /// Number of links.
    pub fn link_count(&self, rules: Rules) -> usize {
        self.links(rules).len()
    }

    /// The status of every document: site, repository, path, status. Whole chunks do not decide that a document has no relative.
    pub fn statuses(&self, rules: Rules) -> Vec<[String; 4]> {
        let ranks = ["near", "contains", "contained", "shares", "undecided"];
        let mut best = vec![4; self.contents.len()];
        for (a, b, shared) in self.links(rules) {
            for (own, other) in [(a, b), (b, a)] {
                let rank = ranks.iter().position(|name| *name == self.relation(own, other, shared)).unwrap();
                best[own] = best[own].min(rank);
            }
        }
        let status = |document: &Document| {
            let content = &self.contents[document.content];
            let status = match (content.size_bytes, content.payload_bytes) {
                (0, _) => "excluded(empty)",
                (_, 0) => "excluded(template)",
                _ if self.is_identical(document.content, rules) => "identical",
                _ => ranks[best[document.content]],
            };
            let repository = &self.repositories[document.repository];
            [&repository.site, &repository.name, &document.path, status].map(|text: &str| text.to_owned())
        };
        self.documents.iter().map(status).collect()
    }

    /// The overlap of all pairs of sites, and of parties where there are several.
    pub fn overlap(&self, rules: Rules) -> Value {
        let mut rows = Vec::new();
        let sites: Vec<&str> = self.repositories.iter().map(|repository| repository.site.as_str()).collect();
        let parties: Vec<&str> = self.repositories.iter().map(|repository| repository.party.as_str()).collect();
        for (level, label_of) in [("site", sites), ("party", parties)] {
            let labels: BTreeSet<&str> = label_of.iter().copied().collect();
            for (a, b) in pairs(&labels) {
                let [ab, ba] = [(a, b), (b, a)].map(|(own, other)| self.covered(&label_of, own, other, rules));
                let mut row = json!({"level": level, "a": a, "b": b});
                for (covered, end) in [(ab, "a"), (ba, "b")] {
                    row[format!("documents_{end}")] = covered.documents.into();
                    row[format!("documents_total_{end}")] = covered.documents_total.into();
                    row[format!("contents_{end}")] = (covered.contents.len() as u64).into();
                    row[format!("shared_bytes_{end}")] = covered.shared_bytes.into();
                    row[format!("shared_once_bytes_{end}")] = covered.once_bytes.values().sum::<u64>().into();
                    row[format!("template_bytes_{end}")] = covered.template_bytes.into();
                    row[format!("bytes_total_{end}")] = covered.bytes_total.into();
                }
                rows.push(row);
            }
        }
        rows.into()
    }

    /// What of `own` `other` has too, every copy counted.
    fn covered(&self, label_of: &[&str], own: &str, other: &str, rules: Rules) -> PartInCommon {
        let label = |document: &usize| label_of[self.documents[*document].repository];
        let holds = |content: usize, name: &str| self.contents[content].documents.iter().any(|d| label(d) == name);
        let at_other: Vec<&Content> =
            (0..self.contents.len()).filter(|content| holds(*content, other)).map(|c| &self.contents[c]).collect();
        let tags: BTreeSet<&String> = at_other.iter().flat_map(|content| content.tags.keys()).collect();
        let templates: BTreeSet<&String> = at_other.iter().flat_map(|content| content.templates.keys()).collect();
        let mut linked = BTreeSet::new();
        for (a, b, _) in self.links(rules) {
            linked.extend([(a, b), (b, a)].into_iter().filter(|(_, to)| holds(*to, other)).map(|(from, _)| from));
        }
        let sum = |all: &BTreeMap<String, (u64, u64)>, there: &BTreeSet<&String>| {
            all.iter().filter(|(tag, _)| there.contains(tag)).map(|(_, (count, length))| count * length).sum::<u64>()
        };
        let mut covered = PartInCommon::default();
        for document in (0..self.documents.len()).filter(|document| label(document) == own) {
            let number = self.documents[document].content;
            let content = &self.contents[number];
            covered.documents_total += 1;
            covered.bytes_total += content.size_bytes;
            if content.size_bytes > 0 && (holds(number, other) || linked.contains(&number)) {
                covered.documents += 1;
                covered.contents.insert(number);
            }
            // Pieces of one byte do not relate documents, but a copy of the whole document has them too.
            let repeated_bytes = if holds(number, other) { content.repeated_bytes } else { 0 };
            let shared_bytes = sum(&content.tags, &tags) + repeated_bytes;
            covered.shared_bytes += shared_bytes;
            covered.once_bytes.insert(number, shared_bytes);
            covered.template_bytes += sum(&content.templates, &templates);
        }
        covered
    }

    fn place(&self, document: usize) -> Value {
        let document = &self.documents[document];
        let repository = &self.repositories[document.repository];
        json!({"site": repository.site, "repository": repository.name, "path": document.path})
    }

    /// True if documents belong to two sites or more; to two parties, if there are several.
    fn crosses<'a>(&'a self, documents: impl Iterator<Item = &'a usize>) -> bool {
        let parties: BTreeSet<&str> = self.repositories.iter().map(|repository| repository.party.as_str()).collect();
        let label = |document: &usize| {
            let repository = &self.repositories[self.documents[*document].repository];
            if parties.len() > 1 { &repository.party } else { &repository.site }
        };
        documents.map(label).collect::<BTreeSet<_>>().len() > 1
    }

    fn is_identical(&self, content: usize, rules: Rules) -> bool {
        let content = &self.contents[content];
        let crosses = !rules.across_only || self.crosses(content.documents.iter());
        content.documents.len() > 1 && content.size_bytes > 0 && crosses
    }

    fn links(&self, rules: Rules) -> Vec<(usize, usize, u64)> {
        let counts = |(&(a, b), &shared): (&(usize, usize), &u64)| {
            let (x, y) = (&self.contents[a], &self.contents[b]);
            let (numerator, denominator) = rules.min_containment;
            let smaller = x.payload_bytes.min(y.payload_bytes);
            let enough = shared >= rules.min_shared_bytes || shared * denominator >= smaller * numerator;
            let crosses = !rules.across_only || self.crosses(x.documents.iter().chain(&y.documents));
            (enough && crosses).then_some((a, b, shared))
        };
        self.shared.iter().filter_map(counts).collect()
    }

    fn shared(&self, a: usize, b: usize) -> u64 {
        self.shared.get(&(a.min(b), a.max(b))).copied().unwrap_or(0)
    }

    /// Relation of the first to the second.
    fn relation(&self, a: usize, b: usize, shared: u64) -> &'static str {
        let mostly = |content: usize| 5 * shared >= 4 * self.contents[content].payload_bytes;
        match (mostly(a), mostly(b)) {
            (true, true) => "near",
            (false, true) => "contains",
            (true, false) => "contained",
            (false, false) => "shares",
        }
    }

    fn union(&self, a: usize, b: usize, shared: u64) -> u64 {
        self.contents[a].payload_bytes + self.contents[b].payload_bytes - shared
    }

    fn cluster(&self, members: &BTreeSet<usize>, links: &[(usize, usize, u64)], rules: Rules) -> (u64, String, Value) {
        // Contents are shown as their first documents and in the order of those.
        let mut shown: Vec<usize> = members.iter().copied().collect();
        shown.sort_by_key(|content| self.contents[*content].documents[0]);
        let place = |content: usize| shown.iter().position(|other| *other == content).unwrap();
        let degree = |content: usize| links.iter().filter(|link| link.0 == content || link.1 == content).count();
        let mut ranked = shown.clone();
        ranked.sort_by_key(|content| (Reverse((degree(*content), self.contents[*content].payload_bytes)), *content));
        let total_bytes: u64 = members.iter().map(|content| self.contents[*content].size_bytes).sum();
        let joined_bytes = joined_bytes(links);
        let digests: Vec<u8> = members.iter().flat_map(|content| bytes_of(&self.contents[*content].digest)).collect();
        let id = short_hash(&digests[..16]);
        let ratio_of = |a: usize, b: usize, shared: u64| ratio(shared, self.union(a, b, shared));
        let mut rows: Vec<(usize, usize, Value)> = links
            .iter()
            .map(|&(a, b, shared)| {
                let (a, b) = if place(a) < place(b) { (a, b) } else { (b, a) };
                let row = json!({"a": place(a), "b": place(b), "shared_bytes": shared,
                    "resemblance": ratio_of(a, b, shared), "a_in_b": ratio(shared, self.contents[a].payload_bytes),
                    "b_in_a": ratio(shared, self.contents[b].payload_bytes), "relation": self.relation(a, b, shared)});
                (place(a), place(b), row)
            })
            .collect();
        rows.sort_by_key(|(a, b, _)| (*a, *b));
        let documents: Vec<Value> = shown.iter().map(|content| self.cluster_document(*content, rules)).collect();
        let resemblances = links.iter().map(|&(a, b, shared)| quotient(shared, self.union(a, b, shared)));
        let least = resemblances.clone().fold(1.0, f64::min);
        let mean = resemblances.sum::<f64>() / quotient(u64::try_from(links.len()).unwrap(), 1);
        let row = json!({
            "id": id, "members_digest": short_hash(&digests), "relation": self.shape(members, links),
            "representative": place(ranked[0]), "total_bytes": total_bytes, "joined_bytes": joined_bytes,
            "documents": documents,
            "links": rows.into_iter().map(|(.., row)| row).collect::<Vec<_>>(),
            "families": self.families(&ranked, &place), "link_count": links.len(), "links_omitted": 0,
            "min_resemblance": four_decimals(least), "mean_resemblance": four_decimals(mean),
        });
        (joined_bytes, id, row)
    }

    fn cluster_document(&self, content: usize, rules: Rules) -> Value {
        let Content { digest, size_bytes, payload_bytes, documents, .. } = &self.contents[content];
        let mut row = self.place(documents[0]);
        let mut sites: Vec<&str> = documents
            .iter()
            .map(|document| self.repositories[self.documents[*document].repository].site.as_str())
            .collect();
        sites.dedup();
        row["size_bytes"] = (*size_bytes).into();
        row["payload_bytes"] = (*payload_bytes).into();
        row["copies"] = documents.len().into();
        row["sites"] = json!(sites);
        row["identical"] = if self.is_identical(content, rules) { json!(digest) } else { Value::Null };
        row
    }

    fn shape(&self, members: &BTreeSet<usize>, links: &[(usize, usize, u64)]) -> &'static str {
        if members.len() == 2 {
            return "pair";
        }
        let holds = |container: usize, part: usize| {
            let shared = links.iter().find(|link| [(container, part), (part, container)].contains(&(link.0, link.1)));
            shared.is_some_and(|link| 5 * link.2 >= 4 * self.contents[part].payload_bytes)
        };
        let holds_all = |container: &usize| members.iter().all(|part| part == container || holds(*container, *part));
        if members.iter().any(holds_all) { "archive" } else { "group" }
    }

    fn families(&self, ranked: &[usize], place: &impl Fn(usize) -> usize) -> Value {
        let near = |a: usize, b: usize| {
            let shared = self.shared(a, b);
            5 * shared >= 4 * self.union(a, b, shared)
        };
        let mut taken = BTreeSet::new();
        let mut families = Vec::new();
        for &representative in ranked {
            if !taken.insert(representative) {
                continue;
            }
            let mut family = vec![representative];
            family.extend(ranked.iter().filter(|other| near(representative, **other) && taken.insert(**other)));
            if family.len() < 2 {
                continue;
            }
            let mut least = 1.0_f64;
            for (at, &a) in family.iter().enumerate() {
                for &b in &family[at + 1..] {
                    let shared = self.shared(a, b);
                    least = least.min(quotient(shared, self.union(a, b, shared)));
                }
            }
            let mut members: Vec<usize> = family.iter().map(|member| place(*member)).collect();
            members.sort_unstable();
            families.push(json!({"representative": place(representative), "members": members,
                "min_resemblance": four_decimals(least)}));
        }
        families.into()
    }
}

fn chunked(digest: &str, bytes: &[u8], line: &Value) -> Content {
    let size_bytes = u64::try_from(bytes.len()).unwrap();
    assert_eq!(line["size_bytes"], size_bytes);
    let mut content = Content {
        digest: digest.to_owned(),
        size_bytes,
        payload_bytes: 0,
        repeated_bytes: 0,
        tags: BTreeMap::new(),
        templates: BTreeMap::new(),
        documents: Vec::new(),
    };
    let mut end = 0;
    for chunk in line["chunks"].as_array().unwrap() {
        let (offset, length) = (chunk[0].as_u64().unwrap(), chunk[1].as_u64().unwrap());
        assert_eq!(offset, end, "chunks follow each other");
        assert!(length > 0, "no chunk is empty");
        end += length;
        let piece = &bytes[usize::try_from(offset).unwrap()..usize::try_from(end).unwrap()];
        let repeated = piece.iter().all(|byte| *byte == piece[0]);
        let tags = if repeated { &mut content.templates } else { &mut content.tags };
        let tag = tags.entry(chunk[2].as_str().unwrap().to_owned()).or_insert((0, length));
        assert_eq!(tag.1, length, "a tag has one length");
        tag.0 += 1;
        *(if repeated { &mut content.repeated_bytes } else { &mut content.payload_bytes }) += length;
    }
    assert_eq!(end, size_bytes, "the chunks cover the document");
    content
}

fn shared_by_all(contents: &[Content]) -> BTreeMap<(usize, usize), u64> {
    let mut all = BTreeMap::new();
    for (a, x) in contents.iter().enumerate() {
        for (b, y) in contents.iter().enumerate().skip(a + 1) {
            let (few, many) = if x.tags.len() < y.tags.len() { (x, y) } else { (y, x) };
            let common = |(tag, (count, length)): (&String, &(u64, u64))| {
                many.tags.get(tag).map_or(0, |(other, _)| count.min(other) * length)
            };
            let shared: u64 = few.tags.iter().map(common).sum();
            if shared > 0 {
                all.insert((a, b), shared);
            }
        }
    }
    all
}

/// The weight of a maximum spanning forest of links.
fn joined_bytes(links: &[(usize, usize, u64)]) -> u64 {
    let mut sorted = links.to_vec();
    sorted.sort_by_key(|link| Reverse(link.2));
    let mut label: BTreeMap<usize, usize> = links.iter().flat_map(|&(a, b, _)| [(a, a), (b, b)]).collect();
    let mut sum = 0;
    for (a, b, shared) in sorted {
        let (stays, gone) = (label[&a], label[&b]);
        if stays != gone {
            sum += shared;
            label.values_mut().filter(|label| **label == gone).for_each(|label| *label = stays);
        }
    }
    sum
}

/// The connected components of two members or more.
fn components(count: usize, links: &[(usize, usize, u64)]) -> Vec<BTreeSet<usize>> {
    let mut label: Vec<usize> = (0..count).collect();
    for &(a, b, _) in links {
        let (stays, gone) = (label[a].min(label[b]), label[a].max(label[b]));
        label.iter_mut().filter(|label| **label == gone).for_each(|label| *label = stays);
    }
    let mut members: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for (content, label) in label.into_iter().enumerate() {
        members.entry(label).or_default().insert(content);
    }
    members.into_values().filter(|members| members.len() > 1).collect()
}

fn pairs<'a>(labels: &BTreeSet<&'a str>) -> Vec<(&'a str, &'a str)> {
    let labels: Vec<&str> = labels.iter().copied().collect();
    (0..labels.len()).flat_map(|a| labels[a + 1..].iter().map(move |b| (a, *b))).map(|(a, b)| (labels[a], b)).collect()
}

fn bytes_of(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn short_hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex()[..32].to_owned()
}

#[expect(clippy::cast_precision_loss, reason = "the sizes here are far below 2^52")]
fn quotient(part: u64, total: u64) -> f64 {
    part as f64 / total as f64
}

/// A ratio as reports have it: four decimals, integers without a point.
fn ratio(part: u64, total: u64) -> Value {
    let rounded = (part * 20_000 + total) / (2 * total);
    // Less than all is never all, and more than nothing never nothing.
    let rounded = if part > 0 && part < total { rounded.clamp(1, 9_999) } else { rounded };
    if rounded.is_multiple_of(10_000) { json!(rounded / 10_000) } else { json!(quotient(rounded, 10_000)) }
}

fn four_decimals(number: f64) -> Value {
    let rounded = (number * 10_000.0).round();
    match if number < 1.0 { rounded.min(9_999.0) } else { rounded } {
        0.0 => json!(0),
        10_000.0 => json!(1),
        rounded => json!(rounded / 10_000.0),
    }
}

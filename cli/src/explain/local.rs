//! The two documents fingerprinted on this machine, where both files are at hand: no coordinator is needed to lay them side by
//! side. Their fine chunks are made here as well, with the key.

use std::collections::HashMap;
use std::convert::Infallible;
use std::path::PathBuf;

use cognate_fingerprint::{FineChunk, FineCutter, Key, Method, Tag, View};
use cognate_result::explain::record::{Explained, Pair};
use cognate_result::explain::{Map, Measured, Placed};
use cognate_result::report::Report;

use crate::document_reader::{DocumentReader, split};
use crate::exit::usage;

/// A document under a view, in chunks.
struct Seen {
    bytes: Vec<u8>,
    chunks: Vec<Placed>,
}

/// Lays the files side by side under every view that the scan has of them. `layers` has the number of each view in the report.
pub(super) fn add(
    explained: &mut Explained,
    (report, layers): (&Report, &[usize]),
    files: [&PathBuf; 2],
    key: &Key,
) -> anyhow::Result<()> {
    let mut reader = DocumentReader::new();
    let insides = [&explained.a, &explained.b].map(|document| split(document.path.as_bytes()).1);
    for (pair, layer) in explained.views.iter_mut().zip(layers) {
        let view: View = pair.view.parse()?;
        let (chunk_bytes, param) = (pair.chunk_bytes.unwrap_or_default(), pair.param.as_deref().unwrap_or_default());
        let method = Method::restore(&pair.method, view, chunk_bytes, param)?;
        if !method.capabilities().has_chunks() {
            pair.unplaced = Some(format!("`{}` keeps no places: scan with `tttd` to see what lies where", pair.method));
            continue;
        }
        let fingerprinter = method.fingerprinter(key);
        let templates = report.templates(*layer)?;
        let mut sides: Vec<Seen> = Vec::new();
        for (file, inside) in files.iter().zip(&insides) {
            let bytes = reader.view(file, inside.as_deref(), view)?;
            let mut chunks = Vec::new();
            fingerprinter.slice(&bytes, |chunk| {
                chunks.push(Placed {
                    offset: chunk.offset,
                    length_bytes: chunk.length_bytes,
                    tag: chunk.tag,
                    template: chunk.repeated_byte || templates.contains(&chunk.tag),
                });
            });
            sides.push(Seen { bytes, chunks });
        }
        let sizes = [pair.a.size_bytes, pair.b.size_bytes];
        let other = sides.iter().map(|side| side.bytes.len() as u64).enumerate();
        if let Some((place, size)) = other.into_iter().find(|(place, size)| sizes[*place] != *size) {
            let file = files[place].display();
            return Err(usage(format!(
                "`{file}` is not the document of the scan: it has {size} bytes under `{}`, the document had {}",
                pair.view, sizes[place]
            )));
        }
        let map = Map::of(&sides[0].chunks, &sides[1].chunks);
        pair.add_measured(&measured(&sides, map, pair, key));
    }
    Ok(())
}

/// The figures as the scan measures them: all fine chunks of both files can be made here.
fn measured(sides: &[Seen], map: Map, pair: &Pair, key: &Key) -> Measured {
    let cutter = FineCutter::new(key);
    let of_side = |side: &'_ Seen| side.chunks.iter().map(|chunk| (chunk.tag, *chunk)).collect::<HashMap<_, _>>();
    let places: Vec<HashMap<Tag, Placed>> = sides.iter().map(of_side).collect();
    let mut fine = |tag: &Tag| -> Result<_, Infallible> {
        let found = sides.iter().zip(&places).find_map(|(side, places)| Some((side, places.get(tag)?)));
        Ok(found.and_then(|(side, chunk)| {
            let start = usize::try_from(chunk.offset).ok()?;
            let bytes = side.bytes.get(start..start + chunk.length_bytes as usize)?;
            let mut all: Vec<FineChunk> = Vec::new();
            cutter.cut(bytes, |one| all.push(one));
            Some(all.into())
        }))
    };
    match Measured::of(map, pair.asked(), &mut fine) {
        Ok(measured) => measured,
        Err(never) => match never {},
    }
}

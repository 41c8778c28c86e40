//! The two documents fingerprinted here, where both files are at hand: no coordinator is needed to lay them side by side.

use std::path::PathBuf;

use cognate_fingerprint::{Key, Method, View};
use cognate_result::explain::record::Explained;
use cognate_result::explain::{Map, Placed};

use crate::document_reader::{DocumentReader, split};
use crate::exit::usage;

/// Lays the files side by side under every view that the scan has of them.
pub(super) fn add(explained: &mut Explained, files: [&PathBuf; 2], key: &Key) -> anyhow::Result<()> {
    let mut reader = DocumentReader::new();
    let insides = [&explained.a, &explained.b].map(|document| split(document.path.as_bytes()).1);
    for pair in &mut explained.views {
        let view: View = pair.view.parse()?;
        let (chunk_bytes, param) = (pair.chunk_bytes.unwrap_or_default(), pair.param.as_deref().unwrap_or_default());
        let method = Method::restore(&pair.method, view, chunk_bytes, param)?;
        if !method.capabilities().has_chunks() {
            pair.unplaced = Some(format!("`{}` keeps no places: scan with `tttd` to see what lies where", pair.method));
            continue;
        }
        let fingerprinter = method.fingerprinter(key);
        let mut sides = Vec::new();
        for (file, inside) in files.iter().zip(&insides) {
            let seen = reader.view(file, inside.as_deref(), view)?;
            let mut chunks = Vec::new();
            fingerprinter.slice(&seen, |chunk| {
                chunks.push(Placed {
                    offset: chunk.offset,
                    length_bytes: chunk.length_bytes,
                    tag: chunk.tag,
                    template: chunk.repeated_byte,
                });
            });
            sides.push((chunks, u64::try_from(seen.len())?));
        }
        let sizes = [pair.a.size_bytes, pair.b.size_bytes];
        let other = sides.iter().enumerate().find(|(place, (_, size))| sizes[*place] != *size);
        if let Some((place, (_, size))) = other {
            let file = files[place].display();
            return Err(usage(format!(
                "`{file}` is not the document of the scan: it has {size} bytes under `{}`, the document had {}",
                pair.view, sizes[place]
            )));
        }
        let map = Map::of(&sides[0].0, &sides[1].0);
        pair.add_map(&map);
    }
    Ok(())
}

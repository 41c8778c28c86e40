//! Evidence for a result: controls, received batches, kinds of files, and documents that only one site or party
//! has.

use cognate_proto::v1::FileClass;
use cognate_result_file::{Census, Control, Evidence, Insert, OnlyHere, OverlapOnce};
use rusqlite::Connection;

use super::Publication;
use super::document_rows::DocumentRows;
use crate::layer_result::LayerResult;

/// Writes it for all layers.
pub(super) fn write(
    connection: &Connection,
    publication: &Publication<'_>,
    documents: &DocumentRows<'_>,
) -> rusqlite::Result<()> {
    census(connection, publication)?;
    for (number, layer) in publication.layers.iter().enumerate() {
        controls(connection, number, publication.layers, documents)?;
        evidence(connection, number, layer)?;
        overlap_once(connection, number, layer)?;
        only_here(connection, number, layer)?;
    }
    Ok(())
}

/// Every layer's walk comes across the same files.
fn census(connection: &Connection, publication: &Publication<'_>) -> rusqlite::Result<()> {
    let rows = (0..).zip(&publication.roots().roots).flat_map(|(number, root)| {
        root.summary.census.iter().map(move |row| Census {
            root: number,
            class: class_name(row.class()).into(),
            documents: row.documents,
            bytes: row.size_bytes,
        })
    });
    Insert::into(connection)?.add_all(rows)
}

/// Writes each control once, under the view that speaks for it.
fn controls(
    connection: &Connection,
    number: usize,
    layers: &[LayerResult],
    documents: &DocumentRows<'_>,
) -> rusqlite::Result<()> {
    let mut insert = Insert::into(connection)?;
    let controls = layers[number].frozen.documents.iter().zip(0..).filter(|(document, _)| document.control);
    for (_, place) in controls {
        let row = documents.place(number, place);
        if documents.speaks(row as usize, layers) {
            insert.add(&Control { document: row.into() })?;
        }
    }
    Ok(())
}

fn evidence(connection: &Connection, number: usize, LayerResult { frozen, .. }: &LayerResult) -> rusqlite::Result<()> {
    let rows = (0..).zip(&frozen.roots).map(|(root, frozen)| {
        let evidence = &frozen.evidence;
        Evidence {
            root,
            layer: number,
            epoch: format!("{:016x}", evidence.epoch),
            batches: evidence.batches,
            bytes: evidence.body_bytes,
            head: blake3::Hash::from(evidence.head).to_string(),
            index_root: blake3::Hash::from(evidence.root).to_string(),
        }
    });
    Insert::into(connection)?.add_all(rows)
}

fn overlap_once(connection: &Connection, number: usize, layer: &LayerResult) -> rusqlite::Result<()> {
    Insert::into(connection)?.add_all(layer.findings.of_links.overlap.iter().map(|row| OverlapOnce {
        level: row.level.into(),
        a: row.a.clone(),
        b: row.b.clone(),
        contents_a: row.contents[0],
        contents_b: row.contents[1],
        shared_bytes_a: row.shared_once_bytes[0],
        shared_bytes_b: row.shared_once_bytes[1],
        layer: number,
    }))
}

fn only_here(connection: &Connection, number: usize, layer: &LayerResult) -> rusqlite::Result<()> {
    Insert::into(connection)?.add_all(layer.findings.of_links.only_here.iter().map(|row| OnlyHere {
        root: row.root.into(),
        folder: row.folder.clone(),
        documents: row.documents,
        bytes: row.size_bytes,
        layer: number,
    }))
}

fn class_name(class: FileClass) -> &'static str {
    match class {
        FileClass::Archive => "archive",
        FileClass::Office => "office",
        FileClass::Pdf => "pdf",
        FileClass::Media => "media",
        FileClass::Plain | FileClass::Unspecified => "plain",
    }
}

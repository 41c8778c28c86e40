//! Evidence for a result: controls, received batches, and kinds of files.

use cognate_proto::v1::FileClass;
use cognate_result_file::{Census, Control, Evidence, Insert};
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

fn class_name(class: FileClass) -> &'static str {
    match class {
        FileClass::Archive => "archive",
        FileClass::Office => "office",
        FileClass::Pdf => "pdf",
        FileClass::Media => "media",
        FileClass::Plain | FileClass::Unspecified => "plain",
    }
}

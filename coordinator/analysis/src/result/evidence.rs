//! Evidence for a result: controls, received batches, kinds of files, and documents that only one site or party
//! has.

use cognate_proto::v1::FileClass;
use rusqlite::{Connection, params};

use super::document_rows::DocumentRows;
use super::{Publication, integer};
use crate::layered::Layered;

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
    let mut insert = connection.prepare("INSERT INTO census VALUES (?,?,?,?)")?;
    for (number, root) in publication.roots().roots.iter().enumerate() {
        for row in &root.summary.census {
            let (documents, bytes) = (integer(row.documents), integer(row.size_bytes));
            insert.execute(params![number, class_name(row.class()), documents, bytes])?;
        }
    }
    Ok(())
}

/// Writes each control once, under the view that speaks for it.
fn controls(
    connection: &Connection,
    number: usize,
    layers: &[Layered],
    documents: &DocumentRows<'_>,
) -> rusqlite::Result<()> {
    let mut insert = connection.prepare("INSERT INTO control VALUES (?)")?;
    let controls = layers[number].frozen.documents.iter().zip(0..).filter(|(document, _)| document.control);
    for (_, place) in controls {
        let row = documents.place(number, place);
        if documents.speaks(row as usize, layers) {
            insert.execute([row])?;
        }
    }
    Ok(())
}

fn evidence(connection: &Connection, number: usize, Layered { frozen, .. }: &Layered) -> rusqlite::Result<()> {
    let mut insert = connection.prepare("INSERT INTO evidence VALUES (?,?,?,?,?,?,?)")?;
    for (root, frozen) in frozen.roots.iter().enumerate() {
        let evidence = &frozen.evidence;
        insert.execute(params![
            root,
            number,
            format!("{:016x}", evidence.epoch),
            integer(evidence.batches),
            integer(evidence.body_bytes),
            blake3::Hash::from(evidence.head).to_hex().as_str(),
            blake3::Hash::from(evidence.root).to_hex().as_str(),
        ])?;
    }
    Ok(())
}

fn overlap_once(connection: &Connection, number: usize, layer: &Layered) -> rusqlite::Result<()> {
    let mut insert = connection.prepare("INSERT INTO overlap_once VALUES (?,?,?,?,?,?,?,?)")?;
    for row in &layer.findings.overlap {
        insert.execute(params![
            row.level,
            row.a,
            row.b,
            integer(row.contents[0]),
            integer(row.contents[1]),
            integer(row.shared_once_bytes[0]),
            integer(row.shared_once_bytes[1]),
            number,
        ])?;
    }
    Ok(())
}

fn only_here(connection: &Connection, number: usize, layer: &Layered) -> rusqlite::Result<()> {
    let mut insert = connection.prepare("INSERT INTO only_here VALUES (?,?,?,?,?)")?;
    for row in &layer.findings.only_here {
        insert.execute(params![row.root, row.folder, integer(row.documents), integer(row.size_bytes), number])?;
    }
    Ok(())
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

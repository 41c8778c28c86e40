//! Tables of blocks: written here or by the cluster, and read back in portions.

use std::io::Read;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use arrow_array::cast::AsArray as _;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, Int32Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{ChunkReader, Length};

use crate::block::{self, COLUMNS, Kind, Sums, decode, encode};
use crate::check;
use crate::exchange::Exchange;
use crate::row::Sum;
use crate::stop::Stop;

/// Bytes of text that are encoded together.
const GROUP_BYTES: usize = 4 << 20;
/// Blocks that are decoded at a time, of some hundred kilobytes each.
const BATCH_BLOCKS: usize = 8;
/// Bytes that are read of a file at a time where the reader does not say how many it needs.
const READ_BYTES: u64 = 1 << 16;

/// A file of a table, in memory until it is put into the exchange.
pub(crate) struct TableWriter {
    writer: ArrowWriter<Vec<u8>>,
    waiting: (Vec<i32>, Vec<i32>, Vec<String>),
    waiting_bytes: usize,
    /// The blocks so far.
    pub(crate) sums: Sums,
}

impl TableWriter {
    pub(crate) fn new() -> Result<TableWriter> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::UNCOMPRESSED)
            .set_dictionary_enabled(false)
            .set_statistics_enabled(parquet::file::properties::EnabledStatistics::None)
            .build();
        let writer = ArrowWriter::try_new(Vec::new(), schema(), Some(properties))?;
        Ok(TableWriter { writer, waiting: Default::default(), waiting_bytes: 0, sums: Sums::new() })
    }

    /// Adds a block.
    pub(crate) fn push(&mut self, kind: Kind, key: i32, payload: &[u8]) -> Result<()> {
        let (text, checksum) = encode(kind, key, payload);
        block::count(&mut self.sums, kind, checksum);
        self.waiting_bytes += text.len();
        self.waiting.0.push(kind.number());
        self.waiting.1.push(key);
        self.waiting.2.push(text);
        if self.waiting_bytes >= GROUP_BYTES { self.encode_group() } else { Ok(()) }
    }

    /// Bytes of the file, more or less.
    pub(crate) fn bytes(&self) -> usize {
        self.writer.bytes_written() + self.waiting_bytes
    }

    /// The file.
    pub(crate) fn finish(mut self) -> Result<(Vec<u8>, Sums)> {
        self.encode_group()?;
        Ok((self.writer.into_inner().context("a part cannot be encoded")?, self.sums))
    }

    fn encode_group(&mut self) -> Result<()> {
        let (kinds, keys, texts) = std::mem::take(&mut self.waiting);
        self.waiting_bytes = 0;
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int32Array::from(kinds)),
            Arc::new(Int32Array::from(keys)),
            Arc::new(StringArray::from(texts)),
        ];
        self.writer.write(&RecordBatch::try_new(schema(), columns)?)?;
        Ok(self.writer.flush()?)
    }
}

fn schema() -> Arc<Schema> {
    let kinds = [DataType::Int32, DataType::Int32, DataType::Utf8];
    Arc::new(Schema::new(
        COLUMNS.into_iter().zip(kinds).map(|(name, kind)| Field::new(name, kind, false)).collect::<Vec<_>>(),
    ))
}

/// Visits the blocks of a kind in a table that the cluster wrote; the table has a folder for each kind. Fails if they are not those that
/// were written.
pub(crate) fn each_block(
    exchange: &Exchange,
    (folder, kind, expected): (&str, Kind, Option<Sum>),
    stop: &Stop,
    each: &mut dyn FnMut(i32, Vec<u8>) -> Result<()>,
) -> Result<()> {
    let mut sum = Sum::default();
    let folder = format!("{folder}/kind={}", kind.number());
    for file in exchange.data_files(&folder)? {
        check(stop)?;
        let damaged =
            || format!("the exchange is damaged: `{}` is not what was written there", exchange.url_of(&file.name));
        let remote = Remote { exchange: exchange.clone(), name: file.name.as_str().into(), bytes: file.bytes };
        let builder = ParquetRecordBatchReaderBuilder::try_new(remote).with_context(damaged)?;
        let columns = ProjectionMask::columns(builder.parquet_schema(), ["key", "block"]);
        let batches = builder.with_projection(columns).with_batch_size(BATCH_BLOCKS).build().with_context(damaged)?;
        for batch in batches {
            let batch = batch.with_context(damaged)?;
            let key = batch.column_by_name("key").and_then(|column| column.as_primitive_opt::<Int32Type>());
            let text = batch.column_by_name("block").and_then(|column| column.as_string_opt::<i32>());
            let (Some(keys), Some(texts)) = (key, text) else { bail!(damaged()) };
            for (key, text) in keys.iter().zip(texts) {
                let (Some(key), Some(text)) = (key, text) else { bail!(damaged()) };
                let (payload, checksum) = decode(kind, key, text.as_bytes()).with_context(damaged)?;
                sum.rows += 1;
                sum.hashes += i128::from(checksum);
                each(key, payload)?;
            }
        }
    }
    if let Some(expected) = expected.filter(|expected| *expected != sum) {
        bail!(
            "the exchange is damaged: `{}` has {} blocks with the sum {}, and {} with the sum {} were written there",
            exchange.url_of(&folder),
            sum.rows,
            sum.hashes,
            expected.rows,
            expected.hashes
        );
    }
    Ok(())
}

/// A file of the exchange that is read in ranges, so that one of any size takes little memory.
#[derive(Clone)]
struct Remote {
    exchange: Exchange,
    name: Arc<str>,
    bytes: u64,
}

impl Remote {
    fn range(&self, start: u64, bytes: u64) -> Result<Bytes, ParquetError> {
        let end = (start + bytes).min(self.bytes);
        let found = self.exchange.get_range(&self.name, start..end.max(start));
        found.map_err(|error| ParquetError::General(format!("{error:#}")))
    }
}

impl Length for Remote {
    fn len(&self) -> u64 {
        self.bytes
    }
}

impl ChunkReader for Remote {
    type T = Portions;

    fn get_read(&self, start: u64) -> Result<Portions, ParquetError> {
        Ok(Portions { remote: self.clone(), next: start, portion: Bytes::new() })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let found = self.range(start, length as u64)?;
        if found.len() == length { Ok(found) } else { Err(ParquetError::EOF(format!("`{}` is cut off", self.name))) }
    }
}

/// Reads on from a place.
struct Portions {
    remote: Remote,
    next: u64,
    portion: Bytes,
}

impl Read for Portions {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if self.portion.is_empty() && self.next < self.remote.bytes {
            self.portion = self.remote.range(self.next, READ_BYTES).map_err(std::io::Error::other)?;
            self.next += self.portion.len() as u64;
        }
        let count = into.len().min(self.portion.len());
        into[..count].copy_from_slice(&self.portion.split_to(count));
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_come_back_from_a_table_and_a_changed_bit_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let exchange = Exchange::open(&format!("file://{}", folder.path().display()), "job").unwrap();
        let mut writer = TableWriter::new().unwrap();
        // More than a group, so that ranges are read.
        let blocks: Vec<(i32, Vec<u8>)> = (0..40i32).map(|key| (key, vec![key.to_le_bytes()[0]; 160_000])).collect();
        blocks.iter().for_each(|(key, payload)| writer.push(Kind::Links, *key, payload).unwrap());
        let (file, sums) = writer.finish().unwrap();
        let sum = sums[&Kind::Links];
        assert_eq!(sum.rows, 40);
        exchange.put("joined-0/kind=9/part-0.parquet", file.clone()).unwrap();
        let read = |expected| {
            let mut found = Vec::new();
            let table = ("joined-0", Kind::Links, Some(expected));
            let read = each_block(&exchange, table, &Stop::default(), &mut |key, payload| {
                found.push((key, payload));
                Ok(())
            });
            (found, read.map_err(|error| format!("{error:#}")))
        };
        assert_eq!(read(sum), (blocks, Ok(())));
        let error = read(Sum { rows: 41, ..sum }).1.unwrap_err();
        assert!(error.contains("kind=9") && error.contains("40 blocks"), "{error}");
        let mut damaged = file;
        damaged[1_000_000] ^= 1;
        exchange.put("joined-0/kind=9/part-0.parquet", damaged).unwrap();
        let error = read(sum).1.unwrap_err();
        assert!(error.contains("joined-0/kind=9/part-0.parquet"), "{error}");
    }
}

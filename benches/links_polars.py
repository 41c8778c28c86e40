"""The links of postings in Polars, as docs/performance.md compares them with the engine. `posting` is a frame with the columns
hi, lo, length and document."""
import polars as pl


def links(posting):
    key = ["hi", "lo", "length"]
    counted = posting.group_by(key + ["document"]).agg(n=pl.len())
    shared = counted.group_by(key).agg(d=pl.len()).filter(pl.col("d") > 1).select(key)
    kept = counted.join(shared, on=key, how="semi")
    size = posting.group_by("document").agg(bytes=pl.col("length").cast(pl.UInt64).sum())
    pair = (kept.join(kept, on=key, suffix="_b").filter(pl.col("document") < pl.col("document_b"))
        .with_columns(s=pl.min_horizontal("n", "n_b").cast(pl.UInt64) * pl.col("length"))
        .group_by("document", "document_b").agg(shared=pl.col("s").sum()))
    link = (pair.join(size, on="document").join(size.rename({"document": "document_b", "bytes": "bytes_b"}), on="document_b")
        .filter((pl.col("shared") >= 16384) | (pl.col("shared") * 2 >= pl.min_horizontal("bytes", "bytes_b")))
        .select("document", "document_b", "shared").sort("document", "document_b").collect())
    return link

//! Frames, and the chunks that were set aside.

use crate::record::record;

record! {
    /// What many otherwise unlike documents have, and links rest on: those first that most documents have.
    pub struct Frame in "frame" {
        /// Its number, from 0.
        pub id: i64 = "PRIMARY KEY",
        /// The number of the view.
        pub layer: usize,
        /// In which most documents are that rest on it.
        pub cluster: i64,
        /// That have any of it, every copy counted.
        pub documents: u64,
        /// Of it in all of them.
        pub document_bytes: u64,
        /// Documents that consist of nothing else.
        pub emptied: u64,
        /// That rest on frames, of which this one is part.
        pub links: u64,
        /// Of which all links do.
        pub clusters_gone: u64,
        /// Others of which some do.
        pub clusters_changed: u64,
        /// Of chunks that are frame from end to end: 16 bytes each, ascending.
        pub tags: Vec<u8>,
        /// Of these chunks: 4 bytes each, little-endian.
        pub lengths: Vec<u8>,
        /// Of fine chunks: 6 bytes each, ascending.
        pub rows: Vec<u8>,
    }
}

record! {
    /// A cluster with links that rest on a frame.
    pub struct FrameCluster in "frame_cluster" {
        /// The frame.
        pub frame: i64 = "REFERENCES frame",
        /// The cluster.
        pub cluster: i64 = "REFERENCES cluster",
    }
}

record! {
    /// One of a few documents that have a frame.
    pub struct FrameExample in "frame_example" {
        /// The frame.
        pub frame: i64 = "REFERENCES frame",
        /// The repository.
        pub root: i64 = "REFERENCES root",
        /// The path.
        pub path: Vec<u8>,
    }
}

record! {
    /// A tag that was set aside and occurs here, ascending.
    pub struct SetAside in "set_aside" {
        /// The tag.
        pub tag: [u8; 16],
        /// That have it, every copy counted.
        pub documents: u64,
        /// Bytes of the chunk.
        pub length_bytes: u64,
        /// The number of the view.
        pub layer: usize,
        /// Whether it would have made too many pairs; else it is of a template.
        pub crowded: bool,
    }
}

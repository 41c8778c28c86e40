-- The result of one scan. It is written once and never changed; everything that shows results reads it.
-- Ratios are integers in ten-thousandths. Times are seconds since 1970. Paths are bytes.

-- What was done: one row.
CREATE TABLE scan (
  schema TEXT NOT NULL,               -- cognate.result/1
  id TEXT NOT NULL,
  method TEXT NOT NULL,
  view TEXT NOT NULL,                 -- auto, raw, text, both
  chunk_bytes INTEGER,                -- of the first layer, as the next; NULL where signatures have a fixed size
  min_shared_bytes INTEGER,
  min_containment TEXT NOT NULL,
  across_only INTEGER NOT NULL,
  keyed INTEGER NOT NULL,
  status TEXT NOT NULL,               -- complete, partial
  started INTEGER NOT NULL,
  finished INTEGER NOT NULL,
  passages INTEGER NOT NULL,          -- whether paragraphs are documents
  match_message_ids INTEGER NOT NULL,
  cluster TEXT,                       -- greedy; NULL: connected components
  verified_by TEXT                    -- what looked at the pairs that the method proposed: tttd, cosine
);

-- How documents were compared: one row for each view, numbered from 0.
CREATE TABLE layer (
  number INTEGER PRIMARY KEY,
  view TEXT NOT NULL,                 -- raw, text
  chunk_bytes INTEGER,
  min_shared_bytes INTEGER,
  templates_digest TEXT,              -- of the method and the tags that were set aside, where any were marked
  identical_sets INTEGER NOT NULL,
  identical_in_place INTEGER NOT NULL, -- of them, one document at the same place in each of several repositories
  wasted_bytes INTEGER NOT NULL,      -- in copies beyond the first
  param TEXT,                         -- the parameters of the method, k=v,k=v
  precision TEXT,                     -- fine, coarse; NULL where the method has no fine chunks
  fine_pairs INTEGER,                 -- measured by fine chunks; this and the next two NULL without fine chunks
  coarse_pairs INTEGER,               -- of which some chunk was not cut again
  omitted_pairs INTEGER,              -- not measured again, because their documents have too many candidates
  template_rows INTEGER               -- rows of fine chunks that templates leave out; NULL without fine chunks
);

-- The fine chunks that repositories gave, where pairs were measured by fine chunks.
CREATE TABLE fine (
  root INTEGER NOT NULL,
  layer INTEGER NOT NULL,
  chunks INTEGER NOT NULL,            -- that the site was asked to cut
  expanded_chunks INTEGER NOT NULL,   -- of these, cut now or for an earlier scan
  changed_contents INTEGER NOT NULL,  -- whose documents are gone or have changed
  failure TEXT,                       -- why the site gave no more; NULL: it gave what it could
  refused INTEGER NOT NULL            -- whether the reason is the site's policy
);

-- Of a sample of pairs, what is reported against what a site counts in its documents: bytes in windows of 32 bytes that
-- occur in the other content. Pairs that are links, or truly share enough to be.
CREATE TABLE exact (
  layer INTEGER NOT NULL,
  size_bytes_a INTEGER NOT NULL,
  size_bytes_b INTEGER NOT NULL,
  reported_bytes INTEGER NOT NULL,    -- in common, by the comparison
  true_bytes_a INTEGER NOT NULL,      -- of the first that are in the second, as counted
  true_bytes_b INTEGER NOT NULL
);

-- The sites that have pairs of the sample.
CREATE TABLE exact_site (
  layer INTEGER NOT NULL,
  site TEXT NOT NULL,
  sampled_pairs INTEGER NOT NULL,
  measured_pairs INTEGER NOT NULL,    -- of these, measured now or for an earlier scan
  failure TEXT,                       -- why no more were measured; NULL: the documents of the others have changed
  refused INTEGER NOT NULL,           -- whether the reason is the site's policy
  read_bytes INTEGER NOT NULL         -- of documents, now
);

-- Where messages are matched: sets of documents that are the same message, most documents first.
CREATE TABLE message (
  id INTEGER PRIMARY KEY,
  hash BLOB NOT NULL,                 -- the EDRM Message ID Hash
  documents INTEGER NOT NULL,
  in_place INTEGER NOT NULL
);

-- Which documents of which earlier scan this one is about: one row, or none where it is about all.
CREATE TABLE refined (
  scan TEXT NOT NULL,
  what TEXT NOT NULL,                 -- linked, unmatched, both
  size_min_bytes INTEGER,             -- of those that were unmatched; none where they were not chosen
  documents INTEGER NOT NULL,         -- chosen
  changed INTEGER NOT NULL            -- of them, gone or not what they were: left out
);

-- Which documents the scan chose: a row for each pattern and bound; none where it chose all.
CREATE TABLE selection (
  kind TEXT NOT NULL,                 -- include, exclude, size_max, follow
  value TEXT NOT NULL
);

-- The tags that were set aside and occur here, ascending.
CREATE TABLE set_aside (
  tag BLOB NOT NULL,
  documents INTEGER NOT NULL,         -- that have it, every copy counted
  length_bytes INTEGER NOT NULL,
  layer INTEGER NOT NULL,
  crowded INTEGER NOT NULL            -- 1: it would have made too many pairs; 0: it is of a template
);

-- What many otherwise unlike documents have, and links rest on: those first that most documents have.
CREATE TABLE frame (
  id INTEGER PRIMARY KEY,
  layer INTEGER NOT NULL,
  cluster INTEGER NOT NULL,           -- in which most documents are that rest on it
  documents INTEGER NOT NULL,         -- that have any of it, every copy counted
  document_bytes INTEGER NOT NULL,    -- of it in all of them
  emptied INTEGER NOT NULL,           -- documents that consist of nothing else
  links INTEGER NOT NULL,             -- that rest on frames, of which this one is part
  clusters_gone INTEGER NOT NULL,     -- of which all links do
  clusters_changed INTEGER NOT NULL,  -- others of which some do
  tags BLOB NOT NULL,                 -- of chunks that are frame from end to end: 16 bytes each, ascending
  lengths BLOB NOT NULL,              -- of these chunks: 4 bytes each, little-endian
  rows BLOB NOT NULL                  -- of fine chunks: 6 bytes each, ascending
);

-- The clusters with links that rest on a frame.
CREATE TABLE frame_cluster (
  frame INTEGER NOT NULL REFERENCES frame,
  cluster INTEGER NOT NULL REFERENCES cluster
);

-- A few of the documents that have a frame.
CREATE TABLE frame_example (
  frame INTEGER NOT NULL REFERENCES frame,
  root INTEGER NOT NULL REFERENCES root,
  path BLOB NOT NULL
);

-- The repositories that took part.
CREATE TABLE root (
  id INTEGER PRIMARY KEY,
  party TEXT NOT NULL,
  site TEXT NOT NULL,
  repository TEXT NOT NULL,
  documents INTEGER NOT NULL,         -- looked into, empty ones too
  bytes INTEGER NOT NULL,             -- under the first view, as chunks
  chunks INTEGER NOT NULL,
  empty INTEGER NOT NULL,
  unreadable INTEGER NOT NULL,
  changed INTEGER NOT NULL,           -- changed each time they were read
  compressed_bytes INTEGER NOT NULL,  -- in containers where raw chunks find only identical files
  read_bytes INTEGER NOT NULL,
  read_documents INTEGER NOT NULL,
  sent_bytes INTEGER NOT NULL,
  text_bytes INTEGER,                 -- as the next three, where text was looked at
  members INTEGER,                    -- documents that are members of archives and messages
  passages INTEGER,                   -- documents that are paragraphs
  no_text INTEGER,                    -- documents of a kind that has no text
  fine_read_bytes INTEGER NOT NULL,   -- read once more for fine chunks
  text_documents INTEGER,             -- as the next, where each document counts under one view: those that count as text
  text_file_bytes INTEGER,            -- bytes of the files that count as text
  place INTEGER NOT NULL,             -- in the order of the launch, sites by their first repository
  contradicted_contents INTEGER NOT NULL DEFAULT 0, -- of which other sites sent other chunks under the same digest
  recognised INTEGER NOT NULL DEFAULT 0, -- documents of which some text was recognised in pictures of pages
  recognition TEXT                    -- the program that recognised it, with its version and languages
);

-- Entries that were left out, by reason.
CREATE TABLE skipped (
  root INTEGER NOT NULL REFERENCES root,
  reason TEXT NOT NULL,
  entries INTEGER NOT NULL
);

-- Repositories that could not take part.
CREATE TABLE missing (
  site TEXT NOT NULL,
  repository TEXT NOT NULL,
  reason TEXT NOT NULL,
  place INTEGER NOT NULL              -- in the order of the launch
);

CREATE TABLE unread (
  root INTEGER NOT NULL REFERENCES root,
  path BLOB NOT NULL,
  reason TEXT NOT NULL,
  layer INTEGER NOT NULL
);

-- Numbered by layer and the bytes that join the members, falling, then by name.
CREATE TABLE cluster (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,                 -- stable: made from the smallest member's digest
  members_digest TEXT NOT NULL,
  relation TEXT NOT NULL,             -- pair, archive, group
  representative INTEGER NOT NULL REFERENCES content,
  total_bytes INTEGER NOT NULL,
  members INTEGER NOT NULL,
  links INTEGER NOT NULL,
  links_omitted INTEGER NOT NULL,
  min_resemblance INTEGER NOT NULL,
  mean_resemblance INTEGER NOT NULL,
  max_resemblance INTEGER,            -- as the next, NULL if the method does not measure it
  max_containment INTEGER,
  shared_bytes INTEGER NOT NULL,      -- of its strongest link
  joined_bytes INTEGER NOT NULL,      -- of the strongest links that join all members without a circle (a maximum spanning forest by shared bytes)
  redundant_bytes INTEGER NOT NULL,   -- in copies beyond the first, and joined_bytes
  documents INTEGER NOT NULL,         -- every copy counted
  sites TEXT NOT NULL,                -- numbers of sites, with a comma before and after each: sites by their first repository
  site_count INTEGER NOT NULL,
  crosses INTEGER NOT NULL,           -- whether its documents are at several parties where there are such, else at several sites
  first_modified INTEGER NOT NULL,
  last_modified INTEGER NOT NULL,
  root INTEGER NOT NULL REFERENCES root, -- where the representative is
  path BLOB NOT NULL,
  layer INTEGER NOT NULL,
  frame_links INTEGER NOT NULL,       -- of the links of joined_bytes, those that rest on a frame
  on_frame INTEGER NOT NULL,          -- whether these are at least half of them
  second_root INTEGER REFERENCES root, -- where a document of another member is, the first by number: of a pair, the other one
  second_path BLOB
);

-- The identical sets: those of contents under their numbers there, then those of messages.
CREATE TABLE identical (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,                 -- the digest of the content, or the hash of the message
  members_digest TEXT NOT NULL,       -- of the places of its documents
  tier TEXT NOT NULL,                 -- same bytes, same text, same message
  size_bytes INTEGER NOT NULL,        -- of the first document
  redundant_bytes INTEGER NOT NULL,   -- in copies beyond the first
  documents INTEGER NOT NULL,         -- as the next seven: see cluster
  sites TEXT NOT NULL,
  site_count INTEGER NOT NULL,
  crosses INTEGER NOT NULL,
  first_modified INTEGER NOT NULL,
  last_modified INTEGER NOT NULL,
  root INTEGER NOT NULL REFERENCES root, -- where the first document is
  path BLOB NOT NULL
);

-- The sets of the same bytes in their order, packed: `analysis/src/packed_sets.rs` has the format.
CREATE TABLE packed_sets (
  first INTEGER PRIMARY KEY,          -- the number of the first set of the block
  block BLOB NOT NULL
);

-- a is the content whose first document comes first.
CREATE TABLE link (
  cluster INTEGER NOT NULL REFERENCES cluster,
  a INTEGER NOT NULL REFERENCES content,
  b INTEGER NOT NULL REFERENCES content,
  shared_bytes INTEGER NOT NULL,      -- of a, where it is an estimate
  relation TEXT NOT NULL,             -- of a to b
  resemblance INTEGER,                -- as the next two, NULL if the method does not measure it
  a_in_b INTEGER,
  b_in_a INTEGER,
  estimated INTEGER NOT NULL,         -- 1 if the measures are estimates
  low INTEGER,                        -- of a sample: the interval that holds the true resemblance in 95 of 100 cases
  high INTEGER,
  within_tenth INTEGER,               -- and the probability that an estimate from it is within a tenth of this resemblance
  outside_bytes INTEGER,              -- shared outside of frames; NULL where no frame is part of it
  on_frame INTEGER NOT NULL           -- whether it would be no link without its frames
);

CREATE TABLE family (
  cluster INTEGER NOT NULL REFERENCES cluster,
  number INTEGER NOT NULL,
  representative INTEGER NOT NULL REFERENCES content,
  min_resemblance INTEGER NOT NULL,
  over_representative_only INTEGER NOT NULL
);

CREATE TABLE family_member (
  cluster INTEGER NOT NULL,
  number INTEGER NOT NULL,
  content INTEGER NOT NULL REFERENCES content
);

-- Folders of two repositories that are at different paths and are compared with each other, by the first.
CREATE TABLE alignment (
  id INTEGER PRIMARY KEY,
  path_a BLOB NOT NULL,               -- of the first repository; empty: its root
  path_b BLOB NOT NULL,               -- of the second
  documents INTEGER NOT NULL,         -- of either that it gives a counterpart
  given INTEGER NOT NULL              -- whether somebody named the pair
);

-- Pairs of folders that hold documents of each other, by layer, those with most bytes first.
CREATE TABLE folder (
  id INTEGER PRIMARY KEY,
  root_a INTEGER NOT NULL REFERENCES root,
  path_a BLOB NOT NULL,
  root_b INTEGER NOT NULL REFERENCES root,
  path_b BLOB NOT NULL,
  relation TEXT NOT NULL,             -- identical, contains, contained, overlaps
  documents_a INTEGER NOT NULL,
  documents_b INTEGER NOT NULL,
  shared_bytes_a INTEGER NOT NULL,
  shared_bytes_b INTEGER NOT NULL,
  documents_total_a INTEGER NOT NULL,
  documents_total_b INTEGER NOT NULL,
  bytes_a INTEGER NOT NULL,
  bytes_b INTEGER NOT NULL,
  layer INTEGER NOT NULL
);

CREATE TABLE overlap (
  level TEXT NOT NULL,                -- site, party
  a TEXT NOT NULL,
  b TEXT NOT NULL,
  documents_a INTEGER NOT NULL,
  documents_b INTEGER NOT NULL,
  shared_bytes_a INTEGER NOT NULL,
  shared_bytes_b INTEGER NOT NULL,
  template_bytes_a INTEGER NOT NULL,
  template_bytes_b INTEGER NOT NULL,
  layer INTEGER NOT NULL
);

-- The same with each content of a place once, however many copies.
CREATE TABLE overlap_once (
  level TEXT NOT NULL,
  a TEXT NOT NULL,
  b TEXT NOT NULL,
  contents_a INTEGER NOT NULL,        -- that are identical or linked to one of the other
  contents_b INTEGER NOT NULL,
  shared_bytes_a INTEGER NOT NULL,
  shared_bytes_b INTEGER NOT NULL,
  layer INTEGER NOT NULL
);

-- Documents that are nowhere else, not even in part (at another party if there are two or more, else at another site), by the folders at the top
-- of repositories.
CREATE TABLE only_here (
  root INTEGER NOT NULL REFERENCES root,
  folder BLOB NOT NULL,               -- empty: the repository itself
  documents INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  layer INTEGER NOT NULL
);

-- Documents that were planted so that they must be found. They count in no overlap.
CREATE TABLE control (
  document INTEGER NOT NULL REFERENCES document
);

-- Kinds of files of a repository, with their bytes.
CREATE TABLE census (
  root INTEGER NOT NULL REFERENCES root,
  class TEXT NOT NULL,                -- plain, archive, office, pdf, media
  documents INTEGER NOT NULL,
  bytes INTEGER NOT NULL
);

-- By what both sides know that the index of a repository is what its site sent: as in the site's ledger.
CREATE TABLE evidence (
  root INTEGER NOT NULL REFERENCES root,
  layer INTEGER NOT NULL,
  epoch TEXT NOT NULL,
  batches INTEGER NOT NULL,
  bytes INTEGER NOT NULL,             -- in the bodies of the batches
  head TEXT NOT NULL,                 -- the chain over the batches
  index_root TEXT NOT NULL            -- the multiset hash over documents and contents
);

-- How strong all links are, those too that a cluster leaves out.
CREATE TABLE histogram (
  measure TEXT NOT NULL,              -- resemblance, containment (of the content that is contained more), or all
  bucket INTEGER NOT NULL,            -- links from this many twentieths up to the next; the last includes 1
  links INTEGER NOT NULL,
  documents INTEGER NOT NULL,         -- documents whose content has such a link
  layer INTEGER NOT NULL
);

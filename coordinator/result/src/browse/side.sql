-- What pages need of a result and its file does not say at once. Derived: it may be deleted, and is made anew.

-- Of which result: one row.
CREATE TABLE about (
  format TEXT NOT NULL,               -- cognate.browse/1
  scan TEXT NOT NULL,
  result_bytes INTEGER NOT NULL
);

-- The sites, in the order of their repositories.
CREATE TABLE site (
  number INTEGER PRIMARY KEY,
  name TEXT NOT NULL
);

-- The clusters of the result under their numbers there, with all that they are sorted and filtered by.
CREATE TABLE cluster (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  members_digest TEXT NOT NULL,
  view TEXT NOT NULL,
  relation TEXT NOT NULL,
  total_bytes INTEGER NOT NULL,
  members INTEGER NOT NULL,
  documents INTEGER NOT NULL,         -- every copy counted
  sites TEXT NOT NULL,                -- their numbers, with a comma before and after each
  site_count INTEGER NOT NULL,
  crosses INTEGER NOT NULL,           -- whether its documents are at several parties where there are such, else at several sites
  links INTEGER NOT NULL,
  min_resemblance INTEGER,
  mean_resemblance INTEGER,
  max_resemblance INTEGER,
  max_containment INTEGER,
  shared_bytes INTEGER NOT NULL,      -- of its strongest link
  redundant_bytes INTEGER NOT NULL,   -- in copies beyond the first, and what each member shares with the one it is joined to best
  first_modified INTEGER NOT NULL,
  last_modified INTEGER NOT NULL,
  root INTEGER NOT NULL,              -- where the representative is
  path BLOB NOT NULL
);

-- The identical sets under their numbers in the result; those of messages follow.
CREATE TABLE identical (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  members_digest TEXT NOT NULL,       -- of the places of its documents
  view TEXT NOT NULL,
  tier TEXT NOT NULL,
  size_bytes INTEGER NOT NULL,        -- of the first document
  documents INTEGER NOT NULL,
  sites TEXT NOT NULL,
  site_count INTEGER NOT NULL,
  crosses INTEGER NOT NULL,
  redundant_bytes INTEGER NOT NULL,
  first_modified INTEGER NOT NULL,
  last_modified INTEGER NOT NULL,
  root INTEGER NOT NULL,
  path BLOB NOT NULL
);

-- Which cluster a content is in, by its digest.
CREATE TABLE member (
  digest BLOB NOT NULL,
  cluster INTEGER NOT NULL
);

-- The listed documents, many to a block, in the order of their rows: see `documents.rs`.
CREATE TABLE block (
  first INTEGER PRIMARY KEY,
  records BLOB NOT NULL
);

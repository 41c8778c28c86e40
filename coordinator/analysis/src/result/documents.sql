-- The tables of documents and of what they hold, which may be written apart from the others.

-- A row for each document in each view that has it, ordered by (site, repository, path), then by view. Lists are of the rows
-- that are `listed`: each document once.
CREATE TABLE document (
  id INTEGER PRIMARY KEY,
  root INTEGER NOT NULL REFERENCES root,
  path BLOB NOT NULL,
  content INTEGER REFERENCES content, -- NULL: under this view it holds no text itself
  size_bytes INTEGER NOT NULL,        -- its content's: here too, so that a list needs no look-up for each
  modified INTEGER NOT NULL,
  changing INTEGER NOT NULL,
  status TEXT NOT NULL,               -- over all views
  partner INTEGER,                    -- the document of another repository that it is best compared with
  partner_shared_bytes INTEGER,
  partner_relation TEXT,              -- identical, near, contains, contained, shares
  partner_in_place INTEGER,           -- whether the partner is at the same place: its path is equal, or aligned
  layer INTEGER NOT NULL,
  other INTEGER,                      -- the row of the same document under the other view
  listed INTEGER NOT NULL,            -- whether it is the first row of its document
  layer_status TEXT,                  -- under this view alone, where that is another
  partner_in_other INTEGER NOT NULL,  -- of a listed row: 1 if the row `other` has the partner to show
  message_id_hash BLOB,               -- of a message
  message INTEGER REFERENCES message, -- of a listed row: the set of the same message
  counterpart INTEGER,                -- of two repositories: the listed row of the document at the same place in the other
  recognised INTEGER NOT NULL DEFAULT 0 -- 1: under a view of it, some of its text was recognised in pictures of pages
);

-- Documents by status.
CREATE TABLE status (
  root INTEGER NOT NULL REFERENCES root,
  status TEXT NOT NULL,
  documents INTEGER NOT NULL
);

-- Of two repositories, the documents of each that are the same, changed or moved at the other, or missing there.
CREATE TABLE change (
  root INTEGER NOT NULL REFERENCES root,
  same INTEGER NOT NULL,              -- documents with equal content at the same place
  changed INTEGER NOT NULL,           -- with other content at the same place
  moved INTEGER NOT NULL,             -- with a copy or a relative at another place
  only_here INTEGER NOT NULL          -- with nothing there
);

-- What documents with the same bytes share, or with the same text. Numbered by layer and digest.
CREATE TABLE content (
  id INTEGER PRIMARY KEY,
  digest BLOB NOT NULL,
  size_bytes INTEGER NOT NULL,
  payload_bytes INTEGER NOT NULL,     -- less the bytes of template chunks
  chunks INTEGER NOT NULL,
  documents INTEGER NOT NULL,
  identical INTEGER,                  -- its place among the identical sets that are listed, or NULL
  in_place INTEGER NOT NULL,          -- whether its documents are one at the same place in each of several repositories
  cluster INTEGER,                    -- its cluster, or NULL
  layer INTEGER NOT NULL
);

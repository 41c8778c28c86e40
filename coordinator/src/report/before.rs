//! Results of the formats before this one, read as if they said what they do not.
//!
//! Those of the second have links without ratios, which follow from what is shared and from sizes. Those of the first have one
//! view and one row a document besides.

use rusqlite::Connection;

use crate::result::FORMATS_BEFORE;

/// What those of either do not say: ratios, rounded to ten-thousandths.
const LINKS: &str = "
  CREATE TEMP VIEW link AS SELECT cluster, a, b, shared_bytes, relation,
    (20000 * shared_bytes + whole) / (2 * whole) AS resemblance,
    (20000 * shared_bytes + of_a) / (2 * of_a) AS a_in_b, (20000 * shared_bytes + of_b) / (2 * of_b) AS b_in_a,
    0 AS estimated, NULL AS low, NULL AS high
    FROM (SELECT l.*, a.payload_bytes AS of_a, b.payload_bytes AS of_b,
                 a.payload_bytes + b.payload_bytes - l.shared_bytes AS whole
          FROM main.link l JOIN main.content a ON a.id = l.a JOIN main.content b ON b.id = l.b);
";

/// What those of the second do not say besides.
const SECOND: &str = "
  CREATE TEMP VIEW scan AS SELECT *, NULL AS cluster, NULL AS verified_by FROM main.scan;
  CREATE TEMP VIEW layer AS SELECT *, NULL AS param FROM main.layer;
";

/// What those of the first do not say besides.
const VIEWS: &str = "
  CREATE TEMP VIEW scan AS SELECT *, 0 AS passages, 0 AS match_message_ids, NULL AS cluster, NULL AS verified_by
    FROM main.scan;
  CREATE TEMP VIEW document AS SELECT *, 0 AS layer, NULL AS other, 1 AS listed, NULL AS layer_status,
    0 AS tells_other, NULL AS message_id_hash, NULL AS message FROM main.document;
  CREATE TEMP VIEW content AS SELECT *, 0 AS layer FROM main.content;
  CREATE TEMP VIEW cluster AS SELECT *, 0 AS layer FROM main.cluster;
  CREATE TEMP VIEW folder AS SELECT *, 0 AS layer FROM main.folder;
  CREATE TEMP VIEW overlap AS SELECT *, 0 AS layer FROM main.overlap;
  CREATE TEMP VIEW unread AS SELECT *, 0 AS layer FROM main.unread;
  CREATE TEMP VIEW root AS SELECT *, NULL AS text_bytes, NULL AS members, NULL AS passages, NULL AS no_text FROM main.root;
  CREATE TEMP VIEW message AS SELECT 0 AS id, x'' AS hash, 0 AS documents, 0 AS in_place WHERE 0;
";

/// Adds what a result does not say, for this connection alone.
pub(super) fn adapt(connection: &Connection, format: &str) -> rusqlite::Result<()> {
    connection.execute_batch(LINKS)?;
    if format == FORMATS_BEFORE[0] {
        return connection.execute_batch(SECOND);
    }
    connection.execute_batch(VIEWS)?;
    // Those of the first versions have no templates, or no histogram either: that is asked for where it matters.
    let has = |table: &str| -> rusqlite::Result<bool> {
        connection.query_row("SELECT count(*) > 0 FROM main.sqlite_master WHERE name = ?", [table], |row| row.get(0))
    };
    let digest = if has("templates")? { "(SELECT digest FROM main.templates)" } else { "NULL" };
    connection.execute_batch(&format!(
        "CREATE TEMP VIEW layer AS SELECT 0 AS number, view, chunk_bytes, min_shared_bytes, {digest} AS templates_digest,
           identical_sets, identical_in_place, wasted_bytes, NULL AS param FROM main.scan;"
    ))?;
    if has("histogram")? {
        connection.execute_batch("CREATE TEMP VIEW histogram AS SELECT *, 0 AS layer FROM main.histogram;")?;
    }
    connection.execute_batch(match has("set_aside")? {
        true => "CREATE TEMP VIEW set_aside AS SELECT *, 0 AS layer FROM main.set_aside;",
        false => {
            "CREATE TEMP VIEW set_aside AS SELECT x'' AS tag, 0 AS documents, 0 AS length_bytes, 0 AS layer WHERE 0;"
        }
    })
}

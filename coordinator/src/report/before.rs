//! Results of the format before this one: they have one view and one row a document, and are read as if they said so.

use rusqlite::Connection;

/// What they do not say.
const VIEWS: &str = "
  CREATE TEMP VIEW scan AS SELECT *, 0 AS passages, 0 AS match_message_ids FROM main.scan;
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
pub(super) fn adapt(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(VIEWS)?;
    // Those of the first versions have no templates, or no histogram either: that is asked for where it matters.
    let has = |table: &str| -> rusqlite::Result<bool> {
        connection.query_row("SELECT count(*) > 0 FROM main.sqlite_master WHERE name = ?", [table], |row| row.get(0))
    };
    let digest = if has("templates")? { "(SELECT digest FROM main.templates)" } else { "NULL" };
    connection.execute_batch(&format!(
        "CREATE TEMP VIEW layer AS SELECT 0 AS number, view, chunk_bytes, min_shared_bytes, {digest} AS templates_digest,
           identical_sets, identical_in_place, wasted_bytes FROM main.scan;"
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

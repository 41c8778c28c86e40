-- The links of postings in DuckDB, as docs/performance.md compares them with the engine: a table `posting` (hi, lo, length, document).
CREATE TABLE link AS
WITH counted AS (SELECT hi, lo, length, document, count(*) AS n FROM posting GROUP BY ALL),
shared AS (SELECT hi, lo, length FROM counted GROUP BY ALL HAVING count(*) > 1),
kept AS (SELECT c.* FROM counted c SEMI JOIN shared s USING (hi, lo, length)),
size AS (SELECT document, sum(length)::UBIGINT AS bytes FROM posting GROUP BY document),
pair AS (SELECT x.document AS a, y.document AS b, sum(least(x.n, y.n) * x.length)::UBIGINT AS shared
  FROM kept x JOIN kept y ON x.hi = y.hi AND x.lo = y.lo AND x.length = y.length AND x.document < y.document
  GROUP BY 1, 2)
SELECT a, b, shared FROM pair JOIN size p ON p.document = a JOIN size q ON q.document = b
WHERE shared >= 16384 OR shared * 2 >= least(p.bytes, q.bytes) ORDER BY a, b

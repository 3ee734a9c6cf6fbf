-- Which disk is full when, at the growth of these runs, and which topic fills it?
-- columns: cluster, broker, directory, usable, bytes_a_day, earliest_days, days, latest_days, topic, percent, note
-- tables: log_dirs, replica_sizes
-- facts: log_dirs
-- runs: 8
WITH dirs AS (
  SELECT d.cluster, d.broker, d.directory, d.day, d.run, d.usable, d.taken_ms,
         COALESCE(d.total - d.usable, d.bytes) AS used,
         LAG(d.taken_ms) OVER w AS before_ms, LAG(COALESCE(d.total - d.usable, d.bytes)) OVER w AS before_used,
         ROW_NUMBER() OVER (PARTITION BY d.cluster, d.broker, d.directory ORDER BY d.taken_ms) AS from_first,
         ROW_NUMBER() OVER (PARTITION BY d.cluster, d.broker, d.directory ORDER BY d.taken_ms DESC) AS from_last
  FROM log_dirs d
  WHERE d.error IS NULL
  WINDOW w AS (PARTITION BY d.cluster, d.broker, d.directory ORDER BY d.taken_ms)
), growth AS (
  SELECT d.cluster, d.broker, d.directory,
         MIN(CAST(d.used - d.before_used AS DOUBLE) * 86400000 / (d.taken_ms - d.before_ms)) AS least,
         MAX(CAST(d.used - d.before_used AS DOUBLE) * 86400000 / (d.taken_ms - d.before_ms)) AS most,
         CAST(SUM(d.used - d.before_used) AS DOUBLE) * 86400000 / SUM(d.taken_ms - d.before_ms) AS mean
  FROM dirs d
  WHERE d.before_ms < d.taken_ms
  GROUP BY d.cluster, d.broker, d.directory
), sizes AS (
  SELECT r.cluster, r.broker, r.directory, r.topic,
         SUM(CASE WHEN d.from_last = 1 THEN r.bytes ELSE 0 END)
           - SUM(CASE WHEN d.from_first = 1 THEN r.bytes ELSE 0 END) AS grown
  FROM replica_sizes r
       JOIN dirs d ON d.cluster = r.cluster AND d.broker = r.broker AND d.directory = r.directory
                      AND d.day = r.day AND d.run = r.run
  WHERE d.from_first = 1 OR d.from_last = 1
  GROUP BY r.cluster, r.broker, r.directory, r.topic
), topics_by_growth AS (
  SELECT s.*, SUM(CASE WHEN s.grown > 0 THEN s.grown ELSE 0 END) OVER (PARTITION BY s.cluster, s.broker, s.directory)
           AS all_grown,
         ROW_NUMBER() OVER (PARTITION BY s.cluster, s.broker, s.directory ORDER BY s.grown DESC, s.topic) AS place
  FROM sizes s
)
SELECT g.cluster, g.broker, g.directory, l.usable, CAST(FLOOR(g.mean) AS BIGINT) AS bytes_a_day,
       CAST(FLOOR(l.usable / g.most) AS BIGINT) AS earliest_days,
       CAST(FLOOR(l.usable / g.mean) AS BIGINT) AS days,
       CASE WHEN g.least > 0 THEN CAST(FLOOR(l.usable / g.least) AS BIGINT) END AS latest_days,
       CASE WHEN t.grown > 0 THEN t.topic END AS topic,
       CASE WHEN t.grown > 0 THEN CAST(FLOOR(CAST(t.grown AS DOUBLE) * 100 / t.all_grown) AS BIGINT) END
         AS percent,
       CASE WHEN l.usable IS NULL THEN 'the free space is not known: Kafka reports it from 3.3 on'
            WHEN g.least <= 0 THEN 'at its slowest it does not grow' ELSE '' END AS note
FROM growth g
     JOIN dirs l ON l.cluster = g.cluster AND l.broker = g.broker AND l.directory = g.directory AND l.from_last = 1
     LEFT JOIN topics_by_growth t ON t.cluster = g.cluster AND t.broker = g.broker AND t.directory = g.directory
                                     AND t.place = 1
WHERE g.mean > 0
ORDER BY CASE WHEN l.usable IS NULL THEN 1 ELSE 0 END, days, g.cluster, g.broker, g.directory

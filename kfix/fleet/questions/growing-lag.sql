-- Which consumer groups fall behind from run to run?
-- columns: cluster, group_id, topic, lag_before, lag, records_an_hour
-- tables: group_lag
-- facts: group_lag
-- runs: 4
WITH steps AS (
  SELECT g.cluster, g.group_id, g.topic, g.lag, g.taken_ms, LAG(g.lag) OVER w AS before,
         ROW_NUMBER() OVER (PARTITION BY g.cluster, g.group_id, g.topic ORDER BY g.taken_ms) AS from_first,
         ROW_NUMBER() OVER (PARTITION BY g.cluster, g.group_id, g.topic ORDER BY g.taken_ms DESC) AS from_last
  FROM group_lag g
  WHERE g.topic IS NOT NULL AND g.unknown = 0
  WINDOW w AS (PARTITION BY g.cluster, g.group_id, g.topic ORDER BY g.taken_ms)
), ends AS (
  SELECT s.cluster, s.group_id, s.topic,
         MAX(CASE WHEN s.from_first = 1 THEN s.lag END) AS lag_before,
         MAX(CASE WHEN s.from_last = 1 THEN s.lag END) AS lag,
         MAX(s.taken_ms) - MIN(s.taken_ms) AS ms,
         SUM(CASE WHEN s.before IS NOT NULL AND s.lag <= s.before THEN 1 ELSE 0 END) AS relieved
  FROM steps s
  GROUP BY s.cluster, s.group_id, s.topic
)
SELECT e.cluster, e.group_id, e.topic, e.lag_before, e.lag,
       CAST(FLOOR(CAST(e.lag - e.lag_before AS DOUBLE) * 3600000 / e.ms) AS BIGINT) AS records_an_hour
FROM ends e
WHERE e.ms > 0 AND e.lag > e.lag_before AND e.relieved = 0
ORDER BY e.lag - e.lag_before DESC, e.cluster, e.group_id, e.topic

-- Which brokers lead far more of the writes than their share, and by which partition?
-- columns: cluster, broker, records_a_day, mean, topic, partition, percent
-- tables: partition_logs
-- facts: partition_logs
-- runs: 2
WITH steps AS (
  SELECT l.cluster, l.topic, l.partition, l.leader, l.taken_ms,
         l.log_end - LAG(l.log_end) OVER w AS records, l.taken_ms - LAG(l.taken_ms) OVER w AS ms,
         ROW_NUMBER() OVER (PARTITION BY l.cluster, l.topic, l.partition ORDER BY l.taken_ms DESC) AS place
  FROM partition_logs l
  WHERE l.error IS NULL
  WINDOW w AS (PARTITION BY l.cluster, l.topic, l.partition ORDER BY l.taken_ms)
), rates AS (
  SELECT s.cluster, s.topic, s.partition, s.leader,
         CASE WHEN s.records > 0 THEN CAST(s.records AS DOUBLE) * 86400000 / s.ms ELSE 0.0 END AS rate
  FROM steps s
  WHERE s.place = 1 AND s.ms > 0
), by_broker AS (
  SELECT r.cluster, r.leader, SUM(r.rate) AS rate FROM rates r GROUP BY r.cluster, r.leader
), means AS (
  SELECT b.*, AVG(b.rate) OVER (PARTITION BY b.cluster) AS mean FROM by_broker b
), largest AS (
  SELECT r.*, ROW_NUMBER() OVER (PARTITION BY r.cluster, r.leader ORDER BY r.rate DESC, r.topic, r.partition) AS place
  FROM rates r
)
SELECT m.cluster, m.leader AS broker, CAST(FLOOR(m.rate) AS BIGINT) AS records_a_day,
       CAST(FLOOR(m.mean) AS BIGINT) AS mean, l.topic, l.partition,
       CAST(FLOOR(l.rate * 100 / m.rate) AS BIGINT) AS percent
FROM means m JOIN largest l ON l.cluster = m.cluster AND l.leader = m.leader AND l.place = 1
WHERE m.rate > m.mean * 1.25
ORDER BY m.rate - m.mean DESC, m.cluster, m.leader

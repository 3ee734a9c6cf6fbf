-- How many seconds had partitions no leader in these days, at least and at most, by topic?
-- columns: cluster, topic, partitions, outages, open, mean_least, mean_most, longest_least, longest_most, last_began
-- tables: partition_changes, partitions
-- unknown: outages between two snapshots, unless `kfix watch --recorder` recorded them and `kfix fleet ingest` added them; when an outage began that is older than these days
WITH had_none AS (
  SELECT DISTINCT p.cluster, p.topic, p.partition FROM partition_changes p WHERE p.leader = -1 OR p.leader_before = -1
), seen AS (
  SELECT p.cluster, p.topic, p.partition, p.valid_from_after, p.valid_from,
         COALESCE(p.version, -1) AS version, COALESCE(p.epoch, -1) AS epoch, COALESCE(p.record, -1) AS record, p.source,
         CASE WHEN p.leader = -1 THEN 'none' WHEN p.leader IS NULL AND p.why <> 'deleted' THEN 'unknown'
              ELSE 'ended' END AS state,
         p.leader_before,
         ROW_NUMBER() OVER (PARTITION BY p.cluster, p.topic, p.partition
                            ORDER BY p.valid_from, COALESCE(p.version, -1), COALESCE(p.epoch, -1),
                                     COALESCE(p.record, -1), p.source) AS place
  FROM partition_changes p
       JOIN had_none h ON h.cluster = p.cluster AND h.topic = p.topic AND h.partition = p.partition
), states AS (
  SELECT s.cluster, s.topic, s.partition, s.valid_from_after, s.valid_from, s.version, s.epoch, s.record, s.source,
         s.state
  FROM seen s
  UNION ALL
  SELECT s.cluster, s.topic, s.partition, CAST(NULL AS TIMESTAMP) AS valid_from_after,
         LEAST(CAST(d.first_day AS TIMESTAMP), s.valid_from_after, s.valid_from) AS valid_from,
         -2 AS version, -2 AS epoch, -2 AS record, 'earlier' AS source, 'none' AS state
  FROM seen s CROSS JOIN (SELECT MIN(p.day) AS first_day FROM partition_changes p) d
  WHERE s.place = 1 AND s.leader_before = -1
  UNION ALL
  SELECT n.cluster, n.topic, n.partition, CAST(NULL AS TIMESTAMP) AS valid_from_after,
         CAST(NULL AS TIMESTAMP) AS valid_from, -2 AS version, -2 AS epoch, -2 AS record, 'earlier' AS source,
         'none' AS state
  FROM partitions n LEFT JOIN had_none h ON h.cluster = n.cluster AND h.topic = n.topic AND h.partition = n.partition
  WHERE n.leader = -1 AND h.cluster IS NULL
), followed AS (
  SELECT s.*, LAG(s.state) OVER w AS last_state, LAG(s.valid_from) OVER w AS last_from
  FROM states s
  WINDOW w AS (PARTITION BY s.cluster, s.topic, s.partition
               ORDER BY s.valid_from, s.version, s.epoch, s.record, s.source)
), turns AS (
  SELECT f.*, GREATEST(f.valid_from_after, f.last_from) AS since
  FROM followed f
  WHERE f.last_state IS NULL OR f.last_state <> f.state
), bounded AS (
  SELECT t.cluster, t.topic, t.partition, t.state, t.source, t.since, t.valid_from,
         LEAD(t.state) OVER w AS then_state, LEAD(t.since) OVER w AS ended_after, LEAD(t.valid_from) OVER w AS ended
  FROM turns t
  WINDOW w AS (PARTITION BY t.cluster, t.topic, t.partition
               ORDER BY t.valid_from, t.version, t.epoch, t.record, t.source)
), outages AS (
  SELECT b.cluster, b.topic, b.partition, CASE WHEN b.source <> 'earlier' THEN b.valid_from END AS began, b.then_state,
         b.ended_after - b.valid_from AS least,
         CASE WHEN b.then_state = 'ended' THEN b.ended - b.since END AS most
  FROM bounded b
  WHERE b.state = 'none'
), timed AS (
  SELECT o.cluster, o.topic, o.partition, o.began, CASE WHEN o.then_state IS NULL THEN 1 ELSE 0 END AS open,
         EXTRACT(DAY FROM o.least) * 86400 + EXTRACT(HOUR FROM o.least) * 3600 + EXTRACT(MINUTE FROM o.least) * 60
           + EXTRACT(SECOND FROM o.least) AS least,
         EXTRACT(DAY FROM o.most) * 86400 + EXTRACT(HOUR FROM o.most) * 3600 + EXTRACT(MINUTE FROM o.most) * 60
           + EXTRACT(SECOND FROM o.most) AS most
  FROM outages o
)
SELECT t.cluster, t.topic, CAST(COUNT(DISTINCT t.partition) AS BIGINT) AS partitions,
       CAST(COUNT(*) AS BIGINT) AS outages, CAST(SUM(t.open) AS BIGINT) AS open,
       CAST(FLOOR(AVG(CAST(t.least AS DOUBLE))) AS BIGINT) AS mean_least,
       CASE WHEN COUNT(t.most) = COUNT(t.least) THEN CAST(FLOOR(AVG(CAST(t.most AS DOUBLE))) AS BIGINT) END AS mean_most,
       CAST(FLOOR(MAX(CAST(t.least AS DOUBLE))) AS BIGINT) AS longest_least,
       CASE WHEN COUNT(t.most) = COUNT(t.least) THEN CAST(FLOOR(MAX(CAST(t.most AS DOUBLE))) AS BIGINT) END AS longest_most,
       MAX(t.began) AS last_began
FROM timed t
GROUP BY t.cluster, t.topic
ORDER BY open DESC, longest_least DESC, t.cluster, t.topic

-- Which topics are neither written nor read by a group, and what do they cost?
-- columns: cluster, owner, topic, empty, rf, partitions, bytes, hours
-- tables: partition_logs, topics, group_lag, replica_sizes, clusters, snapshots, runs
-- facts: partition_logs, group_lag, log_dirs
-- runs: 8
-- unknown: consumers that commit no offsets to Kafka
WITH owners AS (
  SELECT x.cluster, x.owner
  FROM (SELECT c.cluster, c.owner, ROW_NUMBER() OVER (PARTITION BY c.cluster ORDER BY c.day DESC, c.run DESC) AS place
        FROM clusters c) x
  WHERE x.place = 1
), readings AS (
  SELECT s.cluster, s.day, s.run, ROW_NUMBER() OVER (PARTITION BY s.cluster ORDER BY r.began DESC, s.run DESC) AS place
  FROM snapshots s JOIN runs r ON r.day = s.day AND r.run = s.run
  WHERE s.collected
), logs AS (
  SELECT l.cluster, l.topic, l.partition, MIN(l.log_end) AS least, MAX(l.log_end) AS most, COUNT(*) AS read_in,
         MAX(l.log_start) AS last_start, MIN(l.taken_ms) AS first_ms, MAX(l.taken_ms) AS last_ms
  FROM partition_logs l
  WHERE l.error IS NULL
  GROUP BY l.cluster, l.topic, l.partition
), still AS (
  SELECT l.cluster, l.topic, COUNT(*) AS partitions, MIN(l.last_ms - l.first_ms) AS ms,
         MAX(l.most - l.last_start) AS kept
  FROM logs l
  GROUP BY l.cluster, l.topic
  HAVING MAX(l.most - l.least) = 0 AND MIN(l.read_in) > 1
), sizes AS (
  SELECT r.cluster, r.topic, CAST(SUM(r.bytes) AS BIGINT) AS bytes
  FROM replica_sizes r
       JOIN readings n ON n.cluster = r.cluster AND n.day = r.day AND n.run = r.run AND n.place = 1
  GROUP BY r.cluster, r.topic
)
SELECT t.cluster, o.owner, t.topic, s.kept = 0 AS empty, t.rf_min AS rf, t.partitions, z.bytes,
       CAST(FLOOR(CAST(s.ms AS DOUBLE) / 3600000) AS BIGINT) AS hours
FROM topics t
     JOIN readings n ON n.cluster = t.cluster AND n.day = t.day AND n.run = t.run AND n.place = 1
     JOIN still s ON s.cluster = t.cluster AND s.topic = t.topic AND s.partitions = t.partitions
     LEFT JOIN sizes z ON z.cluster = t.cluster AND z.topic = t.topic
     LEFT JOIN owners o ON o.cluster = t.cluster
     LEFT JOIN (SELECT DISTINCT g.cluster, g.topic FROM group_lag g) g ON g.cluster = t.cluster AND g.topic = t.topic
WHERE NOT t.internal AND NOT t.deleting AND g.topic IS NULL
ORDER BY z.bytes DESC, t.cluster, t.topic

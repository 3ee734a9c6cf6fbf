-- Which topics are the largest?
-- columns: cluster, topic, partitions, rf, bytes, largest_partition
-- tables: topics, replica_sizes
-- facts: log_dirs
WITH parts AS (
  SELECT r.cluster, r.topic, r.partition, MAX(r.bytes) AS largest, SUM(r.bytes) AS bytes
  FROM replica_sizes r GROUP BY r.cluster, r.topic, r.partition
), placed AS (
  SELECT p.cluster, p.topic, CAST(SUM(p.bytes) AS BIGINT) AS bytes, CAST(MAX(p.largest) AS BIGINT) AS largest_partition
  FROM parts p GROUP BY p.cluster, p.topic
)
SELECT p.cluster, p.topic, t.partitions, t.rf_max AS rf, p.bytes, p.largest_partition
FROM placed p JOIN topics t ON t.cluster = p.cluster AND t.topic = p.topic
ORDER BY p.bytes DESC, p.cluster, p.topic
LIMIT 50

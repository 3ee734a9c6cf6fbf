-- Which brokers hold far more bytes than their share, and which move helps most?
-- columns: cluster, broker, bytes, mean, move_topic, move_partition, move_bytes, to_broker, after
-- tables: log_dirs, replica_sizes
-- facts: log_dirs
WITH held AS (
  SELECT d.cluster, d.broker, CAST(SUM(d.bytes) AS BIGINT) AS bytes FROM log_dirs d GROUP BY d.cluster, d.broker
), ranked AS (
  SELECT h.*, AVG(CAST(h.bytes AS DOUBLE)) OVER (PARTITION BY h.cluster) AS mean,
         ROW_NUMBER() OVER (PARTITION BY h.cluster ORDER BY h.bytes DESC, h.broker) AS fullest,
         ROW_NUMBER() OVER (PARTITION BY h.cluster ORDER BY h.bytes, h.broker) AS emptiest
  FROM held h
), pairs AS (
  SELECT f.cluster, f.broker, f.bytes, f.mean, e.broker AS to_broker, e.bytes AS to_bytes
  FROM ranked f JOIN ranked e ON e.cluster = f.cluster AND e.emptiest = 1
  WHERE f.fullest = 1 AND f.broker <> e.broker AND f.bytes > f.mean * 1.2
), moves AS (
  SELECT p.cluster, r.topic, r.partition, r.bytes,
         ROW_NUMBER() OVER (PARTITION BY p.cluster ORDER BY r.bytes DESC, r.topic, r.partition) AS place
  FROM pairs p
       JOIN replica_sizes r ON r.cluster = p.cluster AND r.broker = p.broker
       LEFT JOIN replica_sizes x ON x.cluster = p.cluster AND x.broker = p.to_broker
                                    AND x.topic = r.topic AND x.partition = r.partition
  WHERE x.topic IS NULL AND r.bytes > 0 AND p.to_bytes + r.bytes < p.bytes
)
SELECT p.cluster, p.broker, p.bytes, CAST(FLOOR(p.mean) AS BIGINT) AS mean, m.topic AS move_topic,
       m.partition AS move_partition, m.bytes AS move_bytes,
       CASE WHEN m.topic IS NOT NULL THEN p.to_broker END AS to_broker, p.bytes - COALESCE(m.bytes, 0) AS after
FROM pairs p LEFT JOIN moves m ON m.cluster = p.cluster AND m.place = 1
ORDER BY p.bytes - p.mean DESC, p.cluster

-- Which topics have more replicas than is usual for their cluster, and what do the others cost?
-- columns: cluster, topic, rf, usual, partitions, spare_bytes
-- tables: partitions, replica_sizes
-- facts: log_dirs
WITH advised AS (
  SELECT p.cluster, p.topic, MAX(p.advised_rf) AS usual, MAX(p.target_rf) AS rf, COUNT(*) AS partitions
  FROM partitions p
  WHERE NOT p.internal AND NOT p.deleting
  GROUP BY p.cluster, p.topic
), sizes AS (
  SELECT r.cluster, r.topic, CAST(SUM(r.bytes) AS BIGINT) AS bytes FROM replica_sizes r GROUP BY r.cluster, r.topic
)
SELECT a.cluster, a.topic, a.rf, a.usual, CAST(a.partitions AS BIGINT) AS partitions,
       CAST(FLOOR(CAST(z.bytes AS DOUBLE) * (a.rf - a.usual) / a.rf) AS BIGINT) AS spare_bytes
FROM advised a LEFT JOIN sizes z ON z.cluster = a.cluster AND z.topic = a.topic
WHERE a.rf > a.usual AND a.usual > 0
ORDER BY spare_bytes DESC, a.cluster, a.topic

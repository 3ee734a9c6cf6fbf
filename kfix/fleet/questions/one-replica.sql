-- Which topics have one replica, so that a dead disk is a loss?
-- columns: cluster, owner, topic, partitions, bytes
-- tables: topics, replica_sizes, clusters
-- facts: log_dirs
WITH owners AS (
  SELECT x.cluster, x.owner
  FROM (SELECT c.cluster, c.owner, ROW_NUMBER() OVER (PARTITION BY c.cluster ORDER BY c.day DESC, c.run DESC) AS place
        FROM clusters c) x
  WHERE x.place = 1
), sizes AS (
  SELECT r.cluster, r.topic, CAST(SUM(r.bytes) AS BIGINT) AS bytes FROM replica_sizes r GROUP BY r.cluster, r.topic
)
SELECT t.cluster, o.owner, t.topic, t.partitions, z.bytes
FROM topics t
     LEFT JOIN sizes z ON z.cluster = t.cluster AND z.topic = t.topic
     LEFT JOIN owners o ON o.cluster = t.cluster
WHERE t.rf_min = 1 AND NOT t.deleting
ORDER BY t.cluster, z.bytes DESC, t.topic

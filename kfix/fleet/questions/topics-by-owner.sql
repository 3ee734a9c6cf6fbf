-- How many topics, partitions and bytes has each owner?
-- columns: owner, clusters, topics, partitions, bytes
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
SELECT COALESCE(o.owner, '') AS owner, CAST(COUNT(DISTINCT t.cluster) AS BIGINT) AS clusters,
       CAST(COUNT(*) AS BIGINT) AS topics, CAST(SUM(t.partitions) AS BIGINT) AS partitions,
       CAST(SUM(z.bytes) AS BIGINT) AS bytes
FROM topics t
     LEFT JOIN sizes z ON z.cluster = t.cluster AND z.topic = t.topic
     LEFT JOIN owners o ON o.cluster = t.cluster
WHERE NOT t.internal
GROUP BY COALESCE(o.owner, '')
ORDER BY bytes DESC, owner

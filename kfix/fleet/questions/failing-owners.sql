-- Which owners have most outages for each of their clusters?
-- columns: owner, clusters, outages, open, a_cluster
-- tables: episodes
WITH each_once AS (
  SELECT e.*, ROW_NUMBER() OVER (PARTITION BY e.cluster, e.key, e.began ORDER BY e.day DESC, e.run DESC) AS place
  FROM episodes e
  WHERE NOT e.prevention AND NOT e.muted AND e.worst = 2
)
SELECT e.owner, CAST(COUNT(DISTINCT e.cluster) AS BIGINT) AS clusters, CAST(COUNT(*) AS BIGINT) AS outages,
       CAST(SUM(CASE WHEN e.ended IS NULL THEN 1 ELSE 0 END) AS BIGINT) AS open,
       CAST(FLOOR(CAST(COUNT(*) AS DOUBLE) / COUNT(DISTINCT e.cluster)) AS BIGINT) AS a_cluster
FROM each_once e
WHERE e.place = 1
GROUP BY e.owner
ORDER BY a_cluster DESC, outages DESC, e.owner

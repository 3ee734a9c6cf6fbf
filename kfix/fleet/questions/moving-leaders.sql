-- Which partitions changed their leader most often in these days?
-- columns: cluster, topic, partition, times, days, first, last
-- tables: partition_changes
WITH states AS (
  SELECT p.cluster, p.topic, p.partition, p.day, p.valid_from, p.why, p.leader, p.leader_before,
         LAG(p.leader) OVER w AS last_leader
  FROM partition_changes p
  WHERE p.leader IS NOT NULL AND p.why <> 'first'
  WINDOW w AS (PARTITION BY p.cluster, p.topic, p.partition
               ORDER BY p.valid_from, COALESCE(p.version, -1), COALESCE(p.epoch, -1), COALESCE(p.record, -1), p.source)
)
SELECT t.cluster, t.topic, t.partition, CAST(COUNT(*) AS BIGINT) AS times, CAST(COUNT(DISTINCT t.day) AS BIGINT) AS days,
       MIN(t.valid_from) AS first, MAX(t.valid_from) AS last
FROM states t
WHERE t.leader <> COALESCE(t.last_leader, t.leader_before) AND t.why <> 'created' AND t.why <> 'recreated'
GROUP BY t.cluster, t.topic, t.partition
HAVING COUNT(*) >= 2
ORDER BY times DESC, t.cluster, t.topic, t.partition
LIMIT 100

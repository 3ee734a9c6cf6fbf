-- Which partitions change their leader most often?
-- columns: cluster, topic, partition, times, days
-- tables: partition_changes
SELECT t.cluster, t.topic, t.partition, CAST(COUNT(*) AS BIGINT) AS times, CAST(COUNT(DISTINCT t.day) AS BIGINT) AS days
FROM partition_changes t
WHERE t.leader <> t.leader_before AND t.why <> 'created' AND t.why <> 'recreated'
GROUP BY t.cluster, t.topic, t.partition
HAVING COUNT(*) >= 2
ORDER BY times DESC, t.cluster, t.topic, t.partition
LIMIT 100

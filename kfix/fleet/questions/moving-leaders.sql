-- Which partitions change their leader most often?
-- columns: cluster, topic, partition, times, runs
-- tables: transitions
SELECT t.cluster, t.topic, t.partition, CAST(SUM(t.times) AS BIGINT) AS times, CAST(COUNT(*) AS BIGINT) AS runs
FROM transitions t
WHERE t.subject = 'partition' AND t.kind = 'leader'
GROUP BY t.cluster, t.topic, t.partition
HAVING COUNT(*) >= 2
ORDER BY times DESC, t.cluster, t.topic, t.partition
LIMIT 100

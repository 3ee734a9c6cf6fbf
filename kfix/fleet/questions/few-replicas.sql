-- Which topics have fewer replicas than the number of brokers allows (at most 3)?
-- columns: cluster, topic, rf, advised, partitions
-- tables: partitions
SELECT p.cluster, p.topic, MIN(p.target_rf) AS rf, MAX(p.advised_rf) AS advised, CAST(COUNT(*) AS BIGINT) AS partitions
FROM partitions p
WHERE p.target_rf < p.advised_rf AND NOT p.deleting
GROUP BY p.cluster, p.topic
ORDER BY rf, p.cluster, p.topic

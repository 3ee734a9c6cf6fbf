-- Which brokers lead far more partitions than their share, and what does an election of preferred leaders give back?
-- columns: cluster, broker, leads, mean, preferred, after
-- tables: brokers
WITH means AS (
  SELECT b.cluster, AVG(CAST(b.leads AS DOUBLE)) AS mean, COUNT(*) AS brokers FROM brokers b
  WHERE b.alive OR b.responded
  GROUP BY b.cluster
)
SELECT b.cluster, b.broker, b.leads, CAST(FLOOR(m.mean) AS BIGINT) AS mean, b.preferred,
       CASE WHEN b.preferred < b.leads THEN b.preferred ELSE b.leads END AS after
FROM brokers b JOIN means m ON m.cluster = b.cluster
WHERE m.brokers > 1 AND b.leads > m.mean * 1.25 AND b.leads >= m.mean + 2
ORDER BY b.leads - m.mean DESC, b.cluster, b.broker

-- Which brokers coordinate far more groups than their share?
-- columns: cluster, broker, groups_here, mean
-- tables: groups, brokers
WITH load AS (
  SELECT b.cluster, b.broker, COUNT(g.coordinator) AS n
  FROM brokers b LEFT JOIN groups g ON g.cluster = b.cluster AND g.coordinator = b.broker
  WHERE b.alive OR b.responded
  GROUP BY b.cluster, b.broker
), means AS (
  SELECT l.*, AVG(CAST(l.n AS DOUBLE)) OVER (PARTITION BY l.cluster) AS mean FROM load l
)
SELECT m.cluster, m.broker, CAST(m.n AS BIGINT) AS groups_here, CAST(FLOOR(m.mean) AS BIGINT) AS mean
FROM means m
WHERE m.n > m.mean * 1.5 AND m.n >= m.mean + 2
ORDER BY m.n - m.mean DESC, m.cluster, m.broker

-- Which brokers restart or disappear again and again?
-- columns: cluster, broker, rack, runs, times, last_day
-- tables: transitions
SELECT t.cluster, t.broker, MAX(t.rack) AS rack, CAST(COUNT(*) AS BIGINT) AS runs,
       CAST(SUM(t.times) AS BIGINT) AS times,
       MAX(t.day) AS last_day
FROM transitions t
WHERE t.subject = 'broker' AND t.kind IN ('restart', 'gone')
GROUP BY t.cluster, t.broker
HAVING COUNT(*) >= 2
ORDER BY runs DESC, times DESC, t.cluster, t.broker

-- In which racks do brokers disappear again and again?
-- columns: cluster, rack, brokers, times, last_day
-- tables: transitions
SELECT t.cluster, t.rack, CAST(COUNT(DISTINCT t.broker) AS BIGINT) AS brokers, CAST(SUM(t.times) AS BIGINT) AS times,
       MAX(t.day) AS last_day
FROM transitions t
WHERE t.subject = 'broker' AND t.kind = 'gone' AND t.rack IS NOT NULL
GROUP BY t.cluster, t.rack
HAVING SUM(t.times) >= 2
ORDER BY times DESC, brokers DESC, t.cluster, t.rack

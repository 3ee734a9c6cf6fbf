-- Which forecast failure of a broker happened, and what did it stop?
-- columns: cluster, broker, forecast_day, day, forecast_stops, leaderless
-- tables: scenarios, transitions, topics
-- runs: 30
WITH stopped AS (
  SELECT t.cluster, t.day, t.run, CAST(SUM(t.leaderless) AS BIGINT) AS leaderless
  FROM topics t GROUP BY t.cluster, t.day, t.run
)
SELECT t.cluster, t.broker, s.day AS forecast_day, t.day, s.stops AS forecast_stops, n.leaderless
FROM transitions t
     JOIN scenarios s ON s.cluster = t.cluster AND s.day = t.previous_day AND s.run = t.previous_run
                         AND s.kind = 'broker' AND s.down = t.object
     LEFT JOIN stopped n ON n.cluster = t.cluster AND n.day = t.day AND n.run = t.run
WHERE t.subject = 'broker' AND t.kind = 'gone' AND s.stops > 0
ORDER BY t.day, s.stops DESC, t.cluster, t.broker

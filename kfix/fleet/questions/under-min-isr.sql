-- Which topics were below min.insync.replicas, in how many runs?
-- columns: cluster, topic, runs, first_day, last_day, peak
-- tables: topics
-- runs: 30
SELECT t.cluster, t.topic, CAST(COUNT(*) AS BIGINT) AS runs, MIN(t.day) AS first_day, MAX(t.day) AS last_day,
       MAX(t.under_min_isr) AS peak
FROM topics t
WHERE t.under_min_isr > 0
GROUP BY t.cluster, t.topic
ORDER BY runs DESC, peak DESC, t.cluster, t.topic

-- How long do outages last (MTTR), and how far apart do they begin (MTBF), by check?
-- columns: code, outages, ended, mean_hours, longest_hours, hours_between
-- tables: episodes
WITH each_once AS (
  SELECT e.*, ROW_NUMBER() OVER (PARTITION BY e.cluster, e.key, e.began ORDER BY e.day DESC, e.run DESC) AS place
  FROM episodes e
  WHERE NOT e.prevention AND NOT e.muted AND e.worst = 2
), timed AS (
  SELECT e.code, EXTRACT(DAY FROM (e.ended - e.began)) * 24 + EXTRACT(HOUR FROM (e.ended - e.began)) AS hours,
         EXTRACT(DAY FROM (e.began - LAG(e.began) OVER w)) * 24
           + EXTRACT(HOUR FROM (e.began - LAG(e.began) OVER w)) AS apart
  FROM each_once e
  WHERE e.place = 1
  WINDOW w AS (PARTITION BY e.cluster, e.code ORDER BY e.began, e.key)
)
SELECT t.code, CAST(COUNT(*) AS BIGINT) AS outages, CAST(COUNT(t.hours) AS BIGINT) AS ended,
       CAST(FLOOR(AVG(CAST(t.hours AS DOUBLE))) AS BIGINT) AS mean_hours, CAST(MAX(t.hours) AS BIGINT) AS longest_hours,
       CAST(FLOOR(AVG(CAST(t.apart AS DOUBLE))) AS BIGINT) AS hours_between
FROM timed t
GROUP BY t.code
ORDER BY outages DESC, t.code

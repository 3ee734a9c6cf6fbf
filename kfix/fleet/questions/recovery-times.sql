-- How many seconds do outages last (MTTR), at least and at most, and how far apart do they begin (MTBF), by check?
-- columns: code, outages, ended, mean_least, mean_most, longest_least, longest_most, mean_between
-- tables: episodes
-- unknown: what began and ended between two audits: leaderless-times has the seconds of partitions without a leader
WITH each_once AS (
  SELECT e.*, ROW_NUMBER() OVER (PARTITION BY e.cluster, e.key, e.began ORDER BY e.day DESC, e.run DESC) AS place
  FROM episodes e
  WHERE NOT e.prevention AND NOT e.muted AND e.worst = 2
), spans AS (
  SELECT e.code, CASE WHEN e.ended IS NOT NULL THEN e.last_seen - e.began END AS least, e.ended - e.not_before AS most,
         e.began - LAG(e.began) OVER (PARTITION BY e.cluster, e.code ORDER BY e.began, e.key) AS apart
  FROM each_once e
  WHERE e.place = 1
), timed AS (
  SELECT s.code,
         EXTRACT(DAY FROM s.least) * 86400 + EXTRACT(HOUR FROM s.least) * 3600 + EXTRACT(MINUTE FROM s.least) * 60
           + EXTRACT(SECOND FROM s.least) AS least,
         EXTRACT(DAY FROM s.most) * 86400 + EXTRACT(HOUR FROM s.most) * 3600 + EXTRACT(MINUTE FROM s.most) * 60
           + EXTRACT(SECOND FROM s.most) AS most,
         EXTRACT(DAY FROM s.apart) * 86400 + EXTRACT(HOUR FROM s.apart) * 3600 + EXTRACT(MINUTE FROM s.apart) * 60
           + EXTRACT(SECOND FROM s.apart) AS apart
  FROM spans s
)
SELECT t.code, CAST(COUNT(*) AS BIGINT) AS outages, CAST(COUNT(t.least) AS BIGINT) AS ended,
       CAST(FLOOR(AVG(CAST(t.least AS DOUBLE))) AS BIGINT) AS mean_least,
       CASE WHEN COUNT(t.most) = COUNT(t.least) THEN CAST(FLOOR(AVG(CAST(t.most AS DOUBLE))) AS BIGINT) END AS mean_most,
       CAST(FLOOR(MAX(CAST(t.least AS DOUBLE))) AS BIGINT) AS longest_least,
       CASE WHEN COUNT(t.most) = COUNT(t.least) THEN CAST(FLOOR(MAX(CAST(t.most AS DOUBLE))) AS BIGINT) END
         AS longest_most,
       CAST(FLOOR(AVG(CAST(t.apart AS DOUBLE))) AS BIGINT) AS mean_between
FROM timed t
GROUP BY t.code
ORDER BY outages DESC, t.code

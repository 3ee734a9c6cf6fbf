-- Which critical findings are open for the longest time?
-- columns: cluster, key, days, since, partitions, summary
-- tables: findings, clusters, audits
WITH last_audits AS (
  SELECT c.cluster, c.day, c.run, ROW_NUMBER() OVER (PARTITION BY c.cluster ORDER BY a.began DESC, c.run DESC) AS place
  FROM clusters c JOIN audits a ON a.day = c.day AND a.run = c.run
)
SELECT f.cluster, f.key, f.days, f.since, f.n_partitions AS partitions, f.summary
FROM findings f JOIN last_audits n ON n.cluster = f.cluster AND n.day = f.day AND n.run = f.run AND n.place = 1
WHERE f.severity = 'critical' AND f.status <> 'fixed' AND f.head = '' AND NOT f.muted
ORDER BY f.since, f.cluster, f.key

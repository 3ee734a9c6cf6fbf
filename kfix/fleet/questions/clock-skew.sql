-- Which clusters were read by a wrong clock?
-- columns: cluster, since, summary
-- tables: findings, clusters, audits
WITH last_audits AS (
  SELECT c.cluster, c.day, c.run, ROW_NUMBER() OVER (PARTITION BY c.cluster ORDER BY a.began DESC, c.run DESC) AS place
  FROM clusters c JOIN audits a ON a.day = c.day AND a.run = c.run
)
SELECT f.cluster, f.since, f.summary
FROM findings f JOIN last_audits n ON n.cluster = f.cluster AND n.day = f.day AND n.run = f.run AND n.place = 1
WHERE f.code = 'KFX705' AND f.status <> 'fixed'
ORDER BY f.since, f.cluster

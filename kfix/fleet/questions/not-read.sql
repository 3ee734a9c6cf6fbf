-- What could not be read?
-- columns: cluster, source, why
-- tables: snapshots, sources, facts
SELECT s.cluster, 'cluster' AS source, s.why FROM snapshots s WHERE NOT s.collected
UNION ALL
SELECT s.cluster, s.source, s.error AS why FROM sources s WHERE NOT s.ok
UNION ALL
SELECT f.cluster, CASE WHEN f.broker IS NULL THEN f.fact ELSE f.fact || ' of broker ' || CAST(f.broker AS STRING) END
         AS source, f.why
FROM facts f WHERE NOT f.was_read
UNION ALL
SELECT s.cluster, 'facts' AS source, 'its snapshot was taken without the facts of a fleet' AS why
FROM snapshots s
     LEFT JOIN (SELECT DISTINCT f.cluster, f.day, f.run FROM facts f) k
          ON k.cluster = s.cluster AND k.day = s.day AND k.run = s.run
WHERE s.collected AND k.cluster IS NULL
ORDER BY cluster, source, why

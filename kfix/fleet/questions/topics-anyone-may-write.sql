-- Which topics may anyone write?
-- columns: cluster, topic, principal, origin
-- tables: acls, topics
-- facts: acls
WITH open_rules AS (
  SELECT a.* FROM acls a
  WHERE a.principal IN ('User:*', 'User:ANONYMOUS') AND a.resource_type IN ('topic', 'any')
        AND a.operation IN ('write', 'all')
), allowed AS (
  SELECT t.cluster, t.topic, a.principal, MIN(a.origin) AS origin
  FROM topics t
       JOIN open_rules a ON a.cluster = t.cluster AND a.permission = 'allow'
            AND (a.resource = '*' OR a.resource = t.topic
                 OR (a.prefixed AND SUBSTRING(t.topic, 1, LENGTH(a.resource)) = a.resource))
  GROUP BY t.cluster, t.topic, a.principal
), denied AS (
  -- A rule that denies goes before all that allow.
  SELECT DISTINCT t.cluster, t.topic, a.principal
  FROM topics t
       JOIN open_rules a ON a.cluster = t.cluster AND a.permission = 'deny' AND a.host = '*'
            AND (a.resource = '*' OR a.resource = t.topic
                 OR (a.prefixed AND SUBSTRING(t.topic, 1, LENGTH(a.resource)) = a.resource))
)
SELECT a.cluster, a.topic, a.principal, a.origin
FROM allowed a
     LEFT JOIN denied d ON d.cluster = a.cluster AND d.topic = a.topic
                           AND (d.principal = a.principal OR d.principal = 'User:*')
WHERE d.topic IS NULL
ORDER BY a.cluster, a.topic, a.principal

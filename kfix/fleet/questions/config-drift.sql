-- Which settings differ between the brokers of a cluster?
-- columns: cluster, key, least, most, brokers, of_brokers
-- tables: settings, facts
-- facts: settings
WITH read_brokers AS (
  SELECT f.cluster, COUNT(*) AS brokers FROM facts f WHERE f.fact = 'settings' AND f.was_read GROUP BY f.cluster
), keys AS (
  SELECT s.cluster, s.key, MIN(s.value) AS least, MAX(s.value) AS most, COUNT(*) AS brokers
  FROM settings s
  WHERE s.kind = 'broker' AND s.key NOT IN (
    'broker.id', 'node.id', 'broker.rack', 'listeners', 'advertised.listeners', 'advertised.host.name',
    'advertised.port', 'host.name', 'port', 'log.dir', 'log.dirs', 'metadata.log.dir', 'process.roles',
    'controller.listener.names', 'leader.replication.throttled.rate', 'follower.replication.throttled.rate'
  )
  GROUP BY s.cluster, s.key
)
SELECT k.cluster, k.key, k.least, k.most, CAST(k.brokers AS BIGINT) AS brokers, CAST(r.brokers AS BIGINT) AS of_brokers
FROM keys k JOIN read_brokers r ON r.cluster = k.cluster
WHERE k.least <> k.most OR k.brokers < r.brokers
ORDER BY k.cluster, k.key

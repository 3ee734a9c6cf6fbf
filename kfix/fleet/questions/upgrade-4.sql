-- What stands in the way of an upgrade to Kafka 4, and which settings have no effect there?
-- columns: cluster, what, kind, name, value, effect
-- tables: settings, snapshots
-- facts: settings, topic_settings
-- unknown: which versions of the protocol clients use: only the brokers' metric DeprecatedRequestsPerSec (3.7) shows it
WITH removed AS (
  SELECT s.cluster, s.kind, s.name, s.key, s.value
  FROM settings s
  WHERE s.source IN ('file', 'broker', 'cluster', 'topic') AND s.key IN (
    'advertised.host.name', 'advertised.port', 'auto.include.jmx.reporter',
    'broker.id.generation.enable', 'control.plane.listener.name', 'controlled.shutdown.max.retries',
    'controlled.shutdown.retry.backoff.ms', 'delegation.token.master.key', 'host.name',
    'inter.broker.protocol.version', 'leader.imbalance.per.broker.percentage',
    'log.message.downconversion.enable', 'log.message.format.version',
    'log.message.timestamp.difference.max.ms', 'offsets.commit.required.acks',
    'password.encoder.cipher.algorithm', 'password.encoder.iterations', 'password.encoder.key.length',
    'password.encoder.keyfactory.algorithm', 'password.encoder.old.secret', 'password.encoder.secret',
    'port', 'quota.consumer.default', 'quota.producer.default', 'reserved.broker.max.id',
    'message.downconversion.enable', 'message.format.version', 'message.timestamp.difference.max.ms'
  )
)
SELECT s.cluster, 'zookeeper' AS what, 'cluster' AS kind, s.cluster AS name, 'zk' AS value,
       'blocks: Kafka 4 has no ZooKeeper; migrate to KRaft on 3.9 first' AS effect
FROM snapshots s
WHERE s.mode = 'zk'
UNION ALL
SELECT s.cluster, s.key AS what, s.kind, s.name, s.value,
       'blocks: the level has to be that of 3.3 (7) at least' AS effect
FROM settings s
WHERE s.source = 'feature' AND s.key = 'metadata.version' AND CAST(s.value AS BIGINT) < 7
UNION ALL
SELECT s.cluster, s.key AS what, s.kind, s.name, s.value, 'blocks: upgrade the software to 3.9 first' AS effect
FROM settings s
WHERE s.source = 'software'
      AND (s.value LIKE '0.%' OR s.value LIKE '1.%' OR s.value LIKE '2.%' OR s.value LIKE '3.0%'
           OR s.value LIKE '3.1%' OR s.value LIKE '3.2%')
UNION ALL
SELECT r.cluster, r.key AS what, r.kind, r.name, r.value,
       CASE WHEN r.key LIKE '%message.format.version' AND (r.value LIKE '0.8%' OR r.value LIKE '0.9%'
                                                           OR r.value LIKE '0.10%')
            THEN 'changes: Kafka 4 writes records in format 2 only, which clients before 0.11 cannot read'
            ELSE 'no effect: Kafka 4 has no such setting' END AS effect
FROM removed r
ORDER BY cluster, effect, what, kind, name

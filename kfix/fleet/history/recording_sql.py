"""The statements with which an audit records history, which DuckDB and Spark evaluate alike.

To the rules of `kfix.fleet.audit.sql` they add: text is STRING; a row that yields several is joined with the list of
kinds, so that each large table is scanned once.
"""

from typing import Final

#: A row for each change since the previous run, but for those of partitions. `pairs` has for each cluster that both
#: runs read: the previous `day` and `run`, and the `seconds` between them. `topics`, `brokers`, `groups` and
#: `snapshots` are of this run; the tables `old_...` have the runs that `pairs` names; `recreated` are topics that were
#: created again.
TRANSITIONS: Final = """
WITH topics_now AS (
  SELECT t.cluster, t.topic, t.partitions FROM topics t JOIN pairs p ON p.cluster = t.cluster
), topics_before AS (
  SELECT t.cluster, t.topic, t.partitions
  FROM old_topics t JOIN pairs p ON p.cluster = t.cluster AND p.day = t.day AND p.run = t.run
), of_topics AS (
  SELECT p.cluster, 'topic' AS subject, COALESCE(n.topic, o.topic) AS object,
         CASE WHEN o.topic IS NULL THEN 'created' WHEN n.topic IS NULL THEN 'deleted'
              WHEN r.topic IS NOT NULL THEN 'recreated' ELSE 'partitions' END AS kind,
         CAST(NULL AS BIGINT) AS broker,
         CAST(NULL AS STRING) AS rack, CAST(o.partitions AS STRING) AS before, CAST(n.partitions AS STRING) AS after,
         CAST(1 AS BIGINT) AS times, p.day, p.run, p.seconds
  FROM topics_now n FULL OUTER JOIN topics_before o ON o.cluster = n.cluster AND o.topic = n.topic
       JOIN pairs p ON p.cluster = COALESCE(n.cluster, o.cluster)
       LEFT JOIN recreated r ON r.cluster = n.cluster AND r.topic = n.topic
  WHERE n.topic IS NULL OR o.topic IS NULL OR n.partitions <> o.partitions OR r.topic IS NOT NULL
), brokers_now AS (
  SELECT b.cluster, b.broker, b.rack, b.broker_epoch,
         CASE WHEN b.registered IS NOT NULL THEN b.registered ELSE b.host IS NOT NULL END AS there
  FROM brokers b JOIN pairs p ON p.cluster = b.cluster
), brokers_before AS (
  SELECT b.cluster, b.broker, b.rack, b.broker_epoch,
         CASE WHEN b.registered IS NOT NULL THEN b.registered ELSE b.host IS NOT NULL END AS there
  FROM old_brokers b JOIN pairs p ON p.cluster = b.cluster AND p.day = b.day AND p.run = b.run
), of_brokers AS (
  SELECT p.cluster, 'broker' AS subject, CAST(COALESCE(n.broker, o.broker) AS STRING) AS object,
         CASE WHEN COALESCE(n.there, false) AND o.broker IS NULL THEN 'new'
              WHEN COALESCE(n.there, false) AND NOT o.there THEN 'back'
              WHEN NOT COALESCE(n.there, false) AND COALESCE(o.there, false) THEN 'gone'
              WHEN n.there AND o.there AND n.broker_epoch <> o.broker_epoch THEN 'restart'
              END AS kind,
         COALESCE(n.broker, o.broker) AS broker,
         COALESCE(n.rack, o.rack) AS rack,
         CASE WHEN o.there THEN CAST(o.broker_epoch AS STRING) END AS before,
         CASE WHEN n.there THEN CAST(n.broker_epoch AS STRING) END AS after,
         CAST(1 AS BIGINT) AS times, p.day, p.run, p.seconds
  FROM brokers_now n FULL OUTER JOIN brokers_before o ON o.cluster = n.cluster AND o.broker = n.broker
       JOIN pairs p ON p.cluster = COALESCE(n.cluster, o.cluster)
), of_groups AS (
  SELECT n.cluster, 'group' AS subject, n.name AS object, k.kind,
         CAST(NULL AS BIGINT) AS broker,
         CAST(NULL AS STRING) AS rack,
         CASE WHEN k.kind = 'state' THEN o.state ELSE CAST(o.coordinator AS STRING) END AS before,
         CASE WHEN k.kind = 'state' THEN n.state ELSE CAST(n.coordinator AS STRING) END AS after,
         CAST(CASE WHEN k.kind = 'state' AND n.state <> o.state THEN 1
                   WHEN k.kind = 'coordinator' AND COALESCE(n.coordinator, -1) <> COALESCE(o.coordinator, -1) THEN 1
                   ELSE 0 END AS BIGINT) AS times,
         p.day, p.run, p.seconds
  FROM (SELECT g.cluster, g.group AS name, g.coordinator, g.state FROM groups g) n
       JOIN pairs p ON p.cluster = n.cluster
       JOIN (SELECT g.cluster, g.day, g.run, g.group AS name, g.coordinator, g.state FROM old_groups g) o
            ON o.cluster = n.cluster AND o.name = n.name AND o.day = p.day AND o.run = p.run
       CROSS JOIN (SELECT 'coordinator' AS kind UNION ALL SELECT 'state' AS kind) k
), of_clusters AS (
  SELECT n.cluster, 'cluster' AS subject, n.cluster AS object, 'controller' AS kind,
         CAST(NULL AS BIGINT) AS broker,
         CAST(NULL AS STRING) AS rack, CAST(o.controller AS STRING) AS before, CAST(n.controller AS STRING) AS after,
         CASE WHEN n.mode = 'zk' AND o.mode = 'zk' AND n.controller_epoch > o.controller_epoch
              THEN n.controller_epoch - o.controller_epoch ELSE CAST(1 AS BIGINT) END AS times,
         p.day, p.run, p.seconds
  FROM snapshots n
       JOIN pairs p ON p.cluster = n.cluster
       JOIN old_snapshots o ON o.cluster = n.cluster AND o.day = p.day AND o.run = p.run
  WHERE n.controller <> o.controller OR n.controller_epoch > o.controller_epoch
)
SELECT cluster, subject, object, kind, broker, rack, before, after, times,
       day AS previous_day, run AS previous_run, seconds
FROM (SELECT * FROM of_topics UNION ALL SELECT * FROM of_brokers
      UNION ALL SELECT * FROM of_groups UNION ALL SELECT * FROM of_clusters) all_of_them
WHERE times > 0 AND kind IS NOT NULL
"""
#: The order of its rows.
TRANSITIONS_ORDER: Final = ("cluster", "subject", "object", "kind")

#: The episodes after an audit: those that are open, and those that end with it. `found` are its findings,
#: `open_before` the episodes that were open in the previous audit of each cluster; `known` has a row for each cluster
#: of this audit: `owner`, `version`, `at` (the begin of this run) and `not_before` (that of the last run before which
#: read the whole cluster). The time zone of the session is UTC. A finding that begins today although one with its key
#: was open is about a topic that was created again: what became of the earlier one is not known.
EPISODES: Final = """
SELECT f.cluster, f.key, f.code, k.owner, k.version, f.prevention, f.muted,
       COALESCE(e.began, CASE WHEN f.days = 0 THEN k.at ELSE CAST(f.since AS TIMESTAMP) END) AS began,
       CASE WHEN e.key IS NOT NULL THEN e.not_before WHEN f.days = 0 THEN k.not_before END AS not_before,
       CASE WHEN f.status <> 'fixed' AND f.status <> 'unknown' THEN k.at
            ELSE COALESCE(e.last_seen, CAST(f.since AS TIMESTAMP)) END AS last_seen,
       CASE WHEN f.status = 'fixed' THEN k.at END AS ended,
       f.status = 'unknown' AS unknown,
       COALESCE(e.audits, 0) + CASE WHEN f.status <> 'fixed' AND f.status <> 'unknown' THEN 1 ELSE 0 END AS audits,
       COALESCE(e.unread, 0) + CASE WHEN f.status = 'unknown' THEN 1 ELSE 0 END AS unread,
       CASE WHEN e.worst > f.rank THEN e.worst ELSE f.rank END AS worst,
       f.n_partitions AS partitions,
       CASE WHEN e.peak_partitions > f.n_partitions THEN e.peak_partitions ELSE f.n_partitions END AS peak_partitions
FROM found f
     JOIN known k ON k.cluster = f.cluster
     LEFT JOIN open_before e ON e.cluster = f.cluster AND e.key = f.key
                                AND NOT (f.status = 'new' AND f.days = 0 AND CAST(e.began AS DATE) < f.since)
"""
#: The order of its rows.
EPISODES_ORDER: Final = ("cluster", "key")

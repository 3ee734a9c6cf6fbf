"""The statements that answer questions about many audits, which DuckDB and Spark evaluate alike.

`ordered` has a row for each audit: `day`, `run`, `seq` (its place in time) and `at_s` (the begin of its run, in
seconds since the epoch). `chosen` has a row for each cluster: `last_seq` (the last audit that includes it), `away`
(that was long before the last audit) and `seconds` (from the first to the last audit that read it).
"""

from typing import Final


def twelfths(of: str = "") -> str:
    """Returns the expression for 12 times the points of a score card, in whole numbers, from its risk."""
    return f"{of}risk * CASE {of}criticality WHEN 'low' THEN 12 WHEN 'normal' THEN 6 WHEN 'high' THEN 4 ELSE 3 END"


#: The last card of each cluster, and when it was first and last read.
CARDS: Final = """
WITH cards AS (
  SELECT c.cluster, c.owner, c.collected, c.partitions, o.seq, o.at_s,
         ROW_NUMBER() OVER (PARTITION BY c.cluster ORDER BY o.seq DESC) AS place,
         ROW_NUMBER() OVER (PARTITION BY c.cluster, c.collected ORDER BY o.seq DESC) AS place_if_read
  FROM clusters c JOIN ordered o ON o.day = c.day AND o.run = c.run
)
SELECT cluster,
       MAX(CASE WHEN place = 1 THEN owner END) AS owner,
       CAST(MAX(seq) AS BIGINT) AS last_seq,
       CAST(MAX(at_s) AS BIGINT) AS last_at,
       CAST(MAX(CASE WHEN place = 1 AND collected THEN 1 ELSE 0 END) AS BIGINT) AS read_last,
       CAST(COALESCE(MAX(CASE WHEN collected THEN at_s END) - MIN(CASE WHEN collected THEN at_s END), 0) AS BIGINT)
         AS seconds,
       CAST(COALESCE(MAX(CASE WHEN collected AND place_if_read = 1 THEN partitions END), 0) AS BIGINT) AS partitions
FROM cards GROUP BY cluster ORDER BY cluster
"""

#: Each episode once, as the last audit has it. One that is in no row of the last audit of its cluster is unknown: an
#: audit was repeated, or another key took its place.
EPISODES: Final = """
WITH all_rows AS (
  SELECT e.*, o.seq, c.last_seq, c.away,
         ROW_NUMBER() OVER (PARTITION BY e.cluster, e.key, e.began ORDER BY o.seq DESC) AS place
  FROM episodes e
       JOIN ordered o ON o.day = e.day AND o.run = e.run
       JOIN chosen c ON c.cluster = e.cluster
), each_once AS (
  SELECT a.*, ROW_NUMBER() OVER (PARTITION BY cluster, key ORDER BY began) AS number
  FROM all_rows a WHERE place = 1
)
SELECT cluster, key, code, owner, version, prevention, muted, began, not_before, last_seen, ended,
       CASE WHEN ended IS NOT NULL THEN 'ended'
            WHEN unknown OR away OR seq < last_seq THEN 'unknown'
            ELSE 'open' END AS state,
       audits, unread, worst, partitions, peak_partitions, CAST(number - 1 AS BIGINT) AS reopened
FROM each_once
ORDER BY cluster, key, began
"""

#: The order of the states of a partition. Of two at one time the later one has the greater version.
_IN_ORDER: Final = """
PARTITION BY p.cluster, p.topic, p.partition
ORDER BY p.valid_from, COALESCE(p.version, -1), COALESCE(p.epoch, -1), COALESCE(p.record, -1), p.source
"""
#: How often leader and ISR of each partition changed, as `counted`. A state that the watch and a snapshot saw counts
#: once, since each is compared with the last known one. A write of ZooKeeper's record with the same epoch is one of the
#: ISR.
_COUNTED: Final = f"""
states AS (
  SELECT p.cluster, p.topic, p.partition, p.day, p.valid_from, p.record, p.source, p.why, p.leader, p.epoch, p.version,
         p.isr, p.leader_before, p.epoch_before, p.version_before, p.isr_before
  FROM partition_changes p JOIN chosen c ON c.cluster = p.cluster
  WHERE p.leader IS NOT NULL AND p.why <> 'first'
), known AS (
  SELECT p.*, LAG(p.why) OVER w AS last_why, LAG(p.leader) OVER w AS last_leader, LAG(p.epoch) OVER w AS last_epoch,
         LAG(p.version) OVER w AS last_version, LAG(p.isr) OVER w AS last_isr
  FROM states p
  WINDOW w AS ({_IN_ORDER})
), compared AS (
  SELECT cluster, topic, partition, day, leader, epoch, version, isr,
         CASE WHEN last_why IS NULL THEN leader_before ELSE last_leader END AS old_leader,
         CASE WHEN last_why IS NULL THEN epoch_before ELSE last_epoch END AS old_epoch,
         CASE WHEN last_why IS NULL THEN version_before ELSE last_version END AS old_version,
         CASE WHEN last_why IS NULL THEN isr_before ELSE last_isr END AS old_isr
  FROM known
  WHERE why <> 'created' AND why <> 'recreated'
), counted AS (
  SELECT cluster, topic, partition, day, CASE WHEN leader <> old_leader THEN 1 ELSE 0 END AS leaders,
         CASE WHEN (version - old_version) - (epoch - old_epoch) > 0 THEN (version - old_version) - (epoch - old_epoch)
              WHEN array_sort(isr) <> array_sort(old_isr) THEN 1 ELSE 0 END AS isrs
  FROM compared
)"""  # noqa: S608 - no values of others

#: What changed on at least three days, and at least once in three days.
FLAPPING: Final = f"""
WITH {_COUNTED}, changed AS (
  SELECT t.cluster, t.subject, t.object, t.day, t.times,
         CAST(0 AS BIGINT) AS leader, CAST(0 AS BIGINT) AS isr,
         CASE WHEN t.kind = 'restart' THEN t.times ELSE 0 END AS restart,
         CASE WHEN t.kind = 'gone' THEN t.times ELSE 0 END AS gone,
         CASE WHEN t.kind = 'back' THEN t.times ELSE 0 END AS back,
         CASE WHEN t.kind = 'coordinator' THEN t.times ELSE 0 END AS coordinator,
         CASE WHEN t.kind = 'state' THEN t.times ELSE 0 END AS state
  FROM transitions t JOIN ordered o ON o.day = t.day AND o.run = t.run
  WHERE t.kind IN ('restart', 'gone', 'back', 'coordinator', 'state')
), sums AS (
  SELECT cluster, subject, object, CAST(SUM(times) AS BIGINT) AS changes,
         CAST(COUNT(DISTINCT day) AS BIGINT) AS days, MAX(day) AS last_day,
         CAST(SUM(leader) AS BIGINT) AS leader, CAST(SUM(isr) AS BIGINT) AS isr,
         CAST(SUM(restart) AS BIGINT) AS restart, CAST(SUM(gone) AS BIGINT) AS gone,
         CAST(SUM(back) AS BIGINT) AS back, CAST(SUM(coordinator) AS BIGINT) AS coordinator,
         CAST(SUM(state) AS BIGINT) AS state
  FROM changed GROUP BY cluster, subject, object
), of_partitions AS (
  SELECT cluster, topic, partition, CAST(SUM(leaders + isrs) AS BIGINT) AS changes,
         CAST(COUNT(DISTINCT day) AS BIGINT) AS days, MAX(day) AS last_day,
         CAST(SUM(leaders) AS BIGINT) AS leader, CAST(SUM(isrs) AS BIGINT) AS isr
  FROM counted WHERE leaders + isrs > 0 GROUP BY cluster, topic, partition
), both_of_them AS (
  SELECT cluster, subject, object, changes, days, last_day, leader, isr, restart, gone, back, coordinator, state
  FROM sums
  UNION ALL
  SELECT cluster, 'partition' AS subject, topic || '-' || CAST(partition AS STRING) AS object, changes, days, last_day,
         leader, isr, CAST(0 AS BIGINT) AS restart, CAST(0 AS BIGINT) AS gone, CAST(0 AS BIGINT) AS back,
         CAST(0 AS BIGINT) AS coordinator, CAST(0 AS BIGINT) AS state
  FROM of_partitions WHERE days >= 3
), placed AS (
  SELECT b.*, c.seconds, ROW_NUMBER() OVER (PARTITION BY subject ORDER BY changes DESC, b.cluster, object) AS place
  FROM both_of_them b JOIN chosen c ON c.cluster = b.cluster
  WHERE days >= 3 AND changes * 259200 >= c.seconds
)
SELECT cluster, subject, object, seconds, changes, days, last_day,
       leader, isr, restart, gone, back, coordinator, state
FROM placed WHERE place <= 1000
ORDER BY subject, place
"""  # noqa: S608 - no values of others

#: The changes of each cluster by kind. `counted` is named once, since an engine may compute it each time.
CHURN: Final = f"""
WITH {_COUNTED}, changed AS (
  SELECT t.cluster, t.kind, t.times
  FROM transitions t JOIN ordered o ON o.day = t.day AND o.run = t.run
  WHERE t.kind IN ('restart', 'controller')
  UNION ALL
  SELECT s.cluster, k.kind, CASE k.kind WHEN 'leader' THEN s.leaders ELSE s.isrs END AS times
  FROM (SELECT cluster, SUM(leaders) AS leaders, SUM(isrs) AS isrs FROM counted GROUP BY cluster) s
       CROSS JOIN (SELECT 'leader' AS kind UNION ALL SELECT 'isr' AS kind) k
)
SELECT t.cluster, t.kind, CAST(SUM(t.times) AS BIGINT) AS times
FROM changed t JOIN chosen c ON c.cluster = t.cluster
GROUP BY t.cluster, t.kind ORDER BY cluster, kind
"""  # noqa: S608 - no values of others

#: The states among these rows that no later one of them replaces: what a run knows of all runs before it.
LAST_STATES: Final = f"""
SELECT * FROM (
  SELECT p.*, LEAD(p.valid_from) OVER w AS replaced FROM partition_changes p WINDOW w AS ({_IN_ORDER})
) s WHERE replaced IS NULL AND why <> 'deleted'
"""  # noqa: S608 - no values of others

#: The states of each partition one after the other, each with the bounds of its end: the view `partition_history`. A
#: state that several saw is there once, with the closest bounds.
PARTITION_HISTORY: Final = f"""
WITH seen AS (
  SELECT p.*, LAG(p.valid_from) OVER w AS last_from, LAG(p.why) OVER w AS last_why, LAG(p.leader) OVER w AS last_leader,
         LAG(p.topic_id) OVER w AS last_id, LAG(p.epoch) OVER w AS last_epoch, LAG(p.version) OVER w AS last_version,
         array_sort(LAG(p.isr) OVER w) AS last_isr, LAG(p.replicas) OVER w AS last_replicas
  FROM partition_changes p
  WINDOW w AS ({_IN_ORDER})
), states AS (
  SELECT p.*, GREATEST(p.valid_from_after, p.last_from) AS since
  FROM seen p
  WHERE p.last_why IS NULL OR p.last_leader IS DISTINCT FROM p.leader OR COALESCE(p.last_id <> p.topic_id, false)
        OR (p.why = 'deleted') <> (p.last_why = 'deleted') OR COALESCE(p.last_epoch <> p.epoch, false)
        OR COALESCE(p.last_version <> p.version, false) OR COALESCE(p.last_isr <> array_sort(p.isr), false)
        OR COALESCE(p.last_replicas <> p.replicas, false)
)
SELECT p.cluster, p.topic, p.topic_id, p.partition, p.since AS valid_from_after, p.valid_from,
       LEAD(p.since) OVER w AS valid_to_after, LEAD(p.valid_from) OVER w AS valid_to,
       p.leader, p.epoch, p.isr, p.elr, p.replicas, p.version, p.why, p.source
FROM states p
WINDOW w AS ({_IN_ORDER})
"""  # noqa: S608 - no values of others

#: Brokers and racks with changes in at least two audits.
BROKER_OFFENDERS: Final = """
WITH changes AS (
  SELECT t.cluster, CAST(t.broker AS STRING) AS broker, t.rack, o.seq
  FROM transitions t
       JOIN ordered o ON o.day = t.day AND o.run = t.run
       JOIN chosen c ON c.cluster = t.cluster
  WHERE t.subject = 'broker' AND t.kind IN ('restart', 'gone')
), both_ways AS (
  SELECT 'broker' AS kind, cluster, broker AS name, seq FROM changes
  UNION ALL
  SELECT 'rack' AS kind, cluster, rack AS name, seq FROM changes WHERE rack IS NOT NULL
), sums AS (
  SELECT kind, cluster, name, CAST(COUNT(DISTINCT seq) AS BIGINT) AS audits, CAST(COUNT(*) AS BIGINT) AS times
  FROM both_ways GROUP BY kind, cluster, name
), placed AS (
  SELECT s.*, ROW_NUMBER() OVER (PARTITION BY kind ORDER BY audits DESC, times DESC, cluster, name) AS place
  FROM sums s WHERE audits >= 2
)
SELECT kind, cluster, name, audits, times FROM placed WHERE place <= 100 ORDER BY kind, place
"""

#: Topics that lacked leaders or in-sync replicas in at least two runs; `times` is the sum of such partitions.
TOPIC_OFFENDERS: Final = """
WITH sums AS (
  SELECT t.cluster, t.topic, CAST(COUNT(*) AS BIGINT) AS audits,
         CAST(SUM(t.leaderless + t.under_replicated) AS BIGINT) AS times
  FROM topics t
       JOIN ordered o ON o.day = t.day AND o.run = t.run
       JOIN chosen c ON c.cluster = t.cluster
  WHERE t.leaderless > 0 OR t.under_replicated > 0 OR t.under_min_isr > 0
  GROUP BY t.cluster, t.topic
), placed AS (
  SELECT s.*, ROW_NUMBER() OVER (ORDER BY audits DESC, times DESC, cluster, topic) AS place
  FROM sums s WHERE audits >= 2
)
SELECT cluster, topic AS name, audits, times FROM placed WHERE place <= 100 ORDER BY place
"""

#: One point a day for each cluster, of its last run of the day: partitions, and replicas by the brokers that hold them.
GROWTH: Final = """
WITH held AS (
  SELECT b.cluster, b.day, b.run, CAST(SUM(b.holds) AS BIGINT) AS replicas, CAST(MAX(b.holds) AS BIGINT) AS fullest,
         CAST(SUM(CASE WHEN b.host IS NOT NULL OR b.holds > 0 THEN 1 ELSE 0 END) AS BIGINT) AS brokers
  FROM brokers b GROUP BY b.cluster, b.day, b.run
), points AS (
  SELECT s.cluster, s.day, s.mode, s.partitions, h.replicas, h.fullest, h.brokers, o.at_s,
         ROW_NUMBER() OVER (PARTITION BY s.cluster, s.day ORDER BY o.seq DESC) AS place
  FROM snapshots s
       JOIN ordered o ON o.day = s.day AND o.run = s.run
       JOIN chosen c ON c.cluster = s.cluster
       JOIN held h ON h.cluster = s.cluster AND h.day = s.day AND h.run = s.run
  WHERE s.collected
)
SELECT cluster, at_s, mode, partitions, replicas, fullest, brokers
FROM points WHERE place = 1 ORDER BY cluster, at_s
"""

#: The scores of the clusters that two audits read, `now` and `before`.
SCORES_OF_BOTH: Final = f"""
SELECT CAST(COUNT(*) AS BIGINT) AS clusters, CAST(COALESCE(SUM({twelfths("n.")}), 0) AS BIGINT) AS now,
       CAST(COALESCE(SUM({twelfths("b.")}), 0) AS BIGINT) AS before
FROM now n JOIN before b ON b.cluster = n.cluster
WHERE n.collected AND b.collected
"""  # noqa: S608 - no values of others

"""The statements that answer questions about many audits, which DuckDB and Spark evaluate alike.

`ordered` has a row for each audit: `day`, `run`, `seq` (its place in time) and `at_s` (the begin of its run, in
seconds since the epoch). `chosen` has a row for each cluster: `last_seq` (the last audit that includes it), `away`
(that was long before the last audit) and `seconds` (from the first to the last audit that read it).
"""

from __future__ import annotations

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

#: What changed in at least three audits, and at least once in three days.
FLAPPING: Final = """
WITH sums AS (
  SELECT t.cluster, t.subject, t.object, c.seconds,
         CAST(SUM(t.times) AS BIGINT) AS changes,
         CAST(COUNT(DISTINCT o.seq) AS BIGINT) AS audits,
         MAX(t.day) AS last_day,
         CAST(SUM(CASE WHEN t.kind = 'leader' THEN t.times ELSE 0 END) AS BIGINT) AS leader,
         CAST(SUM(CASE WHEN t.kind = 'isr' THEN t.times ELSE 0 END) AS BIGINT) AS isr,
         CAST(SUM(CASE WHEN t.kind = 'restart' THEN t.times ELSE 0 END) AS BIGINT) AS restart,
         CAST(SUM(CASE WHEN t.kind = 'gone' THEN t.times ELSE 0 END) AS BIGINT) AS gone,
         CAST(SUM(CASE WHEN t.kind = 'back' THEN t.times ELSE 0 END) AS BIGINT) AS back,
         CAST(SUM(CASE WHEN t.kind = 'coordinator' THEN t.times ELSE 0 END) AS BIGINT) AS coordinator,
         CAST(SUM(CASE WHEN t.kind = 'state' THEN t.times ELSE 0 END) AS BIGINT) AS state
  FROM transitions t
       JOIN ordered o ON o.day = t.day AND o.run = t.run
       JOIN chosen c ON c.cluster = t.cluster
  WHERE t.kind IN ('leader', 'isr', 'restart', 'gone', 'back', 'coordinator', 'state')
  GROUP BY t.cluster, t.subject, t.object, c.seconds
), placed AS (
  SELECT s.*, ROW_NUMBER() OVER (PARTITION BY subject ORDER BY changes DESC, cluster, object) AS place
  FROM sums s WHERE audits >= 3 AND changes * 259200 >= seconds
)
SELECT cluster, subject, object, seconds, changes, audits, last_day,
       leader, isr, restart, gone, back, coordinator, state
FROM placed WHERE place <= 1000
ORDER BY subject, place
"""

#: The changes of each cluster by kind.
CHURN: Final = """
SELECT t.cluster, t.kind, CAST(SUM(t.times) AS BIGINT) AS times
FROM transitions t
     JOIN ordered o ON o.day = t.day AND o.run = t.run
     JOIN chosen c ON c.cluster = t.cluster
WHERE t.kind IN ('leader', 'isr', 'restart', 'controller')
GROUP BY t.cluster, t.kind ORDER BY cluster, kind
"""

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

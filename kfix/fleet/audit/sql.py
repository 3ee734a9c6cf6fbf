"""The second stage of an audit, as SQL that DuckDB and Spark read alike: over findings and score cards only.

What the two disagree about is not used: no division (integers are multiplied out), no list, NULL only where a join
makes one, no function beyond CASE, COALESCE, COUNT, SUM, MAX, CAST (design: fleet). Sums are cast: each engine has
a type of its own for them.
"""

from __future__ import annotations

from typing import Final

#: `now` against `before`. Half as many partitions again is worse. What was there before and is not any more is fixed,
#: or unknown where it may only be out of sight. `known`: cluster, collected; `whole`: every source of its look
#: answered; `no_less`: all did that answered before. Of a cluster that is not of this run, it is dropped.
COMPARED: Final = """
SELECT COALESCE(n.cluster, b.cluster) AS cluster,
       COALESCE(n.key, b.key) AS key,
       CASE WHEN b.key IS NULL THEN 'new'
            WHEN n.key IS NULL AND k.collected AND (k.whole OR k.no_less AND b.status <> 'unknown') THEN 'fixed'
            WHEN n.key IS NULL THEN 'unknown'
            WHEN n.rank > b.rank OR 2 * n.n_partitions > 3 * b.n_partitions THEN 'worse'
            ELSE 'still' END AS status,
       COALESCE(b.since, n.since) AS since
FROM now n FULL OUTER JOIN before b ON n.cluster = b.cluster AND n.key = b.key
     LEFT JOIN known k ON k.cluster = b.cluster
WHERE n.key IS NOT NULL OR k.cluster IS NOT NULL
ORDER BY cluster, key
"""

#: Points off for a head that is open and not muted: 40 critical, 10 warning, 2 what will bite one day; 5 more where it
#: got worse. `weights`: cluster, weight (criticality, 1 to 4), collected.
SCORES: Final = """
WITH heads AS (
  SELECT cluster, status, rank,
         CASE WHEN muted OR status = 'fixed' THEN 0 ELSE 1 END AS counts,
         CASE WHEN muted OR status = 'fixed' THEN 0
              WHEN rank = 2 THEN 40 WHEN rank = 1 AND prevention THEN 2 WHEN rank = 1 THEN 10 ELSE 0 END
         + CASE WHEN status = 'worse' AND NOT muted THEN 5 ELSE 0 END AS points,
         CASE WHEN muted AND status <> 'fixed' THEN 1 ELSE 0 END AS muted
  FROM findings WHERE head = ''
), sums AS (
  SELECT cluster,
         CAST(SUM(points) AS BIGINT) AS points,
         CAST(SUM(CASE WHEN rank = 2 THEN counts ELSE 0 END) AS BIGINT) AS critical,
         CAST(SUM(CASE WHEN rank = 1 THEN counts ELSE 0 END) AS BIGINT) AS warning,
         CAST(SUM(CASE WHEN rank = 0 THEN counts ELSE 0 END) AS BIGINT) AS info,
         CAST(SUM(CASE WHEN status = 'new' THEN counts ELSE 0 END) AS BIGINT) AS new,
         CAST(SUM(CASE WHEN status = 'worse' THEN counts ELSE 0 END) AS BIGINT) AS worse,
         CAST(SUM(CASE WHEN status = 'still' OR status = 'unknown' THEN counts ELSE 0 END) AS BIGINT) AS still,
         CAST(SUM(CASE WHEN status = 'fixed' THEN 1 ELSE 0 END) AS BIGINT) AS fixed,
         CAST(SUM(muted) AS BIGINT) AS muted
  FROM heads GROUP BY cluster
)
SELECT w.cluster,
       CAST(CASE WHEN NOT w.collected THEN -1
                 WHEN COALESCE(s.points, 0) > 100 THEN 0
                 ELSE 100 - COALESCE(s.points, 0) END AS BIGINT) AS score,
       CAST(CASE WHEN w.collected THEN COALESCE(s.points, 0) ELSE 100 + COALESCE(s.points, 0) END * w.weight AS BIGINT)
         AS risk,
       COALESCE(s.critical, 0) AS critical, COALESCE(s.warning, 0) AS warning, COALESCE(s.info, 0) AS info,
       COALESCE(s.new, 0) AS new, COALESCE(s.worse, 0) AS worse, COALESCE(s.still, 0) AS still,
       COALESCE(s.fixed, 0) AS fixed, COALESCE(s.muted, 0) AS muted
FROM weights w LEFT JOIN sums s ON w.cluster = s.cluster
ORDER BY w.cluster
"""

#: Codes that many clusters fail.
OFFENDERS: Final = """
SELECT code,
       CAST(COUNT(DISTINCT cluster) AS BIGINT) AS clusters,
       CAST(COUNT(*) AS BIGINT) AS findings,
       CAST(SUM(n_partitions) AS BIGINT) AS partitions,
       CAST(MAX(rank) AS BIGINT) AS rank
FROM findings WHERE status <> 'fixed' AND NOT muted
GROUP BY code
ORDER BY rank DESC, clusters DESC, findings DESC, code
"""

#: Over the score cards of several audits, one row an audit.
TREND: Final = """
SELECT day, run,
       CAST(COUNT(*) AS BIGINT) AS clusters,
       CAST(SUM(CASE WHEN collected THEN 1 ELSE 0 END) AS BIGINT) AS collected,
       CAST(SUM(CASE WHEN collected THEN score ELSE 0 END) AS BIGINT) AS score_sum,
       CAST(SUM(critical) AS BIGINT) AS critical,
       CAST(SUM(warning) AS BIGINT) AS warning,
       CAST(SUM(new) AS BIGINT) AS new,
       CAST(SUM(fixed) AS BIGINT) AS fixed
FROM clusters GROUP BY day, run
ORDER BY day, run
"""

#: The scores of each cluster over the same audits.
CLUSTER_TRENDS: Final = """
SELECT cluster, day, run, score FROM clusters ORDER BY cluster, day, run
"""

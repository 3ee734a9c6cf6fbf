"""The second stage of an audit as SQL that DuckDB and Spark evaluate alike, over findings and score cards only.

The statements avoid everything on which the two engines differ: no division (integers are multiplied out), no lists,
NULL only as the result of a join, no function beyond CASE, COALESCE, COUNT, SUM, MAX and CAST. Sums are cast, since
each engine has its own type for them.
"""

from __future__ import annotations

from typing import Final

#: Compares `now` with `previous`. A finding is worse if its severity rose, or if it has more than half as many
#: partitions again as when it was last called new or worse, its baseline (`kfix.fleet.history.worse`). One that is gone
#: is fixed, or unknown if it may only be hidden. `known` has a row per cluster: `collected`; `whole`: every source
#: answered; `no_less`: every source answered that answered the previous audit. Findings of clusters that are not part
#: of this run are dropped.
COMPARED: Final = """
SELECT COALESCE(n.cluster, p.cluster) AS cluster,
       COALESCE(n.key, p.key) AS key,
       CASE WHEN p.key IS NULL THEN 'new'
            WHEN n.key IS NULL AND k.collected AND (k.whole OR k.no_less AND p.status <> 'unknown') THEN 'fixed'
            WHEN n.key IS NULL THEN 'unknown'
            WHEN n.rank > p.rank OR 2 * n.n_partitions > 3 * p.baseline THEN 'worse'
            ELSE 'still' END AS status,
       COALESCE(p.since, n.since) AS since
FROM now n FULL OUTER JOIN previous p ON n.cluster = p.cluster AND n.key = p.key
     LEFT JOIN known k ON k.cluster = p.cluster
WHERE n.key IS NOT NULL OR k.cluster IS NOT NULL
ORDER BY cluster, key
"""

#: Points off for an open head that is not muted: 40 critical, 10 warning, 2 latent risk; 5 more if it got worse.
#: `weights` has a row per cluster: weight (criticality, 1 to 4), collected.
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

#: Checks by the number of clusters that fail them.
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

#: One row per audit, over the score cards of several audits.
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

"""The figures of a report as SQL that DuckDB and Spark evaluate alike, over findings and score cards only.

The statements avoid everything on which the two engines differ: no division (integers are multiplied out), no lists,
NULL only as the result of a join, no function beyond CASE, COALESCE, COUNT, SUM, MAX and CAST. Sums are cast, since
each engine has its own type for them.
"""

from typing import Final

from kfix.fleet.history.reading_sql import twelfths

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
TREND: Final = f"""
SELECT day, run,
       CAST(COUNT(*) AS BIGINT) AS clusters,
       CAST(SUM(CASE WHEN collected THEN 1 ELSE 0 END) AS BIGINT) AS collected,
       CAST(SUM(CASE WHEN collected THEN {twelfths()} ELSE 0 END) AS BIGINT) AS twelfths,
       CAST(SUM(critical) AS BIGINT) AS critical,
       CAST(SUM(warning) AS BIGINT) AS warning,
       CAST(SUM(new) AS BIGINT) AS new,
       CAST(SUM(fixed) AS BIGINT) AS fixed
FROM clusters GROUP BY day, run
ORDER BY day, run
"""  # noqa: S608 - no values of others

#: The scores of each cluster over the same audits.
CLUSTER_TRENDS: Final = """
SELECT cluster, day, run, score FROM clusters ORDER BY cluster, day, run
"""

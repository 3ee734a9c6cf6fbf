"""The statements that judge failures of a whole fleet, for DuckDB and Spark, on the rules of `core.failures.rules`.

`partition_states` has one row for each distinct state of a cluster's partitions; it is joined with every failure of its
cluster that can concern it, and the rules are columns of the result: one pass, no row of Python.
"""

from typing import Final

from kfix.core.diagnosis.forecast import Fate
from kfix.core.failures.formulas import MIN_ISR, ORDER
from kfix.core.failures.masks import MOST_REPLICAS
from kfix.core.failures.rules import FATES, FORMULAS, INPUTS, OF_FAILURE, UNREAD, YES

_PLACES: Final = range(1, MOST_REPLICAS + 1)
#: The columns of `partition_states` that the rules use.
STATE_COLUMNS: Final = (
    *(name for name in INPUTS if name not in OF_FAILURE),
    *map(ORDER.format, _PLACES),
    *map(MIN_ISR.format, _PLACES),
)
#: The rules whose values are counted.
JUDGED_RULES: Final = ("fate", "falls_under", "left_with_last")
#: The rules about a partition today: worked out once, before failures are joined.
TODAY_RULES: Final = FORMULAS.without(JUDGED_RULES, OF_FAILURE)

#: Live brokers with their bits, and whether the masks of their cluster are known.
BROKERS_SQL: Final = """
SELECT b.cluster, b.broker, COALESCE(b.rack, '') AS rack, COALESCE(b.bit, 0) AS bit,
       s.controller_bit IS NOT NULL AS masked, s.lacks = '' AS complete
FROM brokers b JOIN snapshots s ON s.cluster = b.cluster
WHERE b.alive
ORDER BY b.cluster, b.broker
"""

#: Every live broker, every pair of them, and every rack. Bits are disjoint, so a sum is the union.
EVERY_FAILURE: Final = """
members AS (
  SELECT b.cluster, b.broker, b.rack, b.bit
  FROM brokers b JOIN snapshots s ON s.cluster = b.cluster
  WHERE b.alive AND b.bit IS NOT NULL AND s.controller_bit IS NOT NULL
), failures AS (
  SELECT cluster, 'broker' AS kind, CAST(broker AS STRING) AS name, bit AS down FROM members
  UNION ALL
  SELECT a.cluster, 'pair' AS kind, CONCAT(CAST(a.broker AS STRING), ',', CAST(b.broker AS STRING)) AS name,
         a.bit + b.bit AS down
  FROM members a JOIN members b ON a.cluster = b.cluster AND a.broker < b.broker
  UNION ALL
  SELECT cluster, 'rack' AS kind, rack AS name, CAST(SUM(bit) AS BIGINT) AS down
  FROM members WHERE rack <> '' GROUP BY cluster, rack
)"""


def judged(failures: str) -> str:
    """Returns a statement: one row for each set of brokers and each state that it can concern, with the rules' values.

    Its key is (cluster, down, state): failures of the same brokers have the same row. The join with one constant row
    keeps DuckDB from copying the rules below each other into what is computed of them, which takes half a second.
    """
    columns = ", ".join(f"s.{name}" for name in (*STATE_COLUMNS, *TODAY_RULES))
    crossed = f"""(
  SELECT /*+ BROADCAST(f) */ f.cluster, f.down, f.new_controller, FALSE AS frozen,
         s.state, s.partitions, s.offsets, s.transactions, s.groups, {columns}
  FROM (
    SELECT DISTINCT g.cluster, g.down,
           (c.elects_by_record AND (c.controller_bit = 0 OR (c.controller_bit & g.down) <> 0)) AS new_controller
    FROM {failures} g JOIN snapshots c ON c.cluster = g.cluster
  ) f
  JOIN {today("partition_states")} s ON s.cluster = f.cluster AND s.judged
   AND (((s.replicas | s.isr | s.leader | CASE WHEN s.believed > 0 THEN s.believed ELSE 0 END) & f.down) <> 0
        OR s.believed <> s.leader)
)"""  # noqa: S608 - names of this module only
    rules = FORMULAS.select(crossed, JUDGED_RULES, MOST_REPLICAS, TODAY_RULES)
    return f"(SELECT judged.* FROM {rules} AS judged CROSS JOIN (SELECT 1 AS one) AS apart)"  # noqa: S608


def today(states: str) -> str:
    """Returns a statement: the states, with the rules that no failure has a part in."""
    return FORMULAS.select(states, TODAY_RULES, MOST_REPLICAS)


def _fate(*fates: Fate) -> str:
    return f"fate IN ({', '.join(str(FATES.index(fate)) for fate in fates)})"


STOPS: Final = _fate(Fate.STOPS, Fate.STRANDED)
LOSES: Final = _fate(Fate.STOPS, Fate.STRANDED, Fate.UNCLEAN)
_UNDER: Final = f"falls_under = {YES}"


def _sum(condition: str, column: str = "partitions") -> str:
    return f"CAST(SUM(CASE WHEN {condition} THEN {column} ELSE 0 END) AS BIGINT)"


COUNTS: Final = {
    "stops": _sum(STOPS),
    "stranded": _sum(_fate(Fate.STRANDED)),
    "unclean": _sum(_fate(Fate.UNCLEAN)),
    "under_min_isr": _sum(_UNDER),
    "last_in_sync": _sum("left_with_last"),
    "moves": _sum(_fate(Fate.MOVES)),
    "unknown": _sum(f"{_fate(Fate.UNKNOWN)} OR falls_under = {UNREAD}"),
    "offsets": _sum(STOPS, "offsets"),
    "transactions": _sum(f"{STOPS} OR {_UNDER}", "transactions"),
    "groups": _sum(STOPS, "groups"),
    "unwritable": _sum(f"NOT {STOPS} AND {_UNDER}", "groups"),
}
#: The columns of EVERY_TOTAL beside the cluster.
COUNTED: Final = ("kind", "name", "down", *COUNTS, "controller", "complete")
_WEIGHTS: Final = ("partitions", "offsets", "transactions", "groups")


def _totals(failures: str) -> str:
    """The first sums are by outcome: DuckDB copies a rule into each expression that uses it when it plans."""
    outcomes = ", ".join(("cluster", "down", *JUDGED_RULES))
    weights = ", ".join(f"CAST(SUM({name}) AS BIGINT) AS {name}" for name in _WEIGHTS)
    sums = ",\n         ".join(f"{text} AS {name}" for name, text in COUNTS.items())
    shown = ", ".join(f"COALESCE(t.{name}, 0) AS {name}" for name in COUNTS if name != "unknown")
    return f"""
outcomes AS (
  SELECT {outcomes}, {weights} FROM {judged(failures)} AS judged GROUP BY {outcomes}
), counted AS (
  SELECT cluster, down,
         {sums}
  FROM outcomes GROUP BY cluster, down
), unjudged AS (
  SELECT cluster, CAST(SUM(partitions) AS BIGINT) AS n FROM partition_states WHERE NOT judged GROUP BY cluster
)
SELECT f.cluster, f.kind, f.name, f.down, {shown},
       COALESCE(t.unknown, 0) + COALESCE(u.n, 0) AS unknown,
       (c.controller_bit & f.down) <> 0 AS controller, c.lacks = '' AS complete
FROM {failures} f
JOIN snapshots c ON c.cluster = f.cluster
LEFT JOIN counted t ON t.cluster = f.cluster AND t.down = f.down
LEFT JOIN unjudged u ON u.cluster = f.cluster
"""  # noqa: S608


#: Every failure of every cluster; of pairs only those after which something stops.
EVERY_TOTAL: Final = f"""WITH {EVERY_FAILURE}, {_totals("failures")}
WHERE f.kind <> 'pair' OR COALESCE(t.stops, 0) + COALESCE(t.unclean, 0) > 0
"""
#: The failures of the table `chosen`: cluster, kind, name, down.
CHOSEN_TOTAL: Final = f"WITH {_totals('chosen')}"
#: The states whose partitions stop or lose records, for the failures of `chosen`. The rule is filtered as an aggregate:
#: as a condition of the join, Spark would copy it with all rules below it.
HITS: Final = f"""SELECT cluster, down, state FROM (
  SELECT cluster, down, state, MAX(fate) AS fate FROM {judged("chosen")} AS judged GROUP BY cluster, down, state
) AS outcomes WHERE {LOSES}
"""  # noqa: S608
#: How many topics stop or lose records, and which most of all, for each failure of the table `hits`.
LOST_TOPICS: Final = """WITH held AS (
  SELECT /*+ BROADCAST(h) */ p.cluster, p.topic, p.state, COUNT(*) AS n
  FROM partitions p JOIN (SELECT DISTINCT cluster, state FROM hits) h ON h.cluster = p.cluster AND h.state = p.state
  GROUP BY p.cluster, p.topic, p.state
), lost AS (
  SELECT h.cluster, h.down, p.topic, SUM(p.n) AS n
  FROM hits h JOIN held p ON p.cluster = h.cluster AND p.state = h.state
  GROUP BY h.cluster, h.down, p.topic
), ranked AS (
  SELECT cluster, down, topic, ROW_NUMBER() OVER (PARTITION BY cluster, down ORDER BY n DESC, topic) AS place FROM lost
)
SELECT cluster, down, CAST(COUNT(*) AS BIGINT) AS topics,
       MAX(CASE WHEN place = 1 THEN topic END) AS first_topic,
       MAX(CASE WHEN place = 2 THEN topic END) AS second_topic,
       MAX(CASE WHEN place = 3 THEN topic END) AS third_topic
FROM ranked GROUP BY cluster, down
"""
LOST_COLUMNS: Final = ("topics", "first_topic", "second_topic", "third_topic")
#: The rows of `counted`, which has those of EVERY_TOTAL that count, with the topics that stop or lose records.
WITH_TOPICS: Final = f"""SELECT c.*, {", ".join(f"l.{name}" for name in LOST_COLUMNS)}
FROM (SELECT {", ".join(("cluster", *COUNTED))} FROM counted) c
LEFT JOIN ({LOST_TOPICS}) l ON l.cluster = c.cluster AND l.down = c.down
"""  # noqa: S608 - names of this module only
#: Those of `counted` after which something stops or records are lost, as the table `chosen` of HITS.
LOSING: Final = "SELECT cluster, kind, name, down FROM counted WHERE stops > 0 OR unclean > 0"

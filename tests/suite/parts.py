"""The parts of the suite: `fast`, which is `make test`, and the slices of everything.

What a test costs decides where it runs (tests/costs.json). `fast` has every function of `WHOLE`, with as many copies as
`COPIES_COST` pays for, unless one copy alone costs more than `DEAR`; and of these dear ones, and of the tests on real
brokers and Spark, those of `ALWAYS` and some copies of `IN_TURN`. Slices share out all other tests. One round of them
has every function; if the copies of one cost more than `ROUND`, it has some of them, and the next round has others.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from tests.suite.copies import T, by_function, function_of, some, turn_of
from tests.suite.costs import Costs

#: CPU seconds that `make test` may cost: a quarter of an hour on two idle cores, waits included.
BUDGET = 1300
#: Of these, what no test has: linting is not in it, but the start and the collection of each worker are.
OVERHEAD = 60
#: CPU seconds of a slice.
SLICE = 450
#: CPU seconds for the copies of one function in a round of slices: a function is not redundant, its copies are.
ROUND = 300
#: CPU seconds for the copies of one function, and for one copy of a test that `fast` has.
COPIES_COST = 0.5
DEAR = 4.0
WHOLE = tuple(f"tests/{part}/" for part in ("unit", "catalogue", "mutants", "suite", "proofs", "browser", "security"))
#: Tests on real brokers and on Spark that every run has. `*` stands for any characters; a bracket is one.
ALWAYS = (
    "tests/cluster/test_lines.py::test_a_healthy_cluster_is_called_healthy*",
    "tests/cluster/test_lines.py::test_an_incident_is_diagnosed_remedied_and_proved[*-0]",
    *(
        f"tests/cluster/test_secured_labs.py::test_every_form_of_client_properties_reads_everything_without_another_option[{way}]"
        for way in (
            "3.9.2-zk-mtls",
            "3.9.2-kraft-sasl_plaintext-PLAIN",
            "4.3.1-kraft-sasl_ssl-SCRAM-SHA-256",
            "2.7.1-zk-sasl_ssl-SCRAM-SHA-512",
            "3.9.2-zk-sasl_plaintext-OAUTHBEARER",
        )
    ),
    "tests/cluster/test_kerberos.py::test_a_keytab_reads_everything[4.3.1]",
    "tests/spark/test_audit.py::test_a_damaged_earlier_audit_is_left_out_as_without_spark",
    "tests/spark/test_equality.py::test_every_cluster_is_judged_the_same[ansi-True]",
    "tests/spark/test_failures.py::test_one_that_fails_or_kills_its_process_is_a_row_and_stops_no_other",
    "tests/spark/test_failures.py::test_a_damaged_file_is_a_row_that_names_it",
)
#: {dear function: how many of its copies a run has}: each commit has others.
IN_TURN = {
    "tests/proofs/docs/test_examples.py::test_each_command_of_the_readme_runs": 2,
    "tests/proofs/test_kills.py::test_killed_and_killed_again_in_the_resume": 1,
    "tests/proofs/test_two_at_once.py::test_two_runs_at_once_and_exactly_one_acts": 1,
    "tests/cluster/test_lines.py::test_a_rolling_restart_is_no_alarm": 1,
    "tests/cluster/test_lines.py::test_a_run_that_dies_after_its_change_is_resumed_and_does_not_change_again": 2,
}


class SelectionError(Exception):
    """`make test` would cost more than `BUDGET`, holds a test whose cost nobody measured, or lacks one of `ALWAYS`."""


@dataclass(frozen=True)
class Suite:
    """All tests, in the order of collection, and what they cost. `commit` rotates copies and slices."""

    nodeids: Sequence[str]
    costs: Costs
    commit: int

    def fast(self) -> frozenset[str]:
        """The tests of `make test`."""
        taken: set[str] = set()
        for function, ids in by_function(self.nodeids).items():
            taken.update(some(ids, self._copies(function), turn_of(function, self.commit)))
            taken.update(nodeid for nodeid in ids if always(nodeid))
        return frozenset(taken)

    def _copies(self, function: str) -> int:
        """How many copies of it `fast` has, without those of `ALWAYS`."""
        each = self.costs.each(function)
        if function.startswith(WHOLE) and each <= DEAR:
            return max(int(COPIES_COST / max(each, 0.001)), 1)
        return IN_TURN.get(function, 0)

    def slices(self) -> list[list[str]]:
        """The slices of this round, of about equal cost: a file is in one, or its functions where it is too dear."""
        parts = [part for ids in self._by_file() for part in self._pieces(ids)]
        costs = [max(map(self.costs.total, part)) for part in parts]
        count = max(-(-int(sum(costs)) // SLICE), 1)
        heap = [(0.0, number) for number in range(count)]
        slices: list[list[str]] = [[] for _ in range(count)]
        for cost, part in sorted(zip(costs, parts, strict=True), key=lambda each: (-each[0], each[1])):
            filled, number = heapq.heappop(heap)
            slices[number] += part[self.commit // count % len(part)]
            heapq.heappush(heap, (filled + cost, number))
        return slices

    def slice(self, again: frozenset[str] = frozenset()) -> tuple[int, int, frozenset[str]]:
        """The slice of this commit: its number, how many there are, and its tests that `fast` does not have.

        It has those of `again` also if `fast` has them: `fast` runs a few of their examples only.
        """
        slices = self.slices()
        number = self.commit % len(slices)
        return number, len(slices), frozenset(slices[number]) - (self.fast() - again)

    def check(self) -> None:
        """Raises SelectionError if `make test` is too dear, with what costs most, or if its cost is not known."""
        unknown = sorted(function for function in by_function(self.fast()) if self.costs.unknown(function))
        if unknown:
            raise SelectionError(f"not measured: {', '.join(unknown[:5])} ({len(unknown)} in all): run `make costs`")
        files = {nodeid.partition("::")[0] for nodeid in self.nodeids}
        for pattern in (*ALWAYS, *(f"{function}[*]" for function in IN_TURN)):
            if pattern.partition("::")[0] in files and not any(_matches(nodeid, pattern) for nodeid in self.nodeids):
                raise SelectionError(f"{pattern}: no test has this name any more (tests/suite/parts.py)")
        fast = self.fast()
        cost = OVERHEAD + self.costs.total(fast)
        if cost > BUDGET:
            dear = sorted({function_of(nodeid) for nodeid in fast}, key=self.costs.each, reverse=True)
            names = ", ".join(f"{function} {self.costs.each(function):.0f} s" for function in dear[:5])
            raise SelectionError(f"`make test` would cost {cost:.0f} CPU seconds of {BUDGET}; dearest: {names}")

    def _by_file(self) -> list[list[str]]:
        """The tests of each file that not every run of `make test` has."""
        ids = by_function(self.nodeids).items()
        whole = {nodeid for function, copies in ids if len(copies) <= self._copies(function) for nodeid in copies}
        files: dict[str, list[str]] = {}
        for nodeid in self.nodeids:
            if nodeid not in whole and not always(nodeid):
                files.setdefault(nodeid.partition("::")[0], []).append(nodeid)
        return list(files.values())

    def _pieces(self, ids: list[str]) -> Iterable[list[list[str]]]:
        """What one slice has, and what it has in the next rounds: a file, or copies of one function if it is dear."""
        if self.costs.total(ids) <= SLICE / 2:
            return [[ids]]
        return [piece for function, copies in by_function(ids).items() for piece in self._turns(function, copies)]

    def _turns(self, function: str, copies: list[str]) -> Iterable[list[list[str]]]:
        each = max(self.costs.each(function), 0.001)
        chunks = _cut(copies, max(int(SLICE / 4 / each), 1))
        return _cut(chunks, min(-(-int(each * len(copies)) // ROUND), len(chunks)) or 1)


def _cut(each: list[T], size: int) -> list[list[T]]:
    return [each[start : start + size] for start in range(0, len(each), size)]


def always(nodeid: str) -> bool:
    return any(_matches(nodeid, pattern) for pattern in ALWAYS)


def _matches(nodeid: str, pattern: str) -> bool:
    return fnmatchcase(nodeid, pattern.replace("[", "[[]"))

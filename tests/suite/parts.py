"""The parts of the suite: `fast`, which is `make test`, and the slices of everything.

What a test costs decides where it runs (tests/costs.json). `fast` has every function of `WHOLE`, with as many copies as
`COPIES_COST` pays for, unless one copy alone costs more than `DEAR`; and of these dear ones, and of the tests on real
brokers and Spark, those of `ALWAYS` and some copies of `IN_TURN`. Slices share out all other tests. One round of them
has every function, with as many copies as `ROUND` pays for, or `ROUND_OF`; the next round has others.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from tests.suite.copies import by_function, function_of, some, turn_of
from tests.suite.costs import Costs

#: CPU seconds that `make test` may cost: a quarter of an hour on two idle cores, waits included.
BUDGET = 1300
#: Of these, what no test has: linting is not in it, but the start and the collection of each worker are.
OVERHEAD = 60
#: CPU seconds of a slice.
SLICE = 450
#: Within how many commits every function must have run, and every copy that `make test` takes in turn.
COMMITS = 20
#: CPU seconds for the copies of one function in a round of slices: a function is not redundant, its copies are.
ROUND = 30
#: The same, of functions whose copies are no spellings of one subject: incidents, runbooks, pages.
ROUND_OF = {
    "tests/cluster/test_matrix.py::test_the_incident_is_made_diagnosed_remedied_and_proved": 600,
    "tests/cluster/test_least_rights.py::test_a_runbook_needs_the_documented_rights_and_no_other": 300,
    "tests/cluster/test_docs.py::test_a_block_that_starts_a_lab_of_its_own_runs": 150,
    "tests/proofs/docs/test_doc_blocks.py::test_a_block_runs_without_a_cluster": 150,
}
#: CPU seconds for the copies of one function, and for one copy of a test that `fast` has.
COPIES_COST = 0.5
DEAR = 4.0
WHOLE = tuple(f"tests/{part}/" for part in ("unit", "catalogue", "mutants", "suite", "proofs", "browser", "security"))
#: Tests on real brokers and on Spark that every run has. `*` stands for any characters; a bracket is one.
ALWAYS = (
    "tests/cluster/test_lines.py::test_a_healthy_cluster_is_called_healthy*",
    "tests/cluster/test_lines.py::test_an_incident_is_diagnosed_remedied_and_proved*",
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
    """`make test` or a round of slices is too dear, or holds a test that nobody measured, or lacks one of `ALWAYS`."""


@dataclass(frozen=True)
class Suite:
    """All tests, in the order of collection, and what they cost. `commit` rotates copies and slices.

    Slices have the tests of `again` also if `fast` has them: it runs a few of their examples only, or leaves them out.
    """

    nodeids: Sequence[str]
    costs: Costs
    commit: int
    again: frozenset[str] = frozenset()

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
        # A round costs what every other round costs, so all have as many slices.
        count = max(-(-int(sum(map(self.costs.total, self._parts(0)))) // SLICE), 1)
        heap = [(0.0, number) for number in range(count)]
        slices: list[list[str]] = [[] for _ in range(count)]
        parts = [(self.costs.total(part), part) for part in self._parts(self.commit // count)]
        for cost, part in sorted(parts, key=lambda each: (-each[0], function_of(each[1][0]))):
            filled, number = heapq.heappop(heap)
            slices[number] += part
            heapq.heappush(heap, (filled + cost, number))
        return slices

    def slice(self) -> tuple[int, int, frozenset[str]]:
        """The slice of this commit: its number, how many there are, and its tests that `fast` does not have."""
        slices = self.slices()
        number = self.commit % len(slices)
        return number, len(slices), frozenset(slices[number]) - (self.fast() - self.again)

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
        if (count := len(self.slices())) > COMMITS:
            raise SelectionError(f"{count} slices of {SLICE} CPU seconds: each must be due within {COMMITS} commits")

    def _parts(self, number: int) -> Iterable[list[str]]:
        """What one slice each of this round has: a file, or, if it is too dear, some copies of one of its functions."""
        for ids in self._of_round(number).values():
            if self.costs.total(ids) <= SLICE / 2:
                yield ids
                continue
            for function, copies in by_function(ids).items():
                size = max(int(SLICE / 4 / max(self.costs.each(function), 0.001)), 1)
                yield from (copies[start : start + size] for start in range(0, len(copies), size))

    def _of_round(self, number: int) -> dict[str, list[str]]:
        """{file: its tests in this round}, without those that `make test` has by itself, each within `COMMITS`."""
        files: dict[str, list[str]] = {}
        for function, ids in by_function(self.nodeids).items():
            in_fast = len(ids) <= self._copies(function) * COMMITS
            copies = [each for each in ids if each in self.again or not (in_fast or always(each))]
            most = max(int(ROUND_OF.get(function, ROUND) / max(self.costs.each(function), 0.001)), 1)
            if copies:
                files.setdefault(function.partition("::")[0], []).extend(some(copies, most, number))
        return files


def always(nodeid: str) -> bool:
    return any(_matches(nodeid, pattern) for pattern in ALWAYS)


def _matches(nodeid: str, pattern: str) -> bool:
    return fnmatchcase(nodeid, pattern.replace("[", "[[]"))

"""Real texts of strangers: what each shows is named, and what it does not show is never said."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kfix.core.diagnosis.finding import Severity
from kfix.core.errors import InvalidFileError
from kfix.diagnose.pasted.reader import parse_pasted
from kfix.shell.app import app
from kfix_diagnostics.engine import diagnose
from tests.each import for_each

FOLDER = Path(__file__).parent / "cases"
EXAMPLES = Path(__file__).parents[4] / "examples" / "pasted"
CASES = {case["file"]: case for case in json.loads((FOLDER / "index.json").read_text())}
REFUSED = 2
ALARMS = {20, 21, 22}


def output(name: str, *options: str) -> tuple[int, str]:
    """Returns the exit code, and everything that is printed, with a line for the exit code itself."""
    result = CliRunner().invoke(app, ["diagnose", "--from", str(FOLDER / name), *options])
    return result.exit_code, f"{result.output}\nexit code {result.exit_code}\n"


def test_every_text_has_its_truth() -> None:
    assert {path.name for path in FOLDER.glob("*.txt")} == set(CASES)


def _one_by_one(said: str) -> str:
    """Returns `brokers 2, 3` as `broker 2, broker 3`: both name the same brokers."""
    return re.sub(r"\bbrokers (\d+(?:, \d+)+)", lambda many: re.sub(r"\d+", r"broker \g<0>", many[1]), said)


@pytest.mark.parametrize("name", CASES)
def test_a_text_of_a_stranger_is_judged_by_what_it_shows(name: str) -> None:
    case = CASES[name]
    outputs = [output(name, *options) for options in ((), ("--verbose",), ("--json",), tuple(case["args"]))]
    if case["refusal_ok"] and outputs[0][0] == REFUSED:
        return
    assert {code for code, _ in outputs} <= (ALARMS if case["sick"] else {0, *ALARMS})
    for _, said in outputs:
        assert [banned for banned in case["never"] if re.search(banned, said) is not None] == []
    everything = _one_by_one("\n".join(said for _, said in outputs))
    assert [wanted for wanted in case["must"] if re.search(wanted, everything, re.IGNORECASE) is None] == []


def _found(text: str) -> set[str]:
    """Returns the codes of all alarms, nothing for a refusal."""
    try:
        diagnosis = diagnose(parse_pasted(text, "paste.txt", 1_800_000_000.0))
    except InvalidFileError:
        return set()
    return {finding.code for finding in diagnosis.walk() if finding.severity > Severity.INFO}


BLOCK = "Topic: zz PartitionCount: 1 Configs:\n Topic: zz Partition: 0 Leader: {} Replicas: 91,92 Isr: {}\n"


@for_each("path", sorted([*FOLDER.glob("*.txt"), *EXAMPLES.glob("*.txt")]))
def test_a_block_of_another_cluster_hides_nothing_and_adds_nothing_unless_it_is_sick(path: Path) -> None:
    text = path.read_text(errors="replace").rstrip("\n") + "\n"
    healthy, sick = BLOCK.format(91, "91,92"), BLOCK.format("none", 92)
    alone = _found(text)
    assert _found(text + healthy) == _found(healthy + text) == alone
    assert _found(text + sick) == _found(sick + text)
    assert _found(text + sick) >= alone
    assert _found(text + sick)

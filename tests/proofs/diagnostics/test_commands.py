"""Every command of every finding can be pasted: a real shell splits it into the words that are meant."""

import shlex
import subprocess
from dataclasses import replace

import pytest

from kfix.core.criteria import Criteria
from kfix.core.snapshot.snapshot import ReachedBy, Snapshot
from kfix_diagnostics.engine import diagnose
from tests.unit.diagnostics.cases import SICK

CONFIG = "my client's.properties"
PROFILE = "the paper's"


def commands(snapshot: Snapshot) -> set[str]:
    diagnosis = diagnose(snapshot, criteria=Criteria(prevention=True))
    return {r.command for f in diagnosis.walk() for r in f.remedies if r.command}


#: By which option Kafka's tools take the client properties, where it is another one.
OPTIONS = {
    "kafka-leader-election.sh": "--admin.config",
    "kafka-console-consumer.sh": "--consumer.config",
    "kafka-cluster.sh": "--config",
}


@pytest.fixture(scope="module")
def all_commands() -> list[str]:
    found: set[str] = set()
    for cases in SICK.values():
        for case in cases:
            snapshot = case.make()
            found |= commands(snapshot)
            found |= commands(replace(snapshot, reached_by=ReachedBy(command_config=CONFIG)))
            found |= commands(replace(snapshot, reached_by=ReachedBy(profile=PROFILE, command_config=CONFIG)))
    return sorted(found)


def test_a_shell_splits_them_into_the_words_that_are_meant(all_commands):
    script = "".join(f"printf '%s\\n' {command}; echo =\n" for command in all_commands)
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    shown = [part.strip("\n").split("\n") for part in done.stdout.split("=\n")[:-1]]
    assert len(all_commands) > 40
    for command, words in zip(all_commands, shown, strict=True):
        assert words == shlex.split(command), command


def test_a_cluster_that_is_read_with_client_properties_is_named_with_them(all_commands):
    with_config = [command for command in all_commands if CONFIG in shlex.split(command)]
    named = [command for command in all_commands if PROFILE in shlex.split(command)]
    assert named
    assert all(shlex.split(command)[0] == "kfix" for command in named)
    without = [c for c in all_commands if "--bootstrap-server" in c and CONFIG not in shlex.split(c)]
    assert len(with_config) >= len(without)
    for command in with_config:
        words = shlex.split(command)
        assert words[words.index(CONFIG) - 1] == OPTIONS.get(words[0], "--command-config")

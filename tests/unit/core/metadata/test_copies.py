"""What a recovery has to know of a log directory: who uses it, and what could not be read."""

import fcntl
import subprocess
import sys

import pytest

from kfix.core.metadata.copies import copies_read
from tests.unit.inspect.test_metadata_report import BASE, LATER, copy_of

HOLDS = "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.lockf(f, fcntl.LOCK_EX); print('held'); sys.stdin.read()"


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_a_log_directory_is_held_while_a_process_has_its_lock(tmp_path):
    lock = copy_of(11, BASE).parent / ".lock"

    def held():
        return [each.held for each in copies_read([tmp_path / "disks"])]

    assert held() == [False]
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"held\n"
        assert held() == [True]
        process.stdin.close()
    assert held() == [False]
    with lock.open("w") as mine:
        fcntl.lockf(mine, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_the_copies_say_who_votes_and_whether_the_voters_may_change(tmp_path):
    copy_of(11, BASE + LATER)
    copy_of(3, BASE, state={"leaderId": -1, "leaderEpoch": 28, "votedId": 3})
    longest, other = copies_read([tmp_path / "disks"])
    assert (longest.node, longest.end, longest.epoch, longest.changeable) == (11, 6, 4, True)
    assert (other.node, other.end, other.seen_epoch, other.voters) == (3, 2, 28, (1, 2, 3))


def test_a_torn_end_counts_as_not_read(tmp_path):
    copy_of(11, BASE + LATER)
    copy_of(3, BASE + LATER[:20])
    _, torn = copies_read([tmp_path / "disks"])
    assert "incomplete" in torn.unread

from __future__ import annotations

import pytest

from kfix.core.errors import LabError
from kfix.lab.process import host
from kfix.lab.process.host import LOOPBACK


def test_ports_are_free_different_and_below_the_ephemeral_range():
    chosen = host.free_ports(12, set(), LOOPBACK.can_bind)
    assert len(set(chosen)) == 12
    assert all(host.LOWEST <= port <= host.highest_port() < 32_768 for port in chosen)


def test_ports_of_other_labs_are_left_alone_even_when_they_can_be_bound():
    taken = set(range(host.LOWEST, host.HIGHEST + 1)) - {20_000, 20_001}
    assert set(host.free_ports(2, taken, lambda _: True)) == {20_000, 20_001}


def test_a_port_that_cannot_be_bound_is_passed_over():
    assert host.free_ports(1, set(), lambda port: port == 23_456) == (23_456,)


def test_no_free_port_is_an_error_that_says_how_to_go_on():
    with pytest.raises(LabError, match="no 1 free ports") as told:
        host.free_ports(1, set(), lambda _: False)
    assert "down --all" in told.value.hint


@pytest.mark.parametrize(
    ("text", "highest"), [("32768\t60999\n", 32_767), ("20000 60999", 19_999), ("1024 60999", 32_767)]
)
def test_the_ephemeral_range_of_the_machine_is_respected(tmp_path, text, highest):
    file = tmp_path / "range"
    file.write_text(text)
    assert host.highest_port(file) == highest


def test_a_machine_that_does_not_tell_its_range_gets_the_usual_one(tmp_path):
    assert host.highest_port(tmp_path / "missing") == host.HIGHEST

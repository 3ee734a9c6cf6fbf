"""A second person's signature: what makes it good, and each of the ways in which it is not."""

from __future__ import annotations

import json
import os
import pwd
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kfix.core.errors import ApprovalError, RefusedError, UsageError
from kfix.heal.gate.countersign import sign, signer
from kfix.heal.model.plan import Gate, Plan
from tests.each import for_each
from tests.unit.heal.stage import Stage, reseal

ME = pwd.getpwuid(os.getuid()).pw_name
OTHER = os.getuid() + 1


@pytest.fixture
def plan(stage: Stage) -> Plan:
    return stage.plan()


@pytest.fixture
def signed(plan: Plan, tmp_path: Path) -> Path:
    path = tmp_path / "signed.json"
    sign(plan, path, "looked at it", plan.created.at)
    return path


def test_a_signature_names_the_plan_and_who_made_it(plan: Plan, signed: Path) -> None:
    said = json.loads(signed.read_text())
    assert (said["plan_id"], said["by"], said["uid"], said["reason"]) == (plan.plan_id, ME, os.getuid(), "looked at it")
    assert signed.stat().st_mode & 0o777 == 0o644
    assert signer(signed, plan, OTHER) == ME


def test_the_umask_of_the_signer_does_not_matter(plan: Plan, tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        sign(plan, tmp_path / "s", "x", plan.created.at)
    finally:
        os.umask(before)
    assert (tmp_path / "s").stat().st_mode & 0o777 == 0o644


def test_who_carries_it_out_cannot_have_signed(plan: Plan, signed: Path) -> None:
    with pytest.raises(ApprovalError, match="signed it and is applying the plan"):
        signer(signed, plan, os.getuid())


def test_who_planned_cannot_sign(plan: Plan, signed: Path, tmp_path: Path) -> None:
    mine = reseal(plan, created=replace(plan.created, by=ME))
    with pytest.raises(RefusedError, match="a second person must sign"):
        sign(mine, tmp_path / "new", "x", plan.created.at)
    _edit(signed, plan_id=mine.plan_id)
    with pytest.raises(ApprovalError, match="signed it and made the plan"):
        signer(signed, mine, OTHER)


def test_a_name_from_the_environment_counts_for_nothing(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGNAME", "somebody-else")
    monkeypatch.setenv("USER", "somebody-else")
    assert sign(plan, tmp_path / "s", "x", plan.created.at)["by"] == ME


def test_a_plan_that_has_expired_is_not_signed(plan: Plan, tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="expired at"):
        sign(plan, tmp_path / "s", "x", plan.expires_at + 1)
    assert not (tmp_path / "s").exists()


def test_a_signature_goes_over_no_file_and_through_no_link(plan: Plan, signed: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not overwritten"):
        sign(plan, signed, "x", plan.created.at)
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError):
        sign(plan, tmp_path / "link", "x", plan.created.at)
    assert not (tmp_path / "elsewhere").exists()
    with pytest.raises(UsageError, match="cannot write"):
        sign(plan, tmp_path / "nowhere" / "s", "x", plan.created.at)


def _edit(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def _another_plan(path: Path) -> None:
    """Names a plan whose id differs in its last digit only."""
    plan = json.loads(path.read_text())["plan_id"]
    _edit(path, plan_id=plan[:-1] + ("1" if plan.endswith("0") else "0"))


def _link(path: Path) -> None:
    path.rename(path.with_suffix(".real"))
    path.symlink_to(path.with_suffix(".real"))


def _fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@for_each(
    ("spoil", "says"),
    [
        (lambda p: _edit(p, plan_id="0" * 64), "it is for plan 00000000"),
        (_another_plan, "it is for plan"),
        (lambda p: _edit(p, uid=OTHER), f"it names uid {OTHER}, but the file belongs to uid {os.getuid()}"),
        (lambda p: _edit(p, by="somebody"), "it names 'somebody', but the file belongs to"),
        (lambda p: _edit(p, uid="0"), "has no uid"),
        (lambda p: _edit(p, reason=" "), "or no reason"),
        (lambda p: _edit(p, more=1), "not of the form"),
        (lambda p: _edit(p, schema="x"), "not of the form"),
        (lambda p: p.write_text("[]"), "not of the form"),
        (lambda p: p.write_text("{"), "it is not JSON"),
        (lambda p: p.write_text("[" * 9999), "it is not JSON"),
        (lambda p: p.write_bytes(b"\xff"), "it is not JSON"),
        (lambda p: p.write_text(" " * 20_000), "it is too long"),
        (lambda p: p.chmod(0o664), "users other than its owner may write"),
        (lambda p: p.chmod(0o646), "users other than its owner may write"),
        (_link, "it is a symbolic link"),
        (_fifo, "it is not a regular file"),
        (_folder, "it is not a regular file"),
    ],
)
def test_a_signature_that_is_not_good_is_refused_by_name(
    plan: Plan, tmp_path: Path, spoil: Callable[[Path], object], says: str
) -> None:
    signed = tmp_path / "signed.json"
    sign(plan, signed, "looked at it", plan.created.at)
    spoil(signed)
    with pytest.raises(ApprovalError, match=says) as caught:
        signer(signed, plan, OTHER)
    assert caught.value.exit_code == 4
    assert "nothing was changed" in str(caught.value)


def test_a_missing_signature_is_reported(plan: Plan, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such signature file"):
        signer(tmp_path / "none", plan, OTHER)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
def test_the_owner_of_the_file_counts_not_its_words(plan: Plan, signed: Path) -> None:
    os.chown(signed, 1, 1)
    with pytest.raises(ApprovalError, match="but the file belongs to uid 1"):
        signer(signed, plan, OTHER + 1)


def test_a_step_for_two_persons_runs_with_a_signature_and_the_phrase(stage: Stage) -> None:
    from kfix.core.errors import KfixError
    from kfix.heal.gate.gates import Given
    from tests.unit.heal.stage import Answers

    plan = stage.plan()
    steps = tuple(replace(s, gate=Gate.TWO_PERSON) for s in plan.steps)
    raised = reseal(plan, steps=steps, expires_at=plan.created.at + 300)
    phrases = {s.id: s.phrase for s in raised.steps}
    stage.human = Answers(interactive=False)
    with pytest.raises(KfixError, match="a second person has not signed this plan"):
        stage.run(raised, given=Given(Gate.STEP, phrases))
    assert stage.methods() == []
    assert stage.run(raised, given=Given(Gate.STEP, phrases, "bob")).changed != ()

"""docs/python.md shows every public name, and its code does what it says; `make test-install` checks its types."""

import re
from pathlib import Path

import pytest

import kfix.api
from tests.places import ROOT

PAGE = (ROOT / "docs" / "python.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_every_public_name_is_documented_and_loads() -> None:
    assert [name for name in kfix.api.__all__ if not re.search(rf"\b{name}\b", PAGE)] == []
    assert sorted(kfix.api.__all__) == [name for name in kfix.api.__all__ if callable(getattr(kfix.api, name))]


def test_a_saved_snapshot_is_judged_as_the_page_shows(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    [block] = [each for each in BLOCKS if "load_snapshot" in each]
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("KFIX_FLEET", raising=False)
    exec(compile(block, "docs/python.md", "exec"), {})
    verdict, failure = capsys.readouterr().out.split("\n2 ")
    assert verdict.startswith("21 {")
    assert "there is no inventory" in failure
    assert not (ROOT / "orders-eu.json.gz").exists()


def test_client_properties_may_be_named_by_a_string() -> None:
    assert kfix.api.Access("a:1", command_config="f").options()[-1] == "f"  # type: ignore[arg-type]


def test_types_are_part_of_the_packages() -> None:
    for package in ("kfix", "diagnostics/kfix_diagnostics", "spark/kfix_spark"):
        assert (ROOT / package / "py.typed").is_file()

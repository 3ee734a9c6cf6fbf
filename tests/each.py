"""One test over many cases: it runs all of them, and its failure names each case that failed.

`@for_each` reads like `@pytest.mark.parametrize`, with two differences: pytest collects and sets up one test, and a
function in place of the cases makes them when the test runs, so that collection does not pay for them.
"""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

from tests.places import ROOT

Cases = Iterable[Any] | Callable[[], Iterable[Any]]
LONGEST_NAME = 80


def for_each(names: str | Sequence[str], cases: Cases, ids: Callable[[Any], Any] | Sequence[str] | None = None) -> Any:
    """Returns a decorator: the test gets the values of every case, in turn, under these argument names.

    Each case has a `tmp_path` and a `monkeypatch` of its own; all other fixtures are shared by the cases.
    """
    arguments = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)

    def decorator(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def all_cases(**fixtures: Any) -> None:
            __tracebackhide__ = True
            named = list(_named(arguments, cases if isinstance(cases, Iterable) else cases(), ids))
            assert named, "no cases"
            faults, first = [], None
            for number, (name, values) in enumerate(named):
                try:
                    with ExitStack() as stack:
                        test(**_own(fixtures, number, stack), **values)
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001  # reported below, with all others
                    faults.append(f"{name}: {_told(error)}")
                    first = first or error
            if first is not None:
                raise AssertionError("\n".join([f"{len(faults)} of {len(named)} cases fail:", *faults])) from first

        shown = inspect.signature(test)
        kept = [parameter for name, parameter in shown.parameters.items() if name not in arguments]
        all_cases.__signature__ = shown.replace(parameters=kept)  # type: ignore[attr-defined]
        return all_cases

    return decorator


def _named(arguments: Sequence[str], cases: Iterable[Any], ids: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, case in enumerate(cases):
        given = getattr(case, "id", None) if isinstance(case, type(pytest.param())) else None
        values = case.values if isinstance(case, type(pytest.param())) else (case,) if len(arguments) == 1 else case
        if ids is not None and given is None:
            given = "-".join(str(ids(value)) for value in values) if callable(ids) else ids[number]
        yield given or f"case {number} {_short(values)}", dict(zip(arguments, values, strict=True))


def _short(values: Iterable[Any]) -> str:
    text = ", ".join(str(getattr(value, "__name__", value)) for value in values)
    return text if len(text) <= LONGEST_NAME else f"{text[:LONGEST_NAME]}..."


def _own(fixtures: dict[str, Any], number: int, stack: ExitStack) -> dict[str, Any]:
    """Returns the fixtures with those that a case must not share replaced."""
    own = dict(fixtures)
    if isinstance(folder := own.get("tmp_path"), Path):
        own["tmp_path"] = folder / str(number)
        own["tmp_path"].mkdir()
    if "monkeypatch" in own:
        own["monkeypatch"] = stack.enter_context(pytest.MonkeyPatch.context())
    return own


def _told(error: BaseException) -> str:
    """Returns the line of the tests that failed, and why."""
    ours = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(str(ROOT / "tests"))]
    where = f"{Path(ours[-1].filename).relative_to(ROOT)}:{ours[-1].lineno}: " if ours else ""
    return f"{where}{type(error).__name__}: {error}"

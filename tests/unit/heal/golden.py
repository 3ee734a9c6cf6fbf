"""Text compared with a file, exactly but for blanks at line ends; KFIX_UPDATE_GOLDEN=1 writes the file anew."""

from __future__ import annotations

import os

from tests.places import GOLDEN

FOLDER = GOLDEN / "runbook"


def check(name: str, text: str) -> None:
    text = "\n".join(line.rstrip() for line in text.splitlines()) + "\n"
    path = FOLDER / f"{name}.txt"
    if os.environ.get("KFIX_UPDATE_GOLDEN") == "1":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")

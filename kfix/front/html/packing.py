"""Packs data and scripts for the page (gzip, base64), so that no name can end a script element."""

import base64
import gzip
import hashlib
from functools import cache
from importlib import resources
from typing import Any, Final

from kfix.core.harmless import for_json, for_script

_ASSETS: Final = resources.files("kfix.fleet.report.html") / "assets"
#: Concatenated in this order into one script.
SCRIPTS: Final = ("basics.js", "finding.js", "clusters.js", "charts.js", "app.js")


def asset(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


def packed(text: str) -> str:
    """Returns the text as base64 of gzip. The same text gives the same bytes: no timestamp is included."""
    return base64.b64encode(gzip.compress(text.encode("utf-8", "backslashreplace"), 6, mtime=0)).decode("ascii")


def packed_json(value: Any) -> str:
    return packed(_json(value))


def in_script(value: Any) -> str:
    """Returns JSON that is safe in a script element: it can neither end the element nor open a comment."""
    return _json(value).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _json(value: Any) -> str:
    """Returns JSON with harmless texts, since the script inserts them unchanged."""
    return for_json(for_script(value), ascii_only=True, compact=True, default=str)


@cache
def app_script() -> str:
    body = "\n".join(asset(name) for name in SCRIPTS)
    return f'(function () {{\n"use strict";\n{body}\n}})();\n'


def sha256(script: str) -> str:
    """Returns the hash of a script as a Content-Security-Policy names it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode('ascii')}'"

"""Names the command that installs an extra, by the tool that installed kfix."""

import sys
from pathlib import PurePath

#: The name on the package index: the one called `kfix` there is another product.
PACKAGE = "kafka-kfix"


def install(*extras: str, prefix: str = "") -> str:
    """Returns the command for pipx, uv or pip. `prefix` is the folder of the environment, by default this one's."""
    parts = PurePath(prefix or sys.prefix).parts
    what = f"'{PACKAGE}[{','.join(extras)}]'"
    if "pipx" in parts:
        return f"pipx install --force {what}"
    if parts[-3:-1] == ("uv", "tools"):
        return f"uv tool install {what}"
    return f"pip install {what}"

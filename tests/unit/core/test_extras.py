"""What installs an extra depends on what installed kfix; on another system kfix says in one line that it cannot run."""

from __future__ import annotations

import subprocess
import sys

from kfix.core.extras import install
from tests.each import for_each
from tests.places import ROOT


@for_each(
    "prefix, command",
    [
        ("/srv/a/.local/share/pipx/venvs/kafka-kfix", "pipx install --force 'kafka-kfix[fleet,hdfs]'"),
        ("/srv/a/.local/share/uv/tools/kafka-kfix", "uv tool install 'kafka-kfix[fleet,hdfs]'"),
        ("/srv/a/work/uv/.venv", "pip install 'kafka-kfix[fleet,hdfs]'"),
        ("/usr", "pip install 'kafka-kfix[fleet,hdfs]'"),
    ],
)
def test_the_command_is_that_of_the_tool_that_installed_kfix(prefix: str, command: str) -> None:
    assert install("fleet", "hdfs", prefix=prefix) == command


def test_another_system_is_refused_in_one_line() -> None:
    script = "import sys\nsys.platform = 'darwin'\nfrom kfix.__main__ import main\nmain()"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith("kfix runs on Linux only, not on darwin")

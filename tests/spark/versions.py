"""Runs the tests of this folder on other versions of Spark than the locked one.

`python -m tests.spark.versions [VERSION ...] [-- OPTIONS OF PYTEST]` installs each version (default: 4.0 and 4.3, the
newest patch) into a temporary folder, runs a slice there and shows a table; `make test-spark-versions` calls it.
`KFIX_SPARK_VERSIONS=FOLDER` keeps what is installed.
"""

import os
import re
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from tests.places import ROOT

VERSIONS = ("4.0", "4.3")
SLICE = ("start", "commands", "equality", "audit", "history", "scenarios", "failures", "connect")
_COUNTS = re.compile(r"^=+ (.*\b(?:passed|failed|error)\b.*) in [\d.]+s.*=+$", re.MULTILINE)


def installed(version, folder):
    """Installs pyspark with its py4j, unless it is there. Returns the version that it is."""
    if not (folder / "pyspark").is_dir():
        pip = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "-q", "--target", folder]
        subprocess.run([*pip, f"pyspark=={version}.*"], check=True)
    script = "import pyspark; print(pyspark.__version__, pyspark.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", script], env=_env(folder), capture_output=True, text=True, check=True, cwd=ROOT
    )
    found, file = done.stdout.split()
    assert file.startswith(str(folder)), file
    assert found.startswith(f"{version}."), found
    return found


def tested(folder, options):
    """Returns (exit code, counts) of pytest."""
    files = [ROOT / "tests" / "spark" / f"test_{name}.py" for name in SLICE]
    command = [sys.executable, "-m", "pytest", "-q", "-m", "", "-p", "no:cacheprovider", *(options or files)]
    lines = []
    with subprocess.Popen(
        [*command, "-W", "ignore::FutureWarning", "-v", "--tb=short"],
        env=_env(folder),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            sys.stdout.write(line)
            lines.append(line)
    counts = _COUNTS.findall("".join(lines))
    return process.returncode, counts[-1] if counts else "no test ran"


def _env(folder):
    paths = [str(folder), str(ROOT), str(ROOT / "diagnostics"), str(ROOT / "spark"), os.environ.get("PYTHONPATH", "")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}


def main():
    words = sys.argv[1:]
    at = words.index("--") if "--" in words else len(words)
    versions, options = words[:at] or VERSIONS, words[at + 1 :]
    rows, failed = [], False
    with ExitStack() as stack:
        kept = os.environ.get("KFIX_SPARK_VERSIONS")
        top = Path(kept or stack.enter_context(tempfile.TemporaryDirectory(prefix="kfix-spark-versions-"))).absolute()
        for version in versions:
            folder = top / version
            name = installed(version, folder)
            sys.stdout.write(f"== Spark {name}\n")
            sys.stdout.flush()
            code, counts = tested(folder, options)
            failed |= code != 0
            rows.append(f"| {name} | {counts} |")
    sys.stdout.write("\n".join(["| Spark | tests |", "|---|---|", *rows, ""]))
    raise SystemExit(int(failed))


if __name__ == "__main__":
    main()

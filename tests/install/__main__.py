"""Builds the wheel, installs it with pipx and uv, with each extra, on each Python at hand, and tries what is there.

`python -m tests.install [EXTRA ...]` (default: all of `EXTRAS` but `spark`, which downloads 400 MB) prints a row for
each installation; it ends with 1 if one failed. The hooks of pre-commit are tried with `pre-commit try-repo`. pipx, uv
and pre-commit are installed into a temporary folder; packages come from the registry that pip is set up for.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tests.places import ROOT
from tests.waiting import seconds

PYTHONS = ("3.11", "3.12", "3.13")
EXTRAS = ("", "inspect", "fleet", "fleet,hdfs", "spark", "docs", "kerberos", "aws", "zookeeper-sasl")
#: The modules that an extra brings.
MODULES = {
    "inspect": ("cramjam",),
    "fleet": ("pyarrow", "deltalake", "duckdb", "jinja2"),
    "fleet,hdfs": ("pyarrow", "hdfs_native"),
    "spark": ("pyspark", "pandas"),
    "docs": ("mkdocs",),
    "kerberos": ("gssapi",),
    "aws": ("aws_msk_iam_sasl_signer",),
    "zookeeper-sasl": ("puresasl",),
}
NOTHING: Mapping[str, str] = {}
SAMPLES = {"coordinator-stuck": 21, "healthy": 0}
_INVALID = "apiVersion: kfix/v1\nkind: Fleet\nclusters:\n  a: {bootstrap: nowhere}\n"
_VALID = "apiVersion: kfix/v1\nkind: Fleet\nclusters:\n  a: {bootstrap: 'localhost:1'}\n"


def run(*words: str | Path, cwd: Path = ROOT, more: Mapping[str, str] = NOTHING) -> subprocess.CompletedProcess[str]:
    """Runs a command without the environment of this project."""
    env = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "VIRTUAL_ENV"} and not k.startswith("KFIX_")}
    return subprocess.run(
        [*map(str, words)],
        cwd=cwd,
        env={**env, **more},
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds(1200),
    )


def must(*words: str | Path, cwd: Path = ROOT, code: int = 0, more: Mapping[str, str] = NOTHING) -> str:
    done = run(*words, cwd=cwd, more=more)
    if done.returncode != code:
        said = (done.stdout + done.stderr)[-2000:]
        raise AssertionError(f"{' '.join(map(str, words))}: exit code {done.returncode}, not {code}\n{said}")
    return done.stdout


def pythons() -> Iterator[tuple[str, Path]]:
    """Yields each Python at hand, from the path or from pyenv, with its version."""
    for version in PYTHONS:
        places = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python{version}"))
        on_path = shutil.which(f"python{version}")
        for place in [*places[-1:], *([Path(on_path)] if on_path else [])]:
            if run(place, "-c", "import venv, ensurepip").returncode == 0:
                yield version, place
                break
        else:
            _say(f"python {version}: not on this machine, so not tried")


def tried(kfix: Path, python: Path, extra: str) -> None:
    """Raises AssertionError unless the installed command does what it should."""
    assert must(kfix, "--version").startswith("kfix ")
    assert must(kfix, "explain", "KFX101").startswith("KFX101 coordinator-stuck")
    for sample, code in SAMPLES.items():
        snapshot = f"examples/snapshots/{sample}.json.gz"
        for words in ((), ("--format", "sarif"), ("--format", "junit"), ("--format", "prometheus")):
            must(kfix, "diagnose", "--from", snapshot, *words, code=code)
    assert "coordinator-stuck" in must(kfix, "runbook", "list")
    assert must(kfix, "schema", "diagnosis").startswith("{")
    if extra:
        must(python, "-c", f"import {', '.join(MODULES[extra])}")


def with_uv(uv: Path, wheel: Path, python: Path, extra: str, folder: Path) -> tuple[Path, Path]:
    more = {"UV_TOOL_DIR": str(folder / "tools"), "UV_TOOL_BIN_DIR": str(folder / "bin")}
    must(uv, "tool", "install", "--quiet", "--python", python, _named(wheel, extra), more=more)
    return folder / "bin" / "kfix", folder / "tools" / "kafka-kfix" / "bin" / "python"


def with_pipx(pipx: Path, wheel: Path, python: Path, extra: str, folder: Path) -> tuple[Path, Path]:
    more = {"PIPX_HOME": str(folder / "pipx"), "PIPX_BIN_DIR": str(folder / "bin")}
    must(pipx, "install", "--quiet", "--python", python, _named(wheel, extra), more=more)
    return folder / "bin" / "kfix", folder / "pipx" / "venvs" / "kafka-kfix" / "bin" / "python"


def _named(wheel: Path, extra: str) -> str:
    return f"kafka-kfix[{extra}] @ {wheel.as_uri()}" if extra else f"kafka-kfix @ {wheel.as_uri()}"


def with_pre_commit(pre_commit: Path, folder: Path) -> None:
    """Tries both hooks against this commit of the repository, on good files and on bad ones."""
    site = folder / "site"
    (site / "runbooks").mkdir(parents=True)
    shutil.copy(ROOT / "runbooks" / "coordinator-stuck.yaml", site / "runbooks")
    (site / "fleet.yaml").write_text(_VALID)
    must("git", "init", "-q", cwd=site)
    must("git", "add", "-A", cwd=site)
    more = {"PRE_COMMIT_HOME": str(folder / "hooks")}
    repo = must("git", "rev-parse", "--show-toplevel").strip()
    words = (pre_commit, "try-repo", repo, "--ref", "HEAD", "--all-files", "--verbose")
    said = must(*words, cwd=site, more=more)
    assert said.count("Passed") == 2, said
    (site / "fleet.yaml").write_text(_INVALID)
    (site / "runbooks" / "coordinator-stuck.yaml").write_text("apiVersion: kfix/v1\nkind: Runbook\n")
    done = run(*words, cwd=site, more=more)
    assert done.returncode == 1, done.stdout
    assert "fleet.yaml:4:" in done.stdout, done.stdout
    assert "coordinator-stuck.yaml:1:1" in done.stdout, done.stdout


def with_mypy(wheel: Path, folder: Path) -> None:
    """Checks the code of docs/python.md against the types of the installed package."""
    must(sys.executable, "-m", "venv", folder / "typed")
    python = folder / "typed" / "bin" / "python"
    must(python, "-m", "pip", "install", "-q", "--disable-pip-version-check", f"kafka-kfix @ {wheel.as_uri()}", "mypy")
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs" / "python.md").read_text(), re.MULTILINE | re.DOTALL)
    for number, block in enumerate(blocks):
        (folder / f"page{number}.py").write_text(block)
        must(python, "-m", "mypy", "--strict", f"page{number}.py", cwd=folder)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main(extras: Sequence[str]) -> int:
    failed = 0

    def row(what: str, began: float, error: Exception | None) -> None:
        nonlocal failed
        failed += error is not None
        _say(f"{what:<44} {'ok' if error is None else 'FAILED'} {time.monotonic() - began:6.1f} s")
        if error is not None:
            _say(f"    {error}")

    with tempfile.TemporaryDirectory(prefix="kfix-install-") as name:
        top = Path(name)
        must(sys.executable, "-m", "venv", top / "clients")
        tools = top / "clients" / "bin"
        must(tools / "pip", "install", "-q", "--disable-pip-version-check", "pipx", "uv", "pre-commit")
        must(tools / "pip", "wheel", "-q", "--no-deps", "-w", top / "wheel", ROOT)
        [wheel] = (top / "wheel").glob("*.whl")
        for version, python in pythons():
            ways = [("pipx", "", with_pipx), *(("uv", extra, with_uv) for extra in extras)]
            for tool, extra, way in ways:
                folder, began = top / f"{tool}-{version}-{extra.replace(',', '-')}", time.monotonic()
                error: Exception | None = None
                try:
                    tried(*way(tools / tool, wheel, python, extra, folder), extra)
                except AssertionError as found:
                    error = found
                row(f"python {version}, {tool}, {f'[{extra}]' if extra else 'no extra'}", began, error)
                shutil.rmtree(folder, ignore_errors=True)
        others = {
            "pre-commit try-repo, both hooks": lambda: with_pre_commit(tools / "pre-commit", top),
            "mypy, the code of docs/python.md": lambda: with_mypy(wheel, top),
        }
        for what, trial in others.items():
            began, error = time.monotonic(), None
            try:
                trial()
            except AssertionError as found:
                error = found
            row(what, began, error)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or [extra for extra in EXTRAS if extra != "spark"]))

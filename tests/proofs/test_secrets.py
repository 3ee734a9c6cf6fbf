"""Proof: no secret of a --command-config reaches a plan, a journal, a screen, an output or any file of a run."""

from __future__ import annotations

import os
import resource
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kfix.core.access import Access
from kfix.core.clusters import DiagnoseOptions
from kfix.core.diagnosis.finding import Diagnosis
from kfix.core.properties.load import load_security
from kfix.core.snapshot.snapshot import Snapshot
from kfix.lab.security.certificates import CertificateAuthority, pem
from kfix.shell.app import app
from tests.proofs.scenarios import SCENARIOS
from tests.proofs.stage import Stage
from tests.unit.heal.fake_wiring import FakeWiring
from tests.waiting import seconds

SECRETS = ("hunter2-sasl", "hunter2-keystore", "hunter2-key", "hunter2-truststore", "hunter2-jaas")

CONFIG = """
security.protocol=SASL_SSL
sasl.mechanism=SCRAM-SHA-512
sasl.jaas.config=scram.ScramLoginModule required username="ops" password="hunter2-sasl";
ssl.truststore.location={ca}
ssl.truststore.type=PEM
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    ca = tmp_path / "ca.pem"
    ca.write_text(pem(CertificateAuthority.new("kfix test").certificate))
    path = tmp_path / "client.properties"
    path.write_text(CONFIG.format(ca=ca))
    path.chmod(0o600)
    return path


def everything_in(folder: Path) -> str:
    return "\n".join(p.read_bytes().decode(errors="replace") for p in folder.rglob("*") if p.is_file())


def test_nothing_of_a_password_is_left_anywhere(home: Path, config: Path, tmp_path: Path) -> None:
    sick = Stage(SCENARIOS["coordinator-stuck"], tmp_path / "none")
    seen: list[object] = []

    class Reading(FakeWiring):
        """The real reading of the file; the cluster behind it is the one in memory."""

        def diagnose(self, access: Access, options: DiagnoseOptions) -> tuple[Diagnosis, Snapshot]:
            try:
                seen.append(access.target())
            except Exception as error:
                seen.append(error)
                raise
            return super().diagnose(access, options)

    behind = Reading(sick.cluster, sick.finding).app(home)
    plan = tmp_path / "plan.json"
    reach = ["--bootstrap-server", "localhost:9092", "--command-config", str(config)]
    told = []
    for words in (
        ["plan", "coordinator-stuck", *reach, "--output-file", str(plan), "--json"],
        ["apply", "--plan", str(plan), *reach],
        ["apply", "coordinator-stuck", *reach],
    ):
        result = CliRunner().invoke(app, ["runbook", *words], input="y\n" * 9, obj=behind)
        told.append(result.output + repr(result.exception))
    sick.cluster.lock.missing = "unreadable"
    told.append(CliRunner().invoke(app, ["runbook", "history"], obj=behind).output)
    assert seen, "the file was read"
    assert plan.exists(), told
    config_text = config.read_text()
    assert any(secret in config_text for secret in SECRETS), "the control: it is there to be found"
    config.unlink()
    everything = "\n".join([*told, everything_in(home), plan.read_text(), *map(repr, seen), *map(str, seen)])
    assert "hunter2" not in everything


@pytest.mark.parametrize(
    "line",
    [
        "ssl.keystore.password=hunter2-keystore",
        "sasl.jaas.config=nonsense password=hunter2-jaas",
        "ssl.keystore.key=hunter2-key",
        "hunter2-truststore",
        "security.protocol=hunter2-sasl",
    ],
)
def test_a_file_that_is_wrong_is_refused_without_its_secrets(config: Path, line: str, monkeypatch, home: Path) -> None:
    monkeypatch.setenv("KFIX_STATE_HOME", str(home))
    config.write_text(f"{CONFIG.replace('{ca}', 'nowhere.pem')}{line}\n".replace('hunter2-sasl"', 'hunter2-jaas"'))
    reach = ["--bootstrap-server", "127.0.0.1:1", "--timeout", "1", "--command-config", str(config)]
    result = CliRunner().invoke(app, ["runbook", "plan", "coordinator-stuck", *reach])
    assert result.exit_code != 0
    shown = "security.protocol" in line
    assert shown or "hunter2" not in result.output + repr(result.exception)


#: A defect in the midst of a connection, where the password is a local variable; then the process shows its title.
CRASH = """
import runpy, sys
from pathlib import Path
from kfix.core.kafka import security
def crash(self, plain, host):
    password = self.password
    assert password == "hunter2-sasl"
    sys.stderr.write(Path("/proc/self/cmdline").read_text())
    raise RuntimeError("a defect")
security.Security.wrap = crash
sys.argv = ["kfix", *sys.argv[1:]]
runpy.run_module("kfix", run_name="__main__")
"""


@pytest.mark.parametrize("debug", ["", "1"])
def test_a_crash_amid_a_connection_shows_no_secret(config: Path, home: Path, debug: str, tmp_path: Path) -> None:
    script = tmp_path / "crash.py"
    script.write_text(CRASH)
    env = os.environ | {"KFIX_STATE_HOME": str(home), "KFIX_DEBUG": debug}
    with socket.create_server(("127.0.0.1", 0)) as broker:
        address = f"127.0.0.1:{broker.getsockname()[1]}"
        words = ["diagnose", "--bootstrap-server", address, "--timeout", "2", "--command-config", str(config)]
        command = [sys.executable, str(script), *words]
        done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=seconds(60), check=False)
    said = done.stdout + done.stderr
    assert {str(config) in said, "RuntimeError: a defect" in said} == {True}, (
        "the control: the defect was met, and shows the process title"
    )
    assert ("Traceback" in said) == bool(debug), said
    assert "hunter2" not in said + everything_in(home)


def test_a_process_with_secrets_leaves_no_core_dump(config: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
        load_security(config)
        assert resource.getrlimit(resource.RLIMIT_CORE) == (0, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, (soft, hard))

"""Rules over the whole repository: what starts light, what ships, what stays small, what must not be written down."""

import os
import re
import subprocess
import sys
import zipfile

import pytest

from tests.places import ROOT

HEAVY = (
    "confluent_kafka",
    "kazoo",
    "pydantic",
    "pyspark",
    "yaml",
    "kafka",
    "kfix_diagnostics",
    "kfix.core.collect",
    "kfix.core.kafka",
    "kfix.core.zookeeper",
    "kfix.lab",
)


def tracked():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return [ROOT / name for name in listed if (ROOT / name).is_file()]


def loaded(words, names):
    """Those of the modules that a command of kfix has loaded in the end."""
    script = (
        f"import sys\nsys.argv = ['kfix', *{words!r}]\nfrom kfix.shell.app import app\n"
        "try:\n    app()\nexcept SystemExit:\n    pass\n"
        f"print([m for m in {names!r} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1]


def test_help_loads_nothing_heavy():
    assert loaded(["--help"], HEAVY) == "[]"


def test_a_diagnosis_of_a_file_loads_neither_the_wire_protocol_nor_the_readers_of_text():
    snapshot = ROOT / "examples" / "snapshots" / "coordinator-stuck.json.gz"
    wire = ("kfix.core.collect.collector", "kfix.core.kafka.connection", "kfix.core.zookeeper.view")
    words = ["diagnose", "--from", str(snapshot)]
    assert loaded(words, (*wire, "kfix.diagnose.pasted.reader", "pydantic", "yaml")) == "[]"


def test_the_folders_of_commands_hide_no_module_of_python_from_the_file_that_spark_submit_runs(tmp_path):
    path = os.pathsep.join(str(ROOT / each) for each in ("", "diagnostics"))
    command = [sys.executable, str(ROOT / "kfix" / "__main__.py"), "--version"]
    done = subprocess.run(
        command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_no_python_file_stands_directly_in_the_folders_that_are_on_the_path():
    assert [p.name for folder in ("diagnostics", "spark") for p in (ROOT / folder).glob("*.py")] == []


def test_no_registry_host_and_no_path_of_a_machine_is_written_down():
    # Spelled in pieces, so that this file does not hold what it forbids.
    hosts = "|".join(
        re.escape(a + b)
        for a, b in [
            ("pypi", ".org"),
            ("pythonhosted", ".org"),
            ("repo1.", "maven"),
            ("repo.", "maven"),
            ("npmjs", ".org"),
            ("docker", ".io"),
        ]
    )
    forbidden = re.compile(f"{hosts}|/(?:root|home)/[a-z]|/work/" + "(?:main|shared)")
    found = []
    for path in tracked():
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        found += [f"{path.relative_to(ROOT)}: {m[0]}" for m in forbidden.finditer(text)]
    assert found == []


def test_the_tree_is_the_given_one():
    given = {"kfix", "runbooks", "diagnostics", "spark", "tests", "examples", "pyproject.toml"}
    assert given <= {p.name for p in ROOT.iterdir()}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(folder), str(ROOT)],
        check=True,
        capture_output=True,
    )
    [built] = folder.glob("kafka_kfix-*.whl")
    return zipfile.ZipFile(built)


def test_the_wheel_holds_the_packages_and_nothing_else(wheel):
    tops = {name.split("/")[0] for name in wheel.namelist()}
    packages = {"kfix", "kfix_diagnostics", "kfix_spark"}
    assert {top for top in tops if not top.endswith((".dist-info", ".data"))} == packages
    pages = {name.rpartition(".data/data/")[2] for name in wheel.namelist() if ".data/" in name}
    assert pages == {"share/man/man1/kfix.1"}


def test_the_wheel_carries_runbooks_and_the_labs_pom(wheel):
    names = set(wheel.namelist())
    shipped = {f"kfix/_runbooks/{p.name}" for p in (ROOT / "runbooks").glob("*.yaml")}
    assert shipped
    assert shipped <= names
    assert any(n.startswith("kfix/lab/resources/") and n.endswith(".xml") for n in names)


def test_every_link_of_the_page_on_the_index_is_absolute(wheel):
    [text] = [wheel.read(name).decode() for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) > 10
    assert [link for link in links if not link.startswith(("https://", "#"))] == []


def test_the_wheel_carries_the_licence(wheel):
    [text] = [wheel.read(name).decode() for name in wheel.namelist() if name.endswith(".dist-info/licenses/LICENSE")]
    assert text == (ROOT / "LICENSE").read_text()


@pytest.mark.parametrize("folder", ["kfix/fleet/report/html/assets", "kfix/incident/report/assets"])
def test_the_wheel_carries_the_pages_of_the_reports(wheel, folder):
    assets = {str(p.relative_to(ROOT)) for p in (ROOT / folder).iterdir()}
    assert assets
    assert assets <= set(wheel.namelist())

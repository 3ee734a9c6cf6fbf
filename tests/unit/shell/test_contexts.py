"""`kfix context`, `kfix -c NAME COMMAND`, KFIX_CLUSTER, and the id that a name stands for."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kfix.core.access import Access
from kfix.core.application import App
from kfix.core.clock import SystemClock
from kfix.core.clusters import DiagnoseOptions, OpenCluster, SnapshotOptions
from kfix.core.contexts.pins import Contexts, refuse_another
from kfix.core.diagnosis.finding import Diagnosis
from kfix.core.errors import RefusedError
from kfix.core.inventory import trust
from kfix.core.snapshot.snapshot import Snapshot
from kfix.core.timing import DiagnosisTimes
from kfix.shell.app import app
from kfix_diagnostics.engine import diagnose
from tests.unit.diagnostics.clusters import healthy

FLEET = """\
# Our clusters; ask platform before you change them.
apiVersion: kfix/v1
kind: Fleet
clusters:
  # the shop
  orders-eu:
    bootstrap: "localhost:1,localhost:2"   # two are enough
    bootstrap_controller: localhost:7
    tags: [eu, prod]
  orders-us:
    bootstrap: localhost:4
    owner: ann
    # a comment at the end of the entry

mutes:
  - {clusters: [orders-*], findings: [KFX6*], reason: known, until: 2099-12-31}
"""
HEAD = "apiVersion: kfix/v1\nkind: Fleet\n"


@dataclass
class OneCluster:
    """Answers for every address with the same cluster, compared with its name as a live one is."""

    home: Path
    id: str = "id-of-orders"
    asked: list[Access] = field(default_factory=list)
    options: list[DiagnoseOptions] = field(default_factory=list)
    seen: Callable[[], Snapshot] = healthy

    def diagnose(self, access: Access, options: DiagnoseOptions) -> tuple[Diagnosis, Snapshot]:
        self.options.append(options)
        snapshot = self.snapshot(access, SnapshotOptions(), pin=options.keep)
        return diagnose(snapshot), snapshot

    def snapshot(self, access: Access, _: SnapshotOptions, *, pin: bool = True) -> Snapshot:
        self.asked.append(access)
        target = access.target()
        found = self.seen()
        found = replace(found, cluster=replace(found.cluster, id=self.id), reached_by=target.reached_by)
        if target.name:
            refuse_another(target, found, self.home / "kfix", pin=pin)
        return found

    def findings_before_change(self, access: Access, judged: DiagnosisTimes) -> tuple[()]:
        raise AssertionError(access)

    @contextmanager
    def open(self, access: Access, snapshot: Snapshot | None = None) -> Iterator[OpenCluster]:
        raise AssertionError(access, snapshot)
        yield


class Site:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.cluster = OneCluster(root / "state")
        self.environ = {"XDG_CONFIG_HOME": str(root / "config"), "KFIX_STATE_HOME": str(root / "state")}

    def run(self, *words: str, **environ: str) -> tuple[int, str, str]:
        world = self.environ | environ
        done = CliRunner().invoke(app, words, env=world, obj=App(self.cluster, SystemClock(), world))
        return done.exit_code, done.stdout, done.stderr

    @property
    def last(self) -> Access:
        return self.cluster.asked[-1]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    for folder in ("work", "config/kfix", "state", "etc"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "config" / "kfix" / "fleet.yaml").write_text(FLEET)
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setattr(trust, "HOST", tmp_path / "etc")
    return Site(tmp_path)


def test_a_name_before_the_command_after_it_and_in_the_environment_is_the_same(site: Site) -> None:
    for words, environ in (
        (("-c", "orders-eu", "diagnose"), {}),
        (("--cluster", "orders-eu", "diagnose"), {}),
        (("diagnose", "-c", "orders-eu"), {}),
        (("-c", "orders-eu", "diagnose", "-c", "orders-eu"), {}),
        (("diagnose",), {"KFIX_CLUSTER": "orders-eu"}),
        (("diagnose", "-c", "orders-eu"), {"KFIX_CLUSTER": "orders-us"}),
        (("-c", "orders-eu", "diagnose"), {"KFIX_CLUSTER": "orders-us", "KFIX_BOOTSTRAP_SERVER": "localhost:9"}),
    ):
        code, out, err = site.run(*words, **environ)
        assert code == 0, err
        assert out.startswith("orders-eu (id-of-orders): healthy")
        assert (site.last.bootstrap_servers, site.last.controllers) == ("localhost:1,localhost:2", "localhost:7")
        assert site.last.options() == ["-c", "orders-eu"]


def test_an_address_of_the_command_line_counts_more_than_a_name_of_the_environment(site: Site) -> None:
    site.run("context", "use", "orders-us")
    for words in (("--bootstrap-server", "localhost:9"), ("--zookeeper", "localhost:9")):
        site.run("diagnose", *words, KFIX_CLUSTER="orders-eu")
        assert (site.last.name, site.last.options()) == ("", [*words])
    site.run("diagnose", KFIX_BOOTSTRAP_SERVER="localhost:9")
    assert site.last.name == ""


def test_two_names_and_a_name_with_an_address_are_refused(site: Site) -> None:
    code, _, err = site.run("-c", "orders-eu", "diagnose", "-c", "orders-us")
    assert (code, err.splitlines()[0]) == (2, "kfix: -c orders-eu and -c orders-us name two clusters")
    code, _, err = site.run("-c", "orders-eu", "diagnose", "--bootstrap-server", "localhost:9")
    assert code == 2
    assert "leave out --bootstrap-server" in err
    assert site.cluster.asked == []


@pytest.mark.parametrize("words", [("audit",), ("fleet", "check"), ("lab", "status"), ("runbook", "history")])
def test_a_name_before_a_command_that_would_ignore_it_is_refused(site: Site, words: tuple[str, ...]) -> None:
    code, _, err = site.run("-c", "orders-eu", *words)
    assert code == 2
    assert f"kfix: kfix {' '.join(words)} does not act on a single cluster: leave out -c orders-eu before it" in err


def test_a_saved_snapshot_excludes_a_name_of_the_command_line_only(site: Site, tmp_path: Path) -> None:
    from kfix.core.saved import files

    files.save(healthy(), tmp_path / "s.json")
    assert site.run("diagnose", "--from", str(tmp_path / "s.json"), KFIX_CLUSTER="orders-eu")[0] == 0
    assert site.run("-c", "orders-eu", "diagnose", "--from", str(tmp_path / "s.json"))[0] == 2


def test_the_first_inventory_counts_in_the_order_of_the_documentation(site: Site) -> None:
    def fleet(path: Path, name: str) -> None:
        path.write_text(f"apiVersion: kfix/v1\nkind: Fleet\nclusters: {{{name}: {{bootstrap: 'localhost:3'}}}}\n")

    (site.root / "config" / "kfix" / "fleet.yaml").unlink()
    code, _, err = site.run("-c", "far", "diagnose")
    assert code == 2
    assert "there is no inventory at fleet.yaml, " in err
    fleet(site.root / "etc" / "fleet.yaml", "host")
    assert site.run("-c", "host", "diagnose")[0] == 0
    fleet(site.root / "config" / "kfix" / "fleet.yaml", "user")
    assert site.run("-c", "user", "diagnose")[0] == 0
    fleet(Path("fleet.yaml"), "here")
    assert site.run("context", "trust")[0] == 0
    assert "here" in site.run("context", "list")[1]
    fleet(site.root / "named.yaml", "named")
    assert "named" in site.run("context", "list", KFIX_FLEET=str(site.root / "named.yaml"))[1]
    assert "here" in site.run("fleet", "check")[1]


def test_list_marks_the_context_in_use_and_use_chooses_it(site: Site) -> None:
    code, out, _ = site.run("context", "list")
    assert code == 0
    assert "none is in use" in out
    assert site.run("context", "use", "orders-us")[1] == "commands that name no cluster now use orders-us\n"
    assert "(before: orders-us)" in site.run("context", "use", "orders-eu")[1]
    said = json.loads(site.run("context", "list", "--json")[1])
    assert [(c["name"], c["used"]) for c in said["contexts"]] == [("orders-eu", True), ("orders-us", False)]
    assert site.run("diagnose")[1].startswith("orders-eu (")
    assert "in use: orders-us (KFIX_CLUSTER or -c)" in site.run("context", "list", KFIX_CLUSTER="orders-us")[1]
    assert site.run("context", "use", "--none")[0] == 0
    assert site.run("diagnose")[0] == 2


def test_use_refuses_an_unknown_name_and_nothing(site: Site) -> None:
    code, _, err = site.run("context", "use", "orders-es")
    assert code == 2
    assert "has no cluster 'orders-es', did you mean 'orders-" in err
    assert site.run("context", "use")[0] == site.run("context", "use", "orders-eu", "--none")[0] == 2


def test_show_prints_what_a_name_stands_for(site: Site) -> None:
    out = site.run("context", "show", "orders-eu")[1]
    assert "controllers  localhost:7" in out
    assert "mute         KFX6* until 2099-12-31: known" in out
    assert "cluster id   not known on this host yet" in out
    site.run("diagnose", "-c", "orders-eu")
    assert "id-of-orders (since its first use on this host)" in site.run("-c", "orders-eu", "context", "show")[1]
    assert site.run("context", "show")[0] == 2


def test_another_cluster_behind_a_name_is_refused_with_both_ids_and_the_way_on(site: Site) -> None:
    assert site.run("diagnose", "-c", "orders-eu")[0] == 0
    site.cluster.id = "someone-else"
    code, out, err = site.run("diagnose", "-c", "orders-eu", "--json")
    assert (code, json.loads(out)["exit_code"]) == (3, 3)
    assert "this name stood for cluster id-of-orders, and the cluster that answers now is someone-else" in err
    assert "kfix context test orders-eu --accept-new-id" in err
    assert site.run("context", "test", "orders-eu")[0] == 3
    code, out, _ = site.run("context", "test", "orders-eu", "--accept-new-id")
    assert code == 0
    assert "someone-else, accepted instead of id-of-orders" in out
    assert site.run("diagnose", "-c", "orders-eu")[0] == 0


def test_an_id_of_the_inventory_counts_more_than_what_is_remembered(site: Site) -> None:
    assert site.run("diagnose", "-c", "orders-us")[0] == 0
    path = site.root / "config" / "kfix" / "fleet.yaml"
    path.write_text(FLEET.replace("    owner: ann", "    owner: ann\n    id: right"))
    code, _, err = site.run("diagnose", "-c", "orders-us")
    assert code == 3
    assert "the inventory has the id right, and the cluster that answers is id-of-orders" in err
    assert site.run("context", "test", "orders-us", "--accept-new-id")[0] == 3
    site.cluster.id = "right"
    assert site.run("diagnose", "-c", "orders-us")[0] == 0


def test_a_diagnosis_that_stores_nothing_remembers_no_id(site: Site) -> None:
    site.run("diagnose", "-c", "orders-eu", "--no-keep")
    assert Contexts(site.root / "state" / "kfix").pinned("orders-eu") == ""


def test_a_cluster_without_an_id_and_a_state_folder_that_cannot_be_written_stop_no_diagnosis(site: Site) -> None:
    site.cluster.id = ""
    assert site.run("diagnose", "-c", "orders-eu")[0] in {0, 22}
    (site.root / "state" / "kfix").write_text("a file")
    site.cluster.id = "x"
    with pytest.raises(NotADirectoryError):
        (site.root / "state" / "kfix" / "contexts").stat()


def test_what_is_remembered_is_private_and_a_damaged_file_is_one_line(site: Site) -> None:
    site.run("diagnose", "-c", "orders-eu")
    place = site.root / "state" / "kfix" / "contexts" / "ids" / "orders-eu"
    assert place.stat().st_mode & 0o777 == 0o600
    place.write_bytes(b"\xff\xfe")
    code, _, err = site.run("diagnose", "-c", "orders-eu")
    assert code == 2
    assert f"{place}: cannot be read: not text" in err
    assert f"rm {place}" in err


def test_test_shows_on_one_screen_what_was_reached(site: Site) -> None:
    code, out, _ = site.run("context", "test", "orders-eu")
    assert code == 0
    lines = out.splitlines()
    assert lines[0].startswith("orders-eu: reached, in ")
    assert "  cluster id   id-of-orders, remembered from now on" in lines
    assert any(line.startswith("  brokers      1, 2, 3 answered") for line in lines)
    assert "id-of-orders, as before" in site.run("context", "test", "orders-eu")[1]
    assert json.loads(site.run("context", "test", "orders-eu", "--json")[1])["complete"] is True


def test_add_keeps_every_other_line(site: Site, tmp_path: Path) -> None:
    path = site.root / "config" / "kfix" / "fleet.yaml"
    (tmp_path / "client.properties").write_text("security.protocol=PLAINTEXT\n")
    words = ["--bootstrap-server", "localhost:5", "--tag", "eu", "--tag", "test", "--id", "abc"]
    code, out, err = site.run(
        "context", "add", "pay ments", *words, "--command-config", str(tmp_path / "client.properties")
    )
    assert code == 0, err
    assert "kfix context test" in out
    before, after = FLEET.splitlines(), path.read_text().splitlines()
    added = [line for line in after if line not in before]
    assert [line for line in after if line in before] == before
    assert added[0] == "  pay ments:"
    assert path.stat().st_mode & 0o777 == 0o644
    site.run("-c", "pay ments", "diagnose")
    assert site.last.expected_id == "abc"
    assert site.last.command_config == tmp_path / "client.properties"


def test_add_refuses_a_mistake_and_writes_nothing(site: Site) -> None:
    path = site.root / "config" / "kfix" / "fleet.yaml"
    for words, why in (
        (("orders-eu", "--bootstrap-server", "localhost:5"), "already has a cluster 'orders-eu'"),
        (("new", "--bootstrap-server", "localhost"), "localhost"),
        (("new",), "has no address"),
        (("ne*w", "--bootstrap-server", "localhost:5"), "reserved for patterns"),
        (("new", "--bootstrap-server", "localhost:5", "--command-config", "none"), "does not exist"),
    ):
        code, _, err = site.run("context", "add", *words)
        assert (code, why in err) == (2, True), err
        assert path.read_text() == FLEET


def test_add_prints_the_lines_where_the_file_is_written_otherwise(site: Site) -> None:
    path = site.root / "config" / "kfix" / "fleet.yaml"
    flow = "apiVersion: kfix/v1\nkind: Fleet\nclusters: {a: {bootstrap: 'localhost:1'}}\n"
    path.write_text(flow)
    code, _, err = site.run("context", "add", "new", "--bootstrap-server", "localhost:5")
    assert code == 2
    assert "add under clusters:\nnew:\n  bootstrap: localhost:5\n" in err
    assert path.read_text() == flow


def test_add_begins_an_inventory_and_keeps_a_link(site: Site) -> None:
    path = site.root / "config" / "kfix" / "fleet.yaml"
    path.unlink()
    real = site.root / "real.yaml"
    assert site.run("context", "add", "one", "--bootstrap-server", "localhost:5")[0] == 0
    path.rename(real)
    path.symlink_to(real)
    assert site.run("context", "add", "two", "--zookeeper", "localhost:5/kafka")[0] == 0
    assert path.is_symlink()
    assert [line for line in site.run("context", "list", "--json")[1].splitlines() if '"name"' in line]
    assert "two:" in real.read_text()


@pytest.mark.parametrize(
    "text",
    [
        FLEET,
        FLEET.replace("\n", "\r\n"),
        FLEET.rstrip("\n"),
        f"{HEAD}clusters:\n    a:\n        bootstrap:\n        - localhost:1\n        - localhost:2",
        "kind: Fleet\nclusters:\n  a: {bootstrap: 'localhost:1'}\n# the end\n\napiVersion: kfix/v1\n",
        f"{HEAD}clusters:\n  a:\n    bootstrap: >-\n      localhost:1\n    owner: |-\n      ann\n# the end\n",
    ],
)
def test_a_cluster_is_added_to_any_block_of_clusters(tmp_path: Path, text: str) -> None:
    from kfix.core.documents.nodes import parse
    from kfix.core.inventory.adding import with_entry

    made = with_entry(text, tmp_path / "fleet.yaml", "new", {"bootstrap": "localhost:9", "tags": ["x"]})
    was = parse(text).data
    assert parse(made).data == {
        **was,
        "clusters": {**was["clusters"], "new": {"bootstrap": "localhost:9", "tags": ["x"]}},
    }
    assert [line for line in text.splitlines() if line not in made.splitlines()] == []
    assert ("\r\n" in made) == ("\r\n" in text)


def test_a_removed_working_folder_is_no_inventory(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert site.run("-c", "orders-eu", "diagnose")[0] == 0


def test_an_unnamed_target_is_never_refused(tmp_path: Path) -> None:
    target = Access("localhost:1").target()
    found = replace(healthy(), cluster=replace(healthy().cluster, id="b"))
    Contexts(tmp_path).pin("a", "other")
    with pytest.raises(RefusedError):
        refuse_another(replace(target, name="a"), found, tmp_path, pin=True)


def test_several_inventories_are_checked_each_and_all_mistakes_are_reported(site: Site, tmp_path: Path) -> None:
    good, one, two = (tmp_path / name for name in ("good.yaml", "one.yaml", "two.yaml"))
    good.write_text(FLEET)
    for bad in (one, two):
        bad.write_text(f"{HEAD}clusters:\n  a: {{bootstrap: nowhere}}\n")
    assert site.run("fleet", "check", str(good), str(good))[1].count(": valid") == 2
    code, _, err = site.run("fleet", "check", str(one), str(good), str(two))
    assert code == 2
    assert f"{one}:4:" in err
    assert f"{two}:4:" in err
    assert site.run("fleet", "check", str(good), str(one), "--json")[0] == 2

"""`-c NAME`: the cluster of this name in the inventory, instead of its address."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from kfix.core.access import Access
from kfix.front.grouped import with_options
from kfix.front.reaching import ClusterOptions
from kfix.heal.live.clusters import live

FLEET = """apiVersion: kfix/v1
kind: Fleet
clusters:
  orders-prod:
    bootstrap: "localhost:1,localhost:2"
    zookeeper: localhost:3/kafka
    command_config: client.properties
  orders-test:
    bootstrap: localhost:4
"""

runner = CliRunner()


def ask(home: Path, *words: str, **environ: str) -> Access | str:
    """Returns the access of a command with these options, or the error line."""
    found: list[Access] = []
    app = typer.Typer()

    @app.command()
    @with_options
    def read(reach: ClusterOptions) -> None:
        found.append(replace(reach, timeout=7.0).access())

    real = live()
    done = runner.invoke(app, words, env=environ, obj=replace(real, environ={"XDG_CONFIG_HOME": str(home)} | environ))
    return replace(found[0], listed=None) if found else str(done.exception)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "kfix").mkdir()
    (tmp_path / "kfix" / "fleet.yaml").write_text(FLEET)
    (tmp_path / "kfix" / "client.properties").write_text("security.protocol=PLAINTEXT\n")
    return tmp_path


def test_a_name_stands_for_the_address_and_the_client_properties(home: Path) -> None:
    config = home / "kfix" / "client.properties"
    assert ask(home, "-c", "orders-prod") == Access(
        "localhost:1,localhost:2", "localhost:3/kafka", config, 7.0, "orders-prod"
    )
    assert ask(home, "--cluster", "orders-test") == Access("localhost:4", None, None, 7.0, "orders-test")


def test_what_is_given_besides_the_name_counts_more(home: Path) -> None:
    access = ask(home, "-c", "orders-prod", "--zookeeper", "localhost:9", "--command-config", "mine")
    assert isinstance(access, Access)
    assert (access.zookeeper, access.command_config) == ("localhost:9", Path("mine"))
    # Commands to paste need it again: the inventory has others.
    assert access.options() == ["-c", "orders-prod", "--zookeeper", "localhost:9", "--command-config", "mine"]


def test_a_name_counts_more_than_an_address_of_the_environment_and_excludes_one_on_the_command_line(home: Path) -> None:
    access = ask(home, "-c", "orders-test", KFIX_BOOTSTRAP_SERVER="localhost:5")
    assert isinstance(access, Access)
    assert access.bootstrap_servers == "localhost:4"
    assert "leave out --bootstrap-server" in str(ask(home, "-c", "orders-test", "--bootstrap-server", "localhost:5"))


def test_variables_belong_to_an_address_and_never_to_a_name(home: Path) -> None:
    mine = {"KFIX_ZOOKEEPER": "localhost:9", "KFIX_COMMAND_CONFIG": "mine", "KFIX_BOOTSTRAP_CONTROLLER": "localhost:8"}
    named = ask(home, "-c", "orders-test", **mine)
    assert isinstance(named, Access)
    assert (named.zookeeper, named.command_config, named.controllers) == (None, None, None)
    for words, more in ((["-b", "localhost:7"], {}), ([], {"KFIX_BOOTSTRAP_SERVER": "localhost:7"})):
        found = ask(home, *words, **mine, **more)
        assert found == Access("localhost:7", "localhost:9", Path("mine"), 7.0, controllers="localhost:8")


def test_the_inventory_may_be_another_file(home: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other") / "all.yaml"
    other.write_text("apiVersion: kfix/v1\nkind: Fleet\nclusters:\n  far:\n    bootstrap: localhost:6\n")
    access = ask(home, "-c", "far", KFIX_FLEET=str(other))
    assert isinstance(access, Access)
    assert access.options() == ["-c", "far"]


def test_an_unknown_name_and_a_missing_inventory_are_one_line(home: Path) -> None:
    assert "has no cluster 'orders-prd', did you mean 'orders-prod'?" in str(ask(home, "-c", "orders-prd"))
    (home / "kfix" / "fleet.yaml").unlink()
    assert "there is no inventory at" in str(ask(home, "-c", "orders-prod"))

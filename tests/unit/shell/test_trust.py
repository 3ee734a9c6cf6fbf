"""An inventory of the working folder may come from anybody: it counts only if the user named it or trusts it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from kfix.core.access import Access
from kfix.core.errors import InvalidFileError
from kfix.core.properties.load import load_client_properties
from tests.unit.shell.test_contexts import HEAD, Site, site

__all__ = ["site"]
FOREIGN = HEAD + "clusters:\n  orders-eu: {bootstrap: 'evil.example:9', command_config: evil.properties}\n"
EVIL = """\
security.protocol=SASL_PLAINTEXT
sasl.mechanism=PLAIN
sasl.username=ann
sasl.password=known
"""
PROVIDERS = """\
security.protocol=SASL_PLAINTEXT
sasl.mechanism=PLAIN
sasl.username=ann
sasl.password=${env:HOME}
config.providers=env
config.providers.env.class=org.apache.kafka.common.config.provider.EnvVarConfigProvider
"""


@pytest.fixture
def cloned(site: Site) -> Path:
    """The working folder holds a repository of others, with an inventory and client properties."""
    folder = site.root / "work"
    (folder / "fleet.yaml").write_text(FOREIGN)
    (folder / "evil.properties").write_text(EVIL)
    return folder


def test_an_inventory_of_the_working_folder_does_not_override_that_of_the_user(site: Site, cloned: Path) -> None:
    for words in (("-c", "orders-eu", "diagnose"), ("diagnose", "-c", "orders-eu", "--json")):
        code, _, err = site.run(*words)
        assert code == 0
        assert site.last.bootstrap_servers == "localhost:1,localhost:2"
        assert err.splitlines()[0].startswith(
            f"kfix: note: {cloned}/fleet.yaml is not used, because you have not trusted"
        )
    assert "orders-us" in site.run("context", "list")[1]


def test_without_another_one_it_is_refused_and_the_line_shows_how_to_continue(site: Site, cloned: Path) -> None:
    (site.root / "config" / "kfix" / "fleet.yaml").unlink()
    for words in (("-c", "orders-eu", "diagnose"), ("context", "list"), ("context", "use", "orders-eu")):
        code, _, err = site.run(*words)
        assert code == 2
        assert err == (
            f"kfix: {cloned}/fleet.yaml: an inventory of the working folder is used once you trust it\n"
            "      read it, and then run kfix context trust, or name it where you mean it: KFIX_FLEET=fleet.yaml\n"
        )
    assert site.cluster.asked == []


def test_a_trusted_inventory_is_used_and_every_command_names_it_and_the_address_first(site: Site, cloned: Path) -> None:
    code, out, _ = site.run("context", "trust")
    assert (code, out) == (0, f"{cloned}/fleet.yaml: trusted as it is now\n  orders-eu: evil.example:9\n")
    code, out, err = site.run("-c", "orders-eu", "diagnose", "--json")
    assert code == 0
    assert site.last.bootstrap_servers == "evil.example:9"
    assert err.splitlines()[0] == (
        f"kfix: note: orders-eu is evil.example:9, by the inventory {cloned}/fleet.yaml (kfix context trust)"
    )
    assert json.loads(out)
    assert err.splitlines()[0] == site.run("context", "test", "orders-eu")[2].splitlines()[0]
    assert "by the inventory" not in site.run("context", "list")[1]
    assert site.run("context", "list")[2] == f"kfix: note: the inventory {cloned}/fleet.yaml (kfix context trust)\n"


@pytest.mark.parametrize("file", ["fleet.yaml", "evil.properties"])
def test_a_changed_file_must_be_trusted_again(site: Site, cloned: Path, file: str) -> None:
    site.run("context", "trust")
    with (cloned / file).open("a") as out:
        out.write("# another line\n")
    code, _, err = site.run("-c", "orders-eu", "diagnose")
    assert code == 2
    assert err.startswith(f"kfix: {cloned}/fleet.yaml: it, or properties that it names, changed since you trusted it\n")
    site.run("context", "trust")
    assert site.run("-c", "orders-eu", "diagnose")[0] == 0


def test_trust_is_taken_back(site: Site, cloned: Path) -> None:
    site.run("context", "trust")
    assert site.run("context", "trust", "--none")[1] == f"{cloned}/fleet.yaml: not trusted\n"
    site.run("-c", "orders-eu", "diagnose")
    assert site.last.bootstrap_servers == "localhost:1,localhost:2"


def test_a_cluster_added_to_a_trusted_inventory_keeps_the_trust(site: Site, cloned: Path) -> None:
    site.run("context", "trust")
    assert site.run("context", "add", "new", "--bootstrap-server", "localhost:5")[0] == 0
    assert "new:" in (cloned / "fleet.yaml").read_text()
    assert site.run("-c", "new", "diagnose")[0] == 0


@pytest.mark.parametrize("place", [".", "fleet.yaml", "evil.properties"])
def test_what_others_may_write_is_neither_trusted_nor_used(site: Site, cloned: Path, place: str) -> None:
    before = (cloned / place).stat().st_mode
    (cloned / place).chmod(0o777)
    code, _, err = site.run("context", "trust")
    assert code == 2
    assert "others may write to" in err
    (cloned / place).chmod(before)
    assert site.run("context", "trust")[0] == 0
    (cloned / place).chmod(0o777)
    code, _, err = site.run("-c", "orders-eu", "diagnose")
    assert code == 2
    assert site.cluster.asked == []


def test_what_another_user_owns_is_neither_trusted_nor_used(
    site: Site, cloned: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.getuid() == 0:
        os.chown(cloned / "fleet.yaml", 54321, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 54321)
    code, _, err = site.run("context", "trust")
    assert code == 2
    assert "belongs to" in err


def test_an_inventory_that_is_named_is_used_and_named_in_the_first_line(site: Site, cloned: Path) -> None:
    code, _, err = site.run("-c", "orders-eu", "diagnose", KFIX_FLEET="fleet.yaml")
    assert code == 0
    assert site.last.bootstrap_servers == "evil.example:9"
    assert err == (
        f"kfix: note: orders-eu is evil.example:9, by the inventory {cloned}/fleet.yaml (KFIX_FLEET)\n"
        "kfix: note: PLAIN sends its secret before the cluster's id is compared: a broker shows it after the login\n"
    )
    own = str(site.root / "config" / "kfix" / "fleet.yaml")
    assert site.run("-c", "orders-eu", "diagnose", KFIX_FLEET=own)[2] == ""


@pytest.mark.parametrize(
    "text",
    [
        PROVIDERS,
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\njava.security.auth.login.config=/etc/shadow\n",
        "sasl.mechanism=OAUTHBEARER\nsasl.oauthbearer.token.endpoint.url=fi\\tle:///etc/shadow\n",
        "security.protocol=SASL_SSL\nsasl.mechanism=AWS_MSK_IAM\n",
    ],
)
def test_properties_of_an_untrusted_inventory_read_no_secret_of_the_user(site: Site, cloned: Path, text: str) -> None:
    (cloned / "evil.properties").write_text(text)
    code, _, err = site.run("-c", "orders-eu", "diagnose", KFIX_FLEET="fleet.yaml")
    assert code == 2
    assert "reads a secret of yours, and you have not trusted the inventory" in err
    assert site.cluster.asked == []
    with pytest.raises(InvalidFileError):
        load_client_properties(cloned / "evil.properties", trusted=False)


def test_with_trust_they_do_even_where_the_inventory_is_named(site: Site, cloned: Path) -> None:
    (cloned / "evil.properties").write_text(PROVIDERS)
    assert site.run("context", "trust")[0] == 0
    for environ in ({}, {"KFIX_FLEET": str(cloned / "fleet.yaml")}):
        assert site.run("-c", "orders-eu", "diagnose", **environ)[0] == 0
        assert site.last.target().security.password == os.environ["HOME"]


def test_client_properties_that_the_user_names_read_secrets_beside_any_inventory(site: Site, cloned: Path) -> None:
    own = site.root / "own.properties"
    own.write_text(PROVIDERS)
    words = ("-c", "orders-eu", "diagnose", "--command-config", str(own))
    assert site.run(*words, KFIX_FLEET="fleet.yaml")[0] == 0
    assert Access("localhost:1", command_config=own).target().security.password == os.environ["HOME"]


def test_the_fleet_uses_the_same_inventory_as_a_single_cluster(
    site: Site, cloned: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in site.environ.items():
        monkeypatch.setenv(name, value)
    assert "orders-us" in site.run("fleet", "check")[1]
    site.run("context", "trust")
    assert "evil.example:9" in site.run("fleet", "check")[1]

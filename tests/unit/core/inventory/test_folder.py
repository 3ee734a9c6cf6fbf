"""A folder of client properties as a fleet, and parts of a fleet by name, tag and owner."""

import pytest

from kfix.core.errors import InvalidFileError, UsageError
from kfix.core.inventory.load import load_inventory, select
from kfix.core.inventory.model import ClusterEntry, Inventory

FLEET = Inventory(
    {
        "orders-eu": ClusterEntry("orders-eu", owner="orders", tags=("eu", "prod")),
        "orders-us": ClusterEntry("orders-us", owner="orders", tags=("us", "prod")),
        "play": ClusterEntry("play", owner="platform", tags=("eu",)),
    },
    origin="f",
)


def write(folder, **files):
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_files_and_nested_folders_are_clusters_and_nothing_else_is(tmp_path):
    write(
        tmp_path,
        **{
            "orders.properties": "bootstrap.servers=a:1, b:2\nzookeeper.connect=zk:2181/kafka\n",
            "pay/client.properties": "bootstrap.servers=c:3\n",
            "pay/other.properties": "nonsense",
            "empty/x.txt": "",
            ".hidden.properties": "nonsense",
            "README.md": "nonsense",
        },
    )
    loaded = load_inventory(tmp_path)
    assert dict(loaded.inventory.clusters) == {
        "orders": ClusterEntry("orders", "a:1, b:2", "zk:2181/kafka", str(tmp_path / "orders.properties")),
        "pay": ClusterEntry("pay", "c:3", "", str(tmp_path / "pay" / "client.properties")),
    }
    assert loaded.inventory.origin == str(tmp_path)
    before = loaded.sha256
    write(tmp_path, **{"pay/client.properties": "bootstrap.servers=c:4\n"})
    assert load_inventory(tmp_path).sha256 != before


def test_every_wrong_file_is_named(tmp_path):
    write(
        tmp_path,
        **{
            "bad.properties": "bootstrap.servers=a:1\nsecurity.protocol=TLS\n",
            "none.properties": "security.protocol=PLAINTEXT\n",
            "port.properties": "# x\nbootstrap.servers=a:1,b\n",
            "line.properties": "secret\n",
            "twice.properties": "bootstrap.servers=a:1\n",
            "twice/client.properties": "bootstrap.servers=a:1\n",
            "well.properties": "bootstrap.servers=a:1\n",
        },
    )
    (tmp_path / "text.properties").write_bytes(b"\xff")
    with pytest.raises(InvalidFileError) as caught:
        load_inventory(tmp_path)
    problems = [p.replace(f"{tmp_path}/", "") for p in caught.value.problems]
    assert problems[0].startswith("bad.properties:2:1: security.protocol must be one of")
    assert problems[1].startswith("line.properties:1:1: not a property")
    assert problems[2] == "none.properties:1:1: has no bootstrap.servers: the address of the cluster 'none' is unknown"
    assert problems[3] == "port.properties:2:1: bootstrap.servers: 'b' is not HOST:PORT: the port is missing (column 6)"
    assert problems[4].startswith("text.properties")
    assert problems[5] == "twice/client.properties:1:1: the cluster 'twice' is already in twice.properties:1:1"
    assert len(problems) == 6


def test_a_folder_of_none_is_an_error(tmp_path):
    with pytest.raises(UsageError, match="has no cluster"):
        load_inventory(tmp_path)


def test_selection_widens_within_a_kind_and_narrows_between_kinds():
    assert [*select(FLEET).clusters] == ["orders-eu", "orders-us", "play"]
    assert [*select(FLEET, clusters=["orders-*"]).clusters] == ["orders-eu", "orders-us"]
    assert [*select(FLEET, clusters=["play", "orders-us"]).clusters] == ["orders-us", "play"]
    assert [*select(FLEET, tags=["eu"], owners=["orders"]).clusters] == ["orders-eu"]
    assert [*select(FLEET, tags=["eu", "us"]).clusters] == ["orders-eu", "orders-us", "play"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"clusters": [""]}, "--cluster: is empty"),
        ({"tags": [" "]}, "--tag: is empty"),
        ({"owners": [""]}, "--owner: is empty"),
        ({"clusters": ["play", "order-eu"]}, "matches 'order-eu', did you mean 'orders-eu'?"),
        ({"tags": ["pro"]}, "matches 'pro', did you mean 'prod'?"),
        ({"owners": ["nobody"]}, "no cluster of the inventory matches 'nobody'"),
        ({"tags": ["us"], "owners": ["platform"]}, "no cluster matches"),
    ],
)
def test_what_selects_nothing_is_an_error_never_all(asked, said):
    with pytest.raises(UsageError) as caught:
        select(FLEET, **asked)
    assert said in str(caught.value)

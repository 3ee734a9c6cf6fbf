"""The store on an S3 server on loopback (moto): written, judged by several processes, read back, asked, pruned."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import boto3
import pytest
from deltalake import DeltaTable

from kfix.fleet.store.tables import ALL
from tests.waiting import seconds

KFIX = str(Path(sys.executable).with_name("kfix"))


@pytest.fixture(scope="module")
def s3():
    """Environment of a client, and the server's own view of what it holds."""
    from moto.server import ThreadedMotoServer  # late: collection does not pay for it

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    keys = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "planted-secret", "AWS_DEFAULT_REGION": "us-east-1"}
    client = boto3.client(
        "s3",
        endpoint_url=f"http://{host}:{port}",
        region_name="us-east-1",
        aws_access_key_id="a",
        aws_secret_access_key="planted-secret",
    )
    client.create_bucket(Bucket="fleet")
    yield {**keys, "AWS_ENDPOINT_URL": f"http://{host}:{port}", "AWS_EC2_METADATA_DISABLED": "true"}, client
    server.stop()


@pytest.fixture
def kfix(s3, tmp_path):
    def run(*args, code=0):
        env = os.environ | s3[0] | {"KFIX_STATE_HOME": str(tmp_path), "NO_COLOR": "1", "COLUMNS": "120"}
        env.pop("KFIX_STORE", None)
        done = subprocess.run(
            [KFIX, *map(str, args)], capture_output=True, text=True, check=False, env=env, timeout=seconds(120)
        )
        assert "Traceback" not in done.stderr, done.stderr
        assert "planted-secret" not in done.stdout + done.stderr
        assert done.returncode == code, done.stdout + done.stderr
        return done

    return run


def keys_of(client):
    found = client.list_objects_v2(Bucket="fleet").get("Contents", [])
    return {o["Key"] for o in found if not o["Key"].endswith("/")}


def test_a_store_on_s3_is_written_audited_asked_and_pruned(kfix, s3, tmp_path):
    # A second try finds what the first one left.
    store, local = f"s3://fleet/{tmp_path.name}/store", tmp_path / "local"
    given = ("--clusters", "4", "--partitions", "120", "--days", "3")
    kfix("fleet", "demo", "--store", store, *given, "--processes", "2")
    kfix("fleet", "demo", "--store", local, *given, "--processes", "1")
    assert counted(objects(s3[1], store)) == counted(files_in(local))
    assert {n: outside(store, n, s3[0]) for n in NAMES} == {n: outside(local, n) for n in NAMES}

    def shown(place):
        said = json.loads(kfix("audit", "show", "--store", place, "--json", "--fail-on", "never").stdout)
        return said["findings"], said["trend"], said["offenders"]

    assert shown(store) == shown(local)
    asked = "SELECT cluster, count(*) AS n FROM partitions GROUP BY cluster ORDER BY cluster"
    assert (
        kfix("audit", "query", asked, "--store", store, "--csv").stdout
        == kfix("audit", "query", asked, "--store", local, "--csv").stdout
    )
    before = {name: outside(store, name, s3[0]) for name in NAMES}
    kfix("audit", "--store", store, "--collect", "no", "--processes", "2", "--fail-on", "never", "-q")
    assert shown(store) == shown(local)
    assert {name: outside(store, name, s3[0]) for name in NAMES} == before
    kfix("fleet", "prune", "--store", store, "--keep", "1d", "--delete")
    kfix("fleet", "prune", "--store", local, "--keep", "1d", "--delete")
    days = {day for name in NAMES for day, _ in outside(store, name, s3[0])}
    assert days == {day for day, _ in before["runs"][1:]}
    assert shown(store) == shown(local)


NAMES = tuple(spec.name for spec in ALL)


def objects(client, store):
    prefix = store.removeprefix("s3://fleet/") + "/"
    return {key.removeprefix(prefix) for key in keys_of(client)}


def files_in(folder):
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}


def counted(names):
    """How many files each folder has, the lock aside: the names are drawn by lot."""
    return Counter(name.rpartition("/")[0] for name in names if not name.startswith(("lock", "lease/")))


def outside(store, name, env=None):
    """[(day, rows)] of a table, as a reader without kfix counts them."""
    options = {} if env is None else {**env, "AWS_ALLOW_HTTP": "true"}
    table = DeltaTable(f"{store}/tables/{name}", storage_options=options)
    rows = Counter(map(str, table.to_pyarrow_table(columns=["day"])["day"].to_pylist()))
    return sorted(rows.items())


def test_what_a_client_of_s3_gets_wrong_is_one_line(kfix, s3):
    for place, why, code in (
        (
            "s3://nowhere-at-all/store",
            "nowhere-at-all/store/tables/audits: cannot be reached: The specified bucket",
            22,
        ),
        ("s3://u:planted-secret@fleet/store".replace("planted-secret", "pw"), "must not hold a key", 2),
        ("s3://fleet/empty", "no audit", 2),
    ):
        done = kfix("audit", "show", "--store", place, code=code)
        assert why in done.stderr, done.stderr
        assert len(done.stderr.splitlines()) <= 2
        assert "pw@" not in done.stderr


def test_a_server_that_is_not_there_is_one_line(kfix, s3, monkeypatch):
    monkeypatch.setitem(s3[0], "AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    said = kfix("audit", "show", "--store", "s3://fleet/x", code=22).stderr
    assert said == "kfix: s3://fleet/x/tables/audits: cannot be reached: Connection refused (os error 111)\n"

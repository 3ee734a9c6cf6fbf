"""The store on an S3 server on loopback (moto): written, judged by several processes, read back, asked, pruned."""

import json
import os
import subprocess
import sys
from pathlib import Path

import boto3
import pytest
from moto.server import ThreadedMotoServer

KFIX = str(Path(sys.executable).with_name("kfix"))


@pytest.fixture(scope="module")
def s3():
    """Environment of a client, and the server's own view of what it holds."""
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
            [KFIX, *map(str, args)], capture_output=True, text=True, check=False, env=env, timeout=120
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
    store, local = "s3://fleet/a/store", tmp_path / "local"
    given = ("--clusters", "4", "--partitions", "300", "--days", "3", "--processes", "2")
    kfix("fleet", "demo", "--store", store, *given)
    kfix("fleet", "demo", "--store", local, *given)
    here = {str(p.relative_to(local)) for p in local.rglob("*") if p.is_file()}
    there = {k.removeprefix("a/store/") for k in keys_of(s3[1])}
    # The names of an audit's tables are drawn by lot.
    assert {k for k in there if "/audits/" not in k} == {k for k in here if "/audits/" not in k}
    assert len(there) == len(here)

    def shown(place):
        said = json.loads(kfix("audit", "show", "--store", place, "--json", "--fail-on", "never").stdout)
        return said["findings"], said["trend"], said["offenders"]

    assert shown(store) == shown(local)
    asked = "SELECT cluster, count(*) AS n FROM partitions GROUP BY cluster ORDER BY cluster"
    assert (
        kfix("audit", "query", asked, "--store", store, "--csv").stdout
        == kfix("audit", "query", asked, "--store", local, "--csv").stdout
    )
    kfix("audit", "--store", store, "--collect", "no", "--processes", "2", "--fail-on", "never", "-q")
    assert shown(store) == shown(local)
    kfix("audit", "--store", store, "--collect", "no", "--processes", "2", "--fail-on", "never", "-q")
    assert len(keys_of(s3[1])) == len(here) + 2, "of what was replaced the last attempt stays, and no more"
    kfix("fleet", "prune", "--store", store, "--keep", "1d", "--delete")
    left = {k.split("date=")[1][:10] for k in keys_of(s3[1])}
    assert left == set(sorted({k.split("date=")[1][:10] for k in here})[1:])


def test_what_a_client_of_s3_gets_wrong_is_one_line(kfix, s3):
    for place, why in (
        ("s3://nowhere-at-all/store", "nowhere-at-all"),
        ("s3://u:planted-secret@fleet/store".replace("planted-secret", "pw"), "must not hold a key"),
        ("s3://fleet/empty", "no audit"),
    ):
        done = kfix("audit", "show", "--store", place, code=2)
        assert why in done.stderr, done.stderr
        assert "pw@" not in done.stderr


def test_a_server_that_is_not_there_is_one_line(kfix, s3, monkeypatch):
    monkeypatch.setitem(s3[0], "AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    assert "s3://fleet/x/v1" in kfix("audit", "show", "--store", "s3://fleet/x", code=22).stderr

"""The lock lies with the store: two processes, a killed holder, several takers at once, on a disk and on S3 (moto)."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest

from kfix.core.errors import HeldError, UnreachableError
from kfix.fleet.store import lease
from kfix.fleet.store.places import place_of
from kfix.fleet.store.storelock import store_lock
from tests.places import ROOT
from tests.waiting import seconds

HOLDS = """
import platform, sys, time
if len(sys.argv) > 2: platform.node = lambda: sys.argv[2]
from kfix.fleet.store.places import place_of
from kfix.fleet.store.storelock import store_lock
with store_lock(place_of(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    from moto.server import ThreadedMotoServer  # late: collection does not pay for it

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    keys = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_DEFAULT_REGION": "us-east-1"}
    more = {"AWS_ENDPOINT_URL": f"http://{host}:{port}", "AWS_EC2_METADATA_DISABLED": "true"}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (keys | more).items():
            patch.setenv(name, value)
        boto3.client("s3", endpoint_url=more["AWS_ENDPOINT_URL"], region_name="us-east-1").create_bucket(Bucket="fleet")
        yield "s3://fleet"
    server.stop()


@pytest.fixture(params=["disk", "s3"])
def store(request, tmp_path):
    if request.param == "disk":
        return str(tmp_path / "store")
    return f"{request.getfixturevalue('bucket')}/{tmp_path.name}"


def holder(store, *host):
    """A process that holds the lock until a line is written to it."""
    env = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    words = [sys.executable, "-c", HOLDS, store, *host]
    process = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT, env=env
    )
    assert process.stdout
    assert process.stdout.readline() == "held\n", process.communicate()
    return process


def free(store):
    try:
        with store_lock(place_of(store)):
            return True
    except HeldError:
        return False


def test_a_second_process_is_refused_with_the_name_of_the_first_until_it_ends(store):
    first = holder(store)
    with pytest.raises(HeldError, match=f"another audit is running: process {first.pid} of ") as refused:
        store_lock(place_of(store)).__enter__()
    assert refused.value.exit_code == 9
    first.communicate("\n", timeout=seconds(30))
    assert free(store)


def test_a_killed_holder_of_this_host_holds_nothing(store):
    first = holder(store)
    os.kill(first.pid, signal.SIGKILL)
    first.communicate(timeout=seconds(30))
    assert free(store)


def test_the_lease_of_a_killed_holder_of_another_host_is_taken_over_when_it_expires(bucket, tmp_path, monkeypatch):
    store = f"{bucket}/{tmp_path.name}"
    first = holder(store, "db7")
    os.kill(first.pid, signal.SIGKILL)
    first.communicate(timeout=seconds(30))
    with pytest.raises(HeldError, match=r"on db7 since 20.* UTC"), store_lock(place_of(store)):
        pass
    monkeypatch.setattr(lease, "SKEW", -lease.HOLDS)
    assert free(store)


def test_a_lease_is_renewed_and_not_released_for_its_next_holder(bucket, tmp_path, monkeypatch):
    store = place_of(f"{bucket}/{tmp_path.name}")
    monkeypatch.setattr(lease, "RENEWED", 0.05)
    with store_lock(store):
        first = lease._last(store / "lease", lease._opened(store / "lease"))
        assert first
        for _ in range(200):
            now = lease._last(store / "lease", lease._opened(store / "lease"))
            if now and now.until > first.until:
                break
        assert now
        assert (now.holder, now.until > first.until) == (first.holder, True)
        other = lease.Holder(1, "elsewhere", "x", 0.0)
        while True:
            try:
                lease._commit(lease._opened(store / "lease"), other, 9e9)
                break
            except lease.CommitFailedError:
                continue
    after = lease._last(store / "lease", lease._opened(store / "lease"))
    assert after
    assert (after.holder, after.until) == (other, 9e9)


def test_of_several_takers_at_once_one_wins(store):
    barrier, results, done = threading.Barrier(6), [], threading.Event()

    def take() -> None:
        barrier.wait()
        try:
            with store_lock(place_of(store)):
                results.append("won")
                done.wait(seconds(30))
        except HeldError:
            results.append("refused")

    threads = [threading.Thread(target=take) for _ in range(6)]
    for thread in threads:
        thread.start()
    while len(results) < 6:
        threads[0].join(0.01)
    done.set()
    for thread in threads:
        thread.join()
    assert sorted(results) == ["refused"] * 5 + ["won"]
    assert free(store)


def test_a_store_that_cannot_be_reached_is_one_line(bucket, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(UnreachableError, match="cannot take the lease"), store_lock(place_of("s3://fleet/x")):
        pass


def test_a_link_to_a_store_has_the_same_lock(tmp_path):
    (tmp_path / "store").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "store")
    with store_lock(place_of(tmp_path / "store")):
        assert not free(str(tmp_path / "link"))
    assert (Path(tmp_path) / "store" / "lock").read_text() == ""

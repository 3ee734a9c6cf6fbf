"""The lock that all kfix of a cluster see, on a real ZooKeeper: two holders, a killed one, a server that hangs."""

import os
import signal
import subprocess
import sys
import time

import pytest
from kazoo.client import KazooClient

from kfix.core.errors import HeldError, UnreachableError
from kfix.core.zookeeper.connect import parse_connect
from kfix.core.zookeeper.lock import SESSION_SECONDS, ZooKeeperLock
from kfix.lab import Lab, LabSpec
from tests.cluster.conftest import lab_of_its_own
from tests.waiting import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("cluster-two")]

HOLDER = {"user": "ann", "pid": "7", "host": "ops1", "since": "10:00", "run": "r1", "plan": "p1"}

HOLD_FOR_EVER = """
import sys, time
from kfix.core.zookeeper.connect import parse_connect
from kfix.core.zookeeper.lock import ZooKeeperLock
lock = ZooKeeperLock(parse_connect(sys.argv[1]), "a cluster")
lock.take({"user": "ann", "pid": "7", "host": "ops1", "since": "10:00", "run": "r1", "plan": "p1"})
print("held", flush=True)
time.sleep(600)
"""


def start():
    return Lab.up(LabSpec(name="lock", ids=(1,), chroot="/kafka"))


own, lab = lab_of_its_own(start)


def locks(lab, count=2):
    return [ZooKeeperLock(parse_connect(lab.zookeeper_connect), "a cluster") for _ in range(count)]


def test_two_runs_never_hold_the_cluster_together(lab):
    one, two = locks(lab)
    one.take(HOLDER)
    assert (one.held(), two.held()) == (True, False)
    with pytest.raises(HeldError, match=r"held by ann \(process 7 on ops1\) since 10:00: run r1, plan p1") as refused:
        two.take({"user": "bob"})
    assert f"within {SESSION_SECONDS:.0f} s" in refused.value.hint
    two.release()
    assert one.held()
    one.release()
    one.release()
    two.take({"user": "bob"})
    assert (one.held(), two.held()) == (False, True)
    two.release()


def test_a_lock_whose_node_was_deleted_is_not_held_any_more(lab):
    [lock] = locks(lab, 1)
    lock.take(HOLDER)
    with lab.access() as access:
        access._zk.delete("/kfix/lock")
        assert not lock.held()
        access._zk.create("/kfix/lock", b"theirs")
        assert not lock.held()
        lock.release()
        assert access._zk.exists("/kfix/lock")
        with pytest.raises(HeldError, match="held by an unknown user"):
            lock.take(HOLDER)
        access._zk.delete("/kfix/lock")


def test_the_lock_of_a_killed_run_goes_with_its_session(lab):
    [lock] = locks(lab, 1)
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD_FOR_EVER, lab.zookeeper_connect], stdout=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout.readline() == "held\n"
        os.kill(child.pid, signal.SIGKILL)
        with pytest.raises(HeldError):
            lock.take(HOLDER)

        def free():
            try:
                lock.take({"user": "bob"})
            except HeldError:
                return False
            return True

        wait_until(free, "its session ends", SESSION_SECONDS + 3)
        lock.release()
    finally:
        child.kill()
        child.communicate()


def test_a_lock_on_a_zookeeper_that_hangs_is_not_held_until_it_goes_on(lab):
    lock = ZooKeeperLock(parse_connect(lab.zookeeper_connect), "a cluster", timeout=1)
    lock.take(HOLDER)
    lab.stop(1, "zookeeper")
    try:
        assert not lock.held()
    finally:
        lab.cont(1, "zookeeper")
    wait_until(lock.held, "it is held again", 10)
    lock.release()


@pytest.fixture
def two_locks(lab):
    locks = [ZooKeeperLock(parse_connect(lab.zookeeper_connect), "a cluster", timeout=1) for _ in range(2)]
    yield locks
    for lock in locks:
        lock.release()


def expire(lab, session):
    """A server that was frozen may grant a session another term before it looks for expired ones; this ends it."""
    twin = KazooClient(lab.zookeeper_connect, client_id=session)
    twin.start(timeout=10)
    twin.stop()
    twin.close()


def test_a_lock_whose_session_expired_is_lost_for_good(lab, two_locks):
    one, two = two_locks
    one.take(HOLDER)
    session = one._client.client_id
    lab.stop(1, "zookeeper")
    try:
        with pytest.raises(UnreachableError, match="cannot take the lock"):
            two.take({"user": "bob"})
        time.sleep(SESSION_SECONDS + 2)
        # The server hangs until the test continues it: who waits for its answer never gets here.
        assert not one.held()
    finally:
        lab.cont(1, "zookeeper")
    expire(lab, session)

    def taken():
        assert not one.held()
        try:
            two.take({"user": "bob"})
        except (HeldError, UnreachableError):
            return False
        return True

    wait_until(taken, "the other one gets it", 30)
    assert (one.held(), two.held()) == (False, True)
    one.release()
    assert two.held()


def test_a_wrong_chroot_holds_no_lock_and_makes_none(lab):
    wrong = parse_connect(lab.zookeeper_connect + "/nope")
    with pytest.raises(UnreachableError, match="check the chroot"):
        ZooKeeperLock(wrong, "a cluster").take(HOLDER)
    with lab.access() as access:
        assert access._zk.exists("/nope") is None

"""What tests of cut networks ask alike: one cut is one finding, wrong remedies are refused, healing is whole."""

import re
import subprocess

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.clients.leading import log_ends

CUTS = {"KFX801", "KFX802", "KFX803", "KFX804", "KFX807", "KFX813"}


def nothing_left(network):
    left = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    links = subprocess.run(["ip", "link"], capture_output=True, text=True, check=True).stdout
    assert not [name for name in (network.switch, *(z.namespace for z in network.zones)) if name in left]
    assert network.interface not in links


def told(kfix, code, *args):
    """The diagnosis whose one head of a cut is `code`: everything else of the cut is folded under it."""
    for _ in range(3):
        said = kfix.diagnose(*args)
        heads = {each["code"]: each for each in said.json["findings"] if not each.get("unsettled")}
        if code in heads:
            break
        # The cut was under way during the first of the two looks: then it is told as just begun.
    assert code in heads, [(each["key"], each["summary"]) for each in said.every]
    assert set(said.findings) & CUTS == {code}, "one cut is one finding"
    found = heads[code]
    advice = " ".join(each["text"] for each in found["remedies"])
    assert "Repair the network" in advice
    assert "change nothing in Kafka" in advice
    assert any("Do not trigger elections, reassignments" in never for never in found["never"])
    assert not any(each.get("runbook") for each in found["remedies"])
    return said, found


WISHES = (("controller-reelect",), ("raise-topic-rf", "-p", "topic=ledger", "-p", "rf=3"), ("sweep-throttles",))


def refused(kfix, tmp_path, code, wishes=WISHES):
    """Whatever a person asks for is refused, with that reason; nothing is written."""
    plan = tmp_path / "wrong.json"
    for wish in wishes:
        said = kfix.on("runbook", "plan", *wish, "--debounce", "0", "--output-file", plan)
        assert (said.code, plan.exists()) == (3, False), said.out + said.err
        assert code in said.err
        assert "the network" in said.err


def wait_healed(kfix):
    """By itself; but for what Kafka 2.7.1 never mends by itself, where kfix names the broker to restart (KFX810)."""

    def whole(said):
        if "KFX810" in said.findings:
            kfix.lab.restart(said.findings["KFX810"]["facts"]["leader"])
        return said.code == 0 and not set(said.findings) & CUTS

    return kfix.until(whole, "the cluster is healed", "--debounce", "0", within=90)


def log_end(lab, broker):
    with lab.access() as access:
        return log_ends(access, TopicPartition("ledger", 0), [broker])[broker]


def cut_off(lab, broker, partition, end):
    """By the broker's own log: `Truncating to offset 42` of that partition, after a log end of `end`."""
    log = lab.store.log_file("broker", broker).read_text(errors="replace")
    said = re.findall(rf"partition={partition}, .*?Truncating to offset (\d+)", log)
    return end - int(said[-1])

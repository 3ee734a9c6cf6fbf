"""What a person does while the quorum of a lab is recovered: names the copies, and starts the last controller."""

import re
from pathlib import Path

from kfix.core.disk.logdir import is_held
from kfix.lab.nodes.failures import without_disk
from tests.waiting import wait_until


class Survivor:
    """The controller that is left of a lab's quorum, and its disk, which is put aside before the recovery."""

    def __init__(self, lab):
        self.lab = lab
        state = lab.state
        self.lost = without_disk(lab)
        [self.node] = {each.id for each in state.controllers} - {*self.lost}
        self.disk = lab.nodes.disk_of(state, self.node, "controller")
        self.old = Path(f"{self.disk}.old")
        self.brokers = [lab.nodes.disk_of(state, each) for each in lab.broker_ids]

    @property
    def params(self):
        return {
            "copies": ",".join(map(str, (self.old, *self.brokers))),
            "into": str(self.disk),
            "node": str(self.node),
            "lost": ",".join(map(str, self.lost)),
        }

    def stop(self):
        """The disk of a killed process is in use until its last thread has ended."""
        self.lab.kill(self.node, "controller")
        self.disk.rename(self.old)
        wait_until(lambda: not is_held(self.old), "the disk is free", 10)

    def start(self):
        """Starts it with the new log directory. Where its settings name the voters, they name it alone."""
        lab, state = self.lab, self.lab.state
        file = self.disk.with_suffix(".properties")
        text = file.read_text()
        if voters := re.search("controller.quorum.voters=(.*)", text):
            [own] = [each for each in voters[1].split(",") if each.startswith(f"{self.node}@")]
            file.write_text(text.replace(voters[0], f"controller.quorum.voters={own}"))
        lab.nodes.spawn("controller", self.node, [*lab.nodes._java(state, "controller", self.node), str(file)])

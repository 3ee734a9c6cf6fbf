"""HDFS and YARN on this machine, on loopback, from the jars that Maven resolves for `hadoop.xml`: a NameNode, a
DataNode, a ResourceManager and a NodeManager, each a process of its own.

`python -m tests.spark.hadoop [FOLDER]` starts them, shows their addresses and stops them at Ctrl-C.
"""

import getpass
import os
import socket
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from xml.sax.saxutils import escape

from tests.spark.jars import jars_of
from tests.spark.standalone import Processes

_OPENED = [
    word for name in ("java.lang", "java.util", "java.io") for word in ("--add-opens", f"java.base/{name}=ALL-UNNAMED")
]
_HDFS = "org.apache.hadoop.hdfs.server"
_YARN = "org.apache.hadoop.yarn.server"
_ANY = "127.0.0.1:0"


class Hadoop(Processes):
    """`env` is what a client needs: HADOOP_CONF_DIR and HADOOP_USER_NAME. `hdfs` is the URL of the file system."""

    def __init__(self, folder, *, yarn=True):
        super().__init__(folder)
        self.conf = folder / "conf"
        self._yarn = yarn
        self._classes = os.pathsep.join(jars_of("hadoop.xml"))
        names = ("name", "resources", "scheduler", "tracker", "admin", "page")
        self._at = dict(zip(names, _free(len(names)), strict=True))
        self.hdfs = f"hdfs://{self._at['name']}"
        self.env = {"HADOOP_CONF_DIR": str(self.conf), "HADOOP_USER_NAME": getpass.getuser()}

    def start(self):
        self._configure()
        name_node = f"{_HDFS}.namenode.NameNode"
        done = subprocess.run(
            [*self._java(name_node), "-format", "-nonInteractive"],
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | self.env,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        self._launched("namenode", name_node, "IPC Server Responder: starting")
        self._launched("datanode", f"{_HDFS}.datanode.DataNode", "successfully registered with NN")
        if self._yarn:
            self._launched(
                "resourcemanager", f"{_YARN}.resourcemanager.ResourceManager", "Transitioned to active state"
            )
            self._launched("nodemanager", f"{_YARN}.nodemanager.NodeManager", "Registered with ResourceManager")

    def _launched(self, name, main, what):
        self.launch(name, *self._java(main), **self.env)
        self.said(name, what)

    def _java(self, main):
        # The folder of the settings comes first, so that Hadoop finds them.
        return ["java", "-Xmx256m", "-XX:+UseSerialGC", *_OPENED, "-cp", f"{self.conf}:{self._classes}", main]

    def _configure(self):
        # The jars lack the pages of HDFS, without which its servers do not start.
        for page in ("hdfs", "datanode"):
            (self.conf / "webapps" / page).mkdir(parents=True)
        at, folder = self._at, self.folder
        _write(self.conf / "core-site.xml", {"fs.defaultFS": self.hdfs, "hadoop.tmp.dir": folder / "tmp"})
        pages = {f"dfs.{name}": _ANY for name in ("namenode.http-address", "datanode.address", "datanode.http.address")}
        _write(
            self.conf / "hdfs-site.xml",
            {
                **pages,
                "dfs.datanode.ipc.address": _ANY,
                "dfs.datanode.hostname": "127.0.0.1",
                "dfs.namenode.name.dir": folder / "name",
                "dfs.datanode.data.dir": folder / "data",
                "dfs.replication": 1,
            },
        )
        manager, node = "yarn.resourcemanager", "yarn.nodemanager"
        _write(
            self.conf / "yarn-site.xml",
            {
                f"{manager}.hostname": "127.0.0.1",
                f"{manager}.address": at["resources"],
                f"{manager}.scheduler.address": at["scheduler"],
                f"{manager}.resource-tracker.address": at["tracker"],
                f"{manager}.admin.address": at["admin"],
                f"{manager}.webapp.address": at["page"],
                f"{node}.hostname": "127.0.0.1",
                f"{node}.address": _ANY,
                f"{node}.localizer.address": _ANY,
                f"{node}.webapp.address": _ANY,
                f"{node}.local-dirs": folder / "containers",
                f"{node}.log-dirs": folder / "containers-logs",
                f"{node}.resource.memory-mb": 6144,
                f"{node}.resource.cpu-vcores": 4,
                f"{node}.vmem-check-enabled": "false",
                # A machine of a developer may be full to 90 %, at which a node takes no more work.
                f"{node}.disk-health-checker.max-disk-utilization-per-disk-percentage": 99.5,
                "yarn.scheduler.minimum-allocation-mb": 256,
            },
        )
        queue = "yarn.scheduler.capacity"
        _write(
            self.conf / "capacity-scheduler.xml",
            {
                f"{queue}.root.queues": "default",
                f"{queue}.root.default.capacity": 100,
                f"{queue}.maximum-am-resource-percent": 0.5,
            },
        )
        log = "log4j.rootLogger=INFO,out\nlog4j.appender.out=org.apache.log4j.ConsoleAppender\n"
        layout = "log4j.appender.out.layout=org.apache.log4j.PatternLayout\n"
        pattern = "log4j.appender.out.layout.ConversionPattern=%d{ISO8601} %p %c: %m%n\n"
        (self.conf / "log4j.properties").write_text(log + layout + pattern)


def _write(path, settings):
    body = "".join(
        f"  <property><name>{name}</name><value>{escape(str(value))}</value></property>\n"
        for name, value in settings.items()
    )
    path.write_text(f"<configuration>\n{body}</configuration>\n")


def _free(number):
    """Addresses on loopback that were free a moment ago."""
    with ExitStack() as stack:
        found = [stack.enter_context(socket.socket()) for _ in range(number)]
        for each in found:
            each.bind(("127.0.0.1", 0))
        return [f"127.0.0.1:{each.getsockname()[1]}" for each in found]


def main():
    with ExitStack() as stack:
        given = sys.argv[1:] or [stack.enter_context(tempfile.TemporaryDirectory(prefix="kfix-hadoop-"))]
        folder = Path(given[0])
        folder.mkdir(parents=True, exist_ok=True)
        hadoop = stack.enter_context(Hadoop(folder))
        sys.stdout.write(f"HDFS at {hadoop.hdfs}, YARN with HADOOP_CONF_DIR={hadoop.conf}; Ctrl-C stops them\n")
        sys.stdout.flush()
        try:
            hadoop.groups["namenode"].wait()
        except KeyboardInterrupt:
            return


if __name__ == "__main__":
    main()

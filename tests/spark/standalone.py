"""A Spark cluster of this machine, from the pyspark package, on loopback: each process in a group of its own."""

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pyspark

from tests.waiting import seconds, wait_until

HOME = Path(pyspark.__file__).parent
_ENV = {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
_HERE = ("--host", "127.0.0.1", "--webui-port", 0)
_WITHIN = 90.0


class Processes:
    def __init__(self, folder):
        self.folder = folder
        self.groups = {}

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def launch(self, name, *command, **env):
        with (self.folder / f"{name}.log").open("w") as log:
            self.groups[name] = subprocess.Popen(
                [*map(str, command)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=os.environ | _ENV | env,
                start_new_session=True,
            )

    def said(self, name, what):
        """The first match in what a process prints. The process is not waited for when it has ended."""

        def found():
            match = re.search(what, text := self._log(name))
            assert match or self.groups[name].poll() is None, text[-2000:]
            return match

        return wait_until(found, lambda: self._log(name)[-2000:], _WITHIN, pause=0.1)

    def _log(self, name):
        return (self.folder / f"{name}.log").read_text()

    def kill(self, name):
        """The process and what it has started, as a machine that loses its power."""
        process = self.groups[name]
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(seconds(30))

    def stop(self):
        for name in reversed([*self.groups]):
            self.kill(name)


class Standalone(Processes):
    """A master and workers of one core and 1 GB."""

    def __init__(self, folder, workers):
        super().__init__(folder)
        self.workers = [f"worker-{i}" for i in range(workers)]

    def start(self):
        self.launch("master", *_spark("deploy.master.Master"), *_HERE, "--port", 0, SPARK_DAEMON_MEMORY="256m")
        self.url = self.said("master", r"Starting Spark master at (spark://\S+)")[1]
        for name in self.workers:
            self.add(name)

    def add(self, name):
        given = [*_HERE, "--cores", 1, "--memory", "1g", "--work-dir", self.folder / name, self.url]
        self.launch(name, *_spark("deploy.worker.Worker"), *given, SPARK_DAEMON_MEMORY="256m")
        self.said(name, "Successfully registered with master")


class ConnectServer(Processes):
    """Spark Connect over local[2]."""

    def start(self):
        settings = {"ui.enabled": "false", "connect.grpc.binding.address": "127.0.0.1", "connect.grpc.binding.port": 0}
        settings["sql.shuffle.partitions"] = 4  # for two cores: by the default of 200, a test takes minutes
        given = [word for name, value in settings.items() for word in ("--conf", f"spark.{name}={value}")]
        server = "org.apache.spark.sql.connect.service.SparkConnectServer"
        submit = HOME / "bin" / "spark-submit"
        self.launch("connect", submit, "--class", server, "--master", "local[2]", *given, "spark-internal")
        port = self.said("connect", r"Spark Connect server started at: \S*:(\d+)")[1]
        self.url = f"sc://127.0.0.1:{port}"


def _spark(name):
    return HOME / "bin" / "spark-class", f"org.apache.spark.{name}"

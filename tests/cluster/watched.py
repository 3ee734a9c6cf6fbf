"""A `kfix watch` that runs beside a test, what it prints and measures, and a receiver of its notifications."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

from prometheus_client.parser import text_string_to_metric_families

from tests.cluster.conftest import KFIX
from tests.waiting import seconds, wait_until

LONG = 90


class Watching:
    """A watch that runs; what it has printed so far is in `text`."""

    def __init__(self, process, file):
        self.process, self._file = process, file

    @property
    def text(self):
        return self._file.read_text()

    def says(self, *parts, after=0, within=LONG):
        """Waits for a line with all parts behind the character `after`; returns where the next line begins."""

        def end():
            assert self.process.poll() is None, self.text
            at = after
            for line in self.text[after:].splitlines(keepends=True):
                at += len(line)
                if all(part in line for part in parts):
                    return at
            return 0

        wait_until(end, f"{parts} behind {self.text[after:]!r}", within)
        return end()

    def ends(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(seconds(20))


@contextmanager
def watching(kfix, folder, *args, properties=None) -> Iterator[Watching]:
    file = folder / "watch.txt"
    env = os.environ | {"KFIX_STATE_HOME": str(kfix.home), "NO_COLOR": "1", "COLUMNS": "200"}
    address = (
        ("--command-config", str(properties)) if properties else ("--bootstrap-server", kfix.lab.bootstrap_servers)
    )
    quick = ("--every", "2", "--debounce", "3", "--restart-grace", "0", "--timeout", "3")
    command = [KFIX, "watch", *address, *quick, *map(str, args)]
    with file.open("w") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=env)
    try:
        yield Watching(process, file)
    finally:
        process.kill()
        process.wait()


@contextmanager
def inbox():
    found = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            found.extend(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["notices"])
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}", found
    server.shutdown()
    server.server_close()


def posting_to(folder, url):
    """Writes the file of receivers of a watch: one webhook."""
    file = folder / "notify.yaml"
    file.write_text(f"apiVersion: kfix/v1\nkind: Notifications\nreceivers:\n  - type: webhook\n    url: {url}/kfix\n")
    return file


def metrics(watch):
    [line] = [line for line in watch.text.splitlines() if "metrics: " in line]
    with urllib.request.urlopen(line.split("metrics: ")[1].strip(), timeout=5) as answer:
        families = text_string_to_metric_families(answer.read().decode())
        found: dict[str, float] = {}
        for sample in (s for f in families for s in f.samples):
            found[sample.name] = found.get(sample.name, 0) + sample.value
        return found

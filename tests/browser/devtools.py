"""A headless Chromium on its debugging pipe: no port, no further package. Messages are JSON, each ended by a NUL."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from tests.waiting import seconds, wait_until

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 60.0


class Browser:
    def __init__(self):
        found = next((path for name in CHROMIUM if (path := shutil.which(name))), None)
        assert found, "browser tests need Chromium: apt-get install chromium (or run .ci/setup as root)"
        to_read, self._out = os.pipe()
        self._in, to_write = os.pipe()
        self._profile = tempfile.mkdtemp(prefix="kfix-chromium-")
        # Chromium reads 3 and writes 4; the shell puts ours there, whatever numbers they have.
        script = f'exec 3<&{to_read} 4>&{to_write}; exec "$0" "$@"'
        flags = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                 "--disable-background-networking", "--disable-component-update", "--disable-sync", "--mute-audio",
                 "--remote-debugging-pipe", f"--user-data-dir={self._profile}", "about:blank")  # fmt: skip
        self._process = subprocess.Popen(
            ["/bin/bash", "-c", script, found, *flags],
            pass_fds=(to_read, to_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(to_read)
        os.close(to_write)
        self._buffer = b""
        self._number = 0
        self.events = []

    def close(self):
        try:
            self.call("Browser.close")
            self._process.wait(seconds(10))
        except (AssertionError, OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait(seconds(10))
        os.close(self._out)
        os.close(self._in)
        shutil.rmtree(self._profile, ignore_errors=True)

    def call(self, method, session="", **params):
        self._number += 1
        message = {"id": self._number, "method": method, "params": params} | ({"sessionId": session} if session else {})
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            said = self._next(time.monotonic() + seconds(PATIENCE))
            if said.get("id") == self._number:
                assert "error" not in said, f"{method}: {said['error']}"
                return said["result"]
            self.events.append(said)

    def listen(self, seconds):
        end = time.monotonic() + seconds
        while (said := self._next(end, patient=False)) is not None:
            self.events.append(said)

    def _next(self, end, *, patient=True):
        while b"\0" not in self._buffer:
            if not select.select([self._in], [], [], max(0.0, end - time.monotonic()))[0]:
                assert not patient, "Chromium does not answer"
                return None
            read = os.read(self._in, 1 << 20)
            assert read, f"Chromium ended (exit code {self._process.poll()})"
            self._buffer += read
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)

    def page(self, path, **emulated):
        return Page(self, path, **emulated)


class Page:
    """One tab with one file. `events` are those of this tab."""

    def __init__(self, browser, path, *, width=1280, height=900, dark=False, reduced=True):
        self.browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self._target = target
        self._session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Performance.enable", timeDomain="threadTicks")
        self.size(width, height)
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        features += [{"name": "prefers-reduced-motion", "value": "reduce"}] if reduced else []
        self.call("Emulation.setEmulatedMedia", features=features)
        self.url = Path(path).resolve().as_uri()
        self.call("Page.navigate", url=self.url)
        self.until("document.documentElement?.dataset.ready === 'yes'")

    def call(self, method, **params):
        return self.browser.call(method, session=self._session, **params)

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self._target)

    def size(self, width, height):
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )

    @property
    def events(self):
        return [e for e in self.browser.events if e.get("sessionId") == self._session]

    def run(self, script):
        """The value of a JavaScript expression; a promise is waited for."""
        said = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in said, said["exceptionDetails"]
        return said["result"].get("value")

    def processor_seconds(self):
        """Time of the processor that the page's thread has used; nothing else on the machine adds to it."""
        metrics = {each["name"]: each["value"] for each in self.call("Performance.getMetrics")["metrics"]}
        return metrics["TaskDuration"]

    def until(self, condition):
        wait_until(lambda: self.run(condition), condition, PATIENCE)

    def key(self, name, text=""):
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32}
        code = codes.get(name, ord(name[0].upper()))
        said = {"key": name, "windowsVirtualKeyCode": code, "code": "Space" if name == " " else name}
        text = text or {"Enter": "\r", " ": " "}.get(name, "")
        self.call("Input.dispatchKeyEvent", type="keyDown", **said, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **said)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def complaints(self):
        """What went wrong in this tab: console errors, exceptions, refused by the policy."""
        found = []
        for event in self.events:
            params = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                found.append(str(params["exceptionDetails"])[:500])
            if event["method"] == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                found.append(params["entry"]["text"])
            if event["method"] == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
                found.append(str(params["args"])[:500])
        return found

    def requests(self):
        """Addresses asked for, but for the page itself and what lies in it."""
        sent = [e["params"]["request"]["url"] for e in self.events if e["method"] == "Network.requestWillBeSent"]
        return [url for url in sent if url != self.url and not url.startswith(("data:", "blob:"))]

    def screenshot(self, path, *, whole=True):
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        Path(path).write_bytes(base64.b64decode(shot["data"]))

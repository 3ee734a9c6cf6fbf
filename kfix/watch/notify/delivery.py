"""Delivers notifications in the background: bounded queues, bounded retries, and no secret in any error.

A slow or dead receiver delays neither the watch nor the other receivers. A message that fails in all attempts is given
up and counted, and the watch reports it.
"""

import json
import queue
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from http.client import HTTPResponse
from typing import Any, Final

from kfix.core.endpoint import plain_reason
from kfix.watch.model import Notice, ReceiverState
from kfix.watch.notify.messages import payloads
from kfix.watch.notify.settings import Receiver

#: Pauses in seconds between the attempts for one message.
PAUSES: Final = (1.0, 2.0, 4.0, 8.0)
#: Timeout of one message in seconds, from the connection to the end of the answer.
TIMEOUT: Final = 5.0
_LARGEST_ANSWER: Final = 65_536
#: Messages that may wait for one receiver; further ones are given up.
MOST_WAITING: Final = 100
#: An alert is repeated this often, in seconds, while it lasts: Alertmanager forgets an alert that is not repeated.
REPEAT: Final = 60.0
_AGAIN: Final = frozenset({408, 425, 429})


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Refuses redirects: a redirect would carry the secrets of a request to another host."""

    def redirect_request(self, *_: Any) -> None:
        return None


class ReceiverQueue:
    def __init__(
        self, receiver: Receiver, *, pauses: Sequence[float] = PAUSES, clock: Callable[[], float] = time.time
    ) -> None:
        self.receiver = receiver
        self._pauses, self._clock = pauses, clock
        self._waiting: queue.Queue[Any] = queue.Queue(MOST_WAITING)
        self._stopping = threading.Event()
        self._delivered = self._failed = 0
        self._error = ""
        self._opener: urllib.request.OpenerDirector | None = None
        self._repeated = clock()
        self._asking: threading.Thread | None = None
        self._thread = threading.Thread(target=self._run, name=f"kfix notify {receiver.name}", daemon=True)
        self._thread.start()

    @property
    def state(self) -> ReceiverState:
        waiting = self._waiting.unfinished_tasks
        return ReceiverState(self.receiver.name, self._delivered, self._failed, waiting, self._error)

    def send(self, notices: Sequence[Notice]) -> None:
        """Queues the changes of one round; never blocks."""
        if not notices:
            return
        for payload in payloads(self.receiver, notices, self._clock()):
            try:
                self._waiting.put_nowait(payload)
            except queue.Full:
                self._failed += 1
                self._error = self._error or f"more than {MOST_WAITING} messages waited"

    def repeat(self, active: Sequence[Notice]) -> None:
        """Repeats lasting alerts for receivers that would forget them; it is no notification, since nothing changed."""
        if self.receiver.type != "alertmanager" or self._clock() - self._repeated < REPEAT:
            return
        self._repeated = self._clock()
        if active and self._waiting.empty():
            self.send(active)

    def close(self, until: float) -> None:
        """Ends the thread; until this time of the monotonic clock it still tries the waiting messages."""
        while self._waiting.unfinished_tasks and time.monotonic() < until:
            time.sleep(0.02)
        self._stopping.set()

    def _run(self) -> None:
        while True:
            payload = self._waiting.get()
            try:
                self._deliver(json.dumps(payload).encode())
            finally:
                self._waiting.task_done()

    def _deliver(self, body: bytes) -> None:
        for pause in (*self._pauses, None):
            try:
                self._post(body)
            except urllib.error.HTTPError as error:
                self._error = f"HTTP status {error.code}"
                error.close()
                if error.code < 500 and error.code not in _AGAIN:
                    break
            except urllib.error.URLError as error:
                reason = error.reason
                self._error = plain_reason(reason) if isinstance(reason, OSError) else "it cannot be reached"
            except (OSError, ValueError) as error:
                self._error = plain_reason(error) if isinstance(error, OSError) else "an invalid request"
            except Exception as error:  # noqa: BLE001 - http.client raises what is no OSError; it may name the URL
                self._error = f"an invalid answer ({type(error).__name__})"
            else:
                self._delivered += 1
                self._error = ""
                return
            if pause is None or self._stopping.wait(pause):
                break
        self._failed += 1

    def _post(self, body: bytes) -> None:
        if self._opener is None:
            self._opener = _opener(self.receiver)
        headers = {"User-Agent": "kfix-watch", **self.receiver.headers, "Content-Type": "application/json"}
        request = urllib.request.Request(self.receiver.url, body, headers)  # noqa: S310 - http or https, as checked
        done: queue.SimpleQueue[Exception | None] = queue.SimpleQueue()
        # A time-out of a socket restarts with every byte of a slow receiver; this one is for the whole message.
        # Waits for a late answer, so that a slow receiver holds at most one thread and one connection.
        if self._asking is not None and self._asking.is_alive():
            raise TimeoutError
        self._asking = threading.Thread(target=_answered, args=(self._opener, request, done), daemon=True)
        self._asking.start()
        try:
            error = done.get(timeout=TIMEOUT)
        except queue.Empty:
            raise TimeoutError from None
        if error is not None:
            raise error


def _answered(
    opener: urllib.request.OpenerDirector, request: urllib.request.Request, done: queue.SimpleQueue[Exception | None]
) -> None:
    answer: HTTPResponse
    until = time.monotonic() + TIMEOUT
    try:
        with opener.open(request, timeout=TIMEOUT) as answer:
            for _ in range(_LARGEST_ANSWER):
                if time.monotonic() > until or not answer.read1(_LARGEST_ANSWER):
                    break
    except Exception as error:  # noqa: BLE001 - it is raised again by who waits
        done.put(error)
    else:
        done.put(None)


def _opener(receiver: Receiver) -> urllib.request.OpenerDirector:
    handlers: list[urllib.request.BaseHandler] = [_NoRedirect()]
    if receiver.url.startswith("https:"):
        import ssl  # noqa: PLC0415 - only a receiver with TLS needs it

        context = ssl.create_default_context(cafile=receiver.ca_file or None)
        handlers.append(urllib.request.HTTPSHandler(context=context))
    return urllib.request.build_opener(*handlers)

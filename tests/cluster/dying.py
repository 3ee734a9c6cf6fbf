"""kfix, which kills a broker of a lab right before it sends a request: `dying.py LAB BROKER API_KEY WORDS...`.

The request is sent when the cluster has noticed the death: a change reaches a controller that is slow, or busy, after
the last reading of kfix, and in between a broker can die and lose its registration.
"""

import os
import signal
import sys

from kfix.__main__ import main
from kfix.core.kafka.connection import BrokerConnection
from kfix.lab import Lab
from kfix.lab.waiting import wait_for

name, broker, api_key = sys.argv.pop(1), int(sys.argv.pop(1)), int(sys.argv.pop(1))
call = BrokerConnection.call
struck: list[int] = []


def strike():
    lab = Lab.open(name)
    [pid] = [p.pid for p in lab.status().processes if p.role == "broker" and p.id == broker]
    os.kill(pid, signal.SIGKILL)
    with lab.access() as access:
        wait_for(f"broker {broker} is no longer registered", lambda: broker not in access.live_ids(), 30)
    struck.append(pid)


def strike_and_call(line, request, deadline):
    if request.api_key == api_key and not struck:
        strike()
    return call(line, request, deadline)


BrokerConnection.call = strike_and_call  # type: ignore[method-assign]
main()

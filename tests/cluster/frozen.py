"""kfix, which stops a process (SIGSTOP) right before it sends a request: `frozen.py PID API_KEY WORDS...`.

So a controller freezes after it has answered for the last time, and before the change reaches it.
"""

import os
import signal
import sys

from kfix.__main__ import main
from kfix.core.kafka.connection import BrokerConnection

pid, api_key = int(sys.argv.pop(1)), int(sys.argv.pop(1))
call = BrokerConnection.call


def freeze_and_call(line, request, deadline):
    if request.api_key == api_key:
        os.kill(pid, signal.SIGSTOP)
    return call(line, request, deadline)


BrokerConnection.call = freeze_and_call  # type: ignore[method-assign]
main()

"""For all tests: what a shell does to the run must not reach what it starts."""

import signal

# `nohup make test &` leaves Ctrl-C ignored, and so do all processes that the tests start to press it on.
signal.signal(signal.SIGINT, signal.default_int_handler)

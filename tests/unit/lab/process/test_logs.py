from kfix.lab.process.logs import decisive_line, met_a_taken_port

BIND = """[2026-11-21 12:00:00,000] INFO starting (kafka.server.KafkaServer)
[2026-11-21 12:00:01,000] ERROR [KafkaServer id=1] Fatal error during KafkaServer startup. Prepare to shutdown (k.s.X)
org.apache.kafka.common.KafkaException: Socket server failed to bind to 127.0.0.1:19091: taken.
\tat kafka.network.Acceptor.openServerSocket(SocketServer.scala:672)
Caused by: java.net.BindException: Address already in use
\tat java.base/sun.nio.ch.Net.bind0(Native Method)
[2026-11-21 12:00:02,000] INFO shut down completed (kafka.server.KafkaServer)
"""


def written(tmp_path, text):
    log = tmp_path / "log"
    log.write_text(text)
    return log


def test_the_exception_below_the_first_error_says_why(tmp_path):
    log = written(tmp_path, BIND)
    assert decisive_line(log).endswith("Socket server failed to bind to 127.0.0.1:19091: taken.")
    assert met_a_taken_port(log)


def test_an_error_without_an_exception_speaks_for_itself(tmp_path):
    log = written(tmp_path, "[t] INFO a (b)\n[t] FATAL the disk is gone (kafka.Kafka)\n[t] INFO later (b)\n")
    assert decisive_line(log) == "the disk is gone (kafka.Kafka)"
    assert not met_a_taken_port(log)


def test_what_the_jvm_refuses_comes_first(tmp_path):
    assert decisive_line(written(tmp_path, "Unrecognized VM option 'UseX'\nError: Could not create\n")).startswith(
        "Unrec"
    )


def test_without_any_sign_the_last_line_is_told_and_an_empty_log_too(tmp_path):
    assert decisive_line(written(tmp_path, "one\ntwo\n\n")) == "two"
    assert decisive_line(tmp_path / "missing") == "its log is empty"

"""The load of a benchmark: topics up to a number of partitions, and the stock tool of the same jars for comparison."""

from __future__ import annotations

import time

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kfix.lab import Lab
from kfix.lab.nodes.classpath import class_path

# The flags that kafka-run-class.sh uses for the tools.
_FLAGS = ["-Xmx256M", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35"]


def create_topics(lab: Lab, partitions: int) -> None:
    admin = AdminClient({"bootstrap.servers": lab.bootstrap_servers})
    have = sum(len(t.partitions) for t in admin.list_topics(timeout=10).topics.values())
    width = 20
    names = [f"load-{have + i}" for i in range(0, max(0, partitions - have), width)]
    for begin in range(0, len(names), 25):
        batch = [NewTopic(n, width, 3) for n in names[begin : begin + 25]]
        for future in admin.create_topics(batch, request_timeout=60).values():
            future.result()
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        views = [
            AdminClient({"bootstrap.servers": lab.address(b)}).list_topics(timeout=10).topics.values()
            for b in lab.broker_ids
        ]
        if all(sum(len(t.partitions) for t in topics) >= partitions for topics in views):
            return
        time.sleep(0.2)
    raise SystemExit(f"{partitions} partitions were not listed by every broker within 60 s")


def tool_command(lab: Lab, tool: str, *arguments: str) -> list[str]:
    """Returns the command of a stock tool, such as `TopicCommand`, which is in another package since 3.7."""
    moved = not lab.state.spec.kafka.startswith("2.")
    main_class = f"org.apache.kafka.tools.{tool}" if moved else f"kafka.admin.{tool}"
    jars = class_path(lab.state.spec.recipe, None, lambda _: None, tools=moved)
    return ["java", *_FLAGS, "-cp", jars, main_class, "--bootstrap-server", lab.bootstrap_servers, *arguments]

"""The words that findings share."""

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import per_topic


def test_topics_that_are_not_named_are_counted_with_all_their_partitions() -> None:
    assert per_topic(TopicPartition("a", n) for n in range(3)) == "a (3 partitions)"
    many = [TopicPartition(f"t{n}", p) for n in range(9) for p in range(2)]
    names = ", ".join(f"t{n} (2 partitions)" for n in range(4))
    assert per_topic(many) == f"{names} and 5 more topics (18 partitions in all)"
    assert per_topic(many, counted=True) == f"{names} and 5 more topics"

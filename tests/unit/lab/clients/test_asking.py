import pytest

from kfix.core.errors import ReadOnlyViolationError, UnreachableError
from kfix.core.kafka.api import Api
from kfix.core.kafka.group_messages import offset_commit
from kfix.lab.clients import asking


def test_a_line_of_the_lab_lets_through_its_one_change_and_no_other():
    create_topics = Api(19, "", "")
    with pytest.raises(ReadOnlyViolationError):
        asking.ask("127.0.0.1:1", create_topics.ask(1, (), len), 1.0)
    with pytest.raises(UnreachableError, match="connection refused"):
        asking.ask("127.0.0.1:1", offset_commit("g", {}), 1.0)

"""An upgrade of Kafka as an act, with the request logs that show which clients Kafka 4 refuses."""

from collections.abc import Sequence
from pathlib import Path

from kfix.core.errors import UsageError
from kfix.diagnose.stopping import Assessment, Obstacle, ObstacleKind
from kfix.diagnose.upgrading import CLIENTS_UNKNOWN, judge_upgrade, line_wanted
from kfix.preflight.clients import Requests, refused_since_4, requests_of
from kfix.preflight.model import Act


def upgrade(version: str, request_logs: Sequence[Path] = ()) -> Act:
    """Upgrading all nodes to a version, one after the other. `request_logs` show which requests clients send.

    Raises UsageError for a text that is no version, and for a log that cannot be read.
    """
    try:
        to = line_wanted(version)
    except UsageError as error:
        raise UsageError(f"preflight upgrade {error}") from error
    clients = _clients(requests_of(request_logs)) if request_logs else CLIENTS_UNKNOWN
    return Act(f"upgrade {version}", lambda case: judge_upgrade(case, to, clients))


def _clients(requests: Requests) -> Assessment:
    obstacles = tuple(
        Obstacle(
            ObstacleKind.CLIENTS,
            f"client {each.client!r} sends {each.api} version {each.version}, and Kafka 4 takes {each.least} or later",
            next="update the client; of Java clients Kafka 4 takes 2.1 and later",
        )
        for each in refused_since_4(requests)
    )
    return Assessment(obstacles, (f"clients are judged by {requests.text}; what sent no request then is unknown",))

"""Failures judged before they happen, as JSON, `kfix.whatif/v1`."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from kfix.core.declared import Count, Seconds
from kfix.core.diagnosis.finding import Remedy
from kfix.core.diagnosis.forecast import FailureForecast, Forecast, PartitionForecast
from kfix.core.documents.outputs import written
from kfix.core.harmless import for_json
from kfix.diagnose.advice import remedies_of
from kfix.whatif.table import exit_code, failure_name


class ForecastCountsJson:
    """What was judged."""

    partitions: Count
    topics: Count


class _Partition:
    partition: Annotated[str, "topic-number"]


class PartitionForecastJson(PartitionForecast, _Partition):
    """A partition that the failure changes."""


class _Failure:
    down: Annotated[str, "its name"]
    brokers: Annotated[tuple[int, ...], "those that go down at once"]
    racks: Annotated[tuple[str, ...], "those that go down whole; [] for brokers"]
    controllers: Annotated[tuple[int, ...], "those of a KRaft quorum that go down; [] for brokers and racks"]


class FailureForecastJson(FailureForecast, _Failure):
    """One failure. Partitions are counted."""

    remedies: Annotated[tuple[Remedy, ...], "with --down; safest first"]
    partitions: Annotated[tuple[PartitionForecastJson, ...], "with --down, by name"]


class ForecastJson:
    """Failures judged before they happen: kfix whatif --json"""

    schema: Literal["kfix.whatif/v1"]
    cluster: Annotated[str, "id, or address if the id is unknown"]
    taken_at: Seconds
    exit_code: Annotated[Literal[0, 20, 21, 22], "exit code of the command"]
    brokers: Annotated[tuple[int, ...], "live brokers"]
    counts: ForecastCountsJson
    groups_known: Annotated[bool, "false: there may be more groups than those that are named"]
    unknown: Annotated[tuple[str, ...], "what the snapshot cannot show; each could change the result"]
    failures: Annotated[tuple[FailureForecastJson, ...], "worst first"]


def forecast_json(forecast: Forecast, *, indent: int | None = 2) -> str:
    document = written(
        ForecastJson,
        forecast,
        exit_code=exit_code(forecast),
        counts=written(ForecastCountsJson, forecast),
        failures=[_failure(forecast, each) for each in forecast.failures],
    )
    return for_json(document, indent=indent)


def _failure(forecast: Forecast, one: FailureForecast) -> Mapping[str, Any]:
    return written(
        FailureForecastJson,
        one,
        down=failure_name(one.failure),
        brokers=sorted(one.failure.brokers),
        racks=one.failure.racks,
        controllers=sorted(one.failure.controllers),
        remedies=remedies_of(forecast, one),
        partitions=[_partition(each) for each in one.partitions],
    )


def _partition(one: PartitionForecast) -> Mapping[str, Any]:
    return written(PartitionForecastJson, one, partition=str(one.tp), leader_before=one.leader_before)

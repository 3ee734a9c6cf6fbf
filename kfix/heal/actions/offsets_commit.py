"""Commits offsets of one group in one topic, as a consumer outside the group does; null deletes an offset.

The plan holds the committed offsets of before, which a guard reads again right before the call: a commit that someone
made since is never overwritten. Kafka itself refuses the commit while the group has members. An offset is moved back
only with `back`, and an offset outside the log is committed only with `outside`.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import ClassVar

from kfix.core.args import ArgKind, Args
from kfix.core.errors import RefusedError, UnreachableError
from kfix.core.ports import ClusterChanger, ClusterReader
from kfix.core.snapshot.offsets import StoredOffset, parse_stored
from kfix.core.snapshot.reading import ChangeResult
from kfix.core.wording import several
from kfix.heal.actions.base import Action, ActionStatus, Checks, Inverse, Kinds, Names, NotApplicable, Preview
from kfix.heal.model.facts import Fact, ReadFact, about_group
from kfix.heal.model.plan import CheckCall, Estimate, Gate, Risk, Undo
from kfix.heal.probes.positions import (
    OFFSETS,
    offsets_of,
    read_group,
    shown_offset,
    to_text,
)

#: More offsets than these are counted in the line of a step.
_MOST_SHOWN = 4


class OffsetsCommit(Action):
    name = "offsets.commit"
    summary = "commit saved offsets of a group without members; moves none back and none outside the log by default"
    risk = Risk.ONE_TOPIC
    gate_floor = Gate.PLAN
    params: ClassVar[Kinds] = OFFSETS
    optional: ClassVar[Kinds] = {"back": ArgKind.BOOL, "outside": ArgKind.BOOL}
    frozen: ClassVar[Kinds] = {"offsets_before": ArgKind.TEXT}

    def freeze(self, args: Args, read: ReadFact) -> Args:
        literal = Args({"back": False, "outside": False, **args})
        wanted = offsets_of(literal)
        before = {tp: _stored(read(about_group(literal.text("group"), tp))) for tp in wanted}
        if all(shown_offset(before[tp]) == shown_offset(each) for tp, each in wanted.items()):
            raise NotApplicable(f"group {literal.text('group')} has these offsets of {literal.text('topic')} already")
        for tp, each in wanted.items():
            now = before[tp]
            if now is not None and (each is None or each.offset < now.offset) and not literal.flag("back"):
                text = f"group {literal.text('group')}: {tp}: the committed offset {now.offset} is newer"
                raise RefusedError(f"{text} than {shown_offset(each)}")
        return literal.with_(offsets_before=to_text(before))

    def preview(self, args: Args) -> Preview:
        group, before, wanted = args.text("group"), offsets_of(args, "offsets_before"), offsets_of(args)
        moves = [f"{tp} {shown_offset(before.get(tp))} -> {shown_offset(each)}" for tp, each in sorted(wanted.items())]
        if len(moves) > _MOST_SHOWN:
            moves = [f"{several(len(moves), 'offset')} of topic {args.text('topic')}"]
        return Preview(
            what=f"group {group}: {', '.join(moves)}",
            target=f"group {group}",
            live=f"{args.text('topic')} was {', '.join(shown_offset(each) for each in before.values())}",
            command=_command(args),
            estimate=Estimate(max_loss="none: it deletes no record; consumers continue at these offsets"),
        )

    def inverse(self, args: Args) -> Inverse:
        back = args.with_(
            offsets=args.text("offsets_before"), offsets_before=args.text("offsets"), back=True, outside=True
        )
        return Inverse(
            True, "commit the previous offsets, and delete those that were not committed", Undo(self.name, back)
        )

    def reads(self, args: Args) -> Names:
        return self.writes(args)

    def writes(self, args: Args) -> Names:
        return tuple(about_group(args.text("group"), tp) for tp in offsets_of(args))

    def guards(self, args: Args) -> Checks:
        as_planned = Args({**args.only("group", "topic"), "offsets": args.text("offsets_before")})
        found = (CheckCall("group_is_empty", args.only("group")), CheckCall("offsets_are", as_planned))
        return found if args.flag("outside") else (*found, CheckCall("offsets_in_log", args.only("topic", "offsets")))

    def proves(self, args: Args) -> Checks:
        return (CheckCall("offsets_are", args.only(*OFFSETS)),)

    def apply(self, args: Args, changer: ClusterChanger) -> ChangeResult:
        return changer.commit_offsets(args.text("group"), offsets_of(args))

    def probe(self, args: Args, _before: Mapping[str, Fact], reader: ClusterReader) -> ActionStatus:
        try:
            found = read_group(args, reader).committed
        except UnreachableError:
            return ActionStatus.UNKNOWN
        for offsets, status in (
            (offsets_of(args), ActionStatus.DONE),
            (offsets_of(args, "offsets_before"), ActionStatus.NOT_STARTED),
        ):
            if all(shown_offset(found.get(tp)) == shown_offset(each) for tp, each in offsets.items()):
                return status
        return ActionStatus.UNKNOWN

    def gate_for(self, args: Args) -> Gate:
        """Filling a gap needs the approval of the plan; replacing a committed offset asks at the step."""
        replaced = any(each is not None for each in offsets_of(args, "offsets_before").values())
        return Gate.STEP if replaced else Gate.PLAN


def _stored(fact: Fact) -> StoredOffset | None:
    return None if fact.value is None else parse_stored(str(fact.value))


def _command(args: Args) -> str:
    """Returns the commands of Kafka's own tool, which takes offsets from a CSV file and deletes others by topic."""
    group, offsets = shlex.quote(args.text("group")), offsets_of(args)
    rows = [f"{tp.topic},{tp.partition},{each.offset}" for tp, each in offsets.items() if each is not None]
    tool = f"kafka-consumer-groups.sh --bootstrap-server HOST:PORT --group {group}"
    commands = []
    if rows:
        commands.append(
            f"printf '%s\\n' {' '.join(rows)} > offsets.csv && {tool} --reset-offsets --from-file offsets.csv --execute"
        )
    if len(rows) < len(offsets):
        gone = ",".join(str(tp.partition) for tp, each in offsets.items() if each is None)
        commands.append(f"{tool} --delete-offsets --topic {args.text('topic')}:{gone}")
    return " && ".join(commands)

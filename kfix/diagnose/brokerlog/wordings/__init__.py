"""All supported log messages, one module per subject. Written by hand; a test compares it with the folder."""

from kfix.diagnose.brokerlog.wording import Wording
from kfix.diagnose.brokerlog.wordings import (
    brokers,
    controller,
    deletions,
    isr,
    kraft,
    lifecycle,
    sessions,
    state_changes,
    truncation,
)

ALL: tuple[Wording, ...] = (
    *controller.WORDINGS,
    *deletions.WORDINGS,
    *brokers.WORDINGS,
    *state_changes.WORDINGS,
    *isr.WORDINGS,
    *truncation.WORDINGS,
    *sessions.WORDINGS,
    *lifecycle.WORDINGS,
    *kraft.WORDINGS,
)

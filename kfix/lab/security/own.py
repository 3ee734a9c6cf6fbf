"""How the lab itself logs in at the controllers of a secured lab."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.core.kafka.security import Security
from kfix.core.tls.settings import Tls
from kfix.core.tls.stores import pem_identity
from kfix.lab.definition.protocols import CONTROLLER_USER, MTLS
from kfix.lab.definition.state import folder_of

if TYPE_CHECKING:
    from kfix.lab.definition.state import LabState


def controller_security(state: LabState) -> Security:
    spec = state.spec
    if not spec.is_secured:
        return Security()
    tls = Tls()
    if spec.has_tls:
        folder = folder_of(state)
        own = pem_identity((folder / "node.pem").read_text(encoding="ascii")) if spec.security == MTLS else None
        tls = Tls(
            ca=(folder / "ca.pem").read_text(encoding="ascii"),
            chain=own.chain if own else "",
            key=own.key if own else "",
            key_password=state.secret if own else "",
        )
    if not spec.mechanism_used:
        return Security(spec.listener, tls=tls)
    return Security(spec.listener, "PLAIN", CONTROLLER_USER, state.secret, tls)

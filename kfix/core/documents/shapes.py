"""The base of the pydantic models that check YAML files and report all mistakes at once."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class StrictModel(BaseModel):
    """An object whose fields are all known."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

"""The difference of two JSON values as a JSON value, and the later value from the earlier one and the difference.

A difference is `[value]` where the value is replaced, `[]` where the key is gone, and an object of differences by key,
or by position in a list of the same length, where most of the value is equal. Equal values have no difference: None.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

Patch = list[Any] | dict[str, Any]

#: A shorter list is replaced as a whole: its positions would take as much space.
_LONG: Final = 4


class PatchError(ValueError):
    """A difference does not fit the value that it is applied to: the record is damaged."""


def difference(before: Any, after: Any) -> Patch | None:
    """Returns what changes `before` into `after`, None if they are equal."""
    if before == after:
        return None
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        return _of_mappings(before, after)
    if _is_list(before) and _is_list(after) and len(before) == len(after) >= _LONG:
        found = {str(i): d for i, old in enumerate(before) if (d := difference(old, after[i])) is not None}
        return found if len(found) * 2 <= len(after) else [after]
    return [after]


def _of_mappings(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any] | None:
    changed: dict[str, Any] = {}
    for key, value in after.items():
        if key not in before:
            changed[key] = [value]
        elif (patch := difference(before[key], value)) is not None:
            changed[key] = patch
    for key in before.keys() - after.keys():
        changed[key] = []
    return changed or None


def patched(before: Any, patch: Any) -> Any:
    """Returns the later value; `before` is not changed, and shares its unchanged parts with the result.

    Raises PatchError if the difference does not fit.
    """
    if isinstance(patch, list):
        if len(patch) != 1:
            raise PatchError("a value is replaced by none")
        return patch[0]
    if not isinstance(patch, dict):
        raise PatchError("not a difference")
    if isinstance(before, dict):
        made = dict(before)
        for key, each in patch.items():
            if each == []:
                made.pop(key, None)
            else:
                made[key] = patched(made.get(key), each)
        return made
    if isinstance(before, list):
        rows = list(before)
        for key, each in patch.items():
            if not key.isdecimal() or int(key) >= len(rows):
                raise PatchError(f"there is no row {key[:20]}")
            rows[int(key)] = patched(rows[int(key)], each)
        return rows
    raise PatchError("a difference of an object, and the value is none")


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)

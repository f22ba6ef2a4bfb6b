"""Python's arguments as the settings of doppel.yaml."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from . import _core


def written(value: Any) -> str:
    """A value as the settings file has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.6f}".rstrip("0").rstrip(".")
    if isinstance(value, (list, tuple)):
        return ", ".join(written(item) for item in value)
    return str(value)


def pairs(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Settings by name; an underscore may replace a point: state_fsync is state.fsync."""
    known = _core.settings()
    by_name = {name.replace(".", "_"): name for name in known} | {name: name for name in known}
    out = []
    for name, value in values.items():
        if value is None:
            continue
        if name not in by_name:
            near = difflib.get_close_matches(name, list(by_name), n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise TypeError(f"{name}: no such setting{hint}")
        out.append((by_name[name], written(value)))
    return out


def hash_key_text(key: str | bytes | None) -> str:
    """32 hex digits, or 16 bytes."""
    if key is None:
        return ""
    if isinstance(key, bytes):
        if len(key) != 16:
            raise ValueError(f"hash_key: {len(key)} bytes; a key has 16 (or 32 hex digits as str)")
        return key.hex()
    if not key:
        raise ValueError("hash_key: empty; a key has 32 hex digits")
    return key

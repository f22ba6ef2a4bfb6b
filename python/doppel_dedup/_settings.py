"""Converts Python's arguments to the settings of doppel.yaml."""

from __future__ import annotations

import difflib
import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypedDict

from . import _core


class _Signatures(TypedDict, total=False):
    num_perm: int
    sketch: Literal["fast", "classic"]
    shingle_words: int
    min_shingles: int
    normaliser: Literal["default", "loose", "none"]
    max_record: int | str
    relations: Sequence[Literal["near", "contained", "contains", "shares", "similar"]]
    passage_words: int
    hash_key_file: str | os.PathLike[str]


class SigningSettings(_Signatures, total=False):
    """The settings that signatures depend on: keys of doppel.yaml (docs/configuration.md) as arguments."""

    verify: Literal["exact", "signature"]
    threads: int


class ClusterSettings(_Signatures, total=False):
    """The same without `threads`, which a cluster decides."""

    verify: Literal["exact", "signature"]


class RuleSettings(_Signatures, total=False):
    """The settings that an index depends on, except its threshold."""

    recall: float
    verify: Literal["exact", "signature"]
    bands: int
    rows: int
    max_listed: int
    max_checks: int
    expire_after: str
    max_documents: int
    max_memory: int | str
    containment: float
    report_from: float
    common_after: int
    max_related: int
    partial: Literal["report", "duplicate"]
    shards: int
    accept_rule_change: Sequence[str]
    batch_documents: int
    batch_bytes: int | str
    state_fsync: Literal["none", "checkpoint", "commit"]
    state_checkpoint_documents: int
    state_checkpoint_interval: str


class NoSettings(TypedDict, total=False):
    """For calls that take none, so that a wrong name gets a hint."""


class ThresholdSettings(RuleSettings, total=False):
    """The same with the threshold."""

    threshold: float | None


Against = str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None


class JobSettings(ThresholdSettings, total=False):
    """The arguments of Index, except its path."""

    against: Against
    hash_key: str | bytes | None
    repeated_ids: Literal["error", "allow", "replace"] | None
    threads: int | None
    config: str | os.PathLike[str] | None


class IndexSettings(JobSettings, total=False):
    """The arguments of Index."""

    path: str | os.PathLike[str] | None


# What other libraries call arguments of this one.
_ELSEWHERE = {
    "text": ("subset", "on", "column", "text_column", "text_col", "text_field", "text_key", "content"),
    "id": ("id_column", "id_col", "id_field", "id_key", "ids", "index_column"),
    "order_by": ("sort_by", "by", "order", "sort"),
    "threshold": ("similarity", "similarity_threshold", "min_similarity", "jaccard_threshold", "cutoff"),
    "threads": ("workers", "num_workers", "n_jobs", "num_proc", "processes", "cores"),
    "shingle_words": ("ngram", "ngrams", "n_grams", "ngram_size", "shingle_size"),
    "num_perm": ("num_hashes", "num_permutations", "permutations"),
    "bands": ("num_bands", "num_buckets"),
    "rows": ("rows_per_band", "hashes_per_bucket"),
    "src": ("input", "input_path", "source"),
    "dst": ("output", "output_path", "output_dir", "out", "keep"),
    "columns": ("keep",),
    "progress": ("verbose", "show_progress"),
    "restart": ("overwrite", "force", "exist_ok"),
}


def _hint(name: str, known: Iterable[str]) -> str:
    near = [right for right, others in _ELSEWHERE.items() if name in others and right in known] or difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def check_names(given: Mapping[str, Any], call: Callable[..., Any], takes_settings: bool = True) -> None:
    """It is an error if one of the further arguments of a call is no setting. The hint may be an argument of the call."""
    settings = {name.replace(".", "_") for name in _core.settings()} | {"cut", *IndexSettings.__annotations__} if takes_settings else set()
    for name in given:
        if name.replace(".", "_") not in settings:
            own = [one for one, kind in inspect.signature(call).parameters.items() if kind.kind is not inspect.Parameter.VAR_KEYWORD]
            raise TypeError(f"{name}: no such argument{_hint(name, [*own, *settings])}")


def written(value: Any) -> str:
    """A value in the syntax of the settings file."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.6f}".rstrip("0").rstrip(".")
    if isinstance(value, (list, tuple)):
        return ", ".join(written(item) for item in value)
    return str(value)


def pairs(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Settings by name. An underscore can replace a dot: state_fsync is state.fsync."""
    known = _core.settings()
    by_name = {name.replace(".", "_"): name for name in known} | {name: name for name in known}
    out = []
    for name, value in values.items():
        if name == "against" and isinstance(value, os.PathLike):
            value = os.fspath(value)
        if value is None:
            continue
        if name == "cut":
            raise TypeError("cut: Python does not cut passages; doppel scan --keep kept.parquet does")
        if name not in by_name:
            raise TypeError(f"{name}: no such setting{_hint(name, by_name)}")
        out.append((by_name[name], written(value)))
    return out


def hash_key_text(key: str | bytes | None) -> str:
    """Converts a key of 16 bytes or 32 hex digits to hex digits."""
    if key is None:
        return ""
    if isinstance(key, bytes):
        if len(key) != 16:
            raise ValueError(f"hash_key: {len(key)} bytes; a key has 16 (or 32 hex digits as str)")
        return key.hex()
    if not isinstance(key, str):
        raise TypeError(f"hash_key: {type(key).__name__}; a key has 16 bytes, or 32 hex digits as str")
    if not key:
        raise ValueError("hash_key: empty; a key has 32 hex digits")
    return key

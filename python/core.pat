# Types that nanobind cannot know, for doppel_dedup/_core.pyi.
^_core\.__prefix__$:
    \from collections.abc import Iterable
    \from typing import Any

^_core\.Columns\.row$:
    def row(self, row: int) -> tuple[Any, ...]:
        \doc

^_core\.Columns\.relations$:
    def relations(self, row: int) -> list[tuple[Any, ...]]:
        \doc

^_core\.Columns\.ids$:
    def ids(self) -> list[str]: ...

^_core\.Columns\.originals$:
    def originals(self) -> list[str]: ...

^_core\.Index\.begin_files$:
    def begin_files(self, paths: Sequence[str], resume: bool) -> tuple[Any, ...]: ...

^_core\.Index\.originals$:
    def originals(self, from_: int, most: int) -> tuple[Any, ...]: ...

^_core\.Records\.of$:
    @staticmethod
    def of(records: list[bytes]) -> Records: ...

^_core\.Records\.arrow_array$:
    def arrow_array(self) -> tuple[Any, ...]: ...

^_core\.MinHash\.update_batch$:
    def update_batch(self, arg: Iterable[Any], /) -> None: ...

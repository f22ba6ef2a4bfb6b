"""Counts that print as a table and become a data frame."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

_SHOWN = 20  # rows


def _written(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.1%}"
    return f"{value:,}" if isinstance(value, int) else str(value)


class Summary:
    """A small table of counts. `print` and notebooks show it; to_pandas(), to_polars() and to_arrow() give frames.

    columns  the values by name; floating point numbers are shares
    """

    def __init__(self, title: str, columns: Mapping[str, Sequence[Any]], total: bool = False) -> None:
        self.title = title
        self.columns: dict[str, list[Any]] = {name: list(values) for name, values in columns.items()}
        self._total = total

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), []))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Summary) and (self.title, self.columns) == (other.title, other.columns)

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def _lines(self) -> list[list[str]]:
        rows = [[_written(value) for value in row] for row in zip(*self.columns.values())]
        more = len(rows) - _SHOWN
        lines = rows if more <= 1 else [*rows[:_SHOWN], [f"and {more:,} more", *[""] * (len(self.columns) - 1)]]
        if self._total and len(rows) > 1:
            lines.append([_written(sum(values)) if all(isinstance(one, int) for one in values) else "all" for values in self.columns.values()])
        return [list(self.columns), *lines]

    def __str__(self) -> str:
        lines = self._lines()
        widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
        shown = ["  ".join(cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(line, widths))) for line in lines]
        return "\n".join([self.title, *(line.rstrip() for line in shown)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        names, *rows = [[html.escape(cell) for cell in line] for line in self._lines()]
        head = "".join(f"<th>{name}</th>" for name in names)
        body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
        return f"<table><caption>{html.escape(self.title)}</caption><tr>{head}</tr>{body}</table>"

    def to_pandas(self) -> pandas.DataFrame:
        """A frame with all rows, without the line of totals."""
        import pandas

        return pandas.DataFrame(self.columns)

    def to_polars(self) -> polars.DataFrame:
        """The same for polars."""
        import polars

        return polars.DataFrame(self.columns)

    def to_arrow(self) -> pyarrow.Table:
        """The same as a Table of pyarrow."""
        import pyarrow

        return pyarrow.table(self.columns)

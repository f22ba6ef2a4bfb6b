#!/usr/bin/env python3
"""Writes tables with pyarrow, DuckDB, polars and fastparquet, in random schemas, encodings, codecs and page
versions, lets doppel read every column, and compares each cell with what pyarrow reads of the same file.

usage: gate.py DOPPEL [--files N] [--seed S]    a finding prints the seed of its file: gate.py DOPPEL --files 1 --seed S
"""
import argparse
import datetime as dt
import decimal
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import uuid

import duckdb
import fastparquet
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

WORDS = "salmon return to the river for first time in years said council on monday after rain ünï 日本 \"q\" b\\s \t 🐟".split(" ")
UNITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}


# --- What a cell is as JSON.

def clock(seconds, nanos):
    out = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    if nanos == 0:
        return out
    digits = f"{nanos:09}"
    return out + "." + (digits[:3] if nanos % 10**6 == 0 else digits[:6] if nanos % 1000 == 0 else digits)


def day(days):
    return (dt.date(1970, 1, 1) + dt.timedelta(days=days)).isoformat()


def real(value):
    return None if not np.isfinite(value) else float(str(np.float32(value)))


def cell(value, kind):
    """The JSON of an Arrow scalar, by what the formats say of types, not by what doppel does."""
    if isinstance(kind, pa.BaseExtensionType):
        stored = value.value if hasattr(value, "value") and isinstance(value, pa.ExtensionScalar) else value
        if stored is None or not stored.is_valid:
            return None
        return str(uuid.UUID(bytes=stored.as_py())) if kind.extension_name == "arrow.uuid" else cell(stored, kind.storage_type)
    if not value.is_valid or pa.types.is_null(kind):
        return None
    if pa.types.is_dictionary(kind):
        return cell(value.value, kind.value_type)
    if pa.types.is_struct(kind):
        return {field.name: cell(value[i], field.type) for i, field in enumerate(kind)}
    if pa.types.is_map(kind):
        out = {}
        for entry in value.values:
            key = cell(entry[0], kind.key_type)
            out[key if isinstance(key, str) else json.dumps(key)] = cell(entry[1], kind.item_type)
        return out
    if hasattr(kind, "value_field") and hasattr(value, "values"):
        return [cell(one, kind.value_type) for one in value.values]
    if pa.types.is_float16(kind) or pa.types.is_float32(kind):
        return real(value.as_py())
    if pa.types.is_float64(kind):
        return value.as_py() if np.isfinite(value.as_py()) else None
    if pa.types.is_decimal(kind):
        return f"{value.as_py():f}"
    if pa.types.is_date32(kind):
        return day(value.value)
    if pa.types.is_date64(kind):
        return day(value.value // 86_400_000)
    if pa.types.is_timestamp(kind):
        second, units = divmod(value.value, 10 ** UNITS[kind.unit])
        days, second = divmod(second, 86_400)
        return day(days) + "T" + clock(second, units * 10 ** (9 - UNITS[kind.unit])) + ("Z" if kind.tz else "")
    if pa.types.is_time(kind):
        second, units = divmod(value.value, 10 ** UNITS[kind.unit])
        return clock(second, units * 10 ** (9 - UNITS[kind.unit]))
    if pa.types.is_duration(kind):
        return value.value
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind) or pa.types.is_binary_view(kind):
        return value.as_py().decode()
    return value.as_py()


# --- Random columns.

class Columns:
    def __init__(self, rng, rows):
        self.rng, self.rows = rng, rows

    def text(self, most=6):
        return " ".join(self.rng.choices(WORDS, k=self.rng.randrange(most)))

    def simple(self):
        """A type, and what makes a value of it."""
        rng = self.rng
        integer = lambda bits, signed: (lambda: rng.choice([0, 1, rng.randrange(2**bits)]) - (2 ** (bits - 1) if signed else 0))
        stamp = lambda unit: (lambda: rng.randrange(-(10**9), 4 * 10**9) * 10 ** UNITS[unit] + rng.choice([0, rng.randrange(10 ** UNITS[unit])]))
        precision = rng.randrange(1, 38)
        scale = rng.randrange(precision + 1)
        number = lambda: decimal.Decimal(rng.randrange(-(10**precision) + 1, 10**precision)).scaleb(-scale, decimal.Context(prec=80))
        options = [
            (pa.string(), self.text), (pa.string(), lambda: rng.choice(["a", "b", ""])), (pa.large_string(), self.text),
            (pa.binary(), lambda: self.text().encode()), (pa.binary(5), lambda: f"{rng.randrange(10**5):05}".encode()),
            (pa.bool_(), lambda: rng.random() < .5), (pa.bool_(), lambda: True),
            (pa.float32(), lambda: rng.choice([0.0, -0.5, rng.gauss(0, 1), rng.gauss(0, 1e30), float("inf"), float("nan")])),
            (pa.float64(), lambda: rng.choice([0.0, -0.5, rng.gauss(0, 1), rng.gauss(0, 1e300), float("-inf")])),
            (pa.float16(), lambda: np.float16(rng.choice([0, 1.5, -2.25, rng.gauss(0, 100), 6e-8, 65504]))),
            (pa.date32(), lambda: rng.randrange(-100_000, 100_000)), (pa.date64(), lambda: rng.randrange(-100_000, 100_000) * 86_400_000),
            (pa.decimal128(precision, scale), number), (pa.decimal128(5, 2), lambda: decimal.Decimal(rng.randrange(-99999, 99999)).scaleb(-2)),
            (pa.decimal256(60, 10), lambda: decimal.Decimal(rng.randrange(-10**55, 10**55)).scaleb(-10, decimal.Context(prec=80))),
            (pa.time32("ms"), lambda: rng.randrange(86_400_000)), (pa.time64("us"), lambda: rng.randrange(86_400_000_000)),
            (pa.time64("ns"), lambda: rng.randrange(86_400 * 10**9)), (pa.null(), lambda: None),
            (pa.uuid(), lambda: rng.randbytes(16)), (pa.duration("us"), lambda: rng.randrange(-10**12, 10**12)),
        ]
        options += [(pa.timestamp(unit, tz), stamp(unit)) for unit in ("s", "ms", "us", "ns") for tz in (None, "UTC", "Europe/Berlin")]
        options += [(getattr(pa, f"{'' if signed else 'u'}int{bits}")(), integer(bits, signed)) for bits in (8, 16, 32, 64) for signed in (True, False)]
        return rng.choice(options)

    def plain(self):
        """What pyarrow can put into lists from Python's values."""
        while isinstance((out := self.simple())[0], pa.BaseExtensionType):
            pass
        return out

    def any(self, depth, in_list=False):
        rng = self.rng
        if depth == 0 or rng.random() < .55:
            return self.plain() if in_list else self.simple()
        kind = rng.randrange(5)
        if kind == 0:
            inner, make = self.any(depth - 1, True)
            return pa.list_(inner), lambda: [self.maybe(make) for _ in range(rng.choice([0, 1, 3]))]
        if kind == 1:
            inner, make = self.any(depth - 1, True)
            return pa.large_list(inner), lambda: [self.maybe(make) for _ in range(rng.randrange(4))]
        if kind == 2:
            inner, make = self.any(depth - 1, True)
            return pa.map_(rng.choice([pa.string(), pa.string()]), inner), lambda: [(f"k{i}", self.maybe(make)) for i in range(rng.randrange(3))]
        if kind == 3:
            inner, make = self.plain()
            return pa.list_(inner, 2), lambda: [self.maybe(make), self.maybe(make)]
        fields = [(f"f{i}", *self.any(depth - 1, in_list)) for i in range(rng.randrange(1, 4))]
        return (pa.struct([(name, kind) for name, kind, _ in fields]),
                lambda: {name: self.maybe(make) for name, _, make in fields})

    def maybe(self, make):
        return None if self.rng.random() < .15 else make()

    def column(self, depth):
        kind, make = self.any(depth)
        values = [self.maybe(make) for _ in range(self.rows)]
        if self.rng.random() < .2:
            values = sorted(values, key=lambda value: value is None)
        return build(values, kind)

    def table(self, columns, depth):
        texts = pa.array([" ".join(f"w{self.rng.randrange(10**6)}" for _ in range(8)) for _ in range(self.rows)])
        return pa.table({"id": pa.array([f"d{i}" for i in range(self.rows)]), "text": texts,
                         **{f"c{i}": self.column(depth) for i in range(columns)}})


def build(values, kind):
    """pa.array() with extension types at any depth."""
    if isinstance(kind, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(kind, pa.array(values, kind.storage_type))
    if pa.types.is_struct(kind):
        children = [build([None if v is None else v[field.name] for v in values], field.type) for field in kind]
        return pa.StructArray.from_arrays(children, fields=list(kind), mask=pa.array([v is None for v in values]))
    return pa.array(values, kind)


def has(kind, wanted):
    if wanted(kind):
        return True
    if isinstance(kind, pa.BaseExtensionType):
        return has(kind.storage_type, wanted)
    return any(has(kind.field(i).type, wanted) for i in range(kind.num_fields))


def without(table, wanted):
    """The table without the columns whose types its writer cannot write."""
    return table.select([name for name in table.column_names if not has(table.schema.field(name).type, wanted)])


# --- Writers: each writes the columns that it can write.

def pyarrow_parquet(rng, table, path):
    flat = [name for name in table.column_names if table.schema.field(name).type.num_fields == 0]
    nanos = any(has(field.type, lambda kind: pa.types.is_timestamp(kind) and kind.unit == "ns") for field in table.schema)
    more = {}
    if rng.random() < .5:
        encodings = {}
        for name in flat:
            kind = table.schema.field(name).type
            if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind):
                encodings[name] = rng.choice(["PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"])
            elif pa.types.is_int32(kind) or pa.types.is_int64(kind):
                encodings[name] = rng.choice(["PLAIN", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"])
            elif pa.types.is_float32(kind) or pa.types.is_float64(kind) or pa.types.is_float16(kind):
                encodings[name] = rng.choice(["PLAIN", "BYTE_STREAM_SPLIT"])
            elif pa.types.is_boolean(kind):
                encodings[name] = rng.choice(["PLAIN", "RLE"])
            elif pa.types.is_fixed_size_binary(kind):
                encodings[name] = rng.choice(["PLAIN", "DELTA_BYTE_ARRAY", "BYTE_STREAM_SPLIT"])
        more = {"use_dictionary": False, "column_encoding": encodings}
    else:
        more = {"use_dictionary": rng.choice([True, False, flat[:2]])}
    if rng.random() < .3:
        more["use_deprecated_int96_timestamps"] = True
    pq.write_table(table, path, compression=rng.choice(["none", "snappy", "gzip", "brotli", "zstd", "lz4"]), version="2.6" if nanos else rng.choice(["1.0", "2.4", "2.6"]),
                   data_page_version=rng.choice(["1.0", "2.0"]), row_group_size=rng.choice([1, 7, 50, 1000]), data_page_size=rng.choice([1, 200, 100_000]),
                   write_batch_size=rng.choice([1, 5, 1024]), dictionary_pagesize_limit=rng.choice([20, 10**6]), write_statistics=rng.choice([True, False]),
                   use_compliant_nested_type=rng.choice([True, False]), write_page_checksum=rng.choice([True, False]),
                   store_schema=rng.choice([True, False]), store_decimal_as_integer=rng.choice([True, False]), **more)
    return "a.parquet"


def pyarrow_ipc(rng, table, path):
    for i, name in enumerate(table.column_names):
        kind = table.schema.field(name).type
        if (pa.types.is_string(kind) or pa.types.is_int64(kind)) and name not in ("id", "text") and rng.random() < .3:
            table = table.set_column(i, name, table[name].dictionary_encode())
        elif pa.types.is_string(kind) and rng.random() < .3:
            table = table.set_column(i, name, table[name].cast(pa.string_view()))
    old = rng.random() < .4  # pyarrow itself cannot read what it writes packed with V4
    options = pa.ipc.IpcWriteOptions(compression=None if old else rng.choice([None, "lz4", "zstd"]), unify_dictionaries=True,
                                     metadata_version=pa.ipc.MetadataVersion.V4 if old else pa.ipc.MetadataVersion.V5,
                                     use_legacy_format=old and rng.random() < .5)
    make = rng.choice([pa.ipc.new_file, pa.ipc.new_stream])
    with make(path, table.schema, options=options) as out:
        out.write_table(table, max_chunksize=rng.choice([1, 9, 1000]))


def duckdb_parquet(rng, table, path):
    no = lambda kind: (isinstance(kind, pa.BaseExtensionType) or pa.types.is_decimal256(kind) or pa.types.is_null(kind) or pa.types.is_date64(kind)
                       or pa.types.is_duration(kind) or pa.types.is_float16(kind) or pa.types.is_timestamp(kind) or pa.types.is_time(kind) or pa.types.is_fixed_size_list(kind))
    rows = without(table, no)
    connection = duckdb.connect()
    connection.register("rows", rows)
    columns = ", ".join(["*"] + rng.sample(["uuid() AS u1", "TIME '12:34:56.789' AS t1", "TIMESTAMP '2001-02-03 04:05:06.5' AS s1",
                                            "TIMESTAMPTZ '2001-02-03 04:05:06.000007+00' AS s2", "12345678901234567890123456789::HUGEINT % 1000 AS h1",
                                            "'x'::VARCHAR AS v1", "[[1,2],[],NULL] AS l1", "{'a': 1, 'b': ['x', NULL]} AS st1"], 3))
    connection.execute(f"COPY (SELECT {columns} FROM rows) TO '{path}' (FORMAT parquet, COMPRESSION {rng.choice(['snappy', 'zstd', 'gzip', 'brotli', 'lz4_raw', 'uncompressed'])}, "
                       f"PARQUET_VERSION {rng.choice(['V1', 'V2'])}, ROW_GROUP_SIZE {rng.choice([2048, 100_000])})")


def for_polars(table):
    no = lambda kind: (isinstance(kind, pa.BaseExtensionType) or pa.types.is_decimal256(kind) or pa.types.is_map(kind) or pa.types.is_date64(kind)
                       or pa.types.is_float16(kind) or pa.types.is_fixed_size_binary(kind) or pa.types.is_time32(kind))
    return pl.from_arrow(without(table, no))


def polars_parquet(rng, table, path):
    for_polars(table).write_parquet(path, compression=rng.choice(["lz4", "uncompressed", "snappy", "gzip", "brotli", "zstd"]),
                                    row_group_size=rng.choice([None, 5, 100]), data_page_size=rng.choice([None, 100]), statistics=rng.choice([True, False]))


def polars_ipc(rng, table, path):
    rows = for_polars(table)
    if rng.random() < .5:
        rows.write_ipc(path, compression=rng.choice(["uncompressed", "lz4", "zstd"]), compat_level=rng.choice([None, pl.CompatLevel.oldest()]))
    else:
        rows.write_ipc_stream(path, compression=rng.choice(["uncompressed", "lz4", "zstd"]))


def fastparquet_parquet(rng, table, path):
    rows = len(table)
    frame = pd.DataFrame({
        "id": table["id"].to_pylist(), "text": table["text"].to_pylist(),
        "i": np.array([rng.randrange(-10**9, 10**9) for _ in range(rows)]), "small": np.array([rng.randrange(100) for _ in range(rows)], dtype="int8"),
        "r": np.array([rng.gauss(0, 1) for _ in range(rows)]), "f": np.array([rng.gauss(0, 1) for _ in range(rows)], dtype="float32"),
        "b": np.array([rng.random() < .5 for _ in range(rows)]), "s": [None if rng.random() < .3 else rng.choice(WORDS) for _ in range(rows)],
        "t": pd.to_datetime([rng.randrange(4 * 10**9) * 10**6 for _ in range(rows)], unit="us"),
        "c": pd.Categorical([rng.choice("xyz") for _ in range(rows)]),
        "n": pd.array([None if rng.random() < .3 else i for i in range(rows)], dtype="Int64"),
    })
    fastparquet.write(str(path), frame, compression=rng.choice(["UNCOMPRESSED", "SNAPPY", "GZIP", "ZSTD", "LZ4", "BROTLI"]), times=rng.choice(["int64", "int96"]),
                      has_nulls=True, row_group_offsets=rng.choice([7, 1000]), object_encoding={"id": "utf8", "text": "utf8", "s": "utf8"})


WRITERS = [(pyarrow_parquet, "parquet", 5), (pyarrow_ipc, "arrow", 4), (duckdb_parquet, "parquet", 2), (polars_parquet, "parquet", 2),
           (polars_ipc, "arrow", 2), (fastparquet_parquet, "parquet", 1)]


# --- One file.

def read_back(path):
    if path.suffix == ".parquet":
        return pq.read_table(path, partitioning=None)
    content = path.read_bytes()
    return (pa.ipc.open_file if content.startswith(b"ARROW1") else pa.ipc.open_stream)(content).read_all()


def pointers(schema, rng):
    """Some fields of structures, as JSON pointers, with their paths."""
    out = []
    for field in schema:
        path, kind = [field.name], field.type
        while pa.types.is_struct(kind) and kind.num_fields > 0 and (len(path) == 1 or rng.random() < .7):
            inner = kind.field(rng.randrange(kind.num_fields))
            path.append(inner.name)
            kind = inner.type
        if len(path) > 1:
            out.append(path)
    return out


def same(got, expected, kind):
    """INT96 has no zone; doppel takes it for UTC, as Spark writes it, and pyarrow does not say."""
    if got == expected:
        return True
    if pa.types.is_timestamp(kind) and kind.unit == "ns" and isinstance(expected, str):
        return got == expected + "Z"
    if isinstance(expected, list) and isinstance(got, list) and len(got) == len(expected) and hasattr(kind, "value_type"):
        return all(same(g, e, kind.value_type) for g, e in zip(got, expected))
    if isinstance(expected, dict) and isinstance(got, dict) and got.keys() == expected.keys():
        if pa.types.is_map(kind):
            return all(same(got[k], expected[k], kind.item_type) for k in got)
        if pa.types.is_struct(kind):
            return all(same(got[k], expected[k], kind.field(k).type) for k in got)
    return False


def inside(value, path):
    for step in path:
        if value is None:
            return None
        value = value[step]
    return value


def check(doppel, seed, directory):
    rng = random.Random(seed)
    writer, suffix, _ = rng.choices(WRITERS, weights=[weight for *_, weight in WRITERS])[0]
    path = pathlib.Path(directory) / f"x.{suffix}"
    kept = pathlib.Path(directory) / "kept.jsonl"
    table = Columns(rng, rng.choice([1, 2, 30, 200])).table(rng.randrange(1, 9), rng.choice([0, 1, 3]))
    writer(rng, table, path)
    try:
        rows = read_back(path)
    except (pa.ArrowInvalid, OSError):
        return None, 0  # what nobody can compare it with
    chosen = [name for name in rows.column_names if name not in ("id", "text")]
    paths = pointers(rows.schema, rng) if rng.random() < .3 else []
    wanted = {name: None for name in chosen}
    for one in paths:
        wanted.pop(one[0], None)
    fields = list(wanted) + [f"p{i}=/" + "/".join(one) for i, one in enumerate(paths)]
    command = [doppel, "scan", "-q", "--keep", str(kept), "-o", str(pathlib.Path(directory) / "events.jsonl"), "--rejects",
               str(pathlib.Path(directory) / "rejects.jsonl"), str(path)]
    if fields:
        command[2:2] = ["--set", "input.passthrough=" + ",".join(fields)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    told = f"seed {seed}: {writer.__name__}: {rows.schema.to_string(show_field_metadata=False, show_schema_metadata=False)}\n{' '.join(command)}\n{done.stderr}"
    if done.returncode != 0:
        again = subprocess.run([word for word in command if word != "-q"], capture_output=True, text=True, timeout=120)
        return f"{told}exit code {done.returncode}\n{again.stderr}", 0
    got = [json.loads(line) for line in kept.read_text().splitlines()]
    if len(got) != len(rows):
        return f"{told}{len(got)} rows of {len(rows)}", 0
    cells = 0
    for name in chosen:
        column = rows[name]
        steps = [one for one in paths if one[0] == name]
        for i, value in enumerate(column):
            expected = cell(value, column.type)
            cells += 1
            if steps:
                for one in steps:
                    if inside(got[i].get(name), one[1:]) != inside(expected, one[1:]):
                        return f"{told}row {i}, {one}: {inside(got[i].get(name), one[1:])!r} in place of {inside(expected, one[1:])!r}", cells
            elif name not in got[i] or not same(got[i][name], expected, column.type):
                return f"{told}row {i}, column {name}: {got[i].get(name)!r} in place of {expected!r}", cells
    return None, cells


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("doppel")
    parser.add_argument("--files", type=int, default=100)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--keep-going", action="store_true")
    arguments = parser.parse_args()
    first = arguments.seed if arguments.seed is not None else random.SystemRandom().randrange(10**9)
    print(f"seed {first}", flush=True)
    cells = findings = 0
    with tempfile.TemporaryDirectory() as directory:
        for seed in range(first, first + arguments.files):
            finding, compared = check(arguments.doppel, seed, directory)
            cells += compared
            if finding:
                findings += 1
                print(finding, flush=True)
                if not arguments.keep_going:
                    break
    print(f"{cells} cells of {arguments.files} files, {findings} findings")
    sys.exit(1 if findings or cells == 0 else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Writes cases.jsonl: records that fastavro wrote, and what they are as JSON. usage: make.py [SEED] > cases.jsonl

Each line has a schema, a record's bytes in hex, and the JSON that doppel makes of it, computed here from the values. Needs
the package fastavro from PyPI (made with 1.13.1).
"""
import base64
import datetime
import decimal
import io
import json
import math
import random
import struct
import sys
import uuid

import fastavro

EPOCH = datetime.datetime(1970, 1, 1)


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names = 0

    def name(self, prefix):
        self.names += 1
        return f"{prefix}{self.names}"

    def text(self):
        r = self.random
        letters = ["a", "Z", " ", '"', "\\", "\n", "\x00", "\x1f", "\x7f", "ä", "漢", "😀", "/", "<"]
        return "".join(r.choice(letters) for _ in range(r.choice([0, 1, 3, 10, 200])))

    def octets(self):
        return bytes(self.random.randrange(256) for _ in range(self.random.choice([0, 1, 2, 3, 4, 50])))

    def whole(self, bits):
        r = self.random
        size = r.randrange(bits)
        return max(-(1 << bits - 1), min((1 << bits - 1) - 1, r.choice([-1, 1]) * r.getrandbits(size + 1)))

    def real(self):
        r = self.random
        return r.choice([0.0, -0.0, 1.5, -2.25e-7, 1e300, r.uniform(-1e6, 1e6), math.nan, math.inf, -math.inf])

    # Each function returns a schema and a maker of (value for fastavro, value in JSON).
    def any(self, depth):
        simple = [self.null, self.boolean, self.int, self.long, self.float, self.double, self.string, self.bytes, self.fixed,
                  self.enum, self.date, self.time, self.timestamp, self.decimal, self.uuid, self.unknown_logical]
        nested = [self.record, self.array, self.map, self.union]
        return self.random.choice(simple if depth == 0 or self.random.random() < 0.6 else nested)(depth - 1)

    def null(self, _):
        return "null", lambda: (None, None)

    def boolean(self, _):
        return "boolean", lambda: (lambda v: (v, v))(self.random.random() < 0.5)

    def int(self, _):
        return "int", lambda: (lambda v: (v, v))(self.whole(32))

    def long(self, _):
        return {"type": "long"}, lambda: (lambda v: (v, v))(self.whole(64))

    @staticmethod
    def shown(value):
        return value if math.isfinite(value) else "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"

    def float(self, _):
        def make():
            value = self.real()
            value = struct.unpack("<f", struct.pack("<f", value if abs(value) < 1e30 or not math.isfinite(value) else 7.0))[0]
            return value, self.shown(value)
        return "float", make

    def double(self, _):
        return "double", lambda: (lambda v: (v, self.shown(v)))(self.real())

    def string(self, _):
        return "string", lambda: (lambda v: (v, v))(self.text())

    @staticmethod
    def b64(value):
        return {"base64": base64.b64encode(value).decode()}

    def bytes(self, _):
        return "bytes", lambda: (lambda v: (v, self.b64(v)))(self.octets())

    def fixed(self, _):
        size = self.random.choice([1, 4, 16])
        schema = {"type": "fixed", "name": self.name("F"), "size": size}
        return schema, lambda: (lambda v: (v, self.b64(v)))(self.random.randbytes(size))

    def enum(self, _):
        symbols = [self.name("S") for _ in range(self.random.choice([1, 3, 70]))]
        return {"type": "enum", "name": self.name("E"), "symbols": symbols}, \
            lambda: (lambda v: (v, v))(self.random.choice(symbols))

    def date(self, _):
        def make():
            days = self.random.randrange(-719162, 2932896)
            return days, (EPOCH + datetime.timedelta(days=days)).date().isoformat()
        return {"type": "int", "logicalType": "date"}, make

    def time(self, _):
        unit, digits, kind = self.random.choice([("millis", 3, "int"), ("micros", 6, "long")])

        def make():
            value = self.random.randrange(86400 * 10**digits)
            seconds, rest = divmod(value, 10**digits)
            return value, f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{rest:0{digits}}"
        return {"type": kind, "logicalType": f"time-{unit}"}, make

    def timestamp(self, _):
        unit, digits = self.random.choice([("millis", 3), ("micros", 6), ("nanos", 9)])
        local = self.random.choice(["", "local-"])

        def make():
            seconds = self.random.randrange(-62135596800, 253402300800)
            seconds = seconds if digits < 9 else seconds // 100
            rest = self.random.randrange(10**digits)
            text = (EPOCH + datetime.timedelta(seconds=seconds)).isoformat()
            return seconds * 10**digits + rest, f"{text}.{rest:0{digits}}{'' if local else 'Z'}"
        return {"type": "long", "logicalType": f"{local}timestamp-{unit}"}, make

    def decimal(self, _):
        scale = self.random.choice([0, 2, 9])
        schema = {"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": scale}
        if self.random.random() < 0.5:
            schema |= {"type": "fixed", "name": self.name("D"), "size": 13}

        def make():
            whole = self.whole(95)
            value = decimal.Decimal(whole).scaleb(-scale, decimal.Context(prec=60))
            return value, f"{value:f}"
        return schema, make

    def uuid(self, _):
        schema = {"type": "fixed", "name": self.name("U"), "size": 16, "logicalType": "uuid"}

        def make():
            value = uuid.UUID(bytes=self.random.randbytes(16))
            return value.bytes, str(value)
        return schema, make

    def unknown_logical(self, _):
        return {"type": "int", "logicalType": "of-tomorrow"}, lambda: (lambda v: (v, v))(self.whole(32))

    def record(self, depth):
        space = self.random.choice([{}, {"namespace": "a.b"}, {"namespace": ""}])
        fields = [(self.random.choice(["id", "text", "_x", "f"]) + str(i), self.any(depth))
                  for i in range(self.random.randrange(5))]
        schema = {"type": "record", "name": self.name("R"), **space,
                  "fields": [{"name": name, "type": kind, "doc": "d"} for name, (kind, _) in fields]}

        def make():
            made = {name: each() for name, (_, each) in fields}
            return {k: v[0] for k, v in made.items()}, {k: v[1] for k, v in made.items()}
        return schema, make

    def array(self, depth):
        kind, each = self.any(depth)

        def make():
            made = [each() for _ in range(self.random.choice([0, 1, 2, 7]))]
            return [v[0] for v in made], [v[1] for v in made]
        return {"type": "array", "items": kind}, make

    def map(self, depth):
        kind, each = self.any(depth)

        def make():
            made = {self.text() + str(i): each() for i in range(self.random.choice([0, 1, 3]))}
            return {k: v[0] for k, v in made.items()}, {k: v[1] for k, v in made.items()}
        return {"type": "map", "values": kind}, make

    def union(self, _):
        kind, each = self.random.choice([self.string, self.long, self.bytes, self.date])(0)
        schema = ["null", kind] if self.random.random() < 0.5 else [kind, "null"]
        return schema, lambda: (None, None) if self.random.random() < 0.3 else each()


RECURSIVE = {"type": "record", "name": "tree.Node", "fields": [
    {"name": "word", "type": "string"},
    {"name": "below", "type": {"type": "array", "items": "Node"}},
    {"name": "next", "type": ["null", "tree.Node"], "default": None}]}


def tree(maker, depth):
    below = [tree(maker, depth - 1) for _ in range(maker.random.randrange(3))] if depth > 0 else []
    after = tree(maker, depth - 1) if depth > 0 and maker.random.random() < 0.5 else None
    return {"word": maker.text(), "below": below, "next": after}


def write(schema, value, wanted):
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(json.loads(json.dumps(schema))), value)
    print(json.dumps({"schema": json.dumps(schema), "hex": out.getvalue().hex(), "json": wanted}, separators=(",", ":")))


def main():
    maker = Maker(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
    for _ in range(150):
        schema, make = maker.record(3)
        for _ in range(2):
            write(schema, *make())
    for _ in range(10):
        value = tree(maker, 3)
        write(RECURSIVE, value, value)


main()

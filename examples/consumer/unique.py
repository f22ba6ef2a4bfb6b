#!/usr/bin/env python3
"""The unique documents of a crawl's topic, as far as doppel has judged them.

usage: unique.py BROKERS DOCUMENTS DUPLICATES [GROUP [contained]] > unique.jsonl

contained: without the documents that an earlier one has most of (the setting relations).
"""
import sys

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition
import json

brokers, documents, duplicates, group, partial = (sys.argv[1:] + ["doppel", "report"][len(sys.argv) - 4:])[:5]


def consumer(group):
    return Consumer({"bootstrap.servers": brokers, "group.id": group, "enable.auto.commit": False,
                     "isolation.level": "read_committed", "enable.partition.eof": True})


def read(topic, until=None):
    """Every committed record of a topic; of each partition up to an offset, or to its end."""
    reader = consumer("unique.py")
    partitions = list(reader.list_topics(topic, 10).topics[topic].partitions)
    open_ = {p for p in partitions if until is None or until.get(p, 0) > 0}
    reader.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in open_])
    while open_:
        message = reader.poll(1)
        if message is None:
            continue
        if message.error() and message.error().code() != KafkaError._PARTITION_EOF:
            sys.exit(f"unique.py: {message.error()}")
        if message.error() or (until and message.offset() >= until[message.partition()]):
            open_.discard(message.partition())
        elif message.partition() in open_:
            yield message
    reader.close()


# How far doppel is. Its offsets are committed with its events, so whatever stands before them has its event already.
doppel = consumer(group)
judged = doppel.committed([TopicPartition(documents, p) for p in doppel.list_topics(documents, 10).topics[documents].partitions], 10)
until = {p.partition: p.offset for p in judged}


def is_copy(event):
    if event["type"] == "partial-copy-of":  # it is unique, and an original itself
        return partial == "contained" and any(r["relation"] == "contained" for r in event["relations"])
    return event["type"] == "duplicate-of"


# An event names its document by topic, partition and offset. In a set, one that comes twice counts once.
copies = {e["event_id"] for e in (json.loads(m.value()) for m in read(duplicates)) if is_copy(e)}
for message in read(documents, until):
    if f"{documents}/{message.partition()}/{message.offset()}" not in copies and message.value() is not None:
        sys.stdout.buffer.write(message.value() + b"\n")

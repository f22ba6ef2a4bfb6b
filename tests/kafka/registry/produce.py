"""Writes documents to a topic as producers do: with Confluent's serializer, which registers its schemas.

usage: produce.py BROKERS REGISTRY TOPIC

Twenty documents in the order of their numbers. Document 2k+1 has the text of 2k. The first ten have one schema, the others a
later version of it, which refers to a schema of its own for the field "meta".
"""
import datetime
import json
import sys

from confluent_kafka import Producer
from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

brokers, registry, topic = sys.argv[1:]
client = SchemaRegistryClient({"url": registry})
producer = Producer({"bootstrap.servers": brokers})

META = {"type": "record", "name": "Meta", "namespace": "org.example", "fields": [
    {"name": "text", "type": ["null", "string"]},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}}]}


def document(meta, more):
    return json.dumps({"type": "record", "name": "Document", "namespace": "org.example", "fields": [
        {"name": "number", "type": "int"},
        {"name": "meta", "type": meta},
        {"name": "labels", "type": {"type": "map", "values": "string"}}, *more]})


def serializer(schema, subject):
    return AvroSerializer(client, schema, conf={"subject.name.strategy": lambda *_: subject})


client.register_schema(f"{topic}-meta", Schema(json.dumps(META), "AVRO"))
first = serializer(Schema(document(META, []), "AVRO"), f"{topic}-value")
second = serializer(
    Schema(document("Meta", [{"name": "words", "type": ["null", "int"], "default": None}]), "AVRO",
           [SchemaReference("org.example.Meta", f"{topic}-meta", 1)]), f"{topic}-2-value")

for number in range(20):
    value = {
        "number": number,
        "meta": {"text": " ".join(f"word{number // 2 * 1000 + i}" for i in range(100)),
                 "at": datetime.datetime(2026, 1, 31, 12, 0, number, tzinfo=datetime.timezone.utc)},
        "labels": {"site": "example.org"},
    }
    write = first if number < 10 else second
    producer.produce(topic, write(value, SerializationContext(topic, MessageField.VALUE)), partition=0)
producer.flush()

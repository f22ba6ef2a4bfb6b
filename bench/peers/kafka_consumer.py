"""What people run today: a consumer in Python with MinHash LSH in memory, at least once. Prints one JSON object.

    kafka_consumer.py BROKERS TOPIC EVENTS DOCUMENTS
"""

import json
import sys
import time

from compare import Datasketch, shingles_of
from confluent_kafka import Consumer, Producer, TopicPartition

brokers, topic, events, documents = *sys.argv[1:4], int(sys.argv[4])


class Peer(Datasketch):
    """As its documentation shows it; says of which document it is a copy."""

    def original(self, number, shingles):
        m = self.minhash(num_perm=128)
        if shingles:
            m.update_batch([s.encode() for s in shingles])
        found = self.lsh.query(m)
        if not found:
            self.lsh.insert(number, m)
        return found[0] if found else None


peer = Peer(0.8)
consumer = Consumer({"bootstrap.servers": brokers, "group.id": events, "enable.auto.commit": False})
consumer.assign([TopicPartition(topic, 0, 0)])
producer = Producer({"bootstrap.servers": brokers, "linger.ms": 20, "allow.auto.create.topics": False})
done = copies = 0
began = None
while done < documents:
    messages = consumer.consume(min(1000, documents - done), 0.1)
    began = began or (time.perf_counter() if messages else None)
    for m in messages:
        if m.error():
            sys.exit(f"kafka_consumer.py: {m.error()}")
        document = json.loads(m.value())
        original = peer.original(m.offset(), shingles_of(document["text"]))
        if original is not None:
            copies += 1
            producer.produce("python", json.dumps({"type": "duplicate-of", "id": document["id"], "original": original}))
    producer.flush()
    if messages:
        consumer.commit(asynchronous=False)
    done += len(messages)
print(json.dumps({"throughput": documents / (time.perf_counter() - began), "copies": copies}))

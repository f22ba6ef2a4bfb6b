#!/usr/bin/env python3
"""examples/consumer on the real broker: what it leaves of a topic is what `doppel scan --keep` leaves of the file.

usage: consumer_test.py --source DIR --binary DOPPEL --kafka FOLDER (of scripts/kafka)
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import uuid

parser = argparse.ArgumentParser()
parser.add_argument("--source", required=True)
parser.add_argument("--binary", required=True)
parser.add_argument("--kafka", required=True)
ARGS = parser.parse_args()
SOURCE = pathlib.Path(ARGS.source)
NEWS = SOURCE / "examples/news.jsonl"
BROKERS = (pathlib.Path(ARGS.kafka) / "bootstrap").read_text().strip()
NAME = f"consumer-{uuid.uuid4().hex[:8]}"
DOCUMENTS, DUPLICATES = f"{NAME}-documents", f"{NAME}-duplicates"


def run(*command, **more):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=100, **more)
    assert done.returncode == 0, f"{command} gave {done.returncode}:\n{done.stderr.decode()}"
    return done.stdout


def unique():
    return run(sys.executable, SOURCE / "examples/consumer/unique.py", BROKERS, DOCUMENTS, DUPLICATES, NAME).splitlines()


with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary)
    copies = run(ARGS.binary, "scan", "-q", "--keep", folder / "unique.jsonl", NEWS).splitlines()
    expected = (folder / "unique.jsonl").read_bytes().splitlines()
    for topic in (DOCUMENTS, DUPLICATES):
        run(SOURCE / "scripts/kafka", "topic", topic, "1", "--dir", ARGS.kafka)
    run("kcat", "-b", BROKERS, "-P", "-t", DOCUMENTS, "-l", NEWS)
    assert unique() == [], "nothing is judged yet"

    sets = {"kafka.brokers": BROKERS, "kafka.topics": DOCUMENTS, "kafka.index_log": f"{NAME}-index", "kafka.group": NAME,
            "kafka.create_topics": "true", "output.topic": DUPLICATES, "output.dead_letters": "", "http.listen": ""}
    with open(folder / "log", "wb") as log:
        daemon = subprocess.Popen([ARGS.binary, "serve", "--state", folder / "state", *[f"--set={k}={v}" for k, v in sets.items()]], stderr=log)
    try:
        events = run("kcat", "-b", BROKERS, "-C", "-q", "-t", DUPLICATES, "-o", "beginning", "-c", len(copies), "-X",
                     "isolation.level=read_committed").splitlines()
        daemon.terminate()
        assert daemon.wait(60) == 0, (folder / "log").read_text()
    finally:
        daemon.kill()
    assert len({json.loads(e)["event_id"] for e in events}) == len(copies)
    assert unique() == expected
    # Events that come twice (a mirror of the topic is at least once), and documents that nobody has judged yet.
    run("kcat", "-b", BROKERS, "-P", "-t", DUPLICATES, input=b"\n".join(events) + b"\n")
    run("kcat", "-b", BROKERS, "-P", "-t", DOCUMENTS, "-l", NEWS)
    assert unique() == expected
print(f"{len(expected)} unique documents, {len(copies)} copies")

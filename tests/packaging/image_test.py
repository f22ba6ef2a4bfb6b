#!/usr/bin/env python3
"""The image of the Dockerfile, really built, and run as deploy/compose runs it: against a real broker and a real Prometheus,
until an event and a scraped metric are there. usage: image_test.py --source DIR
Needs root (exit 77 without) and Debian's mirror; no daemon. What was compiled before is taken from the cache.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from images import Store, run  # noqa: E402
from ports import free_port  # noqa: E402

parser = argparse.ArgumentParser()
parser.add_argument("--source", required=True)
SOURCE = pathlib.Path(parser.parse_args().source)
COMPOSE = SOURCE / "deploy/compose"
SIZE_MAX = 250 << 20
if os.geteuid() != 0:
    print("image_test: building without a daemon needs root")
    sys.exit(77)


def until(what, asks, seconds=60):
    """What `asks` returns as soon as it is something."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if answer := asks():
                return answer
        except (OSError, ValueError):
            pass
        time.sleep(0.1)
    raise AssertionError(f"{what} did not come within {seconds} s")


def get(url):
    with urllib.request.urlopen(url, timeout=5) as answer:
        return answer.read().decode()


began = time.monotonic()
with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary)
    store = Store(folder)
    podman = store.podman
    machine = run("dpkg", "--print-architecture").strip()

    # --- Built ------------------------------------------------------------------------------------
    store.make_base(machine)
    image = store.build(SOURCE, machine, machine, "abc123")
    config = image["Config"]
    assert re.fullmatch(r"\d+:\d+", config["User"]), config["User"]
    healthcheck = image.get("Healthcheck") or config.get("Healthcheck")
    assert healthcheck and healthcheck["Test"][-2:] == ["/usr/bin/doppel", "health"], healthcheck
    labels = {name.rsplit("image.", 1)[1]: value for name, value in config["Labels"].items() if name.startswith("org.opencontainers.image.")}
    assert labels["revision"] == "abc123" and labels["title"] == "doppel", labels
    assert image["Size"] < SIZE_MAX, f"{image['Size'] >> 20} MiB"
    print(f"built in {time.monotonic() - began:.0f} s, {image['Size'] >> 20} MiB with its base", flush=True)

    # --- Run: as compose does, but with this machine's network ---------------------------------------
    kafka_folder = folder / "kafka"

    def broker(command, *arguments):
        return run(SOURCE / "scripts/kafka", command, *arguments, "--dir", kafka_folder)

    brokers = broker("start", "--port", "0").strip()
    prometheus = None
    try:
        settings = yaml.safe_load((COMPOSE / "doppel.yaml").read_text())
        (documents,) = settings["kafka"]["topics"]
        broker("topic", documents, settings["kafka"]["partitions"])
        service = yaml.safe_load(run("docker-compose", "-f", COMPOSE / "compose.yaml", "config"))["services"]["doppel"]
        flags = ["--read-only"] if service["read_only"] else []
        flags += [f"--tmpfs={t}" for t in service["tmpfs"]] + [f"--cap-drop={c}" for c in service["cap_drop"]]
        flags += [f"--security-opt={o.split(':')[0]}" for o in service["security_opt"]]
        for volume in service["volumes"]:
            origin, target, *mode = volume.split(":") if isinstance(volume, str) else (volume["source"], volume["target"])
            if not origin.startswith("/"):  # a named volume begins with what the image has there
                state = folder / origin
                state.mkdir(mode=0o700)
                os.chown(state, *map(int, config["User"].split(":")))
                origin = state
            flags += ["-v", ":".join([str(origin), target, *mode])]
        port = free_port()
        podman("run", "--detach", "--name", "doppel", *store.FLAGS, *flags,
            "-e", f"DOPPEL_KAFKA_BROKERS={brokers}", "-e", f"DOPPEL_HTTP_LISTEN=127.0.0.1:{port}", "doppel")

        try:
            until("readiness", lambda: get(f"http://127.0.0.1:{port}/ready"))
            # The first event.
            run("kcat", "-b", brokers, "-P", "-t", documents, "-l", SOURCE / "examples/news.jsonl")
            event = json.loads(run("timeout", "60", "kcat", "-b", brokers, "-C", "-q", "-t", settings["output"]["topic"], "-o",
                                   "beginning", "-c", "1", "-X", "isolation.level=read_committed"))
            assert event["type"] == "duplicate-of" and event["document"]["kafka"]["topic"] == documents, event
            print(f"{event['document']['id']} is a copy of {event['original']['id']}", flush=True)
            assert podman("exec", "doppel", "/usr/bin/doppel", "health").strip()

            # The first scraped metric, with compose's configuration of Prometheus.
            scrape = (COMPOSE / "prometheus.yml").read_text()
            assert "[doppel:9464]" in scrape
            (folder / "prometheus.yml").write_text(scrape.replace("doppel:9464", f"127.0.0.1:{port}").replace(": 5s", ": 1s"))
            own = free_port()
            prometheus = subprocess.Popen(["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/tsdb",
                                           f"--web.listen-address=127.0.0.1:{own}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            query = urllib.parse.quote('sum(doppel_documents_total{job="doppel"})')
            count = len((SOURCE / "examples/news.jsonl").read_text().splitlines())

            def scraped():
                found = json.loads(get(f"http://127.0.0.1:{own}/api/v1/query?query={query}"))["data"]["result"]
                return found and int(found[0]["value"][1]) == count

            until(f"a scraped doppel_documents_total of {count}", scraped)
            podman("stop", "--time", "45", "doppel")
            (state,) = json.loads(podman("container", "inspect", "doppel"))
            assert state["State"]["ExitCode"] == 0, podman("logs", "doppel")
        except Exception:
            print(subprocess.run(["podman", *map(str, store.where), "logs", "doppel"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 text=True).stdout[-4000:], file=sys.stderr)
            raise
        finally:
            podman("rm", "--force", "--ignore", "doppel")
    finally:
        if prometheus:
            prometheus.kill()
            prometheus.wait()
        broker("remove")
print(f"built, run, read, scraped and stopped in {time.monotonic() - began:.0f} s")

#!/usr/bin/env python3
"""Kills `doppel serve` while clients insert documents by HTTP and send again what was not answered; its disk is full, slow or
broken. Every document must be judged exactly once, as a scan judges them in that order, and each sender must hear what the
events say, however often it asks.

  insert_crash.py --binary build/release/doppel                 what the tests run
  insert_crash.py --binary build/release/doppel --kills 1000    longer
"""

import argparse
import http.client
import json
import os
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ports import free_port  # noqa: E402
from serve_crash import FAULTS, POINTS, Daemon, World, check, options_of, verify  # noqa: E402

CLIENTS = 3


class Client(threading.Thread):
    """Sends documents until it is told to end, each request until it is answered."""

    def __init__(self, rng, world, lock, port, number):
        super().__init__(daemon=True)
        self.rng, self.world, self.lock, self.port, self.number = rng, world, lock, port, number
        self.ending = threading.Event()
        self.answers = {}  # id -> the line that was heard first
        self.old, self.sent, self.again, self.error = [], 0, 0, None
        self.connection = None

    def run(self):
        try:
            while not self.ending.is_set():
                self.talk()
        except BaseException as failed:  # also of check(); the main thread shows it
            self.error = failed

    def documents(self):
        out = []
        with self.lock:
            for _ in range(self.rng.choice([1, 1, 2, 10, 40])):
                name = f"c{self.number}-{self.sent}"
                self.sent += 1
                self.world.texts[name] = self.world.text()
                out.append((name, json.dumps({"id": name, "text": self.world.texts[name]})))
        return out

    def talk(self):
        if self.old and self.rng.random() < 0.25:
            documents = self.rng.choice(self.old)
            self.again += 1
        else:
            documents = self.documents()
            self.old.append(documents)
        lines = self.ask(documents)
        check(len(lines) == len(documents), f"{len(lines)} answers to {len(documents)} documents")
        for (name, _), line in zip(documents, lines):
            heard = self.answers.setdefault(name, line)
            check(heard == line, f"{name} heard\n{heard}\nand then\n{line}")

    def ask(self, documents):
        while True:
            try:
                if self.connection is None:
                    self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
                if len(documents) == 1:
                    self.connection.request("PUT", f"/v1/documents/{documents[0][0]}", documents[0][1],
                                            {"Content-Type": "application/json"})
                else:
                    self.connection.request("POST", "/v1/documents", "\n".join(body for _, body in documents),
                                            {"Content-Type": "application/x-ndjson"})
                if self.rng.random() < 0.05:
                    raise OSError("this client does not wait")
                response = self.connection.getresponse()
                body = response.read().decode()
                if response.status == 503:
                    time.sleep(0.01)
                    continue
                check(response.status == 200, f"{response.status} {body}")
                return body.splitlines()
            except (OSError, http.client.HTTPException):
                if self.connection is not None:
                    self.connection.close()
                self.connection = None
                time.sleep(0.01)  # until the daemon is there again


def trouble(rng, work):
    """What befalls a life of the daemon: its environment, what runs before it, settings, and what it says if that ends it."""
    kind = rng.choice(["point", "point", "kill", "kill", "fault", "slow"])
    if kind == "point":
        return {"DOPPEL_KILL_AT": f"{rng.choice(POINTS)}:{rng.randint(1, 6)}"}, [], [], None
    if kind == "kill" or shutil.which("strace") is None:
        return None, [], [], None
    # -D: the process is the daemon, not strace, which blocks SIGTERM.
    strace = ["strace", "-D", "-f", "-qq", "-o", "/dev/null"]
    settings = ["--set", "state.fsync=commit", "--set", f"state.checkpoint_documents={rng.choice([20, 1000])}"]
    if kind == "slow":
        calls = "fsync,fdatasync,pwrite64"
        return None, [*strace, "-e", f"trace={calls}", "-e", f"inject={calls}:delay_exit={rng.choice([2_000, 20_000])}"], settings, None
    call, error, message = rng.choice(FAULTS)
    name = {"rename": "/^rename"}.get(call, call)
    once = rng.choice(["", "+"])  # +: the disk stays full, or broken
    prefix = [*strace, "-e", f"trace={name}", "-e", f"inject={name}:error={error}:when={rng.randint(1, 30)}{once}"]
    if call == "write":  # of events, not of the log or a connection
        prefix += ["-P", os.path.join(os.path.realpath(work), "state", "events")]
    return None, prefix, settings, message


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"))
    args = parser.parse_args()
    print(f"seed {args.seed}", flush=True)
    binary = os.path.abspath(args.binary)
    work = tempfile.mkdtemp(prefix="doppel-insert-crash-")
    os.makedirs(os.path.join(work, "state"))
    rng = random.Random(args.seed)
    world = World(rng, work, False)
    port, lock = free_port(), threading.Lock()
    clients = [Client(random.Random(f"{args.seed} {i}"), world, lock, port, i) for i in range(CLIENTS)]

    def start(environment=None, prefix=(), settings=()):
        with lock:
            options = options_of(rng, world)
        return Daemon(binary, work, [], ["--http", f"127.0.0.1:{port}", *options, *settings], environment, prefix)

    def heard():
        return sum(len(client.answers) for client in clients)

    for client in clients:
        client.start()
    killed = points = stopped = slow = 0
    for _ in range(args.kills):
        before = heard()
        environment, prefix, settings, message = trouble(rng, work)
        daemon = start(environment, prefix, settings)
        slow += bool(prefix) and message is None
        end = time.time() + 60
        # It dies by itself, or after some answers, whose number has nothing to do with when it can be killed.
        enough = before + rng.randint(1, 60) * (4 if message else 1)
        while daemon.process.poll() is None and heard() < enough:
            check(all(client.error is None for client in clients), [client.error for client in clients])
            check(time.time() < end, f"{heard()} answers, {before} before; see {work}: {daemon.said()}")
            time.sleep(0.002)
        if message and daemon.process.poll() is not None:
            said = daemon.said()
            check(daemon.process.returncode == 3 and message in said and "state/" in said,
                  f"{prefix}: exit {daemon.process.returncode}: {said}")
            stopped += 1
            continue
        if daemon.process.poll() is not None:
            check(daemon.process.returncode == -signal.SIGKILL, f"{daemon.process.returncode}: {daemon.said()}")
            points += 1
            continue
        time.sleep(rng.uniform(0, 0.02))
        how = signal.SIGTERM if rng.random() < 0.2 else signal.SIGKILL
        code = daemon.end(how)
        check(code in (0, -signal.SIGKILL) or message and code in (3, -signal.SIGTERM), f"exit {code}: {daemon.said()}")
        killed += code == -signal.SIGKILL
    daemon = start()
    for client in clients:
        client.ending.set()
    for client in clients:
        client.join(120)
        check(not client.is_alive() and client.error is None, f"{client.error}: {daemon.said()}")
    # All ask once more for everything.
    for client in clients:
        for documents in client.old:
            for (name, _), line in zip(documents, client.ask(documents), strict=True):
                check(client.answers[name] == line, f"{name} heard\n{client.answers[name]}\nand then\n{line}")
    check(daemon.stop() == 0, daemon.said())
    answers = {name: line for client in clients for name, line in client.answers.items()}
    with open(os.path.join(work, "state/events")) as f:
        events = f.read().splitlines()
    check(sorted(events) == sorted(answers.values()), f"events and answers differ; see {work}")
    documents = verify(binary, world)
    again = sum(client.again for client in clients)
    print(f"{killed} killed at random, {points} at named points, {stopped} stopped by failing calls, {slow} with a slow disk, "
          f"{documents} documents, {again} requests sent again: each judged once, as by a scan, and each sender heard the same",
          flush=True)
    shutil.rmtree(work)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Kills `doppel serve` on files while documents come, makes its disk and its system calls fail, and checks that
every document was judged exactly once, and as a scan judges them in that order.

  serve_crash.py --binary build/release/doppel                 what the tests run
  serve_crash.py --binary build/release/doppel --kills 1000    longer
  serve_crash.py --binary build/release/doppel --seed 7 --only directory
"""

import argparse
import ctypes
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

KEY = "000102030405060708090a0b0c0d0e0f"
POINTS = ["before_outputs", "after_outputs", "after_bodies", "after_rows", "after_commit", "before_journal_rename",
          "after_journal_rename"]
RELATIONS = ["--set", "relations=near,contained,contains,shares", "--set", "passage_words=25", "--set", "common_after=5"]
MS_RDONLY, MS_REMOUNT, MNT_DETACH = 1, 32, 2
# What fails in the daemon's system calls, and what the message must say.
FAULTS = [("write", "EIO", "Input/output error"), ("write", "ENOSPC", "No space left on device"),
          ("pwrite64", "EIO", "Input/output error"), ("pwrite64", "ENOSPC", "No space left on device"),
          ("pwrite64", "EROFS", "Read-only file system"), ("fdatasync", "EIO", "Input/output error"),
          ("rename", "EROFS", "Read-only file system"), ("fsync", "EIO", "Input/output error")]


def check(condition, message):
    if not condition:
        sys.exit(f"FAILED: {message}")


class World:
    """Where documents come from: a directory that fills, or a log that grows and is rotated."""

    def __init__(self, rng, directory, rotates, room=0):
        self.rng, self.directory, self.rotates = rng, directory, rotates
        self.room = room  # max_documents: of older originals the end is told
        self.rule = []  # settings that a scan needs for the same verdicts
        self.words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 9))) for _ in range(2000)]
        self.texts = {}  # by id
        self.recent, self.rejected, self.rotated, self.pending = [], 0, 0, ""
        self.input = os.path.join(directory, "input")
        self.log = os.path.join(self.input, "app.jsonl")
        os.makedirs(self.input)

    def paths(self):
        return [self.log if self.rotates else self.input]

    def text(self):
        if not self.recent or self.rng.random() < 0.5:
            words = self.rng.choices(self.words, k=self.rng.choice([3, 40, 80]))
        else:
            words = list(self.rng.choice(self.recent))
            for _ in range(self.rng.choice([0, 0, 1, 2, 6])):
                words[self.rng.randrange(len(words))] = self.rng.choice(self.words)
            if self.rule and self.rng.random() < 0.5:  # a part, or more around it
                words = self.rng.choice([words[len(words) // 3:], words + self.rng.choice(self.recent)])[:300]
        self.recent = (self.recent + [words])[-300:]
        return " ".join(words)

    def lines(self, count):
        out = ""
        for _ in range(count):
            if self.rng.random() < 0.02:
                self.rejected += 1
                out += f"this is not JSON {self.rejected}\n"
                continue
            name = f"d{len(self.texts)}"
            self.texts[name] = self.text()
            out += json.dumps({"id": name, "text": self.texts[name]}) + "\n"
        return out

    def grow(self, count):
        """About so many documents come."""
        if self.rotates:
            whole = self.pending + self.lines(count)
            cut = len(whole) - self.rng.choice([0, 0, 1, 7])
            with open(self.log, "a") as f:
                f.write(whole[:cut])
            self.pending = whole[cut:]
            return
        while count > 0:
            n = min(count, self.rng.randint(1, 20))
            count -= n
            i = len(os.listdir(self.input))
            if n <= 2:
                name = os.path.join("input", f"{i}.txt")
                self.texts[name] = self.text()
                self.put(name, self.texts[name])
            else:
                self.put(os.path.join("input", f"{i}.{self.rng.choice(['json', 'jsonl'])}"), self.lines(n))

    def put(self, name, content):
        path = os.path.join(self.directory, name)
        direct = self.rng.random() < 0.5
        with open(path if direct else path + ".tmp", "w") as f:
            f.write(content)
        if not direct:
            os.rename(path + ".tmp", path)

    def end_line(self):
        if self.pending:
            with open(self.log, "a") as f:
                f.write(self.pending)
            self.pending = ""

    def rotate(self):
        """Only when all is read: a file that nobody saw under its name cannot be followed under another."""
        if self.rotates and os.path.exists(self.log):
            self.end_line()
            self.rotated += 1
            os.rename(self.log, f"{self.log}.{self.rotated}")


class Daemon:
    def __init__(self, binary, directory, paths, options, environment=None, prefix=(), limit=None):
        command = [*prefix, binary, "serve", "--state", "state/index", "-o", "state/events", "--rejects", "state/rejects",
                   "--set", "output.verdicts=all", *options, *[os.path.relpath(p, directory) for p in paths]]
        preexec = (lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))) if limit else None
        self.log = os.path.join(directory, "log")
        log = open(self.log, "wb")
        self.process = subprocess.Popen(command, cwd=directory, stdout=subprocess.DEVNULL, stderr=log,
                                        preexec_fn=preexec,
                                        env=dict(os.environ, DOPPEL_HASH_KEY=KEY, DOPPEL_HTTP_LISTEN="", **(environment or {})))
        log.close()

    def said(self):
        with open(self.log, "rb") as f:
            return f.read().decode(errors="replace")

    def wait(self, seconds):
        """The exit code; None: it still runs."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def end(self, how):
        self.process.send_signal(how)
        code = self.wait(60)
        check(code is not None, f"no end after signal {how}: {self.said()}")
        return code

    def stop(self):
        """By SIGTERM, once the daemon has its handler: before, the signal ends it."""
        end = time.time() + 60
        while self.process.poll() is None and "starting" not in self.said():
            check(time.time() < end, f"no start: {self.said()}")
            time.sleep(0.01)
        return self.end(signal.SIGTERM)


def count_lines(path):
    if not os.path.exists(path):
        return 0
    with open(path, "rb") as f:
        return f.read().count(b"\n")


def relations_of(event):
    """Without cluster_id, which names a place."""
    return [{name: value for name, value in relation.items() if name != "cluster_id"} for relation in event.get("relations", [])]


def all_judged(world):
    # A rejected line has an event too: with all verdicts each record is one line.
    path = os.path.join(world.directory, "state/events")
    content = b""
    if os.path.exists(path):
        with open(path, "rb") as f:
            content = f.read()
    told = content.count(b'"type":"original-removed"')
    evicted = max(0, content.count(b'"verdict":"unique"') - world.room) if world.room else 0
    return content.count(b"\n") - told == len(world.texts) + world.rejected and told == evicted


def await_all(daemon, world, seconds=60):
    """Until every document has its line; the daemon must not end before."""
    end = time.time() + seconds
    while not all_judged(world):
        check(daemon.process.poll() is None, f"ended by itself: {daemon.said()}")
        check(time.time() < end, f"{count_lines(os.path.join(world.directory, 'state/events'))} of "
                                 f"{len(world.texts) + world.rejected} lines after {seconds} s; see {world.directory}")
        time.sleep(0.01)


def verify(binary, world):
    """Each document once; and the verdicts are those of a scan in the order in which they were judged."""
    order, found, unique, removed = [], [], [], []
    with open(os.path.join(world.directory, "state/events")) as f:
        for line in f:
            event = json.loads(line)
            if event["type"] == "duplicate-of":
                order.append(event["document"]["id"])
                found.append((order[-1], event["kind"], event["similarity"], event["original"]["id"]))
            elif event["type"] == "original-removed":
                check(event["reason"] == "evicted", line)
                removed.append(event["original"]["id"])
            elif event["verdict"] != "rejected":
                order.append(event["id"])
                found.append((order[-1], event["verdict"], relations_of(event)))
                unique += [event["id"]] if event["verdict"] == "unique" else []
    oldest = unique[:-world.room] if world.room else []
    check(removed == oldest, f"the end of {len(removed)} originals is told, not of {len(oldest)}; see {world.directory}")
    twice = {name for name in order if order.count(name) > 1} if len(set(order)) != len(order) else set()
    check(not twice, f"judged more than once: {sorted(twice)[:5]}; see {world.directory}")
    missing = set(world.texts) - set(order)
    check(not missing, f"never judged: {sorted(missing)[:5]}; see {world.directory}")
    rejects = count_lines(os.path.join(world.directory, "state/rejects"))
    check(rejects == world.rejected, f"{rejects} rejects, not {world.rejected}; see {world.directory}")
    records = "".join(json.dumps({"id": name, "text": world.texts[name]}) + "\n" for name in order)
    scan = subprocess.run([binary, "scan", "--all", "-q", "--set", f"max_documents={world.room}", *world.rule, "-"],
                          input=records, capture_output=True, text=True, env=dict(os.environ, DOPPEL_HASH_KEY=KEY))
    check(scan.returncode == 0, scan.stderr)
    for line, got in zip(scan.stdout.splitlines(), found, strict=True):
        verdict = json.loads(line)
        wanted = (verdict["id"], verdict["kind"], verdict["similarity"], verdict["duplicate_of"]) \
            if verdict["verdict"] == "duplicate" else (verdict["id"], verdict["verdict"], relations_of(verdict))
        check(wanted == got, f"judged {got}, a scan says {wanted}; see {world.directory}")
    related = sum(1 for each in found if len(each) == 3 and each[2])
    check(not world.rule or related > 10, f"{related} documents with relations of {len(order)}; see {world.directory}")
    return len(order)


def options_of(rng, world):
    return ["--set", f"max_documents={world.room}",
            "--set", f"batch_documents={rng.choice([3, 20, 256])}",
            "--set", f"state.checkpoint_documents={rng.choice([10, 100, 100000])}",
            "--set", f"state.fsync={rng.choice(['none', 'checkpoint', 'commit'])}",
            "--threads", rng.choice(["1", "2"]), *world.rule]


def kill_again_and_again(rng, binary, directory, rotates, kills):
    world = World(rng, directory, rotates, room=0 if rotates else 150)
    if not rotates:
        world.rule = RELATIONS
    killed = points = 0
    for i in range(kills):
        environment = {}
        at_point = rng.random() < 0.5
        if at_point:
            environment["DOPPEL_KILL_AT"] = f"{rng.choice(POINTS)}:{rng.randint(1, 6)}"
        if rng.random() < 0.5:
            world.grow(rng.randint(1, 60))
        daemon = Daemon(binary, directory, world.paths(), options_of(rng, world), environment)
        if at_point:
            for _ in range(rng.randint(1, 5)):
                world.grow(rng.randint(1, 30))
            if daemon.wait(0.3) is None:
                check(daemon.stop() in (0, -signal.SIGKILL), daemon.said())
            points += daemon.process.returncode == -signal.SIGKILL
            check(daemon.process.returncode in (0, -signal.SIGKILL), daemon.said())
        else:
            time.sleep(rng.uniform(0, 0.15))
            world.grow(rng.randint(1, 60))
            time.sleep(rng.uniform(0, 0.05))
            how = signal.SIGTERM if rng.random() < 0.15 else signal.SIGKILL
            code = daemon.end(how)
            check(code in (0, -how), f"exit {code}: {daemon.said()}")
            killed += code == -signal.SIGKILL
        if rotates and i % 6 == 5:
            daemon = Daemon(binary, directory, world.paths(), options_of(rng, world))
            world.end_line()
            await_all(daemon, world)
            daemon.end(signal.SIGKILL)
            world.grow(rng.randint(0, 20))
            world.rotate()
    daemon = Daemon(binary, directory, world.paths(), options_of(rng, world))
    world.end_line()
    await_all(daemon, world)
    code = daemon.stop()
    check(code == 0, f"the last end: exit {code}: {daemon.said()}")
    documents = verify(binary, world)
    print(f"{'log' if rotates else 'directory'}: {killed} killed at random, {points} at named points, "
          f"{world.rotated} rotations, {documents} documents: each judged once, as by a scan", flush=True)


def fail_calls(rng, binary, directory):
    """System calls fail at a chosen place: exit 3 with what failed and where, and the next start goes on."""
    if shutil.which("strace") is None:
        print("faults: skipped, no strace")
        return
    world = World(rng, directory, False)
    stopped = 0
    options = ["--set", "state.fsync=commit", "--set", "state.checkpoint_documents=20", "--set", "batch_documents=10"]
    for call, error, message in FAULTS:
        for when in (1, rng.randint(2, 12)):
            name = {"rename": "/^rename"}.get(call, call)
            # -D: the process is the daemon, not strace, which blocks SIGTERM.
            prefix = ["strace", "-D", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={name}",
                      "-e", f"inject={name}:error={error}:when={when}"]
            if call == "write":  # of events, not of the log
                prefix += ["-P", os.path.join(os.path.realpath(directory), "state", "events")]
            daemon = Daemon(binary, directory, world.paths(), options, prefix=prefix)
            world.grow(60)
            code = daemon.wait(20)
            if code is None:  # so many such calls were not made
                code = daemon.end(signal.SIGTERM)
                if code in (0, -signal.SIGTERM):
                    continue
            said = daemon.said()
            check(code == 3, f"{call} {error} at {when}: exit {code}: {said}")
            check(message in said and "state/" in said, f"{call} {error}: {said}")
            stopped += 1
    daemon = Daemon(binary, directory, world.paths(), options)
    await_all(daemon, world)
    check(daemon.stop() == 0, daemon.said())
    check(stopped >= len(FAULTS), f"only {stopped} faults were met")
    print(f"faults: {stopped} times stopped by EIO, ENOSPC, EROFS; {verify(binary, world)} documents, each judged once",
          flush=True)


def judges_all(daemon, world, stopped_by):
    """Whether the daemon judged everything. Otherwise it stopped because of this error."""
    end = time.time() + 60
    while daemon.process.poll() is None and not all_judged(world) and time.time() < end:
        time.sleep(0.01)
    code = daemon.stop()
    check(code == 0 or code == 3 and stopped_by in daemon.said(), f"exit {code}: {daemon.said()}")
    return code == 0


def short_writes(rng, binary, directory):
    """A limit on the size of files: writes are cut short, then fail; the limit is raised each time."""
    world = World(rng, directory, False)
    world.grow(400)
    limit, stopped = 20_000, 0
    while True:
        daemon = Daemon(binary, directory, world.paths(), ["--set", "batch_documents=50"], limit=limit)
        if judges_all(daemon, world, "File too large"):
            break
        stopped += 1
        limit += limit // 4
    check(stopped > 2, f"only {stopped} writes were cut short")
    print(f"short writes: {stopped} times stopped; {verify(binary, world)} documents, each judged once", flush=True)


def full_and_read_only_disk(rng, binary, directory):
    libc = ctypes.CDLL(None, use_errno=True)
    world = World(rng, directory, False)
    state, size = os.path.join(directory, "state"), 96 * 1024
    os.makedirs(state)

    def mount(flags, data):
        return libc.mount(b"tmpfs", state.encode(), b"tmpfs", flags, data.encode())

    if mount(0, f"size={size}") != 0:
        print("full disk: skipped, mounting a small file system needs root")
        return
    try:
        world.grow(500)
        stopped = read_only = 0
        while True:
            daemon = Daemon(binary, directory, world.paths(), ["--set", "batch_documents=50"])
            if judges_all(daemon, world, "No space left on device"):
                break
            stopped += 1
            check(mount(MS_REMOUNT | MS_RDONLY, f"size={size}") == 0, "remount")
            daemon = Daemon(binary, directory, world.paths(), [])
            code = daemon.wait(60)
            check(code == 3 and "Read-only file system" in daemon.said(), f"read-only: exit {code}: {daemon.said()}")
            read_only += 1
            size += size // 4
            check(mount(MS_REMOUNT, f"size={size}") == 0, "remount")
        check(stopped > 2, f"the disk was full {stopped} times only")
        print(f"full disk: {stopped} times stopped, {read_only} times read-only; {verify(binary, world)} documents, each "
              "judged once", flush=True)
    finally:
        libc.umount2(state.encode(), MNT_DETACH)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--kills", type=int, default=120, help="in both scenarios together")
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"))
    parts = {
        "directory": lambda rng, b, d, k: kill_again_and_again(rng, b, d, False, k),
        "log": lambda rng, b, d, k: kill_again_and_again(rng, b, d, True, k),
        "faults": lambda rng, b, d, k: fail_calls(rng, b, d),
        "short": lambda rng, b, d, k: short_writes(rng, b, d),
        "disk": lambda rng, b, d, k: full_and_read_only_disk(rng, b, d),
    }
    parser.add_argument("--only", choices=parts)
    parser.add_argument("--directory", help="where to work; kept after a failure")
    args = parser.parse_args()
    print(f"seed {args.seed}", flush=True)
    work = tempfile.mkdtemp(prefix="doppel-serve-crash-", dir=args.directory)
    for name in [args.only] if args.only else parts:
        directory = os.path.join(work, name)
        os.makedirs(os.path.join(directory, "state"), exist_ok=True) if name != "disk" else os.makedirs(directory)
        parts[name](random.Random(f"{args.seed} {name}"), os.path.abspath(args.binary), directory, args.kills // 2)
    shutil.rmtree(work)


if __name__ == "__main__":
    main()

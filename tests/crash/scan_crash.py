#!/usr/bin/env python3
"""Kills `doppel scan --state` at random moments until it is done, and compares what it wrote, byte for
byte, with what a run wrote that nobody disturbed (with other batch sizes and threads, which must not matter).

  scan_crash.py --binary build/release/doppel                     what the tests run
  scan_crash.py --binary build/release/doppel --kills 2000        longer
  scan_crash.py --binary build/release/doppel --seed 7 --only fsync-commit
"""

import argparse
import ctypes
import gzip
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

KEY = "000102030405060708090a0b0c0d0e0f"
OUTPUTS = ["out.jsonl", "unique.jsonl", "rejects.jsonl"]

SCENARIOS = {
    "default": ["--set", "batch_documents=100", "--set", "state.checkpoint_documents=700"],
    "fsync-commit": ["--set", "state.fsync=commit", "--set", "batch_documents=150",
                     "--set", "state.checkpoint_documents=300"],
    "expiry": ["--set", "state.fsync=none", "--set", "batch_documents=40", "--set", "expire_after=20d",
               "--set", "state.checkpoint_documents=250"],
    "verdicts": ["--all", "--threads", "1", "--set", "batch_bytes=20000",
                 "--set", "state.checkpoint_documents=1000000"],
    "relations": ["--set", "relations=near,contained,contains,shares", "--set", "passage_words=25", "--set", "common_after=5",
                  "--set", "max_documents=3000", "--set", "batch_documents=60", "--set", "state.checkpoint_documents=400"],
    # Most originals are in segments.
    "memory": ["--set", "memory=150000", "--set", "state.fsync=none", "--set", "batch_documents=50",
               "--set", "max_documents=3000", "--set", "state.checkpoint_documents=250"],
    "memory-relations": ["--set", "memory=200000", "--set", "batch_documents=30", "--set", "expire_after=20d",
                         "--set", "relations=near,contained,contains,shares", "--set", "passage_words=25",
                         "--set", "common_after=5", "--set", "state.checkpoint_documents=600"],
}
# Of these options an undisturbed run gets those that change what is written, and none of the others.
SAME = ["--all", "expire_after=20d", "relations=near,contained,contains,shares", "passage_words=25", "common_after=5",
        "max_documents=3000"]


def make_corpus(rng, directory, documents):
    """Three files: plain, compressed, and one without a line end at its end. Copies are exact, near, too far, or of a part."""
    words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 9))) for _ in range(4000)]
    texts, lines = [], []
    for i in range(documents):
        kind = rng.random()
        if not texts or kind < 0.55:
            text = rng.choices(words, k=rng.choice([3, 30, 60, 120]))
        else:
            text = list(rng.choice(texts[-1500:] if kind < 0.9 else texts))
            for _ in range(rng.choice([0, 0, 1, 1, 2, 6])):
                text[rng.randrange(len(text))] = rng.choice(words)
            if rng.random() < 0.2:
                text = rng.choice([text[len(text) // 3:], text + rng.choices(words, k=60), text + rng.choice(texts[-1500:])])[:400]
        texts.append(text)
        day = i * 90 // documents + rng.randint(-1, 1)
        date = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(1_700_000_000 + day * 86400 + rng.randint(0, 9999)))
        record = {"id": f"d{i}", "url": f"https://example.org/{i}", "date": date, "text": " ".join(text)}
        lines.append("{ this is not JSON" if i % 211 == 100 else json.dumps(record))
    third = documents // 3
    with open(os.path.join(directory, "a.jsonl"), "w") as f:
        f.write("\n".join(lines[:third]) + "\n")
    with gzip.open(os.path.join(directory, "b.jsonl.gz"), "wt", compresslevel=1) as f:
        f.write("\n".join(lines[third:2 * third]) + "\n")
    with open(os.path.join(directory, "c.jsonl"), "w") as f:
        f.write("\n".join(lines[2 * third:]))
    return [os.path.join(directory, name) for name in ("a.jsonl", "b.jsonl.gz", "c.jsonl")]


def command(binary, inputs, options):
    return [binary, "scan", "--state", "state", "-o", OUTPUTS[0], "--keep", OUTPUTS[1], "--rejects", OUTPUTS[2],
            "--quiet", *options, *inputs]


def start(args, cwd):
    environment = dict(os.environ, DOPPEL_HASH_KEY=KEY)
    return subprocess.Popen(args, cwd=cwd, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def finish(args, cwd):
    """Runs to the end; the exit code and what was said."""
    process = start(args, cwd)
    _, said = process.communicate()
    return process.returncode, said.decode(errors="replace")


def outputs(directory):
    """What was written; the index's own random name (epoch) is the one thing that may differ."""
    result = {}
    for name in OUTPUTS:
        with open(os.path.join(directory, name), "rb") as f:
            result[name] = re.sub(rb'"epoch":"[0-9a-f-]{36}"', b'"epoch":"-"', f.read())
    return result


def same_only(options):
    kept = []
    for i, option in enumerate(options):
        if option == "--all":
            kept.append(option)
        elif option in SAME:
            kept += [options[i - 1], option]
    return kept


def check(condition, message):
    if not condition:
        sys.exit(f"FAILED: {message}")


def compare(expected, directory):
    found = outputs(directory)
    for name in OUTPUTS:
        if found[name] == expected[name]:
            continue
        at = next((i for i, (a, b) in enumerate(zip(found[name], expected[name])) if a != b),
                  min(len(found[name]), len(expected[name])))
        check(False, f"{name} differs at byte {at}: {len(found[name])} bytes, undisturbed {len(expected[name])}; "
                     f"see {directory}")


def undisturbed(binary, inputs, options, directory):
    os.makedirs(directory)
    begin = time.monotonic()
    code, said = finish(command(binary, inputs, same_only(options)), directory)
    check(code in (0, 1), f"the undisturbed run: exit {code}: {said}")
    return outputs(directory), time.monotonic() - begin


def start_time(binary, work):
    """How long a run takes that has nothing to do."""
    directory = os.path.join(work, "nothing")
    os.makedirs(directory)
    open(os.path.join(directory, "empty.jsonl"), "w").close()
    begin = time.monotonic()
    finish(command(binary, ["empty.jsonl"], []), directory)
    return time.monotonic() - begin


def kill_until_done(rng, binary, inputs, options, directory, kills, begin_s, all_s):
    os.makedirs(directory)
    args = command(binary, inputs, options)
    done = hit = 0
    while done < kills:
        # Mostly somewhere in the work, so that the kills are spread over the whole run; sometimes within the start.
        at = rng.uniform(0, begin_s) if rng.random() < 0.2 else begin_s + rng.uniform(0, 2 * all_s / kills)
        how = signal.SIGTERM if rng.random() < 0.1 else signal.SIGKILL
        process = start(args, directory)
        try:
            process.wait(timeout=at)
        except subprocess.TimeoutExpired:
            process.send_signal(how)
            hit += 1
        _, said = process.communicate()
        said = said.decode(errors="replace")
        check(process.returncode in (0, 1, 130, -how), f"exit {process.returncode}: {said}")
        done += 1
        if process.returncode in (0, 1):
            # Done before it was killed: a run more must change nothing, then begin again.
            before = outputs(directory)
            code, said = finish(args, directory)
            check(code in (0, 1) and outputs(directory) == before, f"a run with nothing to do: exit {code}: {said}")
            yield directory, hit
            shutil.rmtree(directory)
            os.makedirs(directory)
    code, said = finish(args, directory)
    check(code in (0, 1), f"the last run: exit {code}: {said}")
    yield directory, hit


def full_disk(binary, inputs, options, directory, expected, size):
    """State and outputs on a disk that is too small; it grows each time the run has stopped."""
    libc = ctypes.CDLL(None, use_errno=True)
    os.makedirs(directory)
    if libc.mount(b"tmpfs", directory.encode(), b"tmpfs", 0, f"size={size}".encode()) != 0:
        print("full disk: skipped, mounting a small file system needs root")
        return
    try:
        args = command(binary, inputs, options)
        stops = 0
        while True:
            code, said = finish([a for a in args if a != "--quiet"], directory)
            if code in (0, 1):
                break
            check(code == 3 and "No space left on device" in said, f"on a full disk: exit {code}: {said}")
            stops += 1
            check(stops < 200, f"no end on a growing disk: {said}")
            size += size // 5
            again = libc.mount(b"tmpfs", directory.encode(), b"tmpfs", 32, f"size={size}".encode())  # MS_REMOUNT
            check(again == 0, "remount")
        compare(expected, directory)
        check(stops > 2, f"the disk was full {stops} times only")
        print(f"full disk: stopped {stops} times, the outputs are the same")
    finally:
        libc.umount2(directory.encode(), 2)  # MNT_DETACH


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--kills", type=int, default=80, help="in all scenarios together")
    parser.add_argument("--documents", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"))
    parser.add_argument("--only", choices=[*SCENARIOS, "full-disk"])
    parser.add_argument("--directory", help="where to work; kept after a failure")
    args = parser.parse_args()
    binary = os.path.abspath(args.binary)
    print(f"seed {args.seed}", flush=True)
    rng = random.Random(args.seed)
    work = tempfile.mkdtemp(prefix="doppel-crash-", dir=args.directory)
    inputs = make_corpus(rng, work, args.documents)
    begin_s = start_time(binary, work)

    names = [args.only] if args.only else [*SCENARIOS, "full-disk"]
    rounds = [name for name in names if name in SCENARIOS]
    for name in rounds:
        options = SCENARIOS[name]
        expected, all_s = undisturbed(binary, inputs, options, os.path.join(work, name + "-expected"))
        check(all(expected.values()), f"{name}: an output is empty, nothing is tested")
        related = expected[OUTPUTS[0]].count(b'"type":"partial-copy-of"')
        check("relations" not in name or related > 100, f"{name}: {related} documents with relations")
        kills = max(1, args.kills // len(rounds))
        ends = hits = 0
        for directory, hits in kill_until_done(rng, binary, inputs, options, os.path.join(work, name), kills, begin_s,
                                               max(0.0, all_s - begin_s)):
            compare(expected, directory)
            ends += 1
        print(f"{name}: {hits} of {kills} runs killed, {ends} ends, the outputs are the same", flush=True)
    for name in ["default", "memory"] if "full-disk" in names else []:
        options = SCENARIOS[name]
        expected, _ = undisturbed(binary, inputs, options, os.path.join(work, f"full-disk-{name}-expected"))
        full_disk(binary, inputs, options, os.path.join(work, f"full-disk-{name}"), expected, 256 * 1024)
    shutil.rmtree(work)


if __name__ == "__main__":
    main()

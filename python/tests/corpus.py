"""Random documents with planted copies, and what `doppel scan --all` says of them."""

import json
import os
import random
import subprocess
import sys

import pytest

WORDS = [f"word{i}" for i in range(4000)]


def seed_of_this_run():
    """DOPPEL_SEED replays a run."""
    seed = int(os.environ.get("DOPPEL_SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"DOPPEL_SEED={seed}")
    return seed


def documents(random, n, lengths=(0, 2, 5, 30, 200, 900)):
    """Texts of which some repeat earlier ones: byte for byte, in other letters, or with some words changed."""
    out = []
    for _ in range(n):
        kind = random.random()
        if not out or kind < 0.45:
            text = " ".join(random.choices(WORDS, k=random.choice(lengths)))
        else:
            text = random.choice(out)
            if kind < 0.6:
                text = text.upper()
            elif kind < 0.85:
                words = text.split()
                for _ in range(random.randrange(1, 2 + len(words) // 20)):
                    if words:
                        words[random.randrange(len(words))] = random.choice(WORDS)
                text = " ".join(words)
            elif kind < 0.9:
                text += random.choice([" ", "\n", "\r", " é漢字", "\ufeff"])
            elif kind < 0.92:
                text = "\ufeff" + text
        out.append(text)
    return out


def doppel(*arguments, check=True, **options):
    """The program, which is in PATH, through the command of the wheel."""
    return subprocess.run(
        [sys.executable, "-c", "import doppel_dedup_command as c; c.main()", *map(str, arguments)],
        check=check, capture_output=True, text=True, timeout=300, **options)


def scan(directory, texts, ids, *arguments):
    """(id, verdict, original, similarity, kind) of each, as doppel scan --all says."""
    path = directory / "documents.jsonl"
    with open(path, "w", encoding="utf-8") as file:
        for id, text in zip(ids, texts):
            file.write(json.dumps({"id": id, "text": text}) + "\n")
    lines = doppel("scan", "--all", "-q", *arguments, path).stdout.splitlines()
    rows = [json.loads(line) for line in lines]
    return [(r["id"], r["verdict"], r["duplicate_of"], r["similarity"], r["kind"]) for r in rows]

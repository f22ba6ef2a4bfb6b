"""What scripts/kafka and scripts/registry fetch once and keep."""

import fcntl
import os
import pathlib
import shutil
import subprocess
import sys


def fetched(name, what, fetch, says, doing="fetching"):
    """The folder `name` of the cache, which fetch(folder) fills once. Processes that start at the same time wait for each other."""
    cache = pathlib.Path(os.environ.get("KAFKA_TRY_CACHE") or pathlib.Path.home() / ".cache" / "doppel")
    folder = cache / name
    complete = folder / "complete"  # created last; without it the download was interrupted
    if complete.exists():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not complete.exists():
            print(f"{says}: {doing} {what} into {folder} (once)", file=sys.stderr, flush=True)
            shutil.rmtree(folder, ignore_errors=True)
            fetch(folder)
            complete.touch()
    return folder


def checked(command, failed):
    """Runs the command; failed(its last output) if it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        failed(done.stdout[-3000:])
    return done.stdout

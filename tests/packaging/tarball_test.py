#!/usr/bin/env python3
"""The tarball of the programs: it needs glibc 2.28 at most, and in an empty Debian 11 it finds what the program of this build finds,
in each kind of file, over HTTPS and as a daemon.

usage: tarball_test.py --source DIR --binary DOPPEL. Needs root (exit 77 without) and Debian's mirror.
"""
import argparse
import functools
import http.server
import json
import os
import pathlib
import re
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from ports import free_port

parser = argparse.ArgumentParser()
parser.add_argument("--source", required=True, type=pathlib.Path)
parser.add_argument("--binary", required=True)
ARGS = parser.parse_args()
if os.geteuid() != 0:
    print("tarball_test: a chroot needs root")
    sys.exit(77)
PATIENCE_S = 60
GLIBC = (2, 28)
GLIBCXX = (3, 4, 25)  # GCC 8, which is of glibc's time
RUSSIAN = ("Вечером на площади перед театром собрались жители города, чтобы послушать оркестр. Дирижёр вышел на сцену "
           "в восемь часов, и музыка звучала до самой ночи, пока не пошёл дождь.")


def run(*command, code=0, **more):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    assert done.returncode == code, f"{' '.join(map(str, command))} gave {done.returncode}:\n{done.stdout[-4000:]}"
    return done.stdout


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def serve(folder, certificate=None):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def needed(file, name):
    return {tuple(map(int, version.split("."))) for version in re.findall(rf"\b{name}_([0-9.]+)", run("objdump", "-p", file))}


def verdicts(events):
    return sorted((e["document"]["id"], e["original"]["id"], e["kind"]) for e in map(json.loads, events.splitlines()))


def debian11():
    """An empty Debian 11, packed. It is fetched once."""
    packed = pathlib.Path(os.environ.get("DOPPEL_CACHE", pathlib.Path.home() / ".cache/doppel")) / "debian11.tar"
    if not packed.exists():
        packed.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=packed.parent) as fetched:
            run("mmdebstrap", "--quiet", "--variant=minbase", "bullseye", f"{fetched}/root.tar")
            os.replace(f"{fetched}/root.tar", packed)
    return packed


with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary)
    root = folder / "root"
    root.mkdir()
    run("tar", "-xf", debian11(), "-C", root, "--exclude=./dev/*")
    run(ARGS.source / "scripts/tarball", "--out", folder)
    (tarball,) = folder.glob("doppel-*-linux-*.tar.gz")
    run("tar", "-xzf", tarball, "-C", root / "usr/local", "--strip-components=1")

    # What it is linked with.
    local = root / "usr/local"
    beside = sorted(f.name for f in (local / "lib/doppel").iterdir())
    for file in (local / "bin/doppel", local / "bin/doppel-lab", *(local / "lib/doppel").iterdir()):
        assert max(needed(file, "GLIBC")) <= GLIBC and max(needed(file, "GLIBCXX"), default=(0,)) <= GLIBCXX, file
        libraries = set(re.findall(r"NEEDED +(\S+)", run("objdump", "-p", file)))
        here = {*beside, "libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "libgcc_s.so.1", "libstdc++.so.6"}
        assert {n for n in libraries if not n.startswith("ld-linux")} <= here, (file, libraries)
        assert str(ARGS.source).encode() not in file.read_bytes(), f"{file} names the folder that it was built in"
    licences = {f.name for f in (local / "share/doc/doppel/licenses").iterdir()}
    assert {"LICENSE", "SOURCES.txt", "openssl.txt", "curl.txt", "librdkafka.txt", "simdjson.txt", "cli11.txt", "nghttp2.txt"} <= licences, licences
    assert "ExecStart=/usr/local/bin/doppel serve" in (local / "lib/systemd/system/doppel.service").read_text()

    def command(*words):
        # The loader finds the libraries beside the program by /proc.
        script = 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" "$@"'
        return ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, str(root), "env", "-i",
                "PATH=/usr/local/bin:/usr/bin:/bin", *words]

    def inside(*words, **more):
        return run(*command(*words), **more)

    assert inside("doppel", "--version") == run(ARGS.binary, "--version")
    assert inside("getconf", "GNU_LIBC_VERSION").strip() == "glibc 2.31"

    # Files: the same verdicts as this build's.
    data = root / "data"
    data.mkdir()
    for name in ("news.jsonl", "news.parquet"):
        (data / name).write_bytes((ARGS.source / "examples" / name).read_bytes())
    run("gzip", "-k", data / "news.jsonl")
    run("zstd", "-q", data / "news.jsonl", "-o", data / "news.jsonl.zst")
    for name in ("news.jsonl", "news.jsonl.gz", "news.jsonl.zst", "news.parquet"):
        got = verdicts(inside("doppel", "scan", "-q", f"/data/{name}"))
        assert got == verdicts(run(ARGS.binary, "scan", "-q", data / name)) and len(got) == 55, (name, got)
    # A charset, whose table is packed in the program.
    (data / "texts").mkdir()
    (data / "texts/1251.txt").write_bytes(RUSSIAN.encode("cp1251"))
    (data / "texts/utf8.txt").write_text(RUSSIAN)
    assert '"kind":"exact"' in inside("doppel", "scan", "-q", "/data/texts")

    # Over HTTPS, with a certificate that its environment names; `localhost` is resolved by glibc.
    run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
        "-keyout", folder / "key", "-out", folder / "certificate")
    (folder / "pem").write_text((folder / "key").read_text() + (folder / "certificate").read_text())
    (root / "data/ca.pem").write_text((folder / "certificate").read_text())
    secure, plain = serve(data, folder / "pem"), serve(data)
    assert len(verdicts(inside("SSL_CERT_FILE=/data/ca.pem", "doppel", "scan", "-q", f"https://localhost:{secure}/news.jsonl.gz"))) == 55
    said = inside("doppel", "scan", "-q", f"https://localhost:{secure}/news.jsonl.gz", code=3)
    assert "install ca-certificates, or name a file with SSL_CERT_FILE" in said, said
    (root / "etc/pki/tls/certs").mkdir(parents=True)  # as on RHEL
    (root / "etc/pki/tls/certs/ca-bundle.crt").write_text((folder / "certificate").read_text())
    assert len(verdicts(inside("doppel", "scan", "-q", f"https://localhost:{secure}/news.jsonl.gz"))) == 55
    assert len(verdicts(inside("doppel", "scan", "-q", f"http://localhost:{plain}/news.parquet"))) == 55

    # The daemon: an event for each copy of what arrives, its numbers as Prometheus reads them, and a clean end.
    for name in ("inbox", "state"):
        (data / name).mkdir()
    (data / "inbox/news.jsonl").write_bytes((data / "news.jsonl").read_bytes())
    port = free_port()
    events = data / "events.jsonl"
    with subprocess.Popen(command("doppel", "serve", "--state", "/data/state", "-o", "/data/events.jsonl", "--http", f"127.0.0.1:{port}", "/data/inbox"),
                          stderr=subprocess.PIPE, text=True) as daemon:
        end = time.monotonic() + PATIENCE_S
        while not events.exists() or events.read_text().count("\n") < 55:
            assert daemon.poll() is None and time.monotonic() < end, daemon.stderr.read()
            time.sleep(0.05)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            numbers = answer.read().decode()
        daemon.terminate()
        assert daemon.wait(PATIENCE_S) == 0, daemon.stderr.read()
    assert len(verdicts(events.read_text())) == 55
    assert re.search(r'^doppel_build_info\{version="[\d.]+",mode="files",replay="false"\} 1$', numbers, re.M), numbers
    # Each metric of docs/metrics.md, by the test of every build.
    run(sys.executable, ARGS.source / "tests/metrics/documented_test.py", "--binary", local / "bin/doppel", "--docs", ARGS.source / "docs/metrics.md")
    print(f"{tarball.name}: {tarball.stat().st_size >> 20} MiB, with {', '.join(beside)}; used in Debian 11")

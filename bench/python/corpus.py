#!/usr/bin/env python3
"""A corpus from end to end, Parquet in and out: the copies go, the longest of each cluster stays, items of evaluations go.

    scripts/wheel && pip install dist/doppel_dedup-*-cp311-*.whl pyarrow
    cmake --build --preset release --target make_corpus
    bench/python/corpus.py --gigabytes 10 --folder /data/corpus            # 10 GB of text: 25 GB on the disk
    bench/python/corpus.py --gigabytes 1 --s3proxy --folder DIR      # also from and to S3: a server on this machine
    bench/python/corpus.py --gigabytes 1 --s3 bucket/bench --endpoint https://... --folder DIR      # another one

make_corpus makes the texts, which are half copies, and this program writes them to Parquet files of 256 MB of text with zstd;
a corpus that is there from an earlier run is used again. Each job runs in a process of its own. For each it prints rows and
MB of text per second, the processor time of all threads, the peak of resident memory, and what it leaves on the disk. With
--s3 (s3fs, credentials from the usual places) it runs clean() from and to the bucket, too, and `doppel scan` from it, each in
turns with the same from local files, and prints the share of the local rate; the goal is .8. --s3proxy starts s3proxy, a
server of S3 in Java, which Maven fetches once, with its files in --folder. It uses the same processors as the job.
"""

import argparse
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
FILE_BYTES = 256 << 20  # of text
ITEMS = 500

# A job in a process of its own. It prints what it measured.
JOB = """
import json, re, sys, time
import doppel_dedup
name, call = sys.argv[1], json.loads(sys.argv[2])
began = time.monotonic()
done = getattr(doppel_dedup, name)(*call["args"], progress=False, **call["options"])
print(json.dumps({"seconds": time.monotonic() - began, "cpu": time.process_time(), "memory": 1024 * int(re.search("VmHWM: *(\\d+)", open("/proc/self/status").read().replace("\\t", " "))[1]), "said": repr(done)}))
"""


def make(folder, text_bytes, make_corpus):
    """Parquet files with so many bytes of text, and items to look for: passages of some of the documents."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True)
    documents = max(1000, text_bytes // 3400)  # about
    made = subprocess.Popen([make_corpus, "--kind", "english", "--docs", str(documents), "--seed", "1"], stdout=subprocess.PIPE)
    rows, size, total, count, number, items = [], 0, 0, 0, 0, []
    schema = pa.schema({"id": pa.string(), "text": pa.string(), "length": pa.int64()})

    def write():
        nonlocal rows, size, number
        pq.write_table(pa.Table.from_pylist(rows, schema), folder / f"{number:05}.parquet", compression="zstd", row_group_size=20_000)
        rows, size, number = [], 0, number + 1

    for line in made.stdout:
        document = json.loads(line)
        text = document["text"] or ""
        rows.append({"id": document["id"], "text": text, "length": len(text)})
        size, total, count = size + len(text), total + len(text), count + 1
        words = text.split()
        if count % max(1, documents // ITEMS) == 0 and len(words) > 60:
            items.append({"id": f"q{len(items)}", "question": " ".join(words[20:40])})
        if size >= FILE_BYTES:
            write()
        if total >= text_bytes:
            break
    if rows:
        write()
    made.stdout.close()
    made.terminate()
    made.wait()
    (folder.parent / "items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    (folder.parent / "corpus.json").write_text(json.dumps({"rows": count, "bytes": total}))


# --- S3.

S3PROXY = "2.6.0"
POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>doppel</groupId>
<artifactId>s3-for-benchmarks</artifactId><version>1</version><packaging>pom</packaging><dependencies><dependency>
<groupId>org.gaul</groupId><artifactId>s3proxy</artifactId><version>{S3PROXY}</version></dependency></dependencies></project>
"""
LOG = """<configuration><appender name="E" class="ch.qos.logback.core.ConsoleAppender"><target>System.err</target><encoder>
<pattern>%d %level %msg%n</pattern></encoder></appender><root level="WARN"><appender-ref ref="E"/></root></configuration>
"""


def s3proxy_jars():
    sys.path.insert(0, str(ROOT / "scripts" / "kafka.d"))
    from fetched import checked, fetched

    def fetch(folder):
        folder.mkdir(parents=True)
        (folder / "pom.xml").write_text(POM)
        checked(["mvn", "-B", "-ntp", "-q", "-f", folder / "pom.xml", "dependency:copy-dependencies", "-DincludeScope=runtime",
                 f"-DoutputDirectory={folder}"], lambda said: sys.exit(f"corpus: Maven could not fetch s3proxy {S3PROXY}:\n{said}"))  # fmt: skip

    return fetched(f"s3proxy-{S3PROXY}", f"s3proxy {S3PROXY}", fetch, "corpus")


@contextlib.contextmanager
def s3proxy(folder):
    """Starts s3proxy with a bucket `bench`. Yields its address; the credentials are in the environment."""
    (folder / "bench").mkdir(parents=True, exist_ok=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    os.environ |= {"AWS_ACCESS_KEY_ID": "bench", "AWS_SECRET_ACCESS_KEY": "bench-secret", "AWS_REGION": "us-east-1"}
    settings = {"s3proxy.endpoint": f"http://127.0.0.1:{port}", "s3proxy.authorization": "aws-v2-or-v4", "s3proxy.identity": "bench",
                "s3proxy.credential": "bench-secret", "jclouds.provider": "filesystem-nio2", "jclouds.identity": "-",
                "jclouds.credential": "-", "jclouds.filesystem.basedir": folder}  # fmt: skip
    (folder.parent / "s3proxy.conf").write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    (folder.parent / "s3proxy.xml").write_text(LOG)
    server = subprocess.Popen(["java", "-Xmx2g", f"-Dlogback.configurationFile={folder.parent / 's3proxy.xml'}", "-cp", f"{s3proxy_jars()}/*",
                               "org.gaul.s3proxy.Main", "--properties", folder.parent / "s3proxy.conf"])  # fmt: skip
    try:
        for _ in range(600):
            with contextlib.suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
                break
            if server.poll() is not None:
                sys.exit(f"corpus: s3proxy ended with {server.returncode}")
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


def size_of(folder):
    import pyarrow.compute as pc
    import pyarrow.dataset as ds

    length = ds.dataset(folder).to_table(columns=["length"])["length"]
    return {"rows": len(length), "bytes": pc.sum(length).as_py()}


def used(path):
    return sum(file.stat().st_size for file in Path(path).rglob("*") if file.is_file()) if Path(path).exists() else 0


def run(name, *args, **options):
    done = subprocess.run([sys.executable, "-c", JOB, name, json.dumps({"args": list(map(str, args)), "options": options})], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"corpus: {name} ended with {done.returncode}")
    return json.loads(done.stdout.splitlines()[-1])


def show(what, measured, corpus, disk):
    seconds = measured["seconds"]
    print(f"{what:28} {seconds:8.1f} s  {measured['cpu']:8.1f} s of processor time  {corpus['rows'] / seconds:10,.0f} rows/s  {corpus['bytes'] / 1e6 / seconds:7.1f} MB/s of text  "
          f"{measured['memory'] / 1e6:7.0f} MB of memory  {disk / 1e6:8.0f} MB on the disk  {measured['said']}", flush=True)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gigabytes", type=float, default=10, help="of text (10)")
    parser.add_argument("--folder", type=Path, required=True, help="where the corpus and the results go")
    parser.add_argument("--make-corpus", default=ROOT / "build/release/tests/make_corpus")
    parser.add_argument("--s3", metavar="BUCKET/PREFIX", help="also from and to this place, which this program may empty")
    parser.add_argument("--endpoint", help="of the S3 server")
    parser.add_argument("--s3proxy", action="store_true", help="start a server of S3 on this machine, and use that")
    parser.add_argument("--program", default=ROOT / "build/release/doppel", help="doppel, for what it scans from S3")
    parser.add_argument("--turns", type=int, default=3, help="of local and remote runs, with --s3 (3)")
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    source = folder / "in"
    if not (folder / "corpus.json").exists():
        shutil.rmtree(source, ignore_errors=True)
        began = time.monotonic()
        make(source, int(arguments.gigabytes * 1e9), arguments.make_corpus)
        print(f"made in {time.monotonic() - began:.0f} s", flush=True)
    corpus = json.loads((folder / "corpus.json").read_text())
    print(f"{corpus['rows']:,} rows, {corpus['bytes'] / 1e9:.1f} GB of text, {used(source) / 1e9:.1f} GB in {len(list(source.iterdir()))} Parquet files, "
          f"{os.cpu_count()} processors", flush=True)  # fmt: skip

    def fresh(*names):
        for name in names:
            shutil.rmtree(folder / name, ignore_errors=True)
            shutil.rmtree(folder / f".{name}.doppel", ignore_errors=True)

    fresh("out", "kept")
    cleaned = run("clean", source, folder / "out", id="id", keep="longest", clusters=str(folder / "clusters.parquet"))
    show("clean, keep='longest'", cleaned, corpus, used(folder / "out") + used(folder / ".out.doppel"))
    found = run("decontaminate", folder / "out", folder / "items.jsonl", dst=str(folder / "kept"))
    show("decontaminate", found, size_of(folder / "out"), used(folder / "kept"))
    with contextlib.ExitStack() as stack:
        if arguments.s3proxy:
            arguments.s3, arguments.endpoint = "bench/corpus", stack.enter_context(s3proxy(folder / "s3"))
        if arguments.s3:
            at_the_server(arguments, folder, source, corpus, fresh)


def at_the_server(arguments, folder, source, corpus, fresh):
    import fsspec

    # Servers that are no Amazon S3 may not know the checksums of newer clients.
    options = {"config_kwargs": {"request_checksum_calculation": "when_required", "response_checksum_validation": "when_required"}}
    if arguments.endpoint:
        options["endpoint_url"] = arguments.endpoint
    fs = fsspec.filesystem("s3", **options)
    there = f"s3://{arguments.s3}"
    for file in sorted(source.iterdir()):
        fs.put_file(str(file), f"{there}/in/{file.name}")
    rates = {}

    def took(what, measured):
        show(what, measured, corpus, used(folder / "out"))
        rates.setdefault(what, []).append((measured["seconds"], measured["cpu"]))

    for turn in range(arguments.turns):
        fresh("out", "state")
        took("clean", run("clean", source, folder / "out", id="id"))
        fresh("out")
        took("clean from S3", run("clean", f"{there}/in", folder / "out", id="id", storage_options=options))
        fresh("out")
        took("clean from and to S3", run("clean", f"{there}/in", f"{there}/out-{turn}-{os.getpid()}", id="id", storage_options=options, state=str(folder / "state")))
        took("scan", scan(arguments, source))
        took("scan from S3", scan(arguments, f"{there}/in/"))
    for what, local in (("clean from S3", "clean"), ("clean from and to S3", "clean"), ("scan from S3", "scan")):
        (seconds, cpu), (of_local, cpu_of_local) = ([min(one[i] for one in rates[name]) for i in (0, 1)] for name in (what, local))
        print(f"{what}: {of_local / seconds:.2f} of the local rate, {cpu / cpu_of_local:.2f} times the processor time")


def scan(arguments, source):
    """`doppel scan` in a process of its own."""
    environment = os.environ | ({"AWS_ENDPOINT_URL": arguments.endpoint} if arguments.endpoint else {})
    began = time.monotonic()
    child = subprocess.Popen([arguments.program, "scan", "-q", "-o", "/dev/null", source], env=environment)
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit(f"corpus: doppel scan ended with {os.waitstatus_to_exitcode(status)}")
    return {"seconds": time.monotonic() - began, "cpu": usage.ru_utime + usage.ru_stime, "memory": usage.ru_maxrss * 1024, "said": ""}


if __name__ == "__main__":
    main()

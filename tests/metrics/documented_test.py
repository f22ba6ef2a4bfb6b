#!/usr/bin/env python3
"""docs/metrics.md against a running `doppel serve`, both ways: every metric that the server shows is documented with its
type and labels, and every documented one is shown. usage: documented_test.py --binary B --docs F [--kafka FOLDER]
"""
import argparse
import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

PATIENCE_S = 60


def documented(path):
    """name -> (type, where, labels)"""
    out = {}
    for line in path.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) == 5 and cells[0].startswith("`"):
            name = cells[0].strip("`")
            assert name not in out, f"{name} is documented twice"
            assert len(cells[4]) > 5, f"{name} has no meaning"
            out[name] = (cells[1], cells[2], frozenset(re.findall(r"`(\w+)`", cells[3])))
    return out


def shown(text):
    """The same of a scrape; labels without le."""
    types, labels, helped = {}, {}, set()
    for line in text.splitlines():
        if line.startswith("# HELP "):
            _, _, name, help = line.split(" ", 3)
            assert help.strip(), f"{name} has no help"
            helped.add(name)
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            assert name not in types, f"{name} is shown twice"
            types[name] = kind
        elif line:
            name, _, rest = re.match(r"(\w+)({(.*)})? ", line).groups()
            base = re.sub(r"_(bucket|sum|count)$", "", name)
            name = base if types.get(base) == "histogram" else name
            labels.setdefault(name, set()).update(re.findall(r'(\w+)="', rest or ""))
    assert helped == set(types), helped ^ set(types)
    return {name: (kind, frozenset(labels.get(name, set()) - {"le"})) for name, kind in types.items()}


def get(url):
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@contextlib.contextmanager
def daemon(binary, state, settings):
    command = [binary, "serve", "--state", state]
    for key, value in (settings | {"http.listen": "127.0.0.1:0"}).items():
        command += ["--set", f"{key}={value}"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("DOPPEL_")}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=environment)
    try:
        url, said = None, []
        for line in process.stderr:
            said.append(line)
            if match := re.search(r"listening url=\S*(http://[\d.:]+)", line):
                url = match[1]
            if " ready " in line:
                break
        else:
            raise SystemExit("the daemon did not start:\n" + "".join(said))
        yield url
        process.terminate()
        process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, process.returncode
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def await_metric(url, name):
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        text = get(url + "/metrics")[1]
        if f"\n{name}" in text:
            return text
        time.sleep(0.05)
    raise SystemExit(f"{name} does not come")


def compare(docs, text, places, which, always=None):
    """always: of these places everything is shown; None: of all."""
    here = {name: (kind, labels) for name, (kind, where, labels) in docs.items() if where in places}
    needed = {name for name, (_, where, _) in docs.items() if where in (always or places)}
    there = shown(text)
    wrong = [f"{n}: shown ({which}), but not documented for it" for n in sorted(set(there) - set(here))]
    wrong += [f"{n}: documented, but not shown ({which})" for n in sorted(needed - set(there))]
    wrong += [f"{n}: documented as {here[n]}, shown as {there[n]} ({which})"
              for n in sorted(set(here) & set(there)) if here[n] != there[n]]
    if promtool := shutil.which("promtool"):
        done = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, text=True)
        if done.returncode != 0 or done.stdout.strip() or done.stderr.strip():
            wrong.append(f"promtool: {done.stdout}{done.stderr}")
    return wrong


def compare_roles(args, docs, folder, name, settings):
    """A resolver and a matcher, and a document that both of them have seen."""
    order = f"{name}-order"
    texts = {"kafka.brokers": settings["kafka.brokers"], "kafka.topics": f"{name}-texts", "kafka.group": f"{name}-sign",
             "kafka.create_topics": "true", "hash_key_file": folder / "key"}
    (folder / "key").write_text("000102030405060708090a0b0c0d0e0f\n")
    (folder / "key").chmod(0o600)
    texts_file = folder / "texts.jsonl"
    texts_file.write_text('{"id":"a","text":"some words that nobody has seen before in this order of them"}\n')
    sign = [args.binary, "sign", "--to", order, str(texts_file)] + [f"--set={k}={v}" for k, v in texts.items() if k != "kafka.topics"]
    shared = {k: v for k, v in settings.items() if not k.startswith(("warc", "max_memory", "memory"))} | {
        "kafka.topics": order, "kafka.index_log": f"{name}-cluster", "kafka.group": f"{name}-cluster", "input.format": "signed",
        "hash_key_file": folder / "key"}
    done = subprocess.run(sign, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    wrong = []
    with daemon(args.binary, folder / "resolver", shared | {"cluster.role": "resolver"}) as resolver, \
            daemon(args.binary, folder / "matcher", shared | {"cluster.role": "matcher", "cluster.shards": "0-3/4"}) as matcher:
        await_metric(resolver, "doppel_cluster_matcher_ahead_records")
        for url, role in ((resolver, "resolver"), (matcher, "matcher")):
            text = await_metric(url, "doppel_consumer_lag_seconds")
            wrong += compare(docs, text, {"all", "kafka", "cluster", role}, f"in a {role}", {"cluster", role})
    signer = texts | {"kafka.topics": settings["kafka.topics"], "cluster.order": order, "cluster.role": "signer",
                      "input.format": "avro", "schema_registry.url": "http://127.0.0.1:1"}
    with daemon(args.binary, folder / "signer", signer) as url:
        text = await_metric(url, "doppel_consumer_lag_seconds")
        wrong += compare(docs, text, {"all", "kafka", "cluster", "signer", "registry"}, "in a signer of Avro",
                         {"signer", "registry"})
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--docs", type=pathlib.Path, required=True)
    parser.add_argument("--kafka", type=pathlib.Path)
    args = parser.parse_args()
    docs = documented(args.docs)
    assert len(docs) > 50, len(docs)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        settings = {}
        if args.kafka:
            name = f"documented-{os.getpid()}-{time.time_ns()}"
            settings |= {"kafka.brokers": (args.kafka / "bootstrap").read_text().strip(), "kafka.topics": f"{name}-in",
                         "kafka.create_topics": "true", "kafka.index_log": f"{name}-index", "kafka.group": name,
                         "output.topic": f"{name}-out", "output.dead_letters": f"{name}-dead", "input.format": "heritrix",
                         "warc.roots": str(folder), "max_memory": "1GiB", "memory": "100MiB"}
            subprocess.run([pathlib.Path(__file__).parents[2] / "scripts/kafka", "topic", f"{name}-in", "2", "--dir", args.kafka],
                           check=True, stdout=subprocess.DEVNULL)
            places, which, last = {"all", "kafka", "fetch", "limit", "memory"}, "on Kafka", "doppel_consumer_lag_seconds"
        else:
            (folder / "in").mkdir()
            settings |= {"files.paths": folder / "in", "files.output": folder / "out", "relations": "near,contained,shares"}
            places, which, last = {"all", "files", "relations"}, "on files", "doppel_ready 1"
        with daemon(args.binary, folder / "state", settings) as url:
            wrong = compare(docs, await_metric(url, last), places, which)
            for path in ("/live", "/ready", "/version"):
                status, body = get(url + path)
                if status != 200:
                    wrong.append(f"{path}: {status} {body}")
            for flags in ([], ["--ready"]):
                done = subprocess.run([args.binary, "health", "--url", url, *flags], capture_output=True, text=True)
                if done.returncode != 0:
                    wrong.append(f"doppel health {flags}: {done}")
        done = subprocess.run([args.binary, "health", "--url", url], capture_output=True, text=True)
        if done.returncode != 1:
            wrong.append(f"doppel health of a daemon that is gone: {done}")
        if args.kafka:
            wrong += compare_roles(args, docs, folder, name, settings)
    print("\n".join(wrong) or f"{len(docs)} metrics documented, {which}: all as they should be")
    return 1 if wrong else 0


sys.exit(main())

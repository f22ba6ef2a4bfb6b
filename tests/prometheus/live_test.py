#!/usr/bin/env python3
"""Every panel of every dashboard, asked of a real Prometheus that scraped a real `doppel serve` on a real Kafka.

The load: crawl logs that point into a WARC file, with planted copies, broken records, null values, records whose file is gone, an expiry in
record time, a restart, and a daemon that is stopped for so long that the broker ends its transaction. Then no query may be empty, none may be
zero all the time but where the dashboard says so, and the counters must be what was planted. --pictures DIR draws the panels.

usage: live_test.py --binary DOPPEL --produce TOOL --project ROOT --kafka FOLDER [--pictures DIR]
"""
import argparse
import contextlib
import json
import math
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import draw  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from ports import free_port  # noqa: E402

PATIENCE_S = 90
HOUR_MS = 3_600_000


def get(url):
    with urllib.request.urlopen(url, timeout=20) as answer:
        return answer.read().decode()


def wait_for(what, ask, explain=lambda: ""):
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            if (value := ask()):
                return value
        time.sleep(0.05)
    raise SystemExit(f"waited in vain: {what}\n{explain()}")


class Prometheus:
    def __init__(self, folder, project, target, cluster):
        self.port = free_port()
        rules = project / "deploy" / "prometheus"
        (folder / "prometheus.yml").write_text(json.dumps({  # JSON is YAML
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(rules / "doppel-rules.yml"), str(rules / "doppel-alerts.yml")],
            "scrape_configs": [{"job_name": "doppel", "static_configs": [{"targets": [target]}]},
                               {"job_name": "doppel-cluster", "static_configs": [{"targets": cluster}]}]}))
        self.log = open(folder / "prometheus.log", "w")
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'tsdb'}",
             f"--web.listen-address=127.0.0.1:{self.port}"], stdout=self.log, stderr=self.log)
        wait_for("Prometheus", lambda: "Ready" in get(f"http://127.0.0.1:{self.port}/-/ready"))

    def ask(self, path, **arguments):
        answer = json.loads(get(f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(arguments)}"))
        assert answer["status"] == "success", answer
        return answer["data"]

    def value(self, expr):
        """Of the only series; 0 if there is none."""
        result = self.ask("query", query=expr)["result"]
        return float(result[0]["value"][1]) if result else 0.0

    def end(self):
        self.process.terminate()
        self.process.wait(timeout=30)


class Daemon:
    def __init__(self, binary, folder, settings, number):
        command = [binary, "serve"]
        for key, value in settings.items():
            command += ["--set", f"{key}={value}"]
        self.log = folder / f"daemon{number}.log"
        environment = {k: v for k, v in os.environ.items() if not k.startswith("DOPPEL_")}
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=open(self.log, "w"), env=environment)
        self.url = f"http://{settings['http.listen']}"
        wait_for("the daemon", self.ready)

    def ready(self):
        if self.process.poll() is not None:
            raise SystemExit("the daemon ended:\n" + self.log.read_text())
        return '"ready"' in get(self.url + "/ready")

    def metric(self, name):
        """The sum of a metric's series as it is now."""
        text = get(self.url + "/metrics")
        return sum(float(v) for v in re.findall(rf"^{name}(?:{{[^}}]*}})? (\S+)$", text, re.M))

    def check(self, text):
        request = urllib.request.Request(self.url + "/v1/check", text.encode(), {"Content-Type": "text/plain"})
        with urllib.request.urlopen(request, timeout=20) as answer:
            assert answer.status == 200

    def end(self):
        self.process.terminate()
        assert self.process.wait(timeout=60) == 0, self.log.read_text()


class Cluster:
    """A resolver, two matchers and a signer, which decide the same documents again."""

    def __init__(self, binary, folder, settings, ports, ends):
        (folder / "key").write_text("000102030405060708090a0b0c0d0e0f\n")
        (folder / "key").chmod(0o600)
        order = settings["kafka.topics"] + "-order"
        common = settings | {"cluster.order": order, "kafka.index_log": f"{order}-index", "kafka.group": order,
                             "hash_key_file": folder / "key", "output.topic": f"{order}-events", "output.dead_letters": f"{order}-dead"}
        of_index = {k: v for k, v in common.items() if not k.startswith("warc")}
        roles = [of_index | {"cluster.role": "resolver"}, of_index | {"cluster.role": "matcher", "cluster.shards": "0/2"},
                 of_index | {"cluster.role": "matcher", "cluster.shards": "1/2"}, common | {"cluster.role": "signer"}]
        self.daemons = []
        for number, (role, port) in enumerate(zip(roles, ports)):
            own = {"http.listen": f"127.0.0.1:{port}", "state.directory": folder / f"cluster{number}"}
            daemon = Daemon(binary, folder, role | own, f"-cluster{number}")
            ends.callback(daemon.process.kill)
            self.daemons.append(daemon)
        wait_for("the cluster's verdicts", lambda: self.daemons[0].metric('doppel_similarity_ratio_count') > 300,
                 lambda: "\n".join(d.log.read_text()[-2000:] for d in self.daemons))

    def end(self):
        for daemon in self.daemons:
            daemon.end()


class Load:
    """Crawl logs whose records lie in one WARC file, and what must be said of them."""

    def __init__(self, folder, tool, bootstrap, topic, seed):
        self.random = random.Random(seed)
        self.folder, self.at, self.number = folder, 0, 0
        self.originals = []
        self.counts = {}
        self.pending = []
        self.process = subprocess.Popen([tool, bootstrap, topic], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def archive(self, text):
        url = f"http://site{self.number % 7}.example/{self.number}.html"
        self.number += 1
        page = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html><body><p>{text}</p></body></html>"
        record = (f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nContent-Type: application/http\r\n"
                  f"Content-Length: {len(page)}\r\n\r\n{page}\r\n\r\n").encode()
        with open(self.folder / "crawl.warc", "ab") as file:
            file.write(record)
        begin, self.at = self.at, self.at + len(record)
        return url, begin

    def value(self, kind):
        if kind == "broken":
            return "{this is no JSON"
        if kind == "null":
            return "-"
        if kind in ("copy", "near") and self.originals:
            words = list(self.random.choice(self.originals))
            if kind == "near":
                words[-1] = f"other{self.number}"  # so similar that no band's chance decides
            elif self.random.random() < 0.3:  # just below the threshold
                for place in (20, 60):
                    words[place] = f"new{self.number}x{place}"
                kind = "new"
        else:
            kind = "new" if kind != "gone" else kind
            words = [f"w{self.random.randrange(5000)}" for _ in range(80)]
            if kind == "new":
                self.originals = self.originals[-200:] + [words]
        url, begin = self.archive(" ".join(words))
        name = "lost.warc" if kind == "gone" else "crawl.warc"
        self.last = kind
        return json.dumps({"timestamp": "2026-01-01T00:00:00.000Z", "status_code": 200, "url": url, "mimetype": "text/html",
                           "content_length": 1000, "warc_filename": name, "warc_offset": begin})

    def add(self, kind, ms):
        self.last = kind
        value = self.value(kind)
        self.counts[self.last] = self.counts.get(self.last, 0) + 1
        # Texts in one partition: so their order, and with it every verdict, is known.
        partition = 0 if self.last in ("new", "copy", "near") else self.random.randrange(1, 3)
        self.pending.append(f"{partition} {ms} {value}\n")

    def mixed(self, count, ms):
        for _ in range(count):
            self.add(self.random.choices(["new", "copy", "near", "broken", "null", "gone"], [45, 25, 20, 4, 3, 3])[0], ms)

    def send(self):
        self.process.stdin.write("".join(self.pending) + "\n")
        self.process.stdin.flush()
        count, self.pending = len(self.pending), []
        assert int(self.process.stdout.readline()) == count

    def begin_counting(self):
        self.counts = {}

    def sent(self):
        return sum(self.counts.values())


def wanted(expr):
    """As Grafana would fill it in."""
    for name, value in {"$__rate_interval": "10s", "$__range": "2m", "$job": ".*", "$instance": ".*", "$topic": ".*"}.items():
        expr = expr.replace(name, value)
    assert "$" not in expr, expr
    return expr


def renamed(panel, legend):
    """As Grafana's transformations of the panel would write it."""
    for step in panel.get("transformations", []):
        if step["id"] == "renameByRegex":
            regex, word = step["options"]["regex"], re.sub(r"\$(\d)", r"\\\1", step["options"]["renamePattern"])
            whole = re.fullmatch(r"/(.*)/g", regex)
            legend = re.sub(whole[1] if whole else regex, word, legend, count=0 if whole else 1)
    return legend


def run_panels(prometheus, project, begin, end, pictures):
    wrong, asked, zeros = [], 0, []
    for path in sorted((project / "deploy/grafana/dashboards").glob("*.json")):
        board = json.loads(path.read_text())
        drawn = []
        for panel in board["panels"]:
            if panel["type"] == "row":
                continue
            where = f"{board['title']} / {panel['title']}"
            series, moved = [], False
            for target in panel["targets"]:
                asked += 1
                result = prometheus.ask("query_range", query=wanted(target["expr"]), start=begin, end=end, step=1)["result"]
                values = [float(v) for s in result for _, v in s["values"]]
                if not values and "(empty" in panel["description"]:
                    moved = True
                    continue
                if not values:
                    wrong.append(f"{where}: empty: {target['expr']}")
                    continue
                finite = [v for v in values if math.isfinite(v)]
                if not finite:
                    wrong.append(f"{where}: no number: {target['expr']}")
                if any(finite):
                    moved = True
                else:
                    zeros.append(f"{where} ({target['legendFormat']})")
                if any(v > panel["fieldConfig"]["defaults"].get("max", math.inf) for v in finite):
                    wrong.append(f"{where}: above what there can be: {max(finite)}")
                if any(v < -1e-6 for v in finite):
                    wrong.append(f"{where}: negative: {target['expr']}")
                for s in result:
                    legend = re.sub(r"{{(\w+)}}", lambda m: s["metric"].get(m[1], ""), target["legendFormat"]).strip()
                    series.append((renamed(panel, legend), [(t, float(v)) for t, v in s["values"]]))
            if not moved and "(zero" not in panel["description"] and "(the daemon stops" not in panel["description"]:
                wrong.append(f"{where}: nothing but zeros")
            drawn.append((panel, series))
        if pictures:
            pictures.mkdir(parents=True, exist_ok=True)
            (pictures / f"{board['uid']}.svg").write_text(draw.dashboard(board["title"], drawn, begin, end))
    for mark in board["annotations"]["list"]:
        if not prometheus.ask("query_range", query=wanted(mark["expr"]).replace("[1m]", "[10s]"), start=begin, end=end, step=1)["result"]:
            wrong.append(f"annotation {mark['name']}: empty")
    for variable in board["templating"]["list"][1:]:
        metric, label = re.match(r"label_values\((.*), (\w+)\)", variable["query"]["query"]).groups()
        if not prometheus.ask(f"label/{label}/values", **{"match[]": wanted(metric)}):
            wrong.append(f"variable {variable['name']}: empty")
    print(f"{asked} queries; zero all the time: {'; '.join(zeros) or 'none'}")
    return wrong


def main():
    parser = argparse.ArgumentParser()
    for name in ("binary", "produce", "project", "kafka"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--pictures", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    args = parser.parse_args()
    args.project, args.kafka = args.project.resolve(), args.kafka.resolve()
    print(f"seed {args.seed}")
    name = f"watched-{os.getpid()}-{args.seed}"
    bootstrap = (args.kafka / "bootstrap").read_text().strip()
    subprocess.run([args.project / "scripts/kafka", "topic", name, "3", "--dir", args.kafka], check=True, stdout=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as ends:
        folder = pathlib.Path(folder)
        (folder / "warcs").mkdir()
        port = free_port()
        settings = {"kafka.brokers": bootstrap, "kafka.topics": name, "kafka.create_topics": "true", "kafka.index_log": f"{name}-index",
                    "kafka.group": name, "output.topic": f"{name}-events", "output.dead_letters": f"{name}-dead", "input.format": "heritrix",
                    "warc.roots": folder / "warcs", "expire_after": "5h", "kafka.batch_documents": 50,
                    "kafka.properties.transaction.timeout.ms": "1000", "state.directory": folder / "state", "state.checkpoint_interval": "3s",
                    "memory": "50kB", "http.listen": f"127.0.0.1:{port}"}
        load = Load(folder / "warcs", args.produce, bootstrap, name, args.seed)
        ends.callback(load.process.kill)
        begin = time.time()
        cluster_ports = [free_port() for _ in range(4)]
        prometheus = Prometheus(folder, args.project, f"127.0.0.1:{port}", [f"127.0.0.1:{p}" for p in cluster_ports])
        ends.callback(prometheus.end)

        # A first run, over twenty hours of record time: what is older than five expires.
        daemon = Daemon(args.binary, folder, settings, 1)
        ends.callback(lambda: daemon.process.kill())
        now_ms = int(time.time() * 1000)
        for i in range(3000):
            load.add("new", now_ms - 20 * HOUR_MS + i * 24_000)
        load.send()
        wait_for("3000 documents", lambda: daemon.metric("doppel_documents_total") == 3000)
        wait_for("expiry", lambda: daemon.metric("doppel_originals_removed_total") > 0)
        wait_for("a scrape of it", lambda: prometheus.value('doppel_originals_removed_total{job="doppel", reason="expired"}') > 0)
        daemon.end()

        # A second one, that is stopped until the broker ends its transaction.
        load.begin_counting()
        daemon = Daemon(args.binary, folder, settings, 2)
        rounds = 0

        def some_load(seconds, questions=5):
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                load.mixed(60, int(time.time() * 1000))
                load.send()
                for _ in range(questions):
                    daemon.check("Are these words in the index of this daemon?")
                time.sleep(0.1)

        while daemon.metric("doppel_transaction_aborts_total") == 0:
            rounds += 1
            assert rounds < 10, "the broker has not ended a transaction"
            some_load(2)
            # In the midst of a backlog there is nearly always a transaction under way.
            settled = daemon.metric("doppel_documents_total")
            load.mixed(3000, int(time.time() * 1000))
            load.send()
            wait_for("the backlog", lambda: daemon.metric("doppel_documents_total") > settled + 300)
            daemon.process.send_signal(signal.SIGSTOP)
            some_load(4, questions=0)
            daemon.process.send_signal(signal.SIGCONT)
            wait_for("what becomes of it", lambda: daemon.metric("doppel_transaction_aborts_total") > 0
                     or daemon.metric("doppel_documents_total") == load.sent())
        cluster = Cluster(args.binary, folder, settings, cluster_ports, ends)
        some_load(10)
        wait_for("all documents", lambda: daemon.metric("doppel_documents_total") == load.sent())
        wait_for("no lag", lambda: daemon.metric("doppel_consumer_lag_records") == 0)
        wait_for("a scrape of all", lambda: prometheus.value('sum(doppel_documents_total{job="doppel"})') == load.sent())
        wait_for("the cluster without lag", lambda: cluster.daemons[0].metric("doppel_consumer_lag_records") == 0)
        wait_for("a scrape of the cluster", lambda: prometheus.value("sum(doppel_matcher_answered_documents_total)") > 3000)
        end = time.time()

        wrong = run_panels(prometheus, args.project, begin, end, args.pictures)
        planted = load.counts
        for expr, expected in {
            'doppel_documents_total{verdict="rejected"}': planted["broken"] + planted["gone"],
            'doppel_documents_total{verdict="skipped"}': planted["null"],
            'doppel_rejected_total{reason="not_json"}': planted["broken"],
            'doppel_rejected_total{reason="fetch_failed"}': planted["gone"],
            'doppel_fetches_total{result="missing"}': planted["gone"],
            'doppel_documents_total{verdict="duplicate", kind="exact"}': planted["copy"],
            'doppel_documents_total{verdict="duplicate", kind="near"}': planted["near"],
            'doppel_documents_total{verdict="unique"}': planted["new"],
        }.items():
            own = expr.replace('{', '{job="doppel", ')
            if (value := prometheus.value(f"sum({own})")) != expected:
                wrong.append(f"{expr} is {value}, planted were {expected}")
        if args.pictures is None:
            daemon.end()
            cluster.end()
        else:
            daemon.process.kill()
        print(f"{load.sent()} documents after a restart, {rounds} stops; {planted}")
    print("\n".join(wrong) or "no panel is empty, and the counters are what was planted")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

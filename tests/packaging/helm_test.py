#!/usr/bin/env python3
"""The chart of scripts/chart: helm takes it, and what it renders is valid and says what deploy/kubernetes says. usage: helm_test.py --source DIR --binary DOPPEL
scripts/install-deps test installs helm. Runs in the environment that tests/packaging/venv makes.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import yaml

import watched

parser = argparse.ArgumentParser()
parser.add_argument("--source", required=True, type=pathlib.Path)
parser.add_argument("--binary", required=True)
ARGS = parser.parse_args()
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
HELM = shutil.which("helm") or shutil.which("helm", path=str(CACHE / "doppel/helm"))
if not HELM:
    sys.exit("helm_test: no helm; run: scripts/install-deps test")


def run(*command):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, f"{' '.join(map(str, command))}:\n{done.stdout}{done.stderr}"
    return done.stdout


def render(*flags, release="doppel"):
    return [r for r in yaml.safe_load_all(run(HELM, "template", release, CHART, "--namespace", "doppel", *flags)) if r]


def kustomized(folder):
    return [r for r in yaml.safe_load_all(run("kubectl", "kustomize", folder)) if r]


def comparable(objects):
    """(kind, name) -> what the chart and deploy/kubernetes have in common, under the names of deploy/kubernetes."""
    text = re.sub(r'"(doppel|doppel-cluster)-[a-z0-9]{10}"', r'"\1"', json.dumps(objects))  # a config map's name, as kustomize makes it
    text = text.replace("cluster.yaml", "doppel.yaml").replace("doppel-cluster-", "doppel-")
    found = {}
    for one in json.loads(text, object_hook=lambda o: {k: v for k, v in o.items() if k not in ("app.kubernetes.io/instance", "imagePullPolicy", "annotations")}):
        if one["kind"] == "ConfigMap":
            one["data"] = {name: yaml.safe_load(file) for name, file in one["data"].items()}
        if one["kind"] != "Namespace":
            found[one["kind"], one.pop("metadata")["name"]] = one
    return found


def load(path):
    return yaml.safe_load((ARGS.source / path).read_text())


SCRATCH = tempfile.TemporaryDirectory()
SOURCE = ARGS.source / "deploy/helm/doppel"
CHART = pathlib.Path(run(ARGS.source / "scripts/chart", pathlib.Path(SCRATCH.name) / "doppel").strip())
ALL = ["--set", "serviceMonitor.enabled=true,prometheusRule.enabled=true,dashboards.enabled=true"]
CLUSTER = ["-f", CHART / "values-cluster.yaml"]
with SCRATCH as scratch:
    os.environ["HOME"] = scratch
    print(run(HELM, "lint", "--strict", CHART).splitlines()[-1])
    for number, resource in enumerate(render(*ALL, "--set", "standby=true") + render(*ALL, *CLUSTER)):
        if resource["apiVersion"].startswith("monitoring.coreos.com"):  # in no schema of Kubernetes
            continue
        path = pathlib.Path(scratch) / f"{number}.yaml"
        path.write_text(yaml.safe_dump(resource))
        said = run(pathlib.Path(sys.executable).parent / "kubernetes-validate", "--strict", path)
        assert "WARN" not in said, said
    for flags, pods in ((ALL, 1), (ALL + ["--set", "standby=true"], 2), (ALL + CLUSTER, 8)):
        watched.check_alerts(render(*flags), pods)

    # What it renders is what deploy/kubernetes renders, but for labels, names and versions.
    version = re.search(r'VERSION_STRING "(.*)"', (ARGS.source / "include/doppel/version.h").read_text())[1]
    chart = load("deploy/helm/doppel/Chart.yaml")
    assert chart["version"] == chart["appVersion"] == version, chart
    overlay = pathlib.Path(scratch) / "standby"
    overlay.mkdir()
    kubernetes = os.path.relpath(ARGS.source.resolve() / "deploy/kubernetes", overlay.resolve())
    (overlay / "kustomization.yaml").write_text(yaml.safe_dump({"resources": [kubernetes], "components": [kubernetes + "/standby"]}))
    for flags, release, folder in (([], "doppel", ARGS.source / "deploy/kubernetes"), (["--set", "standby=true"], "doppel", overlay),
                                   (CLUSTER, "doppel-cluster", ARGS.source / "deploy/kubernetes/cluster")):
        made, wanted = comparable(render(*flags, release=release)), comparable(kustomized(folder))
        assert set(made) == set(wanted), f"{sorted(made)} are not {sorted(wanted)}"
        for name in made:
            assert made[name] == wanted[name], f"{name}:\n{json.dumps(made[name], indent=1)}\nis not\n{json.dumps(wanted[name], indent=1)}"
        path = pathlib.Path(scratch) / "doppel.yaml"
        (text,) = [r["data"]["doppel.yaml"] for r in render(*flags) if r["kind"] == "ConfigMap"]
        path.write_text(text)
        run(ARGS.binary, "config", "check", path)
    kind = {r["kind"]: r for r in render()}

    # Another port goes everywhere; changed settings restart it.
    other = {r["kind"]: r for r in render("--set", "config.http.listen=0.0.0.0:8080", release="crawl")}
    assert other["Service"]["spec"]["ports"][0]["port"] == 8080 and other["Service"]["metadata"]["name"] == "crawl-doppel"
    pod = other["StatefulSet"]["spec"]["template"]
    assert pod["spec"]["containers"][0]["ports"][0]["containerPort"] == 8080
    assert pod["metadata"]["annotations"] != kind["StatefulSet"]["spec"]["template"]["metadata"]["annotations"]

    # What is watched: the rules, alerts and dashboards of deploy/, with the address of the runbook where it is given.
    runbook = "https://wiki.example.org/doppel/runbook"
    for flags, address in ((ALL, None), (ALL + ["--set", f"prometheusRule.runbookUrl={runbook}"], runbook)):
        shown = {(r["kind"], r["metadata"]["name"]): r for r in render(*flags)}
        rules = [group for name in ("rules", "alerts") for group in load(f"deploy/prometheus/doppel-{name}.yml")["groups"]]
        boards = {p.name: json.loads(p.read_text()) for p in (ARGS.source / "deploy/grafana/dashboards").glob("*.json")}
        if address:
            for rule in rules[1]["rules"]:
                rule["annotations"]["runbook_url"] = address + "#" + rule["alert"].lower()
            for board in boards.values():
                board["links"][1]["url"] = address
        assert shown["PrometheusRule", "doppel"]["spec"]["groups"] == rules
        assert {n: json.loads(t) for n, t in shown["ConfigMap", "doppel-dashboards"]["data"].items()} == boards
        monitor = shown["ServiceMonitor", "doppel"]["spec"]
        assert monitor["selector"]["matchLabels"].items() <= kind["Service"]["metadata"]["labels"].items()
        assert {"targetLabel": "job", "replacement": "doppel"} in monitor["endpoints"][0]["relabelings"]
        assert len(rules[1]["rules"]) > 10 and len(boards) == 5, "deploy/ lost its alerts or dashboards"
        assert monitor["endpoints"][0]["port"] == kind["Service"]["spec"]["ports"][0]["name"]
    # What is added to the pod.
    added = pathlib.Path(scratch) / "added.yaml"
    added.write_text("""
podAnnotations: {example.org/team: crawl}
extraVolumes: [{name: ca, secret: {secretName: kafka-ca}}]
extraVolumeMounts: [{name: ca, mountPath: /etc/ssl/kafka, readOnly: true}]
""")
    pod = {r["kind"]: r for r in render("-f", added)}["StatefulSet"]["spec"]["template"]
    assert pod["metadata"]["annotations"]["example.org/team"] == "crawl" and "checksum/config" in pod["metadata"]["annotations"]
    assert {"name": "ca", "secret": {"secretName": "kafka-ca"}} in pod["spec"]["volumes"]
    assert {"name": "ca", "mountPath": "/etc/ssl/kafka", "readOnly": True} in pod["spec"]["containers"][0]["volumeMounts"]
    # Matchers grow by a second set beside the first one.
    sets = {r["metadata"]["name"]: r["spec"] for r in render(*CLUSTER, "--set", "cluster.matchers.sets={4,8}") if r["kind"] == "StatefulSet"}
    assert {name: spec["replicas"] for name, spec in sets.items()} == {"doppel-resolver": 2, "doppel-matcher-of-4": 4, "doppel-matcher-of-8": 8}, sets
    for of, spec in ((n, sets[f"doppel-matcher-of-{n}"]) for n in (4, 8)):
        env = {e["name"]: e.get("value") for e in spec["template"]["spec"]["containers"][0]["env"]}
        assert env["DOPPEL_CLUSTER_SHARDS"] == f"$(POD_INDEX)/{of}" and spec["selector"]["matchLabels"]["matchers"] == f"of-{of}", spec
    # What cannot work is refused by name: a standby with a key of its own, roles without a topic between them, the sizes of one process for many.
    for flags, name in ((["--set", "standby=true,secret="], "standby"), (["--set", "cluster.enabled=true"], "config.cluster.order"),
                        (CLUSTER + ["--set", "config.max_memory=3GiB"], "config.max_memory"), (CLUSTER + ["--set", "standby=true"], "cluster.resolvers.replicas"),
                        (CLUSTER + ["--set", "secret="], "secret")):
        done = subprocess.run([HELM, "template", "doppel", CHART, *flags], capture_output=True, text=True)
        assert done.returncode != 0 and name in done.stderr, f"{flags}: {done.stderr or 'no error'}"
    # A value that the chart does not know is refused, and named.
    for wrong in ("serviceMonitor.enable=true", "standby=2", "cluster.matcher=4", "cluster.matchers.sets={0}", "networkPolicy.kafkaPort=9092", "podAnnotation.a=b", "storage.size=big", "config.http.listen=9464"):
        done = subprocess.run([HELM, "template", "doppel", CHART, "--set", wrong], capture_output=True, text=True)
        assert done.returncode != 0 and wrong.split("=")[0].split(".")[-1] in done.stderr, f"{wrong}: {done.stderr or 'no error'}"
    # A package holds all that the chart renders. The folder without rules and dashboards renders the rest, and says what is missing.
    package = pathlib.Path(run(ARGS.source / "scripts/chart", "--pack", pathlib.Path(scratch) / "chart.tgz").strip())
    packed = [r for r in yaml.safe_load_all(run(HELM, "template", "doppel", package, "--namespace", "doppel", *ALL)) if r]
    assert packed == render(*ALL), "the packed chart renders something else"
    assert render() == [r for r in yaml.safe_load_all(run(HELM, "template", "doppel", SOURCE, "--namespace", "doppel")) if r]
    for name in ("prometheusRule", "dashboards"):
        done = subprocess.run([HELM, "template", "doppel", SOURCE, "--set", f"{name}.enabled=true"], capture_output=True, text=True)
        assert done.returncode != 0 and f"{name}.enabled needs the chart that scripts/chart makes" in done.stderr, done.stderr or "no error"
    done = subprocess.run([ARGS.source / "scripts/chart", CHART], capture_output=True, text=True)
    assert done.returncode == 2 and "exists" in done.stderr, "scripts/chart wrote over a folder"
print(f"{len(packed)} objects are valid and agree with deploy/kubernetes")

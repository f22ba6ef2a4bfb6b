#!/usr/bin/env python3
"""deploy/helm/doppel: helm takes it, and what it renders is valid and says what deploy/kubernetes says. usage: helm_test.py --source DIR --binary DOPPEL
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

parser = argparse.ArgumentParser()
parser.add_argument("--source", required=True, type=pathlib.Path)
parser.add_argument("--binary", required=True)
ARGS = parser.parse_args()
CHART = ARGS.source / "deploy/helm/doppel"
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


def load(path):
    return yaml.safe_load((ARGS.source / path).read_text())


ALL = ["--set", "serviceMonitor.enabled=true,prometheusRule.enabled=true,dashboards.enabled=true"]
with tempfile.TemporaryDirectory() as scratch:
    os.environ["HOME"] = scratch
    print(run(HELM, "lint", "--strict", CHART).splitlines()[-1])
    for number, resource in enumerate(render(*ALL)):
        if resource["apiVersion"].startswith("monitoring.coreos.com"):  # in no schema of Kubernetes
            continue
        path = pathlib.Path(scratch) / f"{number}.yaml"
        path.write_text(yaml.safe_dump(resource))
        said = run(pathlib.Path(sys.executable).parent / "kubernetes-validate", "--strict", path)
        assert "WARN" not in said, said

    # What it renders without any value is deploy/kubernetes, but for labels and names of versions.
    kind = {r["kind"]: r for r in render()}
    assert set(kind) == {"ConfigMap", "Service", "StatefulSet", "PodDisruptionBudget", "NetworkPolicy"}, sorted(kind)
    config = yaml.safe_load(kind["ConfigMap"]["data"]["doppel.yaml"])
    assert config == load("deploy/kubernetes/doppel.yaml"), config
    path = pathlib.Path(scratch) / "doppel.yaml"
    path.write_text(kind["ConfigMap"]["data"]["doppel.yaml"])
    run(ARGS.binary, "config", "check", path)
    version = re.search(r'VERSION_STRING "(.*)"', (ARGS.source / "include/doppel/version.h").read_text())[1]
    chart = load("deploy/helm/doppel/Chart.yaml")
    assert chart["version"] == chart["appVersion"] == version, chart
    for name, file in (("StatefulSet", "statefulset"), ("Service", "service"), ("PodDisruptionBudget", "poddisruptionbudget"), ("NetworkPolicy", "networkpolicy")):
        text = json.dumps(kind[name]["spec"])
        text = text.replace(', "app.kubernetes.io/instance": "doppel"', "").replace(f'"doppel:{version}"', '"doppel"')
        spec = json.loads(text)
        if name == "StatefulSet":
            del spec["template"]["spec"]["containers"][0]["imagePullPolicy"], spec["template"]["metadata"]["annotations"]
        wanted = load(f"deploy/kubernetes/{file}.yaml")["spec"]
        assert spec == wanted, f"{name}:\n{json.dumps(spec, indent=1)}\nis not\n{json.dumps(wanted, indent=1)}"

    # Another port goes everywhere; changed settings restart it.
    other = {r["kind"]: r for r in render("--set", "config.http.listen=0.0.0.0:8080", release="crawl")}
    assert other["Service"]["spec"]["ports"][0]["port"] == 8080 and other["Service"]["metadata"]["name"] == "crawl-doppel"
    pod = other["StatefulSet"]["spec"]["template"]
    assert pod["spec"]["containers"][0]["ports"][0]["containerPort"] == 8080
    assert pod["metadata"]["annotations"] != kind["StatefulSet"]["spec"]["template"]["metadata"]["annotations"]

    # What is watched: the rules, alerts and dashboards of deploy/, with the address of the runbook where it is given.
    runbook = "https://wiki.example.org/doppel/runbook"
    for flags, address in ((ALL, None), (ALL + ["--set", f"prometheusRule.runbookUrl={runbook}"], runbook)):
        watched = {(r["kind"], r["metadata"]["name"]): r for r in render(*flags)}
        rules = [group for name in ("rules", "alerts") for group in load(f"deploy/prometheus/doppel-{name}.yml")["groups"]]
        boards = {p.name: json.loads(p.read_text()) for p in (ARGS.source / "deploy/grafana/dashboards").glob("*.json")}
        if address:
            for rule in rules[1]["rules"]:
                rule["annotations"]["runbook_url"] = address + "#" + rule["alert"].lower()
            for board in boards.values():
                board["links"][1]["url"] = address
        assert watched["PrometheusRule", "doppel"]["spec"]["groups"] == rules
        assert {n: json.loads(t) for n, t in watched["ConfigMap", "doppel-dashboards"]["data"].items()} == boards
        monitor = watched["ServiceMonitor", "doppel"]["spec"]
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
    # A value that the chart does not know is refused, and named.
    for wrong in ("serviceMonitor.enable=true", "networkPolicy.kafkaPort=9092", "podAnnotation.a=b", "storage.size=big", "config.http.listen=9464"):
        done = subprocess.run([HELM, "template", "doppel", CHART, "--set", wrong], capture_output=True, text=True)
        assert done.returncode != 0 and wrong.split("=")[0].split(".")[-1] in done.stderr, f"{wrong}: {done.stderr or 'no error'}"
    # A package of the chart holds all that it renders.
    run(HELM, "package", CHART, "--destination", scratch)
    packed = [r for r in yaml.safe_load_all(run(HELM, "template", "doppel", pathlib.Path(scratch) / f"doppel-{version}.tgz", "--namespace", "doppel", *ALL)) if r]
    assert packed == render(*ALL), "the packed chart renders something else"
print(f"{len(packed)} objects are valid and agree with deploy/kubernetes")

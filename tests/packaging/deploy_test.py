#!/usr/bin/env python3
"""Dockerfile, deploy/compose and deploy/kubernetes: valid for the strictest checkers there are, and in agreement with each
other: paths, ports, names, topics, users, limits. usage: deploy_test.py --source DIR --binary DOPPEL
Runs in the environment that tests/packaging/venv makes.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import yaml

import watched

parser = argparse.ArgumentParser()
parser.add_argument("--source", required=True)
parser.add_argument("--binary", required=True)
ARGS = parser.parse_args()
SOURCE = pathlib.Path(ARGS.source)
TOOLS = pathlib.Path(sys.executable).parent
problems = []


def check(good, message):
    if not good:
        problems.append(message)


def run(*command):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    check(done.returncode == 0, f"{' '.join(map(str, command))}:\n{done.stdout}")
    return done.stdout


def load(path):
    return yaml.safe_load((SOURCE / path).read_text())


def seconds(duration):
    number, unit = re.fullmatch(r"(\d+)\s*(s|m|min|h)?", str(duration)).groups()
    return int(number) * {None: 1, "s": 1, "m": 60, "min": 60, "h": 3600}[unit]


def bytes_of(size):
    number, unit = re.fullmatch(r"(\d+)([KMG]i?B?)", size).groups()
    return int(number) << {"K": 10, "M": 20, "G": 30}[unit[0]]


def port_of(config):
    return int(config["http"]["listen"].rsplit(":", 1)[1])


defaults = dict(re.findall(r"^(\S+)\n    .*; default: (.*)$", run(ARGS.binary, "config", "keys"), re.M))
shutdown = seconds(defaults["shutdown_timeout"])

# --- Dockerfile -----------------------------------------------------------------------------------
docker = (SOURCE / "Dockerfile").read_text()
uid, gid = re.search(r"^USER (\d+):(\d+)$", docker, re.M).groups()
check(f"--uid {uid}" in docker and f"--gid {gid}" in docker, "Dockerfile: USER is not the user that it makes")
image_env = dict(re.findall(r"(DOPPEL_\w+)=(\S+)", docker))
image_volume = re.search(r"^VOLUME (\S+)$", docker, re.M).group(1)
exposed = int(re.search(r"^EXPOSE (\d+)$", docker, re.M).group(1))
labels = dict(re.findall(r'org\.opencontainers\.image\.([\w.]+)="([^"]*)"', docker))
version = re.search(r'VERSION_STRING "(.*)"', (SOURCE / "include/doppel/version.h").read_text())[1]
description = re.search(r'^project\(doppel .*DESCRIPTION "(.*)"\)', (SOURCE / "CMakeLists.txt").read_text(), re.M)[1]
check((labels.get("version"), labels.get("description")) == (version, description), f"Dockerfile: its labels say {labels}, not {version}, {description}")
check(labels.get("base.name", "").endswith("/" + re.findall(r"^FROM (?:--\S+ )*(\S+)", docker, re.M)[-1]), "Dockerfile: base.name is not the image that it is built on")
for name in ("title", "licenses", "revision", "created"):
    check(labels.get(name), f"Dockerfile: no label {name}")

# --- What doppel reads in each deployment ---------------------------------------------------------
configs = {name: load(f"deploy/{name}/doppel.yaml") for name in ("compose", "kubernetes", "debian")}
for name, config in configs.items():
    run(ARGS.binary, "config", "check", SOURCE / f"deploy/{name}/doppel.yaml")
    check("http" not in config or config["http"]["listen"] == f"0.0.0.0:{exposed}", f"{name}: http.listen is not what the image exposes")
    check(config["state"]["directory"] == image_volume, f"{name}: state.directory is not {image_volume}")

# --- Compose --------------------------------------------------------------------------------------
folder = SOURCE / "deploy/compose"
run("docker-compose", "-f", folder / "compose.yaml", "config", "-q")
services = load("deploy/compose/compose.yaml")["services"]
volumes = load("deploy/compose/compose.yaml")["volumes"]
for name, service in services.items():
    for volume in service.get("volumes", []):
        origin = volume.split(":")[0]
        check(origin in volumes if origin[0] not in "./" else (folder / origin).exists(), f"compose: {name} mounts {origin}, which is not there")
    for needed in service.get("depends_on", {}):
        check(needed in services, f"compose: {name} depends on {needed}")
pom = (SOURCE / "scripts/kafka.d/pom.xml").read_text()
kafka_version = re.search(r"<kafka.version>([^<]+)<", pom).group(1)
for name in ("kafka", "topics", "producer"):
    check(services[name]["image"] == f"apache/kafka:{kafka_version}", f"compose: {name} is not Kafka {kafka_version}, with which doppel is tested")
config = configs["compose"]
broker, broker_port = config["kafka"]["brokers"].split(":")
kafka_env = services["kafka"]["environment"]
check(broker in services and f"PLAINTEXT://{broker}:{broker_port}" == kafka_env["KAFKA_ADVERTISED_LISTENERS"], "compose: doppel's broker is not what kafka advertises")
check(f"PLAINTEXT://:{broker_port}" in kafka_env["KAFKA_LISTENERS"], "compose: kafka does not listen where doppel asks")
(topic,) = config["kafka"]["topics"]
for name in ("topics", "producer"):
    command = " ".join(services[name]["command"])
    check(f"--topic {topic}" in command.replace(",", ""), f"compose: {name} is not about doppel's topic {topic}")
    check(config["kafka"]["brokers"] in command, f"compose: {name} asks another broker")
mounts = {v.split(":")[1]: v.split(":")[0] for v in services["doppel"]["volumes"]}
check(mounts.get(image_env["DOPPEL_CONFIG"]) == "./doppel.yaml", "compose: doppel.yaml is not mounted where the image looks")
check(image_volume in mounts, "compose: the state has no volume")
check(services["doppel"]["read_only"] is True, "compose: the root file system is not read-only")
check(services["doppel"]["ports"] == [f"127.0.0.1:{port_of(config)}:{port_of(config)}"], "compose: not http.listen's port is published")
check(seconds(services["doppel"]["stop_grace_period"]) > shutdown, "compose: stop_grace_period is not above shutdown_timeout")
scraped = load("deploy/compose/prometheus.yml")["scrape_configs"][0]["static_configs"][0]["targets"]
check(scraped == [f"doppel:{port_of(config)}"], "compose: Prometheus does not scrape doppel")
run("promtool", "check", "config", "--syntax-only", folder / "prometheus.yml")

check(services["grafana"]["environment"]["PROMETHEUS_URL"] == "http://prometheus:9090", "compose: Grafana asks another Prometheus")
check("PROMETHEUS_URL" in next((SOURCE / "deploy/grafana/provisioning/datasources").glob("*.y*ml")).read_text(), "compose: Grafana's source is not set by PROMETHEUS_URL")
(provider,) = yaml.safe_load(next((SOURCE / "deploy/grafana/provisioning/dashboards").glob("*.y*ml")).read_text())["providers"]
check(f"../grafana/dashboards:{provider['options']['path']}:ro" in services["grafana"]["volumes"], "compose: dashboards are not where Grafana looks")

# --- Kubernetes -----------------------------------------------------------------------------------
folder = SOURCE / "deploy/kubernetes"
listed = load("deploy/kubernetes/kustomization.yaml")
there = {f.name for f in folder.glob("*.yaml")} - {"kustomization.yaml", "doppel.yaml"}
check(set(listed["resources"]) == there, f"kubernetes: listed are {sorted(listed['resources'])}, there are {sorted(there)}")
check(listed["configMapGenerator"][0]["files"] == ["doppel.yaml"], "kubernetes: the config map is not made of doppel.yaml")
rendered = [r for r in yaml.safe_load_all(run("kubectl", "kustomize", folder)) if r]  # what kubectl apply -k would apply
with tempfile.TemporaryDirectory() as scratch:
    for resource in rendered:
        path = pathlib.Path(scratch) / f"{resource['kind']}.yaml"
        path.write_text(yaml.safe_dump(resource))
        said = run(TOOLS / "kubernetes-validate", "--strict", path)
        check("WARN" not in said, said)
kind = {r["kind"]: r for r in rendered}
check(len(kind) == len(rendered) == len(there) + 1, f"kubernetes: rendered are {sorted(kind)}")
namespace = kind["Namespace"]["metadata"]["name"]
for resource in rendered:
    if resource["kind"] != "Namespace":
        check(resource["metadata"].get("namespace") == namespace, f"kubernetes: {resource['kind']} is in another namespace")
check(yaml.safe_load(kind["ConfigMap"]["data"]["doppel.yaml"]) == configs["kubernetes"], "kubernetes: the config map is not doppel.yaml")
config = configs["kubernetes"]
stateful = kind["StatefulSet"]["spec"]
pod = stateful["template"]["spec"]
(container,) = pod["containers"]
labels = stateful["template"]["metadata"]["labels"]
for what, selector in (("StatefulSet", stateful["selector"]["matchLabels"]), ("Service", kind["Service"]["spec"]["selector"]),
                       ("PodDisruptionBudget", kind["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"]),
                       ("NetworkPolicy", kind["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"])):
    check(selector == labels, f"kubernetes: {what} selects other pods")
check("ServiceMonitor" not in kind, "kubernetes: a cluster without the Prometheus operator would refuse the ServiceMonitor")

# What the Prometheus operator and Grafana's sidecar take; the operator's kinds are in no schema of Kubernetes.
monitoring = {r["kind"]: r for r in yaml.safe_load_all(run("kubectl", "kustomize", folder / "monitoring")) if r}
check(set(monitoring) == {"ServiceMonitor", "PrometheusRule", "ConfigMap"}, f"kubernetes/monitoring: rendered are {sorted(monitoring)}")
for resource in monitoring.values():
    check(resource["metadata"]["namespace"] == namespace, f"kubernetes/monitoring: {resource['kind']} is in another namespace")
boards = {path.name: json.loads(path.read_text()) for path in (SOURCE / "deploy/grafana/dashboards").glob("*.json")}
rendered_boards = {name: json.loads(text) for name, text in monitoring["ConfigMap"]["data"].items()}
check(rendered_boards == boards and len(boards) == 5, f"kubernetes/monitoring: the config map has {sorted(rendered_boards)}")
check(monitoring["ConfigMap"]["metadata"]["labels"].get("grafana_dashboard") == "1", "kubernetes/monitoring: Grafana's sidecar does not find the dashboards")
check(sum(len(text) for text in monitoring["ConfigMap"]["data"].values()) < 900_000, "kubernetes/monitoring: too much for a config map")
rules = [group for name in ("rules", "alerts") for group in load(f"deploy/prometheus/doppel-{name}.yml")["groups"]]
check(monitoring["PrometheusRule"]["spec"]["groups"] == rules, "kubernetes/monitoring: other rules than in deploy/prometheus")
kind["ServiceMonitor"] = monitoring["ServiceMonitor"]
check(kind["ServiceMonitor"]["spec"]["selector"]["matchLabels"] == kind["Service"]["metadata"]["labels"], "kubernetes: ServiceMonitor selects another service")
check(kind["ServiceMonitor"]["spec"]["endpoints"][0]["port"] == kind["Service"]["spec"]["ports"][0]["name"], "kubernetes: ServiceMonitor names another port")
watched.check_alerts(rendered + list(monitoring.values()), 1)
check(stateful["replicas"] == 1, "kubernetes: one index, one process")
check(stateful["serviceName"] == kind["Service"]["metadata"]["name"], "kubernetes: serviceName is another service")
check(container["ports"][0]["containerPort"] == port_of(config) == kind["Service"]["spec"]["ports"][0]["port"], "kubernetes: not http.listen's port")
check(not config["http"]["listen"].startswith("127."), "kubernetes: probes cannot reach the loopback")
security = pod["securityContext"]
check([str(security[k]) for k in ("runAsUser", "runAsGroup", "fsGroup")] == [uid, gid, gid], "kubernetes: another user than the image's")
check(pod["terminationGracePeriodSeconds"] > shutdown, "kubernetes: terminationGracePeriodSeconds is not above shutdown_timeout")
check(container["startupProbe"]["periodSeconds"] * container["startupProbe"]["failureThreshold"] >= 3600, "kubernetes: startupProbe does not cover a long restore")
check(bytes_of(container["resources"]["limits"]["memory"]) > bytes_of(config["max_memory"]), "kubernetes: the limit is not above max_memory")
check(kind["PodDisruptionBudget"]["spec"]["maxUnavailable"] >= 1, "kubernetes: drains are blocked")
paths = {m["mountPath"]: m["name"] for m in container["volumeMounts"]}
check(paths.get(str(pathlib.Path(image_env["DOPPEL_CONFIG"]).parent)) == "config", "kubernetes: no configuration where the image looks")
check(paths.get(image_volume) == stateful["volumeClaimTemplates"][0]["metadata"]["name"], "kubernetes: the state has no volume")
kafka_port = int(config["kafka"]["brokers"].rsplit(":", 1)[1])
check(any(p["port"] == kafka_port for rule in kind["NetworkPolicy"]["spec"]["egress"] for p in rule["ports"]), "kubernetes: NetworkPolicy keeps doppel from Kafka")
volumes = {v["name"]: v for v in pod["volumes"]}
check(volumes["config"]["configMap"]["name"] == kind["ConfigMap"]["metadata"]["name"], "kubernetes: the pods mount another config map")
check(container["image"] == f"doppel:{version}" == "doppel:" + listed["images"][0]["newTag"], f"kubernetes: the image is {container['image']}")

# A standby: two daemons with volumes of their own, one key, and probes that a standby passes.
with tempfile.TemporaryDirectory() as overlay:
    base = os.path.relpath(folder.resolve(), pathlib.Path(overlay).resolve())
    (pathlib.Path(overlay) / "kustomization.yaml").write_text(yaml.safe_dump({"resources": [base, base + "/monitoring"], "components": [base + "/standby"]}))
    both = [r for r in yaml.safe_load_all(run("kubectl", "kustomize", overlay)) if r]
(stateful,) = [r["spec"] for r in both if r["kind"] == "StatefulSet"]
(container,) = stateful["template"]["spec"]["containers"]
check(stateful["replicas"] == 2 and stateful["podManagementPolicy"] == "Parallel", "kubernetes/standby: not two daemons that start by themselves")
check("optional" not in container["envFrom"][0]["secretRef"], "kubernetes/standby: each daemon would make a key of its own")
for probe in ("startupProbe", "readinessProbe"):
    check(container[probe]["httpGet"]["path"] == "/ready?standby", f"kubernetes/standby: the {probe} fails while a standby waits")
watched.check_alerts(both, 2)

# --- One index on many machines -------------------------------------------------------------------
def rendered_cluster():
    folder = SOURCE / "deploy/kubernetes/cluster"
    for name in ("cluster.yaml",):
        run(ARGS.binary, "config", "check", folder / name)
    objects = [r for r in yaml.safe_load_all(run("kubectl", "kustomize", folder)) if r]
    with tempfile.TemporaryDirectory() as scratch:
        for number, resource in enumerate(objects):
            path = pathlib.Path(scratch) / f"{number}.yaml"
            path.write_text(yaml.safe_dump(resource))
            said = run(TOOLS / "kubernetes-validate", "--strict", path)
            check("WARN" not in said, said)
    return objects


objects = rendered_cluster()
cluster = load("deploy/kubernetes/cluster/cluster.yaml")
check(cluster["cluster"]["order"] not in cluster["kafka"]["topics"], "cluster: signers read what they write")
check(cluster["http"]["listen"] == f"0.0.0.0:{exposed}" and cluster["state"]["directory"] == image_volume, "cluster: another port or directory than the image's")
(map_,) = [r for r in objects if r["kind"] == "ConfigMap"]
workloads = {r["metadata"]["labels"]["app.kubernetes.io/component"]: r for r in objects if r["kind"] in ("Deployment", "StatefulSet")}
check(set(workloads) == {"signer", "resolver", "matcher"}, f"cluster: workloads are {sorted(workloads)}")
budgets = [r["spec"]["selector"]["matchLabels"] for r in objects if r["kind"] == "PodDisruptionBudget"]
(service,) = [r for r in objects if r["kind"] == "Service"]
for component, workload in workloads.items():
    spec, pod = workload["spec"], workload["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    own = spec["template"]["metadata"]["labels"]
    check(spec["selector"]["matchLabels"] == own and any(b.items() <= own.items() for b in budgets), f"cluster: {component} has no budget, or selects other pods")
    check(service["spec"]["selector"].items() <= own.items(), f"cluster: the service leaves {component} out")
    check(workload["kind"] == "Deployment" or spec["serviceName"] == service["metadata"]["name"], f"cluster: {component} names another service")
    check(pod["terminationGracePeriodSeconds"] > shutdown, f"cluster: {component} is killed before shutdown_timeout")
    check(pod["securityContext"]["runAsUser"] == int(uid), f"cluster: {component} runs as another user")
    check(container["image"] == f"doppel:{version}", f"cluster: {component} has the image {container['image']}")
    env = {e["name"]: e for e in container["env"]}
    check(pathlib.Path(env["DOPPEL_CONFIG"]["value"]).name in map_["data"], f"cluster: {component} reads a file that is not there")
    # The command as the container would run it takes these settings.
    shards = [a.replace("$(POD_INDEX)", str(i)) for i in range(spec["replicas"]) for a in [env.get("DOPPEL_CLUSTER_SHARDS", {}).get("value", "")]]
    if component == "matcher":
        check(shards == [f"{i}/{spec['replicas']}" for i in range(spec["replicas"])], f"cluster: the matchers' shards are {shards}")
    check(container["args"] == ["serve", "--role", component], f"cluster: {component} runs {container['args']}")
    check(all(p in container for p in ("startupProbe", "readinessProbe", "livenessProbe")), f"cluster: {component} lacks a probe")

watched.check_alerts(objects + list(monitoring.values()), 8)

folder = SOURCE / "deploy/compose"
run("docker-compose", "-f", folder / "compose.yaml", "-f", folder / "cluster.yaml", "config", "-q")
run(ARGS.binary, "config", "check", folder / "cluster/doppel.yaml")
run("promtool", "check", "config", "--syntax-only", folder / "cluster/prometheus.yml")
together = load("deploy/compose/cluster.yaml")["services"]
config = load("deploy/compose/cluster/doppel.yaml")
daemons = [name for name, service in together.items() if service.get("command", [""])[0] == "serve"]
targets = load("deploy/compose/cluster/prometheus.yml")["scrape_configs"][0]["static_configs"][0]["targets"]
check(targets == [f"{name}:{port_of(config)}" for name in daemons], f"compose/cluster: Prometheus scrapes {targets}")
for name, service in together.items():
    for volume in service.get("volumes", []):
        origin = volume.split(":")[0]
        check(origin[0] != "." or (folder / origin).exists(), f"compose/cluster: {name} mounts {origin}, which is not there")

if problems:
    sys.exit("\n".join(problems))
print(f"Dockerfile, {len(services)} services and {len(kind)} objects are valid and agree, {len(together)} services and {len(objects)} objects of a cluster too")

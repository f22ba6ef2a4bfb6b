"""What Prometheus would make of rendered objects: the pods behind a Service, scraped as a ServiceMonitor says, under the rules of a
PrometheusRule. promtool does the relabelling and evaluates the rules.
"""
import json
import pathlib
import re
import subprocess
import tempfile

import yaml

# The Prometheus operator puts these before the relabelings of an endpoint.
OPERATOR = [{"source_labels": [f"__meta_kubernetes_{meta}"], "target_label": label}
            for meta, label in (("namespace", "namespace"), ("service_name", "service"), ("pod_name", "pod"), ("service_name", "job"))]
OPERATOR.append({"target_label": "endpoint", "replacement": "http"})


def promtool(*command):
    done = subprocess.run(["promtool", *map(str, command)], capture_output=True, text=True)
    assert done.returncode == 0, f"promtool {' '.join(map(str, command))}:\n{done.stdout}{done.stderr}"
    return done.stdout


def selects(selector, labels):
    return selector["matchLabels"].items() <= labels.items()


def targets(objects, folder):
    """The labels of each pod's target, for every Service that the ServiceMonitor selects."""
    (monitor,) = [o for o in objects if o["kind"] == "ServiceMonitor"]
    services = [o for o in objects if o["kind"] == "Service" and selects(monitor["spec"]["selector"], o["metadata"]["labels"])]
    found = []
    for service in services:
        for workload in objects:
            template = workload["spec"]["template"]["metadata"]["labels"] if workload["kind"] in ("StatefulSet", "Deployment") else {}
            if not service["spec"]["selector"].items() <= template.items():
                continue
            for i in range(workload["spec"]["replicas"]):
                found.append({"targets": [f"10.0.{len(found)}.1:9464"],
                              "labels": {"__meta_kubernetes_namespace": service["metadata"].get("namespace", "default"),
                                         "__meta_kubernetes_service_name": service["metadata"]["name"],
                                         "__meta_kubernetes_pod_name": f"{workload['metadata']['name']}-{i}"}})
    (endpoint,) = monitor["spec"]["endpoints"]
    snake = [{re.sub("[A-Z]", lambda c: "_" + c[0].lower(), key): value for key, value in step.items()} for step in endpoint.get("relabelings", [])]
    config = folder / "prometheus.yml"
    config.write_text(yaml.safe_dump({"scrape_configs": [{"job_name": "by-the-operator", "static_configs": found, "relabel_configs": OPERATOR + snake}]}))
    shown = json.loads(promtool("check", "service-discovery", "--timeout", "1s", config, "by-the-operator"))
    return [{name: value for name, value in target["labels"].items() if not name.startswith("__")} for target in shown]


def series(name, labels):
    return name + "{" + ", ".join(f'{key}="{value}"' for key, value in sorted(labels.items())) + "}"


def check_alerts(objects, pods):
    """DoppelDown fires for the pod that does not answer, and DoppelAbsent if there is no pod at all; neither fires for pods that answer."""
    (rule,) = [o for o in objects if o["kind"] == "PrometheusRule"]
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        (folder / "rules.yml").write_text(yaml.safe_dump({"groups": rule["spec"]["groups"]}))
        labels = targets(objects, folder)
        assert len(labels) == pods, f"Prometheus would scrape {len(labels)} pods, not {pods}: {labels}"
        up = [series("up", each) for each in labels]

        def case(name, answers, down=(), absent=()):
            def fires(alert, expected):
                samples = [{"labels": series("ALERTS", {"alertname": alert, "alertstate": "firing", "severity": "critical", **each}), "value": 1} for each in expected]
                return {"expr": f'ALERTS{{alertname="{alert}", alertstate="firing"}}', "eval_time": "20m", "exp_samples": samples}
            return {"name": name, "interval": "1m", "input_series": [{"series": s, "values": v} for s, v in answers],
                    "promql_expr_test": [fires("DoppelDown", down), fires("DoppelAbsent", absent)]}

        tests = [case("all answer", [(s, "1x30") for s in up]),
                 case("one does not", [(s, "1x5 0x30" if s is up[0] else "1x30") for s in up], down=labels[:1]),
                 case("there is none", [(series("up", {"job": "node"}), "1x30")], absent=[{"job": "doppel"}])]
        (folder / "test.yml").write_text(yaml.safe_dump({"rule_files": ["rules.yml"], "evaluation_interval": "1m", "tests": tests}))
        promtool("test", "rules", folder / "test.yml")

#!/usr/bin/env python3
"""Recording rules and alerts: promtool takes them, each alert has a case that fires and one that does not, an entry in the runbook,
and asks only for metrics that docs/metrics.md knows. usage: alerts_test.py PROJECT
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

root = pathlib.Path(sys.argv[1])
folder = root / "deploy" / "prometheus"
alerts_text = (folder / "doppel-alerts.yml").read_text()
rules_text = (folder / "doppel-rules.yml").read_text()
cases = (folder / "tests" / "doppel_test.yml").read_text()
runbook = (root / "docs" / "runbook.md").read_text()
# Where the package installs it.
RUNBOOK = "file:///usr/share/doc/doppel/docs/runbook.md"
wrong = []


def promtool(*arguments, where=folder):
    done = subprocess.run(["promtool", *arguments], cwd=where, capture_output=True, text=True)
    if done.returncode != 0:
        wrong.append(f"promtool {' '.join(arguments)}:\n{done.stdout}{done.stderr}")


promtool("check", "rules", "doppel-rules.yml", "doppel-alerts.yml")
promtool("check", "config", "prometheus.yml")
promtool("test", "rules", "doppel_test.yml", where=folder / "tests")

alerts = re.findall(r"- alert: (\w+)", alerts_text)
# What happens without an alert is under the last heading of the first level, "Without an alert".
entries, _, others = runbook.partition("\n# Without an alert\n")
anchors = [title.strip().lower() for title in re.findall(r"^## (.*)$", entries, re.M)]
headings = anchors + [title.strip().lower().replace(" ", "-") for title in re.findall(r"^## (.*)$", others, re.M)]
urls = re.findall(r'runbook_url: "(.*)"', alerts_text)
if len(alerts) < 15 or len(urls) != len(alerts):
    wrong.append(f"{len(alerts)} alerts, {len(urls)} addresses of the runbook")
for alert, url in zip(alerts, urls):
    if url != f"{RUNBOOK}#{alert.lower()}":
        wrong.append(f"{alert}: its runbook_url is {url}")
    if alert.lower() not in anchors:
        wrong.append(f"{alert}: docs/runbook.md has no entry")
    for what in ("fires", "is silent"):
        if not re.search(rf"- name: {alert}(/\w+)? {what}$", cases, re.M):
            wrong.append(f"{alert}: no case in which it {what}")
for anchor in anchors:
    if anchor not in [alert.lower() for alert in alerts]:
        wrong.append(f"docs/runbook.md: {anchor} is no alert")
for target in re.findall(r"\]\(#([\w-]+)\)", runbook):
    if target not in headings:
        wrong.append(f"docs/runbook.md: #{target} leads nowhere")

# The object for the Prometheus operator says the same, and another address of the runbook comes everywhere.
if subprocess.run([folder / "make_rules", "--check"]).returncode != 0:
    wrong.append("prometheusrule.yaml is not what make_rules writes")
groups = rules_text.partition("\ngroups:\n")[2] + alerts_text.partition("\ngroups:\n")[2]
spec = re.sub("^  ", "", (folder / "prometheusrule.yaml").read_text().partition("\n  groups:\n")[2], flags=re.M)
if not spec or spec != groups:
    wrong.append("prometheusrule.yaml: its groups are not those of doppel-rules.yml and doppel-alerts.yml")
with tempfile.TemporaryDirectory() as scratch:
    copy = pathlib.Path(scratch) / "deploy"
    shutil.copytree(root / "deploy", copy)
    other = "https://wiki.example.org/doppel/runbook"
    subprocess.run([copy / "prometheus/make_rules", "--runbook", other], check=True)
    for name in ("doppel-alerts.yml", "prometheusrule.yaml"):
        text = (copy / "prometheus" / name).read_text()
        if RUNBOOK in text.partition("groups:")[2] or text.count(other + "#doppel") != len(alerts):
            wrong.append(f"make_rules --runbook has not changed every address in {name}")
    promtool("check", "rules", "doppel-rules.yml", "doppel-alerts.yml", where=copy / "prometheus")
    for board in (copy / "grafana/dashboards").glob("*.json"):
        if other not in [link["url"] for link in json.loads(board.read_text())["links"]]:
            wrong.append(f"make_rules --runbook has not changed the link of {board.name}")
    if subprocess.run([copy / "prometheus/make_rules", "--runbook", "docs/runbook.md"], stderr=subprocess.DEVNULL).returncode == 0:
        wrong.append("make_rules --runbook takes an address that is not absolute")

documented = set(re.findall(r"^\| `(\w+)`", (root / "docs" / "metrics.md").read_text(), re.M))
for text in (alerts_text, rules_text, runbook):
    for name in set(re.findall(r"\b(?:doppel|process)_[a-z_]+\b", text)):
        if name not in documented:
            wrong.append(f"{name}: docs/metrics.md does not know it")

print("\n".join(wrong) or f"{len(alerts)} alerts, each with cases and an entry in the runbook")
sys.exit(1 if wrong else 0)

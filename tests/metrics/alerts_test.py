#!/usr/bin/env python3
"""Recording rules and alerts: promtool takes them, each alert has a case that fires and one that does not, an entry in the runbook,
and asks only for metrics that docs/metrics.md knows. usage: alerts_test.py PROJECT
"""
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(sys.argv[1])
folder = root / "deploy" / "prometheus"
alerts_text = (folder / "doppel-alerts.yml").read_text()
rules_text = (folder / "doppel-rules.yml").read_text()
cases = (folder / "tests" / "doppel_test.yml").read_text()
runbook = (root / "docs" / "runbook.md").read_text()
wrong = []


def promtool(*arguments, where=folder):
    done = subprocess.run(["promtool", *arguments], cwd=where, capture_output=True, text=True)
    if done.returncode != 0:
        wrong.append(f"promtool {' '.join(arguments)}:\n{done.stdout}{done.stderr}")


promtool("check", "rules", "doppel-rules.yml", "doppel-alerts.yml")
promtool("check", "config", "prometheus.yml")
promtool("test", "rules", "doppel_test.yml", where=folder / "tests")

alerts = re.findall(r"- alert: (\w+)", alerts_text)
anchors = [title.strip().lower() for title in re.findall(r"^## (.*)$", runbook, re.M)]
urls = re.findall(r'runbook_url: "(.*)"', alerts_text)
if len(alerts) < 15 or len(urls) != len(alerts):
    wrong.append(f"{len(alerts)} alerts, {len(urls)} addresses of the runbook")
for alert, url in zip(alerts, urls):
    if url != f"docs/runbook.md#{alert.lower()}":
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
    if target not in anchors:
        wrong.append(f"docs/runbook.md: #{target} leads nowhere")

documented = set(re.findall(r"^\| `(\w+)`", (root / "docs" / "metrics.md").read_text(), re.M))
for text in (alerts_text, rules_text, runbook):
    for name in set(re.findall(r"\b(?:doppel|process)_[a-z_]+\b", text)):
        if name not in documented:
            wrong.append(f"{name}: docs/metrics.md does not know it")

print("\n".join(wrong) or f"{len(alerts)} alerts, each with cases and an entry in the runbook")
sys.exit(1 if wrong else 0)

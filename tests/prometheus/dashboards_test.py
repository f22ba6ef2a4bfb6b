#!/usr/bin/env python3
"""The dashboards as far as they can be judged without Grafana: identities, places, units, legends, thresholds, and metrics that exist. Where
Grafana's own foundation SDK is installed, each file must also survive its schema without losing a key. usage: dashboards_test.py PROJECT
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

root = pathlib.Path(sys.argv[1])
known = set(re.findall(r"^\| `(\w+)`", (root / "docs/metrics.md").read_text(), re.M))
recorded = set(re.findall(r"record: (\S+)", (root / "deploy/prometheus/doppel-rules.yml").read_text()))
wrong, expressions = [], []


def check_queries(where, expr):
    for name in re.findall(r"\bdoppel:[\w:]+", expr):
        if name not in recorded:
            wrong.append(f"{where}: no rule records {name}")
    for name in re.findall(r"\b(?:doppel|process)_\w+", expr):
        if re.sub(r"_(bucket|sum|count)$", "", name) not in known and name not in known:
            wrong.append(f"{where}: docs/metrics.md does not know {name}")


def check_panel(board, panel, taken):
    where = f"{board['title']} / {panel['title']}"
    place = panel["gridPos"]
    for x in range(place["x"], place["x"] + place["w"]):
        for y in range(place["y"], place["y"] + place["h"]):
            if (x, y) in taken or x >= 24:
                wrong.append(f"{where}: lies on another panel, or outside")
                return
            taken.add((x, y))
    if panel["type"] == "row":
        return
    defaults = panel["fieldConfig"]["defaults"]
    if not defaults["unit"] or not panel["description"] or not defaults["thresholds"]["steps"]:
        wrong.append(f"{where}: has no unit, description or thresholds")
    references = [t["refId"] for t in panel["targets"]]
    if len(set(references)) != len(references) or not references:
        wrong.append(f"{where}: queries {references}")
    for target in panel["targets"]:
        legend = target["legendFormat"]
        if not legend:
            wrong.append(f"{where}: a query without a legend")
        # Legends are words. What labels say is a name where it names a thing of the user's, and a word of ours that is renamed otherwise.
        fixed = re.sub(r"{{\w+}}", "", legend)
        if re.search(r"_|^p\d+$", fixed) or (panel["type"] == "timeseries" and "/s" in fixed):
            wrong.append(f"{where}: the legend {legend} is no word")
        ours = set(re.findall(r"{{(\w+)}}", legend)) & {"verdict", "kind", "reason", "stage", "result"}
        if ours and not any(t["id"] == "renameByRegex" and t["options"]["regex"] == "/_/g" for t in panel.get("transformations", [])):
            wrong.append(f"{where}: {legend} shows {', '.join(sorted(ours))} as they are")
        check_queries(where, target["expr"])
        expressions.append(target["expr"])


def through_sdk(path, board):
    try:
        from grafana_foundation_sdk.cog.encoder import JSONEncoder
        from grafana_foundation_sdk.models.dashboard import Dashboard
        from grafana_foundation_sdk.cog.plugins import register_default_plugins
    except ImportError:
        return False
    register_default_plugins()
    beyond = ("titleFormat", "textFormat", "step")  # what the Prometheus data source reads of an annotation
    back = json.loads(JSONEncoder(sort_keys=True).encode(Dashboard.from_json(board)))

    def lost(a, b, at):
        if isinstance(a, dict) and isinstance(b, dict):
            for key in a:
                if key not in b:
                    if a[key] not in (None, "", [], False) and not ("annotations" in at and key in beyond):
                        wrong.append(f"{path.name}: {at}.{key} is unknown to Grafana's schema")
                else:
                    lost(a[key], b[key], f"{at}.{key}")
        elif isinstance(a, list) and isinstance(b, list):
            for i, (x, y) in enumerate(zip(a, b)):
                lost(x, y, f"{at}[{i}]")
        elif a != b:
            wrong.append(f"{path.name}: {at} becomes {b!r}, was {a!r}")

    lost(board, back, "dashboard")
    return True


boards, checked = {}, False
for path in sorted((root / "deploy/grafana/dashboards").glob("*.json")):
    board = json.loads(path.read_text())
    boards[board["uid"]] = board
    if path.stem != board["uid"]:
        wrong.append(f"{path.name}: its uid is {board['uid']}")
    numbers = [p["id"] for p in board["panels"]]
    if len(set(numbers)) != len(numbers):
        wrong.append(f"{path.name}: panels share an id")
    taken = set()
    for panel in board["panels"]:
        check_panel(board, panel, taken)
    for mark in board["annotations"]["list"]:
        check_queries(f"{path.name}: {mark['name']}", mark["expr"])
    names = [v["name"] for v in board["templating"]["list"]]
    if names != ["datasource", "job", "instance", "topic"]:
        wrong.append(f"{path.name}: variables {names}")
    if not any(re.match(r"[a-z]+://.*runbook", link["url"]) for link in board["links"]):
        wrong.append(f"{path.name}: no way to the runbook")
    checked = through_sdk(path, board) or checked
titles = {panel["title"]: panel for board in boards.values() for panel in board["panels"]}
for title, kind, unit in (("Up since", "stat", "dateTimeAsIso"), ("Processor cores", "timeseries", "short"), ("Resident memory", "timeseries", "bytes"),
                          ("Events", "timeseries", "eps"), ("Alerts", "table", "none")):
    panel = titles.get(title)
    if not panel or (panel["type"], panel["fieldConfig"]["defaults"]["unit"]) != (kind, unit):
        wrong.append(f"no panel {title} of kind {kind} and unit {unit}")

# promtool takes each query, filled in as Grafana would.
if shutil.which("promtool"):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "queries.yml"
        filled = [re.sub(r"\$__\w+", "5m", e) for e in expressions]
        filled = [re.sub(r"\$\w+", ".*", e) for e in filled]
        path.write_text(json.dumps({"groups": [{"name": "q", "rules": [{"record": f"q:{i}", "expr": e} for i, e in enumerate(filled)]}]}))
        done = subprocess.run(["promtool", "check", "rules", path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            wrong.append(done.stdout)
if len(boards) != 5:
    wrong.append(f"{len(boards)} dashboards")
print("\n".join(wrong) or f"{len(boards)} dashboards, {'also by' if checked else 'not by'} Grafana's schema")
sys.exit(1 if wrong else 0)

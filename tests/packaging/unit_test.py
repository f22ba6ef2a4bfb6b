#!/usr/bin/env python3
"""The systemd unit: known to systemd, hardened, and in agreement with the program. usage: unit_test.py --source DIR --binary DOPPEL"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("--source", required=True)
parser.add_argument("--binary", required=True)
ARGS = parser.parse_args()
UNIT = pathlib.Path(ARGS.source) / "deploy/systemd/doppel.service"
EXPOSURE_MAX = 15  # tenths

if not shutil.which("systemd-analyze"):
    sys.exit(77)
text = UNIT.read_text()

with tempfile.TemporaryDirectory() as folder:
    # Unknown settings are told on stderr only. The program is not installed here: let the unit name the built one.
    unit = pathlib.Path(folder) / "doppel.service"
    unit.write_text(text.replace("/usr/bin/doppel", ARGS.binary).replace("User=doppel\nGroup=doppel\n", ""))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    told = [line for line in done.stdout.splitlines() if "doppel" in line]
    assert not told and done.returncode == 0, "\n".join(told) or done.stdout

done = subprocess.run(["systemd-analyze", "security", "--offline=true", f"--threshold={EXPOSURE_MAX}", UNIT],
                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
assert done.returncode == 0, done.stdout
print(done.stdout.strip().splitlines()[-1])


def setting(name):
    return re.search(rf"^{name}=(.*)$", text, re.M).group(1)


def seconds(duration):
    number, unit = re.fullmatch(r"(\d+)\s*(s|min|h|m)?", duration).groups()
    return int(number) * {None: 1, "s": 1, "m": 60, "min": 60, "h": 3600}[unit]


defaults = dict(re.findall(r"^(\S+)\n    .*; default: (.*)$",
                           subprocess.run([ARGS.binary, "config", "keys"], stdout=subprocess.PIPE, text=True, check=True).stdout, re.M))
assert setting("Type") == "notify"
assert set(setting("RestartPreventExitStatus").split()) == {"2", "70"}
assert seconds(setting("TimeoutStopSec")) > seconds(defaults["shutdown_timeout"])
assert seconds(setting("WatchdogSec")) > 2 * seconds(defaults["kafka.commit_deadline"])

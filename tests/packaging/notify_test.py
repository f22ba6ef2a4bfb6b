#!/usr/bin/env python3
"""What `doppel serve` tells its supervisor, over a real notify socket. usage: notify_test.py --binary DOPPEL"""
import argparse
import json
import os
import pathlib
import signal
import socket
import subprocess
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("--binary", required=True)
BINARY = parser.parse_args().binary


class Supervisor:
    """systemd's end of the socket."""

    def __init__(self, folder):
        self.path = str(folder / "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.socket.settimeout(60)
        self.heard = []

    def until(self, assignment):
        """Listens until something is told; what came before stays in heard."""
        while True:
            told = self.socket.recv(4096).decode().split("\n")
            self.heard += told
            if assignment in told:
                return


with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary)
    inbox = folder / "inbox"
    inbox.mkdir()
    command = [BINARY, "serve", "--state", folder / "state", "-o", folder / "events.jsonl", inbox]
    text = " ".join(f"word{i}" for i in range(50))

    for start in (1, 2):
        supervisor = Supervisor(folder)
        daemon = subprocess.Popen(command, stderr=subprocess.PIPE,
                                  env={**os.environ, "NOTIFY_SOCKET": supervisor.path, "WATCHDOG_USEC": "400000"})
        try:
            supervisor.until("READY=1")
            assert supervisor.heard[0] == "STATUS=starting", supervisor.heard
            assert "STATUS=loading the index" in supervisor.heard and "EXTEND_TIMEOUT_USEC=120000000" in supervisor.heard
            # Alive without a document, and with some.
            for _ in range(3):
                supervisor.until("WATCHDOG=1")
            for i in range(2):
                (folder / "part").write_text(json.dumps({"id": f"{start}-{i}", "text": text}) + "\n")
                (folder / "part").rename(inbox / f"{start}-{i}.jsonl")
            supervisor.until("WATCHDOG=1")
            assert "STOPPING=1" not in supervisor.heard
            daemon.send_signal(signal.SIGTERM)
            supervisor.until("STOPPING=1")
            said = daemon.communicate(timeout=60)[1].decode()
            assert daemon.returncode == 0, said
        finally:
            daemon.kill()
            supervisor.socket.close()
            os.unlink(supervisor.path)

    # A stopped process is not alive: nothing feeds the watchdog but the loop itself.
    supervisor = Supervisor(folder)
    daemon = subprocess.Popen(command, stderr=subprocess.DEVNULL,
                              env={**os.environ, "NOTIFY_SOCKET": supervisor.path, "WATCHDOG_USEC": "400000"})
    try:
        supervisor.until("READY=1")
        supervisor.until("WATCHDOG=1")
        daemon.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, daemon.pid, os.WSTOPPED)
        supervisor.socket.settimeout(1)
        silent = False
        for _ in range(20):  # what was sent before
            try:
                supervisor.socket.recv(4096)
            except TimeoutError:
                silent = True
                break
        assert silent, "a stopped daemon still says that it is alive"
    finally:
        daemon.kill()
        daemon.wait()
        supervisor.socket.close()
print("READY, STATUS, WATCHDOG and STOPPING were told")

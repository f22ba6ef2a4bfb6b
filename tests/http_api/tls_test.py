#!/usr/bin/env python3
"""A daemon that speaks HTTPS, asked by Python: certificates that are checked, required, and replaced while it runs.

usage: tls_test.py --binary DOPPEL
"""
import argparse
import atexit
import http.client
import json
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, stderr=subprocess.DEVNULL)


def authority(name):
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", 2, "-subj", "/CN=authority",
            "-keyout", f"{name}.key", "-out", f"{name}.pem")


def certificate(name, by, host="localhost"):
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", f"/CN={host}",
            "-addext", f"subjectAltName=DNS:{host}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
    openssl("x509", "-req", "-days", 2, "-copy_extensions", "copy", "-CAcreateserial", "-in", f"{name}.csr",
            "-CA", f"{by}.pem", "-CAkey", f"{by}.key", "-out", f"{name}.pem")


class Daemon:
    def __init__(self, binary, folder, **settings):
        self.config = folder / "doppel.yaml"
        lines = ["state: {directory: %s}" % (folder / "state"), "http:", '  listen: "127.0.0.1:0"']
        lines += [f'  {key}: "{value}"' for key, value in settings.items()]
        self.config.write_text("\n".join(lines) + "\n")
        self.process = subprocess.Popen([binary, "serve", "--config", self.config, "--log-format", "json"],
                                        stderr=subprocess.PIPE, text=True)
        atexit.register(self.process.kill)  # also if a check fails
        url = self.log("listening")["url"]
        assert url.startswith("https://127.0.0.1:"), url
        self.port = int(url.rsplit(":", 1)[1])
        self.log("ready")

    def log(self, message):
        for line in self.process.stderr:
            said = json.loads(line)
            if message in said["message"]:
                return said
        raise AssertionError(f"the log ended without {message!r}")

    def ask(self, context, method, path, body=None, **headers):
        connection = http.client.HTTPSConnection("localhost", self.port, context=context, timeout=60)
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        said = answer.status, answer.read().decode()
        connection.close()
        return said

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(60) == 0


def refused(call):
    try:
        call()
    except (ssl.SSLError, ConnectionError, http.client.RemoteDisconnected):
        return True
    return False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    binary = parser.parse_args().binary
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        authority(folder / "ca")
        authority(folder / "client-ca")
        certificate(folder / "one", folder / "ca")
        certificate(folder / "two", folder / "ca")
        certificate(folder / "client", folder / "client-ca")
        for end in (".pem", ".key"):
            shutil.copy(folder / f"one{end}", folder / f"served{end}")
        settings = dict(tls_certificate=folder / "served.pem", tls_key=folder / "served.key")
        daemon = Daemon(binary, folder, **settings)
        trusting = ssl.create_default_context(cafile=folder / "ca.pem")

        # Documents in, verdicts out, in both versions of TLS, and a body of many records.
        lines = "".join(json.dumps({"id": str(i), "text": f"document {i} " + f"word{i} " * 800}) + "\n" for i in range(500))
        status, body = daemon.ask(trusting, "POST", "/v1/documents", lines, **{"Content-Type": "application/x-ndjson"})
        assert status == 200 and body.count("\n") == 500, (status, body[:300])
        older = ssl.create_default_context(cafile=folder / "ca.pem")
        older.maximum_version = ssl.TLSVersion.TLSv1_2
        assert daemon.ask(older, "GET", "/live")[0] == 200
        assert refused(lambda: daemon.ask(ssl.create_default_context(cafile=folder / "client-ca.pem"), "GET", "/live"))

        # Plain HTTP gets no answer, and the daemon lives.
        with socket.create_connection(("127.0.0.1", daemon.port), timeout=60) as plain:
            plain.sendall(b"GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n")
            try:
                assert not plain.recv(1000).startswith(b"HTTP")
            except ConnectionResetError:
                pass
        assert daemon.ask(trusting, "GET", "/ready")[0] == 200
        health = subprocess.run([binary, "health", "--url", f"https://127.0.0.1:{daemon.port}"], capture_output=True, text=True)
        assert health.returncode == 0 and '"live"' in health.stdout, health

        # SIGHUP: a bad pair changes nothing, a good one shows at once.
        def shown():
            with ssl.create_default_context(cafile=folder / "ca.pem").wrap_socket(
                    socket.create_connection(("127.0.0.1", daemon.port)), server_hostname="localhost") as stream:
                return ssl.DER_cert_to_PEM_cert(stream.getpeercert(True)).split()

        def pem(name):
            return (folder / name).read_text().split()

        assert shown() == pem("one.pem")
        shutil.copy(folder / "two.pem", folder / "served.pem")  # without its key
        daemon.process.send_signal(signal.SIGHUP)
        said = daemon.log("cannot be read again")
        assert said["level"] == "error" and "http.tls_key" in said["error"], said
        assert shown() == pem("one.pem")
        shutil.copy(folder / "two.key", folder / "served.key")
        daemon.process.send_signal(signal.SIGHUP)
        assert daemon.log("certificate read again")["valid_until"]
        assert shown() == pem("two.pem")
        daemon.end()

        # Clients need a certificate.
        daemon = Daemon(binary, folder, tls_client_ca=folder / "client-ca.pem", **settings)
        assert refused(lambda: daemon.ask(trusting, "GET", "/live"))
        certified = ssl.create_default_context(cafile=folder / "ca.pem")
        certified.load_cert_chain(folder / "client.pem", folder / "client.key")
        for _ in range(2):
            assert daemon.ask(certified, "GET", "/live")[0] == 200
        daemon.end()

        # A start with half of a pair says so.
        half = subprocess.run([binary, "serve", "--state", folder / "state", "--http", "127.0.0.1:0", "--set",
                               f"http.tls_certificate={folder / 'one.pem'}"], capture_output=True, text=True)
        assert half.returncode == 2 and "set both, or neither" in half.stderr, half
    print("TLS: as it should be")


if __name__ == "__main__":
    main()

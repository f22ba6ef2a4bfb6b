"""Ports for what tests start. They lie below those that the system gives to connections, so that no connection can take one before
the test does, and apart from those that scripts/kafka and tests/docs/run_page.py choose."""
import random
import socket

_given = set()


def free_port():
    """One on which nobody listens, and which this process was not given before."""
    for port in random.sample(range(10_000, 15_000), 5_000):
        if port in _given:
            continue
        try:
            with socket.socket() as s:
                s.bind(("127.0.0.1", port))
        except OSError:
            continue
        _given.add(port)
        return port
    raise RuntimeError("no port is free")

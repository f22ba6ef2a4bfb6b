"""Ports for what scripts and tests start. They lie below those that the system gives to connections, so that no connection can take
one before its program does."""
import random
import socket

_claims = []  # open until this process ends


def _claim(port):
    """Whether the port is this process's: a name that only one process at a time can have. tests/loopback.h claims the same names."""
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        claim.bind(f"\0doppel-port-{port}")
    except OSError:
        claim.close()
        return False
    _claims.append(claim)
    return True


def _free(port):
    with socket.socket() as s:
        try:
            s.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def claimed_port(low, high, consecutive=1):
    """Returns the first of consecutive ports in [low, high) on which nobody listens, and which no other process has claimed; None if
    all are taken."""
    for first in random.sample(range(low, high - consecutive + 1, consecutive), (high - low) // consecutive):
        ports = range(first, first + consecutive)
        if all(_claim(port) for port in ports) and all(_free(port) for port in ports):
            return first
    return None

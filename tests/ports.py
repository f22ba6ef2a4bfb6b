"""Ports for what tests start, apart from those that scripts/kafka and scripts/registry choose."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "scripts/kafka.d"))
from claimed import claimed_port  # noqa: E402


def free_port(consecutive=1):
    """The first of some on which nobody listens, and which no other test was given."""
    port = claimed_port(10_000, 20_000, consecutive)
    if port is None:
        raise RuntimeError("no port is free")
    return port

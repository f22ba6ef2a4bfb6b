"""Hypothesis' search for larger scores raises IndexError where a larger score comes with a shorter test case (6.170).

Schemathesis scores every request by whether it was accepted, so some seeds meet this. Requests are still generated,
reused and shrunk.
"""
import json

import hypothesis
import schemathesis

wanted = [phase for phase in hypothesis.Phase if phase != hypothesis.Phase.target]
hypothesis.settings.register_profile("without-target", phases=wanted)
hypothesis.settings.load_profile("without-target")


@schemathesis.serializer("application/x-ndjson")
def lines(_context, value):
    return value if isinstance(value, bytes) else (value if isinstance(value, str) else json.dumps(value)).encode()

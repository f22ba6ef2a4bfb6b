"""datasketch with Redis behind a small web service: what people build who need "have I seen this?" over HTTP. bench/http runs
it with uvicorn, one process for each core. A document is JSON with id and text; the answer has a line for each.

It answers as datasketch's documentation shows, without a check of the candidates: whatever the index returns is a copy. It
keeps no text, does not compare id and text of a document that comes again, and Redis writes nothing to a disk."""

import json
import os
import re
import unicodedata

from datasketch import MinHash, MinHashLSH
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

WORDS = 5
index = MinHashLSH(threshold=0.8, num_perm=128, storage_config={
    "type": "redis", "basename": b"peer", "redis": {"host": "127.0.0.1", "port": int(os.environ["PEER_REDIS_PORT"])}})


def shingles_of(text):
    words = re.findall(r"\w+", unicodedata.normalize("NFKD", text).casefold())
    return {" ".join(words[i:i + WORDS]).encode() for i in range(max(1, len(words) - WORDS + 1))}


def judge(document):
    sketch = MinHash(num_perm=128)
    sketch.update_batch(shingles_of(document["text"]))
    found = index.query(sketch)
    if found:
        return {"type": "duplicate-of", "id": document["id"], "original": found[0]}
    index.insert(document["id"], sketch, check_duplication=False)
    return {"type": "verdict", "id": document["id"], "verdict": "unique"}


async def insert(request):
    lines = (await request.body()).splitlines()
    return Response("".join(json.dumps(judge(json.loads(line))) + "\n" for line in lines), media_type="application/x-ndjson")


app = Starlette(routes=[Route("/v1/documents", insert, methods=["POST"])])

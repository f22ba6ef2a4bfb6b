"""Replays captures with pywb, inside of its virtual environment.

usage: replay.py FOLDER < JSON. The input: {"collections": {NAME: [CDXJ, FOLDER_OF_WARCS...]}, "captures": [[TIME, URL]...]}.
A capture of an answer to a POST request is [TIME, URL, CONTENT_TYPE, BODY].
FOLDER/answers.json: {NAME: [[status, content type, date, ETag, X-Copy, body in base64]...]}, in the order of the captures.
"""
from gevent import monkey

monkey.patch_all()

import base64
import json
import os
import sys

from pywb.apps.frontendapp import FrontEndApp
from werkzeug.test import Client

wanted = json.load(sys.stdin)
os.chdir(sys.argv[1])
app = FrontEndApp(config_file=None, custom_config={
    "collections": {name: {"index_paths": index, "archive_paths": [w if w.endswith("/") else w + "/" for w in warcs]}
                    for name, (index, *warcs) in wanted["collections"].items()}})
client = Client(app)
out = {}
for name in wanted["collections"]:
    out[name] = []
    for time, url, *sent in wanted["captures"]:
        # As it was archived, without rewriting.
        place = f"/{name}/{time}id_/{url}"
        answer = client.post(place, content_type=sent[0], data=sent[1]) if sent else client.get(place)
        # pywb itself asks for the slash behind a host.
        if answer.status_code == 307 and "Memento-Datetime" not in answer.headers:
            answer = client.get(answer.headers["Location"])
        out[name].append([answer.status_code] + [answer.headers.get(n, "") for n in ("Content-Type", "Memento-Datetime", "ETag", "X-Copy")]
                         + [base64.b64encode(answer.get_data()).decode()])
with open("answers.json", "w") as file:
    json.dump(out, file)

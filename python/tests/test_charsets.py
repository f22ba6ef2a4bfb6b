"""The wheel has only a part of ICU's data: every charset that the program reads can be read with it, too."""

import json
import pathlib
import re

from corpus import doppel

from doppel_dedup import decontaminate

SOURCE = pathlib.Path(__file__).parent.parent.parent
# ICU knows more names than browsers do.
MORE = ["hp-roman8", "ibm-1047", "ibm-37", "ebcdic-cp-us", "iso-2022-kr", "hz-gb-2312", "scsu", "bocu-1", "utf-7", "x-mac-greek", "cesu-8",
        "cp437", "cp850", "ibm-939", "ks_c_5601-1987", "tis-620", "x-iscii-de", "lmbcs-1", "imap-mailbox-name", "euc-tw", "cp1006"]
ITEM = "which city is the capital of the island where the ferry goes on a tuesday"


def test_every_label_of_the_standard_and_more(tmp_path):
    labels = re.findall(r'\{"([^"]+)","[^"]+"\}', (SOURCE / "src/formats/bytes/charset_labels.inc").read_text())
    assert len(labels) > 200
    records = []
    for label in labels + MORE:
        # Letters in one-byte charsets, and characters in those of East Asia.
        for strange in (b"\xb0\xa1\xc4\xe3\xba\xc3", b"\xe1\xe8\xec\xf2\xf9", b"\x1b$B8+$k\x1b(B"):
            body = ITEM.encode().replace(b"island", b"island " + strange)
            page = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=%s\r\n\r\n%s" % (label.encode(), body)
            head = f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:r:{len(records)}>\r\nWARC-Date: 2024-01-01T00:00:00Z\r\n"
            head += f"WARC-Target-URI: http://a.example/{len(records)}\r\nContent-Type: application/http; msgtype=response\r\n"
            records.append(head.encode() + b"Content-Length: %d\r\n\r\n%s\r\n\r\n" % (len(page), page))
    corpus, evals = tmp_path / "pages.warc", tmp_path / "evals.jsonl"
    corpus.write_bytes(b"".join(records))
    evals.write_text(json.dumps({"id": "q", "question": ITEM, "answer": "none"}) + "\n")
    lines = doppel("decontaminate", "-q", "--evals", evals, corpus).stdout.splitlines()
    found = decontaminate(corpus, evals, progress=False).findings
    assert found == [json.loads(line) for line in lines]
    # All but the few charsets whose letters are not those of ASCII; and the passages are not all alike.
    assert len(found) > len(records) * 0.9
    assert len({finding["passage"] for finding in found}) > 45

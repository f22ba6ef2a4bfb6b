"""Works with the wheel that is installed, without other packages than numpy, and says where. It leaves files behind.

Signatures and verdicts are the same on every processor: they have DIGEST.
"""
import hashlib
import os
import pathlib
import platform
import random
import sys

import doppel_dedup

DIGEST = "edbbec95a2c8a1b3"  # a change of signatures or verdicts gives another one, which the error shows
WORDS = [f"wörd{number}" for number in range(40)]
QUESTION = "which city is the capital of the island where the ferry goes on a tuesday"


def documents():
    """Texts, most of them with some words of an earlier one changed."""
    draw = random.Random(1).random
    texts = []
    for _ in range(300):
        words = [WORDS[int(draw() * 40)] for _ in range(50 + int(draw() * 250))]
        if texts and draw() < .8:
            words = texts[int(draw() * len(texts))].split()
            for _ in range(int(draw() * 5)):
                words[int(draw() * len(words))] = WORDS[int(draw() * 40)]
        texts.append(" ".join(words))
    return texts


def page(charset, text):
    """A record of a WARC file."""
    body = f"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset={charset}\r\n\r\n".encode() + text.encode(charset)
    head = f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:r:{charset}>\r\nWARC-Date: 2024-01-01T00:00:00Z\r\n"
    head += f"WARC-Target-URI: http://a.example/{charset}\r\nContent-Type: application/http; msgtype=response\r\n"
    return head.encode() + b"Content-Length: %d\r\n\r\n%s\r\n\r\n" % (len(body), body)


def judge(texts):
    """The digest of the signatures of `texts`, and of their verdicts."""
    ids = [str(number) for number in range(len(texts))]
    said = [*doppel_dedup.sign_records(texts, ids=ids), *doppel_dedup.Index().add(texts, ids=ids)]
    assert sum("verdict='duplicate'" in str(one) for one in said) > 100
    return hashlib.sha256("\n".join(map(str, said)).encode()).hexdigest()[:16]


def read_charsets():
    words = {"windows-1251": "остров", "koi8-r": "остров", "shift_jis": "島", "gb18030": "岛", "euc-kr": "섬"}
    pages = pathlib.Path("pages.warc")
    pages.write_bytes(b"".join(page(charset, QUESTION.replace("island", f"island {word}")) for charset, word in words.items()))
    found = doppel_dedup.decontaminate(pages, [{"id": "q", "question": QUESTION, "answer": ""}], progress=False).findings
    assert [finding["passage"].split("island ")[1].split()[0] for finding in found] == [*words.values()], found


def main():
    texts = ["one two three four five six", "seven eight nine ten eleven twelve", "One, two, three: four, five, six."]
    assert doppel_dedup.deduplicate({"text": texts}) == {"text": texts[:2]}
    with doppel_dedup.Index(path="index") as index:
        assert list(index.add(texts, ids=["a", "b", "c"]).is_unique) == [True, True, False]
    with doppel_dedup.Index(path="index") as index:
        assert "b" in index and index.documents == 3
    read_charsets()
    digest = judge(documents())
    assert digest == DIGEST, f"signatures and verdicts have the digest {digest}"
    print(f"works with Python {sys.version.split()[0]} on {platform.machine()} with {os.confstr('CS_GNU_LIBC_VERSION')}:", doppel_dedup._core.__file__)


if __name__ == "__main__":
    main()

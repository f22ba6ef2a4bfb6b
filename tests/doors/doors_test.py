#!/usr/bin/env python3
"""Drives the same 500 documents of all kinds through every way in, and compares the answers.

usage: doors_test.py --binary DOPPEL [--seed N]

The documents are JSON lines, saved pages, texts in seven charsets and records of WARC files; a third of them are exact or near
copies of earlier ones of any kind. `doppel scan` judges them at once. The same answers (verdict, original, similarity) must come
from `scan` in two runs on one state directory, from `serve` on the directory, and from POST /v1/check for each document that the
index holds, sent as a file, a record or JSON. `doppel text` must print the same text for one document in every form.
"""
import argparse
import http.client
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile

KEY = "000102030405060708090a0b0c0d0e0f"
CHARSETS = ["utf-8", "windows-1251", "koi8-r", "utf-16", "utf-16-le", "utf-32-be", "utf-8-sig"]
ENVIRONMENT = dict(os.environ, DOPPEL_HASH_KEY=KEY, DOPPEL_HTTP_LISTEN="")


def check(condition, message):
    if not condition:
        sys.exit(f"FAILED: {message}")


class Texts:
    """Texts that repeat earlier ones: exactly, with a few words changed, or not at all."""

    WORDS = """и в не на что он как это по но из так для была только время человек который город дорога вечер утро работа школа книга письмо
    слово вопрос ответ жизнь земля вода лес река море небо солнце ветер снег дождь зима лето весна осень дом окно дверь стол улица
    площадь театр музыка песня газета новость история страна народ война мир правительство закон суд министр президент выборы партия
    депутат реформа экономика рынок цена деньги банк завод рабочий инженер наука учёный опыт открытие машина поезд самолёт корабль
    станция мост здание квартира семья мать отец сын дочь брат сестра друг сосед врач больница лекарство болезнь здоровье спорт
    команда игра победа чемпион стадион зритель билет праздник подарок гость обед хлеб молоко чай кофе яблоко картина художник
    выставка писатель роман стихи поэт рассказ сказка фильм актёр режиссёр сцена говорил сказал думал хотел видел слышал знал
    пришёл ушёл стоял сидел писал читал работал жил любил помнил забыл начал кончил нашёл потерял новый старый большой маленький
    хороший плохой первый последний русский московский северный южный красный белый чёрный зелёный синий высокий низкий далёкий""".split()

    def __init__(self, rng):
        self.rng, self.known = rng, []

    def text(self):
        chance = self.rng.random()
        if self.known and chance < .33:
            words = list(self.rng.choice(self.known))
            if chance > .15:
                for _ in range(self.rng.randint(1, 2)):
                    words[self.rng.randrange(len(words))] = self.rng.choice(self.WORDS)
        else:
            words = self.rng.choices(self.WORDS, k=self.rng.randint(80, 160))
        self.known.append(words)
        # Sentences, so that a page has running text.
        return " ".join(word + ("." if i % 12 == 11 else "") for i, word in enumerate(words)) + "."


def page(text):
    menu = "".join(f'<li><a href="/{i}">Section {i}</a></li>' for i in range(20))
    return (f'<!DOCTYPE html>\n<html><head><meta charset="utf-8"><title>A page</title><script>var a = {{"b": 1}};</script></head><body>'
            f"<nav><ul>{menu}</ul></nav><article><p>{text}</p></article><footer>All rights reserved</footer></body></html>\n").encode()


def warc_record(url, body, kind):
    http_message = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n\r\n".encode() + body
    head = (f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2026-01-02T03:04:05Z\r\n"
            f"WARC-Record-ID: <urn:uuid:{url.rsplit('/', 1)[1]:0>8}-0000-4000-8000-000000000000>\r\n"
            f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(http_message)}\r\n\r\n")
    return head.encode() + http_message + b"\r\n\r\n"


class Document:
    """One document: its file, and its form as the body of a request."""

    def __init__(self, name, body, kind):
        self.name, self.body, self.kind = name, body, kind


def make(rng, directory):
    """Writes the documents, in two folders for two runs. Returns them by id."""
    texts, out = Texts(rng), {}
    for folder in ("a", "b"):
        (directory / folder).mkdir()
        for number in range(25):
            path = directory / folder / f"{number:02}"
            kind = rng.choice(["lines", "warc", "page", "text", "text", "page"])
            if kind == "lines":
                path = path.with_suffix(".jsonl")
                lines = [json.dumps({"id": f"{folder}{number}-{i}", "text": texts.text()}, ensure_ascii=rng.random() < .5) for i in range(30)]
                path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
                for line in lines:
                    out[json.loads(line)["id"]] = Document(json.loads(line)["id"], line.encode(), "application/json")
            elif kind == "warc":
                path = path.with_suffix(".warc")
                records = []
                for i in range(20):
                    url = f"http://example.com/{1 if folder == 'a' else 2}{number:02}{i:02}"
                    text = texts.text()
                    as_page = rng.random() < .5
                    records.append(warc_record(url, page(text) if as_page else text.encode("koi8-r"),
                                               "text/html" if as_page else "text/plain; charset=koi8-r"))
                    record_id = re.search(rb"WARC-Record-ID: <([^>]*)>", records[-1]).group(1).decode()
                    out[record_id] = Document(record_id, records[-1], "application/warc")
                path.write_bytes(b"".join(records))
            elif kind == "page":
                path = path.with_suffix(rng.choice([".html", ".htm", ""]))
                path.write_bytes(page(texts.text()))
                out[str(path)] = Document(str(path), path.read_bytes(), "text/html")
            else:
                path = path.with_suffix(".txt")
                charset = rng.choice(CHARSETS)
                path.write_bytes(texts.text().encode(charset))
                out[str(path)] = Document(str(path), path.read_bytes(), "text/plain")
    return out


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT, check=False)
    check(done.returncode == 0, f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stderr.decode()}")
    return done.stdout.decode(), done.stderr.decode()


def answer_of(line):
    """Id -> what every door must say of it. scan's lines and serve's events name the members alike or nest them."""
    if line.get("type") == "duplicate-of":
        return line["document"]["id"], ("duplicate", line["original"]["id"], line["similarity"], line["kind"])
    return line["id"], (line["verdict"], line["duplicate_of"], line["similarity"], line["kind"])


def answers(text):
    return dict(answer_of(json.loads(line)) for line in text.splitlines())


class Daemon:
    """doppel serve on files, with HTTP on a port of its choice."""

    def __init__(self, binary, state, inputs):
        command = [binary, "serve", "--state", state, "-o", "-", "--set", "output.verdicts=all", "--set", "http.listen=127.0.0.1:0", *inputs]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT, text=True)
        self.port, ready = None, False
        while not (self.port and ready):
            line = self.process.stderr.readline()
            check(line, "serve ended before it was ready")
            found = re.search(r"listening.*?127\.0\.0\.1:(\d+)", line)
            self.port = int(found.group(1)) if found else self.port
            ready = ready or re.search(r"\bready\b", line) is not None

    def events(self, count):
        return "".join(self.process.stdout.readline() for _ in range(count))

    def ask(self, document):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("POST", "/v1/check", document.body, {"Content-Type": document.kind})
        response = connection.getresponse()
        body = response.read()
        check(response.status == 200, f"/v1/check of {document.name}: {response.status} {body.decode()}")
        return json.loads(body)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        _, rest = self.process.communicate(timeout=60)
        check(self.process.returncode == 0, f"serve: exit code {self.process.returncode}\n{rest}")


def compare(door, expected, found):
    different = [name for name in expected if found.get(name) != expected[name]]
    check(not different, f"{door}: {len(different)} of {len(expected)} documents have other answers than scan; the first:\n"
          f"  {different[:1]}\n  scan: {expected[different[0]] if different else ''}\n  {door}: {found.get(different[0]) if different else ''}")
    check(len(found) == len(expected), f"{door}: {len(found)} answers for {len(expected)} documents")
    print(f"{door}: {len(found)} answers are those of scan")


def same_text(binary, directory):
    """One text in every form is compared as the same text."""
    rng = random.Random(1)
    text = Texts(rng).text()
    forms = {f"{charset}.txt": text.encode(charset) for charset in CHARSETS}
    forms["page.html"] = page(text)
    forms["line.jsonl"] = json.dumps({"text": text}).encode() + b"\n"
    forms["page.warc"] = warc_record("http://x/1", page(text), "text/html")
    for name, content in forms.items():
        (directory / name).write_bytes(content)
        out, _ = run(binary, "text", directory / name)
        check(out.strip() == text, f"doppel text {name}:\n{out}\ninstead of\n{text}")
    print(f"doppel text: {len(forms)} forms give the same text")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    arguments = parser.parse_args()
    binary = os.path.abspath(arguments.binary)
    print(f"--seed {arguments.seed}")
    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(temporary)
        (work / "in").mkdir()
        documents = make(random.Random(arguments.seed), work / "in")
        once, summary = run(binary, "scan", "--all", work / "in")
        expected = answers(once)
        check(set(expected) == set(documents), "scan has another set of documents than was written")
        kinds = {answer[0] for answer in expected.values()}
        check(kinds == {"unique", "duplicate"}, f"the documents have only the verdicts {kinds}")
        check("pages compared by their main text" in summary and "in a charset that was guessed" in summary, summary)

        found = {}
        for folder in ("a", "b"):
            found.update(answers(run(binary, "scan", "--all", "--state", work / "state", work / "in" / folder)[0]))
        compare("scan in two runs", expected, found)

        daemon = Daemon(binary, work / "served", [work / "in" / "a", work / "in" / "b"])
        events = daemon.events(len(documents))
        # The daemon reads several files in turns. Its order is that of its events.
        texts = {}
        for folder in ("a", "b"):
            for path in sorted((work / "in" / folder).iterdir()):
                texts.update((line["name"], line["text"]) for line in map(json.loads, run(binary, "text", "--json", path)[0].splitlines()))
        order = [answer_of(json.loads(line))[0] for line in events.splitlines()]
        (work / "order.jsonl").write_text("".join(json.dumps({"id": name, "text": texts[name]}) + "\n" for name in order))
        expected = answers(run(binary, "scan", "--all", work / "order.jsonl")[0])
        compare("serve on files", expected, answers(events))
        asked = {}
        for name, document in documents.items():
            said = daemon.ask(document)
            if expected[name][0] == "unique":  # an original: only a file is no longer known by its place
                original = said.get("original", {}).get("id")
                exact = said.get("again") or said.get("kind") == "exact"
                asked[name] = expected[name] if exact and original == name else (said["verdict"], original)
            else:
                asked[name] = (said["verdict"], said["original"]["id"], said["similarity"], said["kind"])
                # An original that came later may be more similar.
                if said["verdict"] == "duplicate" and said["similarity"] > expected[name][2]:
                    asked[name] = expected[name]
        daemon.stop()
        compare("/v1/check", expected, asked)
        same_text(binary, work)


main()

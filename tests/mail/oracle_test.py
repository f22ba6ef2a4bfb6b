#!/usr/bin/env python3
"""Random mails in an mbox file: doppel finds the messages, ids, subjects and texts that Python's mailbox and email find.

  oracle_test.py --binary build/release/doppel [--seed N] [--mails 400]
"""
import argparse
import email
import email.policy
import json
import mailbox
import pathlib
import random
import re
import subprocess
import tempfile
from email.message import EmailMessage

# Of each charset, letters that it has.
CHARSETS = {
    "us-ascii": "abcdefgh", "utf-8": "aäßλжд漢字😀", "iso-8859-1": "aäößéñ", "iso-8859-15": "aäß€œ", "windows-1251": "абвгдежзиклмн",
    "koi8-r": "абвгдежзиклмн", "iso-2022-jp": "日本語文字", "shift_jis": "日本語文字かな", "euc-kr": "가나다라마바사", "big5": "漢字中文",
}
PAGE = "<!DOCTYPE html><html><head><title>t</title></head><body><nav><a href=/>Home</a></nav><article><p>{}</p></article></body></html>"


def words(rng, letters, count):
    return " ".join("".join(rng.choice(letters) for _ in range(rng.randint(2, 9))) for _ in range(count))


def body(rng, letters):
    lines = [words(rng, letters, rng.randint(1, 9))]
    for _ in range(rng.randint(0, 12)):
        kind = rng.random()
        if kind < 0.1:
            lines.append("")
        elif kind < 0.2:
            lines.append(rng.choice(["From here on", ">From there", ">>From nowhere", "From a@b Mon May  6 07:08:09 2024", "--", "--=_x", "= =3D"]))
        else:
            lines.append(words(rng, letters, rng.randint(1, 40 if rng.random() < 0.2 else 9)))
    return "\n".join(lines).strip("\n ") + "\n"


def may_be_utf8(text, charset):
    """Whether the bytes of a text in another charset are valid UTF-8, as hardly a text in a language is: doppel reads them as UTF-8."""
    raw = text.encode(charset)
    try:
        return charset != "utf-8" and not raw.isascii() and raw.decode() != text
    except ValueError:
        return False


def mail(rng, number):
    charset = rng.choice(list(CHARSETS))
    letters = CHARSETS[charset]
    message = EmailMessage()
    message["From"] = "a@b.example"
    message["Subject"] = words(rng, rng.choice([letters, "abc"]), rng.randint(1, 20))
    if rng.random() < 0.9:
        message["Message-ID"] = f"<{number}.{rng.randrange(10**9)}@b.example>"
    message["Date"] = f"{rng.choice(['Mon, ', ''])}6 May {rng.randint(1999, 2026)} 07:08:09 +0{rng.randint(0, 9)}00"
    encoding = rng.choice(["quoted-printable", "base64", "8bit" if charset != "iso-2022-jp" else "7bit"])

    def plain(to, text):
        # What 8bit cannot carry is encoded.
        try:
            to.set_content(text, charset=charset, cte=encoding)
        except ValueError:
            to.set_content(text, charset=charset, cte="base64")

    text = body(rng, letters)
    while may_be_utf8(text, charset):
        text = body(rng, letters)
    plain(message, text)
    if rng.random() < 0.3:
        message.add_alternative(PAGE.format(words(rng, "abcdef", 60)), subtype="html")
    if rng.random() < 0.2:
        message.add_attachment(rng.randbytes(50), maintype="image", subtype="png", filename="a.png")
    if rng.random() < 0.2:
        message.add_attachment("an attached text", filename="a.txt")
    return message


def oracle(raw):
    """Subject and text of a message as they are in the file."""
    unquoted = re.sub(rb"(?m)^>(>*From )", rb"\1", raw)
    message = email.message_from_bytes(unquoted, policy=email.policy.default)
    part = message.get_body(preferencelist=("plain", "html"))
    return str(message["Message-ID"] or "").strip("<>"), str(message["Subject"]), part.get_content().replace("\r\n", "\n").rstrip("\n ")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--mails", type=int, default=400)
    args = parser.parse_args()
    print(f"--seed {args.seed}")
    rng = random.Random(args.seed)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "mails.mbox"
        box = mailbox.mbox(path)
        for number in range(args.mails):
            box.add(mail(rng, number))
        box.flush()
        expected = [oracle(box.get_bytes(key)) for key in box.keys()]
        box.close()
        shown = subprocess.run([args.binary, "text", "--json", path], check=True, stdout=subprocess.PIPE).stdout.splitlines()
        found = [json.loads(line) for line in shown]
        if len(found) != len(expected):
            raise SystemExit(f"{len(found)} messages, not {len(expected)}")
        for number, (got, (name, subject, text)) in enumerate(zip(found, expected)):
            wanted = f"{subject}\n\n{text}" if text.strip() else ""
            if got["text"] != wanted or (name and got["name"] != name):
                raise SystemExit(f"message {number}: doppel has {got}, Python {name!r} {wanted!r}")
        # The messages that are kept are an mbox file that Python reads.
        kept = pathlib.Path(folder) / "kept.mbox"
        subprocess.run([args.binary, "scan", "-q", "-o", "/dev/null", "--keep", kept, path], check=True)
        if len(mailbox.mbox(kept)) != len({(subject, text) for _, subject, text in expected}):
            raise SystemExit("the kept file has other messages")
    print(f"{args.mails} mails are read as Python reads them")


main()

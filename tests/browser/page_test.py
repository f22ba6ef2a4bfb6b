#!/usr/bin/env python3
"""The status page of a running daemon, and the pages of `doppel report` and `doppel scan --html`, in a real browser.

  page_test.py --binary build/release/doppel [--chromium chromium] [--pictures DIRECTORY]

At 360 and 1600 pixels, light and dark: nothing is loaded from elsewhere, nothing is wider than the window, hostile texts stay texts,
what can be clicked does what it says, also without scripts. Pictures are left in the directory.
"""
import argparse
import base64
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import tempfile
import urllib.request

HOSTILE = '<script>document.title="broken"</script><img src=x onerror=alert(1)>"\'&amp;'


class Browser:
    """Chromium behind a pair of pipes: JSON messages that end with a zero byte."""

    def __init__(self, program, profile):
        to_browser, from_browser = os.pipe(), os.pipe()

        def child():
            reading, writing = os.dup(to_browser[0]), os.dup(from_browser[1])
            os.dup2(reading, 3)
            os.dup2(writing, 4)

        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--disable-sync", f"--user-data-dir={profile}", "--remote-debugging-pipe", "about:blank"],
            preexec_fn=child, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.out, self.into = os.fdopen(to_browser[1], "wb", 0), os.fdopen(from_browser[0], "rb", 0)
        os.close(to_browser[0])
        os.close(from_browser[1])
        self.number, self.rest, self.events, self.session = 0, b"", [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Log", "Runtime"):
            self.call(f"{domain}.enable")

    def message(self):
        while b"\0" not in self.rest:
            piece = self.into.read(65536)
            if not piece:
                raise SystemExit("the browser ended")
            self.rest += piece
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **params):
        self.number += 1
        request = {"id": self.number, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        self.out.write(json.dumps(request).encode() + b"\0")
        while True:
            message = self.message()
            if message.get("id") == self.number:
                if "error" in message:
                    raise SystemExit(f"{method}: {message['error']}")
                return message["result"]
            self.events.append(message)

    def await_event(self, method):
        while True:
            for message in self.events:
                if message.get("method") == method:
                    self.events.remove(message)
                    return message["params"]
            self.events.append(self.message())

    def open(self, url):
        self.events = []
        self.call("Page.navigate", url=url)
        self.await_event("Page.loadEventFired")

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            raise SystemExit(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def click(self, selector):
        x, y = self.value(f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: 'center'}});"
                          " const r = e.getBoundingClientRect(); return [r.x + Math.min(r.width / 2, 20), r.y + r.height / 2]; })()")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def close(self):
        self.process.kill()
        self.process.wait()


class Daemon:
    def __init__(self, binary, work):
        self.inbox = work / "in"
        self.inbox.mkdir()
        environment = dict(os.environ, DOPPEL_HTTP_TOKEN="correct-horse-battery")
        self.process = subprocess.Popen(
            [binary, "serve", "--state", work / "state", "--set", "output.verdicts=all", "--set", "http.listen=127.0.0.1:0",
             "--set", "log.format=json", self.inbox], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        self.url = self.log("listening")["url"]
        self.log("ready")

    def log(self, message):
        for line in self.process.stderr:
            if json.loads(line)["message"] == message:
                return json.loads(line)
        raise SystemExit(f"the daemon ended before it said {message}")

    def feed(self, name, documents):
        part = self.inbox.parent / name
        part.write_text("".join(json.dumps(d) + "\n" for d in documents))
        part.rename(self.inbox / name)
        return [json.loads(self.process.stdout.readline()) for _ in documents]

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate()
        check(self.process.returncode == 0, f"the daemon ended with {self.process.returncode}")


def check(condition, message):
    if not condition:
        raise SystemExit(message)


def documents():
    rng = random.Random(7)
    texts = [" ".join(f"w{rng.randrange(5000)}" for _ in range(80)) for _ in range(60)]
    out = [{"id": f"news-{i:03}", "url": f"https://www.paper{i % 5}.example/2026/{i}/a-rather-long-title-of-an-article.html", "text": text}
           for i, text in enumerate(texts)]
    for i in range(140):
        of = min(int(rng.expovariate(0.15)), len(texts) - 1)
        out.append({"id": f"copy-{i:03}", "url": f"https://mirror{i % 3}.example/{i}", "text": texts[of] + (" end" if i % 3 else "")})
    out.append({"id": HOSTILE, "url": "javascript:alert(1)//" + HOSTILE, "text": texts[0]})
    out.append({"id": "x" * 300, "url": "http://user:secret@h.example/" + "y" * 300, "text": texts[1]})
    return out


def look(browser, url, width, scheme, scripts, pictures):
    where = f"{width} px, {scheme}, {'with' if scripts else 'without'} scripts"
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 500)
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.call("Emulation.setScriptExecutionDisabled", value=not scripts)
    browser.open(url)
    asked = [e["params"]["request"]["url"] for e in browser.events if e.get("method") == "Network.requestWillBeSent"]
    check(all(a == url + "/" or a.startswith("data:") for a in asked), f"{where}: loads {asked}")
    wrong = [e["params"] for e in browser.events if e.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown")]
    check(not wrong, f"{where}: {wrong}")
    check(browser.value("document.title") == "doppel", f"{where}: the title is {browser.value('document.title')}")
    check(browser.value("document.querySelectorAll('script, img, iframe').length") == 0, f"{where}: an element was smuggled in")
    check(browser.value("[...document.querySelectorAll('a')].every(a => !a.href.startsWith('javascript:'))"), f"{where}: a link is a script")
    check(HOSTILE in browser.value("document.body.textContent"), f"{where}: the hostile id is not shown as it is")
    check("secret" not in browser.value("document.documentElement.outerHTML"), f"{where}: a password is shown")
    wide = browser.value("document.documentElement.scrollWidth")
    check(wide <= width, f"{where}: the page is {wide} px wide")
    light = browser.value("(getComputedStyle(document.body).backgroundColor.match(/\\d+/g) || []).reduce((a, b) => a + +b, 0) > 380")
    check(light == (scheme == "light"), f"{where}: the background is of the other scheme")
    for text in ("dedup ratio", "originals", "Most-copied", "mirror0.example", "Snapshots", "news-000"):
        check(text in browser.value("document.body.textContent"), f"{where}: {text} is not there")
    check(browser.value("document.querySelectorAll('#rates svg polygon').length") == 4, f"{where}: no chart")
    check(browser.value("Math.max(...[...document.querySelectorAll('#rates polygon')].map(p => p.getBBox().height))") > 20, f"{where}: a flat chart")

    labels = browser.value("[...document.querySelectorAll('svg')].map(s => [s, ...s.querySelectorAll('text')].map(e => {"
                           " const r = e.getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom, e.textContent.slice(0, 20)]; }))")
    for whole, *texts in labels:
        for i, a in enumerate(texts):
            check(whole[0] <= a[0] and whole[1] <= a[1] and a[2] <= whole[2] + 1 and a[3] <= whole[3] + 1, f"{where}: {a} leaves the chart {whole}")
            for b in texts[:i]:
                # Boxes of letters are higher than letters.
                check(a[0] >= b[2] or b[0] >= a[2] or a[1] + 3 >= b[3] - 3 or b[1] + 3 >= a[3] - 3, f"{where}: {a} and {b} overlap")

    check(not browser.value("document.querySelector('#settings table').checkVisibility()"), f"{where}: the settings are open")
    browser.click("#settings summary")
    check(browser.value("document.querySelector('#settings table').checkVisibility()"), f"{where}: a click does not open the settings")
    check("http.listen" in browser.value("document.querySelector('#settings').innerText"), f"{where}: http.listen is not among the settings")
    check(browser.value("document.documentElement.scrollWidth") <= width, f"{where}: the settings are too wide")
    browser.click("#settings summary")
    # Where columns have no place, each value has the name of its column beside it.
    labels = browser.value("[...document.querySelectorAll('.labelled tbody tr:first-child td')].filter(td => td.checkVisibility())"
                           ".map(td => getComputedStyle(td, '::before').content)")
    heads = browser.value("[...document.querySelectorAll('.labelled thead')].some(h => h.checkVisibility())")
    check(heads == (width > 640), f"{where}: heads of tables are {'there' if heads else 'missing'}")
    check(len(labels) > 8 and all((label not in ("none", '""')) == (width < 640) for label in labels), f"{where}: labels {labels}")
    check("this is no JSON" not in browser.value("document.querySelector('#dead').innerText"), f"{where}: a dead letter shows the record")
    check("b.jsonl:1" in browser.value("document.querySelector('#dead').innerText"), f"{where}: no dead letter")
    check(browser.value("document.querySelector('meta[http-equiv=refresh]').content") == "30", f"{where}: does not refresh itself")
    if pictures:
        browser.value("scrollTo(0, 0)")
        height = min(browser.value("document.documentElement.scrollHeight"), 1600)
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        picture = browser.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)["data"]
        (pictures / f"page-{width}-{scheme}.png").write_bytes(base64.b64decode(picture))


def report(binary, work):
    """The page of `doppel report` on an archive with long and hostile names."""
    records = b""
    for i, host in enumerate(["e.example", "e.example", "a-rather-long-label." * 6 + "example", HOSTILE.replace("/", "")]):
        http = b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n" + b"x" * 1_234_567
        records += (f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:{i}>\r\nWARC-Target-URI: http://{host}/{i}\r\n"
                    "WARC-Date: 2024-05-06T07:08:09Z\r\nContent-Type: application/http; msgtype=response\r\n"
                    f"Content-Length: {len(http)}\r\n\r\n").encode() + http + b"\r\n\r\n"
    (work / "a.warc").write_bytes(records)
    subprocess.run([binary, "report", work / "a.warc", "--html", work / "report.html"], check=True, stdout=subprocess.DEVNULL)
    return work / "report.html"


def look_at_report(browser, path, width, pictures):
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 500)
    browser.open(path.as_uri())
    check(browser.value("document.querySelectorAll('h2').length") == 3, "the report has other tables")
    wide = browser.value("document.documentElement.scrollWidth")
    check(wide <= width, f"the report is {wide} px wide, the window {width} px")
    broken = browser.value("[...document.querySelectorAll('td, th:not(:first-child)')].filter(c => { const r = document.createRange();"
                           " r.selectNodeContents(c); return r.getBoundingClientRect().height > 30; }).map(c => c.textContent)")
    check(not broken, f"the report at {width} px: {broken} are broken into lines")
    check(browser.value("document.querySelectorAll('script, img').length") == 0, "the report: an element was smuggled in")
    if pictures:
        (pictures / f"report-{width}.png").write_bytes(base64.b64decode(browser.call("Page.captureScreenshot")["data"]))


def scan_page(binary, work):
    """The page of `doppel scan --html` on documents with long and hostile names and texts, and parts of others."""
    rng = random.Random(9)
    text = [f"word{rng.randrange(5000)}" for _ in range(400)]
    lines = documents()
    for i in range(8):
        lines.append({"id": f"https://hostile.example/{i}/{HOSTILE}", "text": " ".join([HOSTILE, *text[:200], f"other{i}", *text[201:], HOSTILE * i, "z" * 2000])})
    lines.append({"id": "part", "text": " ".join(text[100:300])})
    (work / "scan" / ("a-long-folder" * 12)).mkdir(parents=True)
    (work / "scan" / ("a-long-folder" * 12) / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    subprocess.run([binary, "scan", "-q", "--relations", "contained,shares", "-o", "/dev/null", "--html", work / "scan.html", work / "scan"],
                   check=True)
    return work / "scan.html"


def look_at_scan_page(browser, path, width, scheme, media, pictures):
    where = f"the page of a scan, {width} px, {scheme}, {media}"
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 500)
    browser.call("Emulation.setEmulatedMedia", media=media, features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.open(path.as_uri())
    asked = [e["params"]["request"]["url"] for e in browser.events if e.get("method") == "Network.requestWillBeSent"]
    check(asked == [path.as_uri()], f"{where}: loads {asked}")
    wrong = [e["params"] for e in browser.events if e.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown")]
    check(not wrong, f"{where}: {wrong}")
    check(browser.value("document.title") == "Copies among the documents", f"{where}: the title is {browser.value('document.title')}")
    check(browser.value("document.querySelectorAll('script, img, iframe, a').length") == 0, f"{where}: an element was smuggled in")
    check(HOSTILE in browser.value("document.body.textContent"), f"{where}: the hostile id is not shown as it is")
    for head in ("How often documents came", "What came most often", "By folder", "By host", "Related documents"):
        check(head in browser.value("[...document.querySelectorAll('h2')].map(h => h.textContent)"), f"{where}: {head} is not there")
    for tag in ("del", "ins", "mark"):
        check(browser.value(f"[...document.querySelectorAll('{tag}')].some(e => e.checkVisibility())"), f"{where}: nothing is marked with {tag}")
    browser.value("document.querySelectorAll('details').forEach(d => d.open = true)")
    wide = browser.value("document.documentElement.scrollWidth")
    check(wide <= width, f"{where}: the page is {wide} px wide")
    outside = browser.value("[...document.querySelectorAll('td, th, p, li, .side')].filter(e => e.checkVisibility() &&"
                            " e.getBoundingClientRect().right > innerWidth + 1).map(e => e.textContent.slice(0, 80))")
    check(not outside, f"{where}: {outside} are outside of the window")
    browser.call("Emulation.setScriptExecutionDisabled", value=False)
    if pictures:
        height = min(browser.value("document.documentElement.scrollHeight"), 3000)
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        picture = browser.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)["data"]
        (pictures / f"scan-{width}-{scheme}-{media}.png").write_bytes(base64.b64decode(picture))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--chromium", default="chromium")
    parser.add_argument("--pictures", type=pathlib.Path)
    args = parser.parse_args()
    if args.pictures:
        args.pictures.mkdir(parents=True, exist_ok=True)
    work = pathlib.Path(tempfile.mkdtemp(prefix="doppel-browser-"))
    daemon = Daemon(args.binary, work)
    browser = Browser(args.chromium, work / "profile")
    try:
        with urllib.request.urlopen(daemon.url + "/") as page:
            check("None yet" in page.read().decode(), "the page of an idle daemon")
        daemon.feed("a.jsonl", documents())
        daemon.feed("b.jsonl", [["this is no JSON that has a text"]])
        for width in (360, 1600):
            for scheme in ("light", "dark"):
                for scripts in (True, False):
                    look(browser, daemon.url, width, scheme, scripts, args.pictures)
        for width in (360, 1600):
            look_at_report(browser, report(args.binary, work), width, args.pictures)
        page = scan_page(args.binary, work)
        for width in (360, 1600):
            for scheme in ("light", "dark"):
                for media in ("screen", "print"):
                    look_at_scan_page(browser, page, width, scheme, media, args.pictures)
        browser.call("Emulation.setEmulatedMedia", media="screen")
        browser.open(daemon.url)
        browser.events = []
        browser.click("#events a[href^='/clusters/']")
        browser.await_event("Page.loadEventFired")
        shown = browser.value("document.body.innerText")
        check("near copies" in shown and "copy-" in shown and "{" not in shown, f"a click on a cluster shows {shown}")
        if args.pictures:
            picture = browser.call("Page.captureScreenshot")["data"]
            (args.pictures / "cluster.png").write_bytes(base64.b64decode(picture))
        browser.events = []
        browser.click("footer a[href^='/v1/clusters/']")
        browser.await_event("Page.loadEventFired")
        cluster = json.loads(browser.value("document.body.innerText"))
        check(cluster["live"] and cluster["duplicates"]["near"] > 0, f"the cluster as JSON shows {cluster}")
        browser.open(daemon.url + "/clusters/no%2Fsuch%3Cb%3E")
        status = browser.await_event("Network.responseReceived")["response"]["status"]
        shown = browser.value("document.body.innerText")
        check(status == 404 and "No cluster of this id" in shown, f"a cluster that there is not: {status}, {shown}")
        browser.open(daemon.url + "/?hold")
        check(browser.value("document.querySelectorAll('meta[http-equiv=refresh]').length") == 0, "a page that is held refreshes itself")
    finally:
        browser.close()
        daemon.stop()
        shutil.rmtree(work, ignore_errors=True)
    print("the pages are as they should be")


main()

"""Draws a dashboard's panels as SVG from the series that Prometheus gave: plain lines, nothing smoothed, the axis from zero (or below)."""
import html
import math
import time

COLOURS = ["#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22"]
UNIT = {"percentunit": (100, "%"), "s": (1, " s"), "bytes": (1, "B"), "Bps": (1, "B/s"), "cps": (1, "/s"), "eps": (1, "/s")}
COLUMNS, CELL, ROW = 24, 46, 26  # grid of Grafana, in pixels


def number(value, unit):
    if unit == "dateTimeAsIso":
        return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(value / 1000))
    scale, suffix = UNIT.get(unit, (1, ""))
    value *= scale
    for limit, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= limit:
            return f"{value / limit:.3g} {prefix}{suffix.strip()}"
    if value and abs(value) < 0.01 and unit == "s":
        return f"{value * 1000:.3g} ms"
    return f"{value:.3g}{suffix}"


def curves(series, unit, x, y, width, height, begin, end):
    finite = [v for _, points in series for _, v in points if math.isfinite(v)]
    top = max(finite, default=0) or 1
    out = []
    for share in (0, .5, 1):
        at = y + height * (1 - share)
        out.append(f'<path d="M{x} {at:.1f}h{width}" stroke="#ddd"/><text x="{x - 4}" y="{at + 3:.1f}" text-anchor="end">{number(top * share, unit)}</text>')
    for i, (_, points) in enumerate(series):
        path, before = "", None
        for t, v in points:
            if not math.isfinite(v):
                before = None
                continue
            joined = before is not None and t - before < 5
            px, py = x + (t - begin) / (end - begin) * width, y + height * (1 - max(v, 0) / top)
            path += f"{'L' if joined else 'M'}{px:.1f} {py:.1f}" + ("" if joined else "h.5")
            before = t
        out.append(f'<path d="{path}" fill="none" stroke="{COLOURS[i % len(COLOURS)]}" stroke-width="1.3"/>')
    return out


def bars(series, x, y, width, height):
    """The last values of cumulative buckets, each less the one below."""
    last = sorted(((float(name), points[-1][1]) for name, points in series if points))
    values, below = [], 0
    for bound, total in last:
        values.append((bound, total - below))
        below = total
    top = max((v for _, v in values), default=1) or 1
    step = width / max(1, len(values))
    out = []
    for i, (bound, value) in enumerate(values):
        tall = height * value / top
        out.append(f'<rect x="{x + i * step:.1f}" y="{y + height - tall:.1f}" width="{step * .8:.1f}" height="{tall:.1f}" fill="#1f77b4"/>')
        if i % 3 == 0:
            out.append(f'<text x="{x + i * step:.1f}" y="{y + height + 11}">{bound:g}</text>')
    return out


def panel_svg(panel, series, begin, end):
    place, unit = panel["gridPos"], panel["fieldConfig"]["defaults"]["unit"]
    x, y = place["x"] * CELL, place["y"] * ROW + 30
    width, height = place["w"] * CELL - 8, place["h"] * ROW - 8
    out = [f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="#fff" stroke="#ccc"/>',
           f'<text x="{x + 8}" y="{y + 16}" font-weight="bold">{html.escape(panel["title"])}</text>']
    if panel["type"] == "stat":
        points = [p for _, s in series for p in s if math.isfinite(p[1])]
        if points:
            out.append(f'<text x="{x + width / 2}" y="{y + height / 2 + 18}" font-size="26" text-anchor="middle">{number(points[-1][1], unit)}</text>')
        return out
    if panel["type"] == "table":
        now = [name for name, s in series if s and s[-1][0] > end - 5]
        return out + [f'<text x="{x + 8}" y="{y + 36 + 14 * i}">{html.escape(name)}</text>' for i, name in enumerate(now)]
    if panel["type"] == "bargauge":
        return out + bars(series, x + 12, y + 28, width - 24, height - 48)
    shown = sorted(series, key=lambda s: -max((v for _, v in s[1] if math.isfinite(v)), default=0))[:8]
    out += curves(shown, unit, x + 56, y + 28, width - 68, height - 62, begin, end)
    legend, at = [], x + 12
    for i, (name, _) in enumerate(shown):
        long = 6.2 * len(name) + 18
        if at + long > x + width:
            break
        legend.append(f'<rect x="{at:.0f}" y="{y + height - 20}" width="8" height="8" fill="{COLOURS[i % len(COLOURS)]}"/>'
                      f'<text x="{at + 11:.0f}" y="{y + height - 12}">{html.escape(name)}</text>')
        at += long
    return out + legend


def dashboard(title, drawn, begin, end):
    bottom = max(p["gridPos"]["y"] + p["gridPos"]["h"] for p, _ in drawn) * ROW + 40
    body = [line for panel, series in drawn for line in panel_svg(panel, series, begin, end)]
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {COLUMNS * CELL} {bottom}" font-family="sans-serif" font-size="11" fill="#222">'
            f'<rect width="100%" height="100%" fill="#f7f7f7"/><text x="4" y="20" font-size="16">{html.escape(title)}</text>\n'
            + "\n".join(body) + "\n</svg>\n")

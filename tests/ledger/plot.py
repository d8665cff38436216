"""The plot of the page: simulated over measured, of every row of every set.

Two panels. Above, a lane for each set, its rows spread by how many are alike; below, all rows by
their number of GPUs. Of a row nothing is shown but this ratio and the number of GPUs, so that no
measured time can be read off of tables that may not be passed on. The text depends on the figures
alone; coordinates have one digit."""
import math
import statistics

from blocks import gpus
from datasets import ROLES
from page import percent

WIDTH, LEFT, RIGHT = 900, 372, 880           # the lanes of the sets lie between the latter two
LOW, HIGH = 0.5, 1.6                         # ratios shown; others lie at the edge, as triangles
BAND = 0.1                                   # shaded: plus and minus
TICKS = [0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.4, 1.6]
TOP, LANE, TALL, MANY = 94, 27, 66, 1000     # a lane of many rows is tall
NAME, ROWS, MEAN, USED = 16, 252, 312, 322   # columns of a lane
NAME_MOST = 29                               # letters
SIZES_LEFT, SIZES_RIGHT, SIZES_GAP, SIZES_HEIGHT = 56, 880, 66, 220
SIZES, SIZE_WIDTH = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096], 58
BIN, FEW = 0.02, 6                           # rows so near in log ratio are alike; so few are few
RADIUS, RADIUS_MANY = 2.2, 1.3
MEANING = {"fitted": "fitted: something was chosen to suit these rows",
           "seen": "seen: looked at, nothing chosen by them", "blind": "blind: scored by others"}
STYLE = """
svg{--paper:#fff;--ink:#1f2328;--soft:#59636e;--line:#e1e5ea;--one:#8b949e;--band:#e9f3ea;
--fitted:#c2700a;--seen:#1f6feb;--blind:#8250df}
@media (prefers-color-scheme:dark){svg{--paper:#0d1117;--ink:#e6edf3;--soft:#9198a1;--line:#262c34;
--one:#6e7681;--band:#14261a;--fitted:#f0a040;--seen:#6cb0ff;--blind:#c8a1ff}}
text{font:12px system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;fill:var(--ink)}
.soft{fill:var(--soft)}.head{font-weight:600}.title{font-size:16px;font-weight:600}
.end{text-anchor:end}.mid{text-anchor:middle}
.line,.one,.median,.dots{fill:none}.line{stroke:var(--line)}.one{stroke:var(--one)}
.band{fill:var(--band)}.median{stroke:var(--ink);stroke-width:2.5}
.dots{stroke-linecap:round;stroke-opacity:.7}.fitted{stroke:var(--fitted);color:var(--fitted)}
.seen{stroke:var(--seen);color:var(--seen)}.blind{stroke:var(--blind);color:var(--blind)}
.out{fill:currentColor;stroke:none}
"""


def number(value):
    return f"{value:.1f}".removesuffix(".0")


def share(ratio):
    """Where a ratio lies on the scale: 0 to 1."""
    return math.log(ratio / LOW) / math.log(HIGH / LOW)


def across(ratio):
    return LEFT + (RIGHT - LEFT) * share(ratio)


def between(n):
    """The n-th number of a sequence in -0.5 .. 0.5 that never crowds (van der Corput)."""
    value, part = 0.0, 0.5
    while n:
        value, n, part = value + part * (n & 1), n >> 1, part / 2
    return value - 0.5


def spread(ratios):
    """-0.5 .. 0.5 for each of the ratios: the farther from 0, the more are alike."""
    counts = {}
    alike = [round(math.log(ratio) / BIN) for ratio in ratios]
    for at in alike:
        counts[at] = counts.get(at, 0) + 1
    full = max([*counts.values(), FEW])
    places = [0.0] * len(ratios)
    for n, i in enumerate(sorted(range(len(ratios)), key=lambda i: ratios[i]), 1):
        places[i] = between(n) * counts[alike[i]] / full
    return places


def text(x, y, words, kind=""):
    words = str(words).replace("&", "&amp;").replace("<", "&lt;")
    return f'<text x="{number(x)}" y="{number(y)}"' + (f' class="{kind}"' if kind else "") \
        + f">{words}</text>"


def line(kind, d):
    return f'<path class="{kind}" d="{d}"/>'


def dots(points, role, radius):
    """One line of round ends."""
    d = "".join(f"M{number(x)} {number(y)}h0" for x, y in points)
    return f'<path class="dots {role}" stroke-width="{number(2 * radius)}" d="{d}"/>' if d else ""


def beyond(points, role, shape):
    d = "".join(f"M{number(x)} {number(y)}{shape}" for x, y in points)
    return line(f"out {role}", d) if d else ""


def radius(n):
    return RADIUS_MANY if n >= MANY else RADIUS


def lane(scored, middle, height):
    """The rows of a set, left to right from too fast to too slow."""
    ratios, role = [r.ratio for r in scored.timed], scored.dataset.time
    places = list(zip(ratios, spread(ratios)))

    def points(keep, x):
        return [(x(ratio), middle + (height - 7) * at) for ratio, at in places if keep(ratio)]

    def aside(keep, x):
        return [(x, middle + (height - 12) * between(n))
                for n, _ in enumerate(filter(keep, ratios), 1)]

    name = scored.name if len(scored.name) <= NAME_MOST else scored.name[:NAME_MOST - 1] + "…"
    parts = [text(NAME, middle + 4, name, "head"),
             text(ROWS, middle + 4, f"{len(ratios):,}", "end"),
             text(MEAN, middle + 4, percent(scored.figures["mean"]), "end"),
             text(USED, middle + 4, role, "soft"),
             dots(points(lambda r: LOW <= r <= HIGH, across), role, radius(len(ratios))),
             beyond(aside(lambda r: r < LOW, LEFT), role, "l7-3.5v7z"),
             beyond(aside(lambda r: r > HIGH, RIGHT), role, "l-7-3.5v7z")]
    if len(ratios) > 2:
        median = min(max(statistics.median(ratios), LOW), HIGH)
        parts.append(line("median", f"M{number(across(median))} {number(middle - height / 2 + 4)}"
                                    f"v{number(height - 8)}"))
    return parts


def sets(found):
    """The upper panel, and where it ends."""
    heights = [TALL if len(s.timed) >= MANY else LANE for s in found]
    bottom = TOP + sum(heights)
    low, high = number(across(1 - BAND)), number(across(1 + BAND))
    parts = [line("band", f"M{low} {TOP}H{high}V{bottom}H{low}z"),
             text(NAME, TOP - 9, "set", "soft"), text(ROWS, TOP - 9, "rows", "soft end"),
             text(MEAN, TOP - 9, "mean", "soft end"),
             text(LEFT, TOP - 26, "← too fast", "soft"),
             text(across(1), TOP - 26, "simulated / measured", "soft mid"),
             text(RIGHT, TOP - 26, "too slow →", "soft end")]
    for tick in TICKS:
        x = across(tick)
        parts += [line("one" if tick == 1 else "line", f"M{number(x)} {TOP}V{bottom}"),
                  text(x, TOP - 9, f"{tick:g}", "soft mid"),
                  text(x, bottom + 16, f"{tick:g}", "soft mid")]
    y = TOP
    for scored, height in zip(found, heights):
        parts += [line("line", f"M{NAME} {number(y)}H{RIGHT}"),
                  *lane(scored, y + height / 2, height)]
        y += height
    return [*parts, line("line", f"M{NAME} {bottom}H{RIGHT}")], bottom


def sizes(found, top):
    """The lower panel: GPUs from left to right, ratios upwards."""
    bottom = top + SIZES_HEIGHT
    rows = [(gpus(r.job), r.ratio, s.dataset.time) for s in found for r in s.timed]
    least, most = min(n for n, _, _ in rows), max(n for n, _, _ in rows)

    def along(count):
        return SIZES_LEFT + SIZE_WIDTH / 2 + (SIZES_RIGHT - SIZES_LEFT - SIZE_WIDTH) \
            * math.log(count / least) / math.log(max(most / least, 2))

    def up(ratio):
        return bottom - SIZES_HEIGHT * min(max(share(ratio), 0.0), 1.0)

    parts = [line("band", f"M{SIZES_LEFT} {number(up(1 + BAND))}H{SIZES_RIGHT}"
                          f"V{number(up(1 - BAND))}H{SIZES_LEFT}z"),
             text(NAME, top - 18, "The same rows by number of GPUs", "head")]
    for tick in TICKS:
        parts += [line("one" if tick == 1 else "line",
                       f"M{SIZES_LEFT} {number(up(tick))}H{SIZES_RIGHT}"),
                  text(SIZES_LEFT - 8, up(tick) + 4, f"{tick:g}", "soft end")]
    parts += [text(along(size), bottom + 18, size, "soft mid")
              for size in SIZES if least <= size <= most]
    places = {role: [] for role in ROLES}
    for size in sorted({n for n, _, _ in rows}):
        here = [(ratio, role) for n, ratio, role in rows if n == size]
        width = SIZE_WIDTH * min(0.95, 0.3 + len(here) / 100)
        for (ratio, role), at in zip(here, spread([ratio for ratio, _ in here])):
            places[role].append((along(size) + width * at, up(ratio), share(ratio)))
    for role, points in places.items():
        parts += [dots([(x, y) for x, y, at in points if 0 <= at <= 1], role, 1.5),
                  beyond([(x, y) for x, y, at in points if at < 0], role, "l-3.5-7h7z"),
                  beyond([(x, y) for x, y, at in points if at > 1], role, "l-3.5 7h7z")]
    return parts, bottom


def legend(y, roles):
    x, parts = NAME, []
    for role in ROLES:
        if role in roles:
            parts += [dots([(x + 4, y)], role, 4), text(x + 14, y + 4, MEANING[role], "soft")]
            x += 30 + 7 * len(MEANING[role])
    return parts


def draw(found):
    rows = sum(len(s.timed) for s in found)
    upper, bottom = sets(found)
    lower, end = sizes(found, bottom + SIZES_GAP)
    height = end + 54
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
             f'width="{WIDTH}" height="{height}" role="img">',
             f"<title>Step times simulated over measured: {rows} runs, {len(found)} sets</title>",
             f"<style>{STYLE}</style>",
             f'<rect width="{WIDTH}" height="{height}" rx="6" fill="var(--paper)"/>',
             text(NAME, 27, f"Step times of {rows:,} runs in {len(found)} sets, simulated over "
                            "measured", "title"),
             *legend(46, {s.dataset.time for s in found}), *upper, *lower,
             text(NAME, height - 14, f"Shaded: within {100 * BAND:.0f} %. Bar: the median of the "
                  "set. Triangles: beyond the scale. A star: data that may not be passed on.",
                  "soft"), "</svg>"]
    return "\n".join(part for part in parts if part) + "\n"

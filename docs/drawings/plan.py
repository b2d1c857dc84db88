"""plan.svg: what the planner under hardware costs writes down in a decision: timelines of two GPUs with what runs and what is reserved."""
from svg import FILL, INK, SOFT, arrow, box, page, words

LEFT, MINUTE, SLICE = 150, 12, 20  # pixels: where "now" is, of a minute, of a compute slice


def run(top, first, slices, begin, end, name, planned=False, now=False):
    """A job on `slices` compute slices from `first` on, minutes `begin` to `end`."""
    fill, edge = FILL[slices]
    x, y = LEFT + begin * MINUTE, top + first * SLICE
    out = box(x, y, (end - begin) * MINUTE, slices * SLICE, "#ffffff" if planned and not now else fill, edge, 3,
              2.5 if now else 1.5, "6 4" if planned and not now else None)
    return out + words(x + 8, y + slices * SLICE / 2 + 5, name, 13, bold=now)


def change(top, first, slices, begin):
    return box(LEFT + begin * MINUTE, top + first * SLICE, MINUTE, slices * SLICE, "#d8dee4", "#9aa5b1", 0, 1)


def gpu(top, name):
    out = words(30, top + 66, name, 15, bold=True) + words(30, top + 86, "7 compute slices", 12, color=SOFT)
    for row in range(8):
        y = top + row * SLICE
        out += f'<line x1="{LEFT}" y1="{y}" x2="{LEFT + 70 * MINUTE}" y2="{y}" stroke="#e4e7eb" stroke-width="1"/>\n'
    return out


def plan():
    out = words(30, 34, "A decision: what runs, what starts now, and what is reserved", 17, bold=True)
    a, b = 80, 260
    out += gpu(a, "GPU 0") + gpu(b, "GPU 1")
    out += run(a, 0, 4, 0, 40, "runs: job 11 on 4g, expected to end at 40 min")
    out += run(a, 4, 2, 0, 20, "runs: job 12 on 2g")
    out += run(a, 6, 1, 0, 14, "starts now: 21", planned=True, now=True)
    out += change(a, 4, 3, 20) + run(a, 4, 3, 21, 47, "reserved: 22 on 3g", planned=True)
    out += run(b, 0, 7, 0, 30, "runs: job 13 on the whole GPU")
    out += change(b, 0, 7, 30) + run(b, 0, 4, 31, 62, "reserved: 23 on 4g", planned=True)
    out += run(b, 4, 3, 31, 55, "reserved: 24 on 3g", planned=True)
    axis = b + 7 * SLICE + 24
    out += arrow((LEFT, axis), (LEFT + 70 * MINUTE, axis))
    for minute in (0, 20, 40, 60):
        out += words(LEFT + minute * MINUTE, axis + 20, "now" if minute == 0 else f"{minute} min", 13, "middle", minute == 0)
    out += f'<line x1="{LEFT}" y1="62" x2="{LEFT}" y2="{axis}" stroke="{INK}" stroke-width="2"/>\n'
    y = axis + 48
    for x, text, draw in ((30, "runs", lambda x: box(x, y - 12, 26, 16, *FILL[4], 3)),
                          (140, "starts with this plan", lambda x: box(x, y - 12, 26, 16, *FILL[1], 3, 2.5)),
                          (350, "reserved: others plan around it; planned again at the next event",
                           lambda x: box(x, y - 12, 26, 16, "#ffffff", FILL[3][1], 3, 1.5, "6 4")),
                          (850, "a change of slices", lambda x: box(x, y - 12, 14, 16, "#d8dee4", "#9aa5b1", 0, 1))):
        out += draw(x) + words(x + 36, y + 1, text, 13, color=SOFT)
    return page(1050, y + 24, "A plan on the timelines of two GPUs", out)

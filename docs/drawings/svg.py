"""A few shapes and words as SVG. Coordinates are pixels, y downward; every function returns one or more elements as text."""
from xml.sax.saxutils import escape

INK, SOFT, LINE, PAPER = "#1f2933", "#52606d", "#9aa5b1", "#ffffff"
# By the profile's compute slices: fill and edge. `idle` is what exists and is not used, `none` is no instance.
FILL = {1: ("#fde8c8", "#d9822b"), 2: ("#d5eef0", "#2a8c96"), 3: ("#dfe5fb", "#4a63c4"), 4: ("#e2f0d9", "#5b9a3c"),
        7: ("#f4dcea", "#b0478a"), "idle": ("#f1f4f7", "#9aa5b1"), "none": ("#ffffff", "#c3ccd5")}


def box(x, y, w, h, fill="#ffffff", edge=LINE, radius=6, width=1.5, dash=None):
    extra = f' stroke-dasharray="{dash}"' if dash else ""
    return (f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="{radius}" fill="{fill}" stroke="{edge}" '
            f'stroke-width="{width}"{extra}/>\n')


def words(x, y, text, size=14, anchor="start", bold=False, color=INK, mono=False):
    family = ' font-family="DejaVu Sans Mono, Menlo, Consolas, monospace"' if mono else ""
    weight = ' font-weight="bold"' if bold else ""
    return (f'<text x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}" fill="{color}"{weight}{family}>'
            f'{escape(text)}</text>\n')


def lines(x, y, texts, size=13, gap=18, **kind):
    return "".join(words(x, y + i * gap, text, size, **kind) for i, text in enumerate(texts))


def arrow(*points, color=INK, dash=None):
    """A line through the points with a head at the last."""
    extra = f' stroke-dasharray="{dash}"' if dash else ""
    path = " ".join(f"{x},{y}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"{extra} marker-end="url(#head)"/>\n'


def card(x, y, w, h, title, below=(), fill="#ffffff", edge=LINE, size=13):
    """A box with a bold title and lines below it."""
    return (box(x, y, w, h, fill, edge) + words(x + 14, y + 25, title, 15, bold=True) +
            lines(x + 14, y + 46, below, size, color=SOFT))


def page(width, height, title, body):
    """The whole file: a white page, so that it reads on a dark one too."""
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
            f'font-family="DejaVu Sans, Verdana, Helvetica, Arial, sans-serif" role="img">\n'
            f'<title>{escape(title)}</title>\n'
            '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
            'orient="auto-start-reverse"><path d="M0,0 L10,5 L0,10 z" fill="#1f2933"/></marker></defs>\n'
            f'<rect width="{width}" height="{height}" fill="{PAPER}"/>\n{body}</svg>\n')

"""A bar chart as SVG, without a plotting library: one bar a figure, longest first."""

from __future__ import annotations

from collections.abc import Mapping
from xml.sax.saxutils import escape

WIDTH, LEFT, HEIGHT, GAP = 900, 330, 22, 8


def bars(title: str, values: Mapping[str, float]) -> str:
    ordered = sorted(values.items(), key=lambda item: -item[1])
    longest = max(values.values())
    scale = (WIDTH - LEFT - 110) / longest if longest else 0.0
    height = 60 + len(ordered) * (HEIGHT + GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif"'
        ' font-size="13">',
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
        f'<text x="16" y="28" font-size="15" font-weight="600">{escape(title)}</text>',
    ]
    for place, (name, value) in enumerate(ordered):
        y = 48 + place * (HEIGHT + GAP)
        said = escape(name.removesuffix(" / per_second"))
        parts += [
            f'<text x="{LEFT - 10}" y="{y + 15}" text-anchor="end">{said}</text>',
            f'<rect x="{LEFT}" y="{y}" width="{value * scale:.1f}" height="{HEIGHT}" fill="#3566a8"/>',
            f'<text x="{LEFT + value * scale + 6:.1f}" y="{y + 15}">{value:,.0f}/s</text>',
        ]
    return "\n".join([*parts, "</svg>"]) + "\n"

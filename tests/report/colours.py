"""The eight colours of plots stay apart, light and dark, also for the colour-blind. usage: colours.py page.css plot_png.c
Distance: 100 times Euclid's in OKLab (Ottosson 2020), between all pairs as seen by protanopes, deuteranopes and tritanopes
(Machado, Oliveira and Fernandes 2009, severity 1) and by all others. Contrast with the panel: WCAG 2, at least 3 for graphics."""
import itertools, math, re, sys

MACHADO = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protan": ((.152286, 1.052583, -.204868), (.114503, .786281, .099216), (-.003882, -.048116, 1.051998)),
    "deutan": ((.367322, .860646, -.227968), (.280085, .672501, .047413), (-.011820, .042940, .968881)),
    "tritan": ((1.255528, -.076749, -.178779), (-.078411, .930809, .147602), (.004733, .691367, .303900)),
}
APART, CONTRAST = 12, 3


def linear(hexa):
    parts = [int(hexa[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    return [c / 12.92 if c <= .04045 else ((c + .055) / 1.055) ** 2.4 for c in parts]


def oklab(rgb):
    r, g, b = (min(max(c, 0), 1) for c in rgb)
    l, m, s = (.4122214708 * r + .5363325363 * g + .0514459929 * b, .2119034982 * r + .6806995451 * g + .1073969566 * b,
               .0883024619 * r + .2817188376 * g + .6299787005 * b)
    l, m, s = l ** (1 / 3), m ** (1 / 3), s ** (1 / 3)
    return (.2104542553 * l + .7936177850 * m - .0040720468 * s, 1.9779984951 * l - 2.4285922050 * m + .4505937099 * s,
            .0259040371 * l + .7827717662 * m - .8086757660 * s)


def seen(rgb, eye):
    return oklab([sum(k * c for k, c in zip(row, rgb)) for row in MACHADO[eye]])


def luminance(rgb):
    return .2126 * rgb[0] + .7152 * rgb[1] + .0722 * rgb[2] + .05


css, png = (open(path).read() for path in sys.argv[1:3])
bad = []
themes = [(dict(re.findall(r"--(\w+):(#[0-9a-f]{6})", part)), name) for name, part in zip(("light", "dark"), css.split("@media(prefers-color-scheme:dark)", 1))]
for theme, name in themes:
    colours = [theme[f"s{i}"] for i in range(8)]
    for eye in MACHADO:
        least = min((100 * math.dist(seen(linear(a), eye), seen(linear(b), eye)), a, b) for a, b in itertools.combinations(colours, 2))
        print(f"{name} {eye}: nearest pair {least[1]} {least[2]} {least[0]:.1f}")
        if least[0] < APART: bad.append(f"{name}, {eye}: {least[1]} and {least[2]} are {least[0]:.1f} apart, {APART} is wanted")
    for c in colours:
        a, b = sorted((luminance(linear(c)), luminance(linear(theme["panel"]))))
        if b / a < CONTRAST: bad.append(f"{name}: {c} has a contrast of {b / a:.2f} with the panel")
light = [themes[0][0][f"s{i}"][1:] for i in range(8)]
if re.findall(r"0x([0-9a-f]{6})", png.split("series[VKT__N_COLORS]", 1)[1])[:8] != light: bad.append("PNG files have other colours than the page")
sys.exit("\n".join(bad) or 0)

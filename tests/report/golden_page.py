"""Letters that are the same on every machine, and pictures of pages beside golden ones, a twelfth as large. Knows no page."""
import base64, json, os, pathlib

root = pathlib.Path(__file__).resolve().parents[2]
SMALLER = 12


def font(name):
    return base64.b64encode((root / f"src/formats/font/{name}.ttf").read_bytes()).decode()


PIN = """(async () => { const s = document.createElement('style'); s.textContent = `
@font-face{font-family:G;src:url(data:font/ttf;base64,%s)}@font-face{font-family:G;font-weight:bold;src:url(data:font/ttf;base64,%s)}
*{font-family:G,sans-serif!important}`; document.head.append(s); await document.fonts.load('12px G'); await document.fonts.load('bold 12px G');
return document.fonts.check('12px G') && [...document.fonts].every(f => f.status == 'loaded'); })()""" % (font("sans"), font("sans-bold"))
SMALL = """(async (full, by) => { const i = new Image(); i.src = 'data:image/png;base64,' + full; await i.decode(); const c = document.createElement('canvas');
c.width = Math.round(i.width / by); c.height = Math.round(i.height / by); const g = c.getContext('2d'); g.imageSmoothingQuality = 'high'; g.drawImage(i, 0, 0, c.width, c.height);
return [c.toDataURL('image/png').split(',')[1], c.width, c.height]; })"""
# Means over 3 x 3 pixels of both pictures: the mean difference, and the share of places that differ by more than 15 of 255.
COMPARE = """(async (a, b) => { const load = async p => { const i = new Image(); i.src = 'data:image/png;base64,' + p; await i.decode(); return i; };
const [x, y] = [await load(a), await load(b)], w = Math.min(x.width, y.width), h = Math.min(x.height, y.height);
const pixels = i => { const c = document.createElement('canvas'); c.width = w; c.height = h; const g = c.getContext('2d'); g.drawImage(i, 0, 0); return g.getImageData(0, 0, w, h).data; };
const p = pixels(x), q = pixels(y); let sum = 0, far = 0, n = 0;
for (let r = 0; r + 3 <= h; r += 3) for (let c = 0; c + 3 <= w; c += 3) for (let k = 0; k < 3; k++) { let d = 0;
  for (let j = 0; j < 9; j++) { const at = 4 * ((r + (j / 3 | 0)) * w + c + j % 3) + k; d += p[at] - q[at]; }
  d = Math.abs(d) / 9; sum += d; far += d > 15; n++; }
return [sum / n, far / n, x.width - y.width, x.height - y.height]; })"""


def call(b, function, *arguments):
    return b.run(f"{function}({','.join(json.dumps(a) for a in arguments)})")


def picture_differs(b, path, full, update):
    """In words how a page's picture differs from the golden one; None: it does not, or VKT_UPDATE=1 has written the golden one again."""
    small, *_ = call(b, SMALL, base64.b64encode(full).decode(), SMALLER)
    if update: path.write_bytes(base64.b64decode(small))
    if update: return None
    if not path.exists(): return f"{path.name} is not there: --update makes it"
    mean, far, dw, dh = call(b, COMPARE, small, base64.b64encode(path.read_bytes()).decode())
    if mean < 1 and far < .001 and abs(dw) <= 1 and abs(dh) <= 10: return None
    (pathlib.Path(os.environ.get("VKT_PAGES_OUT", ".")) / f"{path.stem}-is.png").write_bytes(base64.b64decode(small))
    return f"{path.stem}: the mean difference is {mean:.2f} of 255, {100 * far:.2f}% of the places differ, size by {dw}, {dh}"

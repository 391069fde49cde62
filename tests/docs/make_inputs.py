"""The small inputs of the pages in docs/: photos, a table, texts, conversations. usage: make_inputs.py FOLDER"""
import json, pathlib, random, struct, sys, zlib

to = pathlib.Path(sys.argv[1])
rnd = random.Random(1)


def png(path, width, height, pixels, channels=3, bits=8):
    def chunk(kind, data): return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    row = width * channels * bits // 8
    rows = b"".join(b"\0" + pixels[y * row:(y + 1) * row] for y in range(height))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, 2 if channels == 3 else 0, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def photo(kind):
    base = {"leaf": (40, 150, 50), "stone": (120, 120, 125)}[kind]
    return bytes(min(255, max(0, c + rnd.randrange(-40, 40))) for _ in range(24 * 24) for c in base)


for kind in ("leaf", "stone"):
    (to / "photos" / kind).mkdir(parents=True)
    for i in range(30): png(to / "photos" / kind / f"{i:02}.png", 24, 24, photo(kind))
(to / "new-photos").mkdir()
for i, kind in enumerate(("leaf", "stone", "leaf")): png(to / "new-photos" / f"{i}.png", 24, 24, photo(kind))

def cell():
    """A disc on the ground, and which pixels it covers."""
    x, y, r = rnd.randrange(5, 11), rnd.randrange(5, 11), rnd.randrange(3, 5)
    on = [(k % 16 - x) ** 2 + (k // 16 - y) ** 2 < r * r for k in range(256)]
    return bytes((170 if o else 80) + rnd.randrange(-25, 25) for o in on), bytes(on)


for folder in ("cells/images", "cells/masks", "new-cells"): (to / folder).mkdir(parents=True)
for i in range(24):
    picture, mask = cell()
    png(to / "cells/images" / f"{i:02}.png", 16, 16, picture, 1), png(to / "cells/masks" / f"{i:02}.png", 16, 16, mask, 1)
    if i < 3: png(to / "new-cells" / f"{i}.png", 16, 16, picture, 1)

for folder in ("street/images", "street/labels"): (to / folder).mkdir(parents=True)
(to / "street/data.yaml").write_text("names: [dark, bright]\n")
for i in range(12):
    x, y, w, h, kind = rnd.randrange(40), rnd.randrange(40), 8 + rnd.randrange(16), 8 + rnd.randrange(16), i % 2
    picture = bytes(40 + 200 * kind if x <= k % 64 < x + w and y <= k // 64 < y + h else 140 for k in range(64 * 64))
    png(to / "street/images" / f"{i:02}.png", 64, 64, picture, 1)
    (to / "street/labels" / f"{i:02}.txt").write_text(f"{kind} {(x + w / 2) / 64} {(y + h / 2) / 64} {w / 64} {h / 64}\n")

(to / "pose/images").mkdir(parents=True)
with open(to / "pose/points.csv", "w") as f:
    f.write("file,left_end_x,left_end_y,right_end_x,right_end_y\n")
    for i in range(12):
        x, y, w = rnd.randrange(4, 12), rnd.randrange(6, 26), rnd.randrange(8, 16)
        png(to / "pose/images" / f"{i:02}.png", 32, 32, bytes(220 if abs(k // 32 - y) < 2 and x <= k % 32 < x + w else 90 for k in range(1024)), 1)
        f.write(f"{i:02}.png,{x},{y},{x + w},{y}\n")

for folder in ("dish/images", "dish/instances"): (to / folder).mkdir(parents=True)
for i in range(16):
    x, y, r = rnd.randrange(6, 16), rnd.randrange(8, 24), rnd.randrange(4, 6)
    disc = lambda k, u: (k % 32 - u) ** 2 + (k // 32 - y) ** 2 < r * r
    numbers = [1 if disc(k, x) else 2 if disc(k, x + 2 * r) else 0 for k in range(1024)]
    png(to / "dish/images" / f"{i:02}.png", 32, 32, bytes((60, 200, 170)[v] for v in numbers), 1)
    png(to / "dish/instances" / f"{i:02}.png", 32, 32, struct.pack(">1024H", *numbers), 1, 16)

for folder in ("small/before", "small/after"): (to / folder).mkdir(parents=True)
for i in range(24):
    large, _ = cell()
    half = bytes(sum(large[(2 * y + j) * 16 + 2 * x + k] for j in (0, 1) for k in (0, 1)) // 4 for y in range(8) for x in range(8))
    png(to / "small/before" / f"{i:02}.png", 8, 8, half, 1), png(to / "small/after" / f"{i:02}.png", 16, 16, large, 1)

with open(to / "wine.csv", "w") as f, open(to / "new.csv", "w") as new:
    f.write("acid,sugar,kind,quality\n"), new.write("sugar,acid,kind\n")
    for i in range(400):
        acid, sugar, kind = rnd.randrange(100), rnd.randrange(83), rnd.choice(("red", "white"))
        f.write(f"{acid},{sugar},{kind},{'good' if acid > 50 else 'poor'}\n")
        if i < 5: new.write(f"{sugar},{acid},{kind}\n")

words = "the a key mat door letter house under over was is found left by near old small and then she he they".split()
sentence = lambda: " ".join(rnd.choice(words) for _ in range(9)).capitalize() + "."
(to / "letters.txt").write_text("\n".join(sentence() for _ in range(600)) + "\n")
with open(to / "chats.jsonl", "w") as f:
    for i in range(60):
        what, where = rnd.choice(("key", "letter", "door")), rnd.choice(("Under the mat.", "Near the house.", "By the door."))
        f.write(json.dumps({"messages": [{"role": "user", "content": f"Where is the {what}?"}, {"role": "assistant", "content": where}]}) + "\n")
(to / "base.yaml").write_text("""name: base
data: {source: text, path: letters.txt, tokenizer: letters.json, context: 96}
model: [{transformer: {layers: 1, heads: 2, width: 32, names: llama, norm: rmsnorm, positions: rope, activation: swiglu}}]
train: {steps: 5, batch: 4}
eval: {every: 5}
samples: {count: 0}
""")

"""The small inputs of the pages in docs/: photos, a table, texts, conversations. usage: make_inputs.py FOLDER"""
import json, pathlib, random, struct, sys, zlib

to = pathlib.Path(sys.argv[1])
rnd = random.Random(1)


def png(path, width, height, pixels):
    def chunk(kind, data): return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + pixels[y * width * 3:(y + 1) * width * 3] for y in range(height))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def photo(kind):
    base = {"leaf": (40, 150, 50), "stone": (120, 120, 125)}[kind]
    return bytes(min(255, max(0, c + rnd.randrange(-40, 40))) for _ in range(24 * 24) for c in base)


for kind in ("leaf", "stone"):
    (to / "photos" / kind).mkdir(parents=True)
    for i in range(30): png(to / "photos" / kind / f"{i:02}.png", 24, 24, photo(kind))
(to / "new-photos").mkdir()
for i, kind in enumerate(("leaf", "stone", "leaf")): png(to / "new-photos" / f"{i}.png", 24, 24, photo(kind))

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

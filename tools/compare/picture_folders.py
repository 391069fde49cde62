#!/usr/bin/env python3
"""Folders of pictures, one a class, of two packages, for the recipes digits20 and emoji.

  tools/compare/picture_folders.py digits PNG OUT      opencv-doc's digits.png: 5,000 tiles of 20x20, a class every five rows
  tools/compare/picture_folders.py emoji PACKAGE OUT   npm's emoji-datasource-google, unpacked: 64x64 pictures by category

OUT must not exist. Python's own library only. How to get the packages stands at the head of each recipe."""
import hashlib
import json
import pathlib
import shutil
import struct
import sys
import zlib

TILE, ROWS, COLUMNS = 20, 50, 100


def stop(text):
    sys.exit(f"picture_folders: {text}")


def chunks(data):
    at = 8
    while at + 12 <= len(data):
        n, kind = struct.unpack(">I4s", data[at:at + 8])
        yield kind, data[at + 8:at + 8 + n]
        at += 12 + n


def unfilter(kind, row, above):
    """A row of one byte a pixel as it was before the PNG filter of that kind."""
    out, left, corner = bytearray(), 0, 0
    for x, up in zip(row, above):
        p = left + up - corner
        paeth = min((left, up, corner), key=lambda v: abs(p - v))
        left = (x + (0, left, up, (left + up) // 2, paeth)[kind]) & 255
        corner = up
        out.append(left)
    return out


def grey_rows(path):
    data = path.read_bytes()
    if data[:8] != b"\x89PNG\r\n\x1a\n":
        stop(f"'{path}' is no PNG")
    parts = list(chunks(data))
    header = dict(parts).get(b"IHDR", b"")
    expected = struct.pack(">IIBBBBB", TILE * COLUMNS, TILE * ROWS, 8, 0, 0, 0, 0)
    if header != expected:
        stop(f"'{path}' is not an 8-bit grey picture of {TILE * COLUMNS}x{TILE * ROWS}: give opencv-doc's digits.png")
    raw = zlib.decompress(b"".join(body for kind, body in parts if kind == b"IDAT"))
    width, above, rows = TILE * COLUMNS, bytes(TILE * COLUMNS), []
    for y in range(TILE * ROWS):
        start = y * (width + 1)
        above = unfilter(raw[start], raw[start + 1:start + 1 + width], above)
        rows.append(above)
    return rows


def png(rows):
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 0, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(b"".join(b"\0" + bytes(r) for r in rows))) + chunk(b"IEND", b""))


def digits(source, out):
    rows = grey_rows(source)
    for r in range(ROWS):
        folder = out / str(r // 5)
        folder.mkdir(parents=True, exist_ok=True)
        for c in range(COLUMNS):
            tile = [row[c * TILE:(c + 1) * TILE] for row in rows[r * TILE:(r + 1) * TILE]]
            (folder / f"{r % 5 * COLUMNS + c:03d}.png").write_bytes(png(tile))
    return ROWS * COLUMNS


def emoji(source, out):
    """Base emoji (the list has variants of skin within their entries). Some flags and families look alike to the last
    byte: the first stays, so that no picture is both trained on and tested."""
    seen, n = set(), 0
    for entry in json.loads((source / "emoji.json").read_text()):
        if not entry.get("has_img_google") or entry["category"] == "Component":
            continue
        picture = source / "img/google/64" / entry["image"]
        content = hashlib.sha256(picture.read_bytes()).digest()
        if content in seen:
            continue
        seen.add(content)
        folder = out / entry["category"]
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(picture, folder / entry["image"])
        n += 1
    return n


def main():
    kinds = {"digits": digits, "emoji": emoji}
    if len(sys.argv) != 4 or sys.argv[1] not in kinds:
        sys.exit(__doc__)
    source, out = pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    if out.exists():
        stop(f"'{out}' already exists: remove it or name another folder")
    try:
        n = kinds[sys.argv[1]](source, out)
    except (OSError, ValueError, KeyError, IndexError, zlib.error) as e:
        stop(f"'{source}' can't be read: {e}")
    print(f"{out}: {n} pictures in {len(list(out.iterdir()))} folders")


main()

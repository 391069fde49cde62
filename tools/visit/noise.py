#!/usr/bin/env python3
"""noise.py FOLDER: Fashion-MNIST's four files with pictures of noise, for when only the time of a step matters."""
import gzip
import os
import random
import struct
import sys

folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
random.seed(1)
for name, n in (("train", 1024), ("t10k", 256)):
    pictures = random.randbytes(784) * n
    labels = bytes(i % 10 for i in range(n))
    for kind, head, data in (("images-idx3", (0x803, n, 28, 28), pictures), ("labels-idx1", (0x801, n), labels)):
        with open(f"{folder}/{name}-{kind}-ubyte.gz", "wb") as f, gzip.GzipFile("", "wb", mtime=0, fileobj=f) as z:
            z.write(struct.pack(f">{len(head)}I", *head) + data)

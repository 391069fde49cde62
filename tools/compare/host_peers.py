#!/usr/bin/env python3
"""The peers of `vktrain bench --host`: the same work in pandas, scikit-learn, tokenizers, PyTorch and Python's own modules, medians of
five in ms (of tasks: check_tasks.py).
usage: host_peers.py [--quick] (what is not installed is left out, and said)"""
import array, json, pathlib, random, statistics, sys, tempfile, time

quick = "--quick" in sys.argv[1:]
rows, runs, steps, megabytes, text_bytes = (20000, 500, 20000, 8, 1000000) if quick else (500000, 10000, 1000000, 256, 50000000)
n_pictures, requests = (80, 400) if quick else (800, 10000)


def measure(name, n, of, work):
    work()
    times = []
    for _ in range(5):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    median = statistics.median(times)
    print(f"{name}, {n} {of}: {1e3 * median:.1f} ms, {n / median:.4g} items/s")


def table(folder):
    try:
        import pandas
    except ImportError:
        return print("table: pandas is not installed: left out")
    path, draw = folder / "t.csv", random.Random(1)
    with open(path, "w") as f:
        f.write(",".join(f"x{k}" for k in range(11)) + ",label\n")
        for _ in range(rows):
            x = [draw.randint(-100000, 100000) / 1e4 for _ in range(11)]
            f.write(",".join(map(str, x)) + (",ab\n" if x[0] + x[1] * x[2] > 0 else ",cd\n"))
    measure("pandas.read_csv", rows, "rows", lambda: pandas.read_csv(path))
    try:
        from sklearn.neural_network import MLPClassifier
        from sklearn.preprocessing import StandardScaler
    except ImportError:
        return print("predict: scikit-learn is not installed: left out")
    few = pandas.read_csv(path, nrows=2000)
    scale = StandardScaler().fit(few.iloc[:, :-1])
    model = MLPClassifier((64,), max_iter=1).fit(scale.transform(few.iloc[:, :-1]), few["label"])
    measure("read_csv, StandardScaler, MLPClassifier.predict_proba", rows, "rows",
            lambda: model.predict_proba(scale.transform(pandas.read_csv(path).iloc[:, :-1])))


def text(folder):
    try:
        import tokenizers
    except ImportError:
        return print("text: tokenizers is not installed: left out")
    words = "".join("\n" if i % 61 == 60 else " " if i % 6 == 5 else chr(97 + i // 7 % 26) for i in range(text_bytes))
    (folder / "t.txt").write_text(words)
    bpe = tokenizers.Tokenizer(tokenizers.models.BPE())
    bpe.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.train_from_iterator([words[:1000000]], tokenizers.trainers.BpeTrainer(
        vocab_size=1000, initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(), show_progress=False))

    def pack():
        read = (folder / "t.txt").read_text()
        pieces = [read[i:i + 4096] for i in range(0, len(read), 4096)]
        with open(folder / "t.ids", "wb") as f:
            for k in range(0, len(pieces), 1000):
                for e in bpe.encode_batch_fast(pieces[k:k + 1000]):
                    array.array("H", e.ids).tofile(f)
    measure("tokenizers' encode_batch_fast of 4 KiB pieces", text_bytes, "bytes", pack)


def lists(folder):
    text = json.dumps({"name": "bench", "status": "done", "config": "seed: 1", **{f"key{i}": i / 7 for i in range(40)}})
    for i in range(runs):
        (folder / f"run-{i}").mkdir()
        (folder / f"run-{i}" / "run.json").write_text(text)
    measure("json.load of each run", runs, "runs",
            lambda: [json.loads((d / "run.json").read_text()) for d in folder.iterdir() if d.is_dir()])
    path = folder / "metrics.jsonl"
    with open(path, "w") as f:
        for i in range(1, steps + 1):
            f.write(f'{{"kind":"train","step":{i},"loss":{i % 7}.{i:09},"grad_norm":1.25,"clip":1,"lr":0.003,"input_wait":0,'
                    f'"seconds":{i}.5}}\n')

    def read():
        with open(path) as f:
            return sum(json.loads(line)["loss"] for line in f)
    measure("json.loads of each line", steps, "steps", read)


def checkpoint(folder):
    try:
        import os
        import torch
        from safetensors.torch import save_file
    except ImportError:
        return print("checkpoint: torch and safetensors are not installed: left out")
    weights = {"w": torch.zeros(megabytes << 18)}

    def save():
        save_file(weights, folder / "w.safetensors")
        with open(folder / "w.safetensors", "rb+") as f:
            os.fsync(f.fileno())
    measure("safetensors' save_file and fsync", megabytes, "MiB", save)


def pictures(folder):
    try:
        import PIL.Image
        import torch
        from torchvision import datasets, transforms
    except ImportError:
        return print("pictures: torch and torchvision are not installed: left out")
    side = 256
    for c in "ab":
        (folder / c).mkdir()
    for i in range(n_pictures):
        pixels = bytes((((x * (i % 5 + 1) + y * (c + 1)) // 4 + (x * 7919 + y * 104729 + i * 31) % 13) & 255)
                       for y in range(side) for x in range(side) for c in range(3))
        PIL.Image.frombytes("RGB", (side, side), pixels).save(folder / "ab"[i % 2] / f"{i}.png")
    data = datasets.ImageFolder(folder, transforms.Compose([
        transforms.Resize((224, 224)), transforms.ToTensor(), transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))]))
    measure("torchvision's ImageFolder, 224 pixels, one process", n_pictures, "pictures",
            lambda: sum(len(x) for x, _ in torch.utils.data.DataLoader(data, batch_size=8)))


def answers(folder):
    try:
        import torch
    except ImportError:
        return print("requests: torch is not installed: left out")
    net = torch.nn.Sequential(torch.nn.Linear(11, 64), torch.nn.ReLU(), torch.nn.Linear(64, 2), torch.nn.Softmax(-1)).eval()
    body = json.dumps({f"x{k}": k - 4.5 for k in range(11)})

    def answer():
        with torch.inference_mode():
            for _ in range(requests):
                net(torch.tensor([list(json.loads(body).values())])).tolist()
    measure("json.loads and a PyTorch net, one by one", requests, "requests", answer)


for part in (table, lists, text, checkpoint, pictures, answers):
    with tempfile.TemporaryDirectory() as folder:
        part(pathlib.Path(folder))

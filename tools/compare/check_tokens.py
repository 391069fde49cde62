#!/usr/bin/env python3
"""The ids of `vktrain tokenize` beside those of Hugging Face's tokenizers, kind by kind, on texts in many languages.

check_tokens.py --texts WORK      writes WORK/texts.json, where glibc's locales are (/usr/share/i18n/locales)
check_tokens.py --ids WORK        trains the tokenizers, writes WORK/KIND.json and WORK/ids.json (run in the lab: shared/lab/in-testing)
check_tokens.py VKTRAIN WORK      compares, and exits with 1 where ids differ

Texts: five of each language, of its locale's names of days, months, countries, its yes and no, dates and numbers: as they are, mixed with
punctuation, in capital letters, decomposed, with white space of all kinds between. Tokenizers are trained on every third text.
"""
import json
import random
import re
import subprocess
import sys
import unicodedata
from pathlib import Path

LOCALES = Path("/usr/share/i18n/locales")


def strings_of(name, seen):
    if name in seen or not (LOCALES / name).is_file():
        return []
    text, out = (LOCALES / name).read_text(errors="ignore"), []
    for part in ("LC_TIME", "LC_MESSAGES", "LC_ADDRESS"):
        body = re.search(rf"^{part}$(.*?)^END {part}$", text, re.S | re.M)
        if not body:
            continue
        for line in body[1].split("\n"):
            if m := re.match(r'copy\s+"([^"]+)"', line.strip()):
                out += strings_of(m[1], seen | {name})
        out += re.findall(r'"([^"\n]*)"', body[1].replace("/\n", ""))
    out = [re.sub(r"<U([0-9A-Fa-f]{4,8})>", lambda m: chr(int(m[1], 16)), s) for s in out]
    return [s for s in out if re.search(r"\w{2}", s) and not s.startswith(("%", "^", "[", "+"))]


def write_texts(work):
    by_language = {}
    for f in sorted(LOCALES.iterdir()):
        if m := re.match(r"([a-z]{2,3})_[A-Z]{2}(@\w+)?$", f.name):
            by_language.setdefault(m[1] + (m[2] or ""), []).extend(strings_of(f.name, set()))
    texts = []
    for language, names in sorted(by_language.items()):
        if len(set(names)) < 10:
            continue
        rng = random.Random(language)
        pick = lambda n: [rng.choice(names) for _ in range(n)]
        white = [" ", "  ", "\n", "\t", "\r\n", "\u00a0", "\u3000", "\u2009", " \n "]
        texts += [{"language": language, "text": t} for t in (
            " ".join(dict.fromkeys(names))[:600],
            "".join(w + rng.choice([". ", ", ", "! ", "; ", " (1234) ", "\u2014", "\u2026", " 3.14% ", "-", "'"]) for w in pick(30)),
            " ".join(pick(25)).upper() + " " + " ".join(pick(5)).title(),
            unicodedata.normalize("NFD", " ".join(pick(30))),
            "".join(w + rng.choice(white) for w in pick(30)))]
    (work / "texts.json").write_text(json.dumps(texts))
    print(f"{len({t['language'] for t in texts})} languages, {len(texts)} texts")


def byte_pairs(texts):
    """Byte-level and SentencePiece BPE, of golden_tokenizers.py's shapes."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers
    llama3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
    p = pre_tokenizers
    bytes_of = lambda regex: p.ByteLevel(add_prefix_space=False, use_regex=regex)
    out = {}
    for name, pre, normalizer in (("gpt2", bytes_of(True), None), ("smollm2", p.Sequence([p.Digits(individual_digits=True), bytes_of(True)]), None),
                                  ("llama3", p.Sequence([p.Split(Regex(llama3), "isolated"), bytes_of(False)]), None),
                                  ("qwen", p.Sequence([p.Split(Regex(llama3), "isolated"), bytes_of(False)]), normalizers.NFC())):
        t = Tokenizer(models.BPE())
        t.pre_tokenizer, t.normalizer = pre, normalizer
        t.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=1500, show_progress=False, initial_alphabet=p.ByteLevel.alphabet()))
        out[name] = t
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = p.Metaspace(prepend_scheme="always", split=True)
    t.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=2000, show_progress=False, limit_alphabet=600))
    trained = json.loads(t.to_str())["model"]
    names = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)] + list(trained["vocab"])
    added = [{"id": i, "content": names[i], "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True} for i in range(3)]
    replace = {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}
    metaspace = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": False}
    for name, normalizer, pre in (("llama2", {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "\u2581"}, replace]}, None),
                                  ("mistral", None, metaspace),
                                  ("gemma", replace, {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False})):
        out[name] = Tokenizer.from_str(json.dumps({
            "version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": normalizer, "pre_tokenizer": pre, "post_processor": None,
            "decoder": None, "model": {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None, "end_of_word_suffix": None,
                                       "fuse_unk": True, "byte_fallback": True, "ignore_merges": False, "vocab": {n: i for i, n in enumerate(names)},
                                       "merges": trained["merges"]}}))
    return out


def write_ids(work):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "golden"))
    import word_tokenizers
    texts = [t["text"] for t in json.loads((work / "texts.json").read_text())]
    kinds = byte_pairs(texts[::3]) | word_tokenizers.made(texts[::3], sorted({ord(c) for t in texts for c in t}), 3000)
    for name, t in kinds.items():
        (work / f"{name}.json").write_text(t.to_str())
    ids = {name: [t.encode(x, add_special_tokens=False).ids for x in texts] for name, t in kinds.items()}
    (work / "ids.json").write_text(json.dumps(ids))


def main():
    if sys.argv[1] == "--texts":
        return write_texts(Path(sys.argv[2]))
    if sys.argv[1] == "--ids":
        return write_ids(Path(sys.argv[2]))
    program, work, bad = sys.argv[1], Path(sys.argv[2]), 0
    texts = [t["text"] for t in json.loads((work / "texts.json").read_text())]
    files = [work / "texts" / str(i) for i in range(len(texts))]
    (work / "texts").mkdir(exist_ok=True)
    for f, t in zip(files, texts):
        f.write_bytes(t.encode())
    for name, want in json.loads((work / "ids.json").read_text()).items():
        r = subprocess.run([program, "tokenize", "--ids", "--special", "--tokenizer", work / f"{name}.json", *files], capture_output=True, text=True)
        lines = r.stdout.split("\n")[:-1]
        other = [i for i, ids in enumerate(want) if i >= len(lines) or lines[i] != " ".join(map(str, ids))]
        bad += len(other) + (r.returncode != 0)
        print(f"{name:12} {sum(map(len, want)):7} tokens, {len(texts) - len(other)} of {len(texts)} texts equal{'; ' + r.stderr.strip() if r.stderr else ''}")
        for i in other[:3]:
            print("   text", i, ascii(texts[i][:60]))
    return 1 if bad else 0


sys.exit(main())

#!/usr/bin/env python3
"""Golden tokens of tokenizers whose added tokens take white space or stand for words alone, and that put tokens around a text, by
Hugging Face's tokenizers, for tests/data/test_added.c (run in the lab: shared/lab/in-testing).

golden_added.py OUT    OUT: tests/golden; writes OUT/added.json:
    {"texts", "tokenizers": [{"name", "file", "plain": [ids, ..], "around": [ids, ..]}]}
The vocabularies are of bytes, so that ids tell where a text was cut.
"""
import json
import sys
from pathlib import Path

from tokenizers import Tokenizer

TEXTS = ["a<R> b", "a <L>b", " x <B>\t\n y", "<W>", "a<W>", "<W>b", "a <W> b", "(<W>)", "_<W>", "é<W>", "1<W> <W>2", "<R>  <R> <L> <L>",
         "<s>a</s> b", "<N> a<N>", "e\u0301<N>e\u0301", "\u3000<L>\u00a0<R>\u2003z", "", " ", "<R>", "a</s>\n\nb", "<RR> c"]


def added(first, *rows):
    return [{"id": first + i, "content": c, "single_word": "w" in f, "lstrip": "l" in f, "rstrip": "r" in f, "normalized": "n" in f,
             "special": "s" in f} for i, (c, f) in enumerate(rows)]


ROWS = [("<s>", "s"), ("</s>", "sr"), ("<R>", "sr"), ("<L>", "sl"), ("<B>", "slr"), ("<W>", "sw"), ("<N>", ""), ("<RR>", "r")]


def stand_ins():
    printable = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    others = [b for b in range(256) if b not in printable]
    return {**{b: chr(b) for b in printable}, **{b: chr(256 + i) for i, b in enumerate(others)}}


def template(before, behind, ids):
    single = [{"SpecialToken": {"id": t, "type_id": 0}} for t in before] + [{"Sequence": {"id": "A", "type_id": 0}}] + \
             [{"SpecialToken": {"id": t, "type_id": 0}} for t in behind]
    return {"type": "TemplateProcessing", "single": single, "pair": single + [{"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {t: {"id": t, "ids": [ids[t]], "tokens": [t]} for t in before + behind}}


def byte_level(rows, post, normalizer=None):
    vocab = {c: b for b, c in stand_ins().items()}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added(256, *rows), "normalizer": normalizer,
            "pre_tokenizer": level, "post_processor": post, "decoder": level,
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
                      "fuse_unk": False, "byte_fallback": False, "ignore_merges": False, "vocab": vocab, "merges": []}}


def sentencepiece(rows, post, prepend):
    vocab = {f"<0x{b:02X}>": b for b in range(256)} | {"▁": 256, "a": 257, "b": 258}
    replace = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
    parts = [{"type": "Prepend", "prepend": "▁"}, replace] if prepend else [replace]
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added(259, *rows),
            "normalizer": {"type": "Sequence", "normalizers": parts}, "pre_tokenizer": None, "post_processor": post, "decoder": None,
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
                      "fuse_unk": True, "byte_fallback": True, "ignore_merges": False, "vocab": vocab, "merges": []}}


BYTES, PIECES = {"<s>": 256, "</s>": 257}, {"<s>": 259, "</s>": 260}
NORMAL = [(c, f + ("n" if c in ("<N>", "<RR>") else "")) for c, f in ROWS]
FILES = {
    "none around": byte_level(ROWS, None),
    "bos": byte_level(ROWS, template(["<s>"], [], BYTES)),
    "bos and eos, in a sequence": byte_level(ROWS, {"type": "Sequence", "processors": [
        {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True}, template(["<s>"], ["</s>"], BYTES)]}),
    "as RoBERTa": byte_level(ROWS, {"type": "RobertaProcessing", "sep": ["</s>", 257], "cls": ["<s>", 256], "trim_offsets": True,
                                    "add_prefix_space": False}),
    "as BERT": byte_level(ROWS, {"type": "BertProcessing", "sep": ["</s>", 257], "cls": ["<s>", 256]}),
    "normalized": byte_level(NORMAL, template([], ["</s>"], BYTES), {"type": "NFC"}),
    "SentencePiece": sentencepiece(ROWS, template(["<s>"], [], PIECES), True),
    "SentencePiece, no space before": sentencepiece(ROWS, template(["<s>", "<R>"], [], PIECES | {"<R>": 261}), False),
}


def main(out):
    rows = []
    for name, file in FILES.items():
        t = Tokenizer.from_str(json.dumps(file))
        ids = lambda special: [t.encode(text, add_special_tokens=special).ids for text in TEXTS]
        rows.append({"name": name, "file": file, "plain": ids(False), "around": ids(True)})
    Path(out, "added.json").write_text(json.dumps({"texts": TEXTS, "tokenizers": rows}, ensure_ascii=False, separators=(",", ":")) + "\n")
    print(len(rows), "tokenizers,", len(TEXTS), "texts")


main(sys.argv[1])

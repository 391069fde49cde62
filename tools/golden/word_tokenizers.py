"""WordPiece and Unigram tokenizers trained on given texts, in the shapes of published tokenizer.json files, for golden_tokenizers.py and
tools/compare/check_tokens.py."""
import base64
import json
import struct
import unicodedata

from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers


def charsmap(pairs):
    """SentencePiece's precompiled map of {text: text}: a double-array trie whose values are places in the texts behind it."""
    texts, places = b"", {}
    for to in sorted(set(pairs.values())):
        places[to] = len(texts)
        texts += to.encode() + b"\0"
    trie = {}
    for key, to in sorted(pairs.items()):
        node = trie
        for byte in key.encode():
            node = node.setdefault(byte, {})
        node[None] = places[to]
    units, used, low = {0: 0}, {0}, 1
    todo = [(0, trie)]
    for at, node in todo:
        labels = [0 if k is None else k for k in node]
        base = low
        while any(base ^ k in used for k in labels) or (at ^ base) >= 1 << 21:
            base += 1
        used.update(base ^ k for k in labels)
        while low in used:
            low += 1
        units[at] |= (at ^ base) << 10 | (1 << 8 if None in node else 0)
        for k, child in node.items():
            if k is None:
                units[base] = 1 << 31 | child
            else:
                units[base ^ k] = k
                todo.append((base ^ k, child))
    array = [units.get(i, 0) for i in range((max(units) | 255) + 1)]
    return base64.b64encode(struct.pack("<I", 4 * len(array)) + struct.pack(f"<{len(array)}I", *array) + texts).decode()


def nfkc_pairs(points):
    """What nmt_nfkc does with these code points, nearly: compatibility forms composed, white space as spaces, control characters away."""
    pairs = {}
    for c in map(chr, points):
        to = " " if c in "\t\n\r\x0b\x0c\x85" or unicodedata.category(c) in ("Zs", "Zl", "Zp") else unicodedata.normalize("NFKC", c)
        if c != " " and c != to and "\0" not in to:
            pairs[c] = to
        if unicodedata.category(c) in ("Cc", "Cf") and c not in "\0\t\n\r\x0b\x0c\x85":
            pairs[c] = ""
        composed = unicodedata.normalize("NFD", c)
        if len(composed) > 1 and unicodedata.normalize("NFC", composed) == c:
            pairs[composed] = c
    return pairs


def special(content, **more):
    return AddedToken(content, special=True, normalized=False, **more)


def wordpiece(texts, lowercase, vocab):
    t = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=40))
    t.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    t.train_from_iterator(texts, trainers.WordPieceTrainer(vocab_size=vocab, special_tokens=names, show_progress=False, limit_alphabet=vocab // 4))
    return t


def unigram(texts, normalizer, pre, names, vocab, byte_fallback=False):
    """The trained vocabulary, with scores of few digits; byte tokens where asked."""
    t = Tokenizer(models.Unigram())
    t.normalizer, t.pre_tokenizer = normalizer, pre
    t.train_from_iterator(texts, trainers.UnigramTrainer(vocab_size=vocab, special_tokens=[], unk_token=None, show_progress=False, max_piece_length=12))
    j = json.loads(t.to_str())
    pieces = [[p, round(s, 3)] for p, s in j["model"]["vocab"]]
    pieces = [p for i, p in enumerate(pieces) if len(p[0]) > 1 or i < 9 * len(pieces) // 10]  # some characters are unknown
    first = [[n, 0.0] for n in names] + ([[f"<0x{b:02X}>", 0.0] for b in range(256)] if byte_fallback else [])
    j["model"] = {"type": "Unigram", "unk_id": names.index("<unk>"), "vocab": first + pieces, "byte_fallback": byte_fallback}
    t = Tokenizer.from_str(json.dumps(j))
    t.add_special_tokens([special(n, lstrip=n == "[MASK]", rstrip=n == "<gap>") for n in names])
    return t


def made(texts, points, vocab=600):
    """{name: Tokenizer}, each trained on the texts; `points`: code points that charsmaps know."""
    n, p = normalizers, pre_tokenizers
    precompiled = n.Precompiled(base64.b64decode(charsmap(nfkc_pairs(points))))
    spaces = p.Metaspace(prepend_scheme="always")
    out = {
        "bert": wordpiece(texts, True, vocab), "bert-cased": wordpiece(texts, False, vocab),
        "t5": unigram(texts, precompiled, p.Sequence([p.WhitespaceSplit(), spaces]), ["<pad>", "</s>", "<unk>", "<gap>"], vocab),
        "albert": unigram(texts, n.Sequence([n.Replace("``", '"'), n.Replace("''", '"'), n.NFKD(), n.StripAccents(), n.Lowercase(), precompiled,
                                             n.Replace(Regex(" {2,}"), " ")]),
                          p.Sequence([p.WhitespaceSplit(), spaces]), ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"], vocab),
        "fallback": unigram(texts, n.Sequence([n.NFKC(), n.Strip(left=False, right=True)]),
                            p.Sequence([p.Punctuation(), p.Digits(individual_digits=True), p.Metaspace(prepend_scheme="first", split=False)]),
                            ["<unk>", "<s>", "</s>"], vocab, byte_fallback=True),
        "metaspace": unigram(texts, n.Sequence([precompiled, n.Replace(Regex(" {2,}"), "\u2581"), n.Strip(left=True, right=True)]),
                             p.Metaspace(prepend_scheme="always"), ["<s>", "</s>", "<unk>"], vocab),
    }
    out["albert"].add_tokens([AddedToken("qqq", normalized=True, special=False)])
    return out

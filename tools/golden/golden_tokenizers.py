#!/usr/bin/env python3
"""Golden tokens from Hugging Face's tokenizers, for tests/data/test_tokenizer.c (run in the lab: shared/lab/in-testing).

golden_tokenizers.py OUT [GPT2]   OUT: tests/golden; GPT2: a folder with OpenAI's encoder.json and vocab.bpe.
golden_tokenizers.py --spm OUT    only spm-*.json and spm.json: byte-pair encoding with byte fallback as Llama 2 (Prepend and Replace),
newer files (Metaspace, first and always) and Gemma (Replace) have it.
golden_tokenizers.py --words OUT  only words-*.json and words.json: WordPiece and Unigram (word_tokenizers.py).
golden_tokenizers.py --nfc OUT    only nfc.json: the tokens of OUT/gpt2-small.json where its normalizer is NFC.
Trains three small byte-level BPE on the embedded novel and the cases below, in the shapes of GPT-2's, SmolLM2's and
Llama 3's tokenizer.json, and writes them beside tokens.json: [{"text", "gpt2-small", ..., "gpt2"}]; and merges.json,
the first 400 merges that training on the whole novel gives.
"""
import json
import sys
import unicodedata
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
          r"\s+(?!\S)|\s+")
CASES = [
    "Hello, world! The quick brown fox\n\n  naïve café 日本 🙂",
    "", " ", "  ", "\n", "\t\t\n  \n", "a", " a", "a ", "  leading and trailing  ",
    "It's we're they've I'm you'll he'd IT'S WE'RE I'M don't 'tis rock'n'roll 'S 'ſ",
    "Größe, Ærøskøbing, naïveté, Łódź, İstanbul, ǅ, ﬁﬂ",
    "Съешь же ещё этих мягких французских булок, да выпей чаю.",
    "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία",
    "דג סקרן שט בים מאוכזב ולפתע מצא חברה",
    "نص حكيم له سر قاطع وذو شأن عظيم ١٢٣٤",
    "ऋषियों को सताने वाले दुष्ट राक्षसों के राजा रावण १२३",
    "เป็นมนุษย์สุดประเสริฐเลิศคุณค่า",
    "天地玄黃，宇宙洪荒。いろはにほへと ちりぬるを。다람쥐 헌 쳇바퀴에 타고파",
    "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𐍈 𓀀 𝟘𝟙𝟚 ½ Ⅷ ⑳ ² ₃",
    "🙂👍🏽👩‍👩‍👧‍👦🇩🇪 ❤️ ☃ ☺︎ emoji🙂in words",
    "e\u0301 n\u0303o A\u030a \u0e33 \u1100\u1161\u11a8",
    "1 12 123 1234 12345678 3.14159 1,000,000 0x1F600 1e-9 5th 2nd",
    "int main(void)\n{\n\tfor (int i = 0; i < 10; ++i)\r\n\t\tprintf(\"%d\\n\", a[i]->b);\r\n}\n\n\n",
    "def f(x: list[int]) -> None:\n    return {k: v for k, v in x.items() if k != 'a'}  # comment\n        pass\n",
    "<p class=\"a\">&amp;</p> https://example.org/a/b?c=d&e=%20#f user@example.org C:\\dir\\file.txt",
    "one  two   three    four\tfive \t six\n \n  seven\r\neight\rnine \n\n ten",
    "nbsp\u00a0\u00a0here ideographic\u3000space thin\u2009space \u2028line\u2029para\u0085nel \u200bzero\u200d\ufeffbom \u180emvs",
    "control\u0001\u001b[0m\u001c\u001d\u001e\u001f\u007f\u0080 end",
    "!!!??? ... --- *** (((a))) [[b]] {{c}} ~~d~~ __e__ ==> <= != === // /* */ $$ €100 £5 ¥ ∑∫√ ≤≥ «q» “q” ‘q’ …",
    "a" * 300 + " " + "ab" * 200 + " " + "!" * 100 + " " * 77 + "x",
    "<|endoftext|>text<|endoftext|> <|im_start|>user\nhi<|im_end|>\n<|begin_of_text|><|endof",
    "camelCaseAndPascalCase snake_case kebab-case SCREAMING_CASE mixed123Case4 Mc'Donald",
    "\u01c4\u01c5 \u02b0 \u00aa \u00ba \u2160 \u3007 \u0660\u06f0 \u1e9e\u00df",
]
# Composed and decomposed; marks in another order, alone, at the beginning and after ASCII, an added token, a line's end;
# singletons and exclusions, which decompose; jamo in whole and in part; what composes with a starter; many marks.
NFC_CASES = [unicodedata.normalize("NFD", c) for c in CASES] + [
    "q\u0307\u0323 q\u0323\u0307 \u1e0b\u0323 d\u0323\u0307 a\u0301\u0328", "\u0301 \u0301a a \u0301\n\u0308\n", "a<\u0338b =\u0338 >\u0338",
    "<|endoftext|>\u0301x<|endoftext|>e\u0301", "\u212b \u2126 \u212a \u0340 \u0387 \u2000\u2001", "\u0958\u09dc \ufb1d\ufb2a \u2adc \u0f43",
    "\u1112\u1161\u11ab\u1100\u1173\u11af \u1112\u1161 \uac00\u11a8 \uac01\u11a8 \u11a8\u1161 \u1100", "\u09c7\u09be \u0bc6\u0bbe \u0cc6\u0cc2\u0cd5 \u0dd9\u0dcf\u0dca",
    "Vie\u0302\u0323t Nam, tie\u0301\u0302ng \u1ec7 e\u0302\u0323 e\u0323\u0302", "\u03b1\u0313\u0301\u0345 \u0399\u0308\u0301 \u1fbf\u0301", "\U0001d15e \U0001d157\U0001d165 \U00011131\U00011127",
    "Z" + "\u0335\u0327\u0301\u0308" * 40 + "x\u0301", "\u00e9\u0323 \u00fc\u0304 \u00df\u0301 \u00c7\u0301", "\u0627\u0653 \u0648\u0654 \u05e9\u05c1\u05bc",
]
# The tokens of WordPiece and Unigram files, white space at their sides, what looks like them, letters and marks of normalizers.
WORD_CASES = ["[MASK]", "a [MASK] b", "  [MASK]  [SEP]x", "x<gap>  y", " <gap>", "</s>  two", "a</s>b c", "aqqqb QQQ qqq", "[mask] [ MASK ]", "``q'' ''",
              "\u2581x \u2581 y", "x\u2581", " \u2581", "<0x41><0x0A>", "caf\u00e9 cafe\u0301 CAF\u00c9 \ufb01\u0308 \ufb01 \u00bd\u0301", "\u0130I\u0131i \u01c5 \u1e9e \u03a3\u03c2",
              "\uff21\uff22\uff23\u3000\uff11\uff12", "a\u200bb\u00adc\ufeffd\ufffde", "\x00a\x0bb\x0cc\x85d", "\u4e2d\u6587abc\u65e5\u672c", "a" * 41 + " " + "b" * 40, "1a22b333 4-5_6",
              "\U0001e030 \ua7f2 \u32ff", "\u0734x \u1734y \u0f0bz\u061d", "\r\n\r\n a\r\nb", "  both  ", "\u00a0nbsp\u00a0", "'' ''''", "hello   world    of  spaces"]


def words(out):
    import word_tokenizers
    novel = (Path(__file__).resolve().parents[2] / "tests/files/pride-and-prejudice.txt").read_text()
    texts = [novel[i:i + 500] for i in range(0, 60000, 500)] + CASES[:24] * 2
    points = {ord(c) for t in CASES + WORD_CASES for c in t}
    made = word_tokenizers.made(texts, points, 400)
    for name, t in made.items():
        (out / f"words-{name}.json").write_text(t.to_str(pretty=False) + "\n")
    rows = [{"text": c} | {n: t.encode(c, add_special_tokens=False).ids for n, t in made.items()} for c in CASES + NFC_CASES + WORD_CASES]
    (out / "words.json").write_text("[\n" + ",\n".join(json.dumps(r) for r in rows) + "\n]\n")


def nfc(out):
    t = Tokenizer.from_file(str(out / "gpt2-small.json"))
    t.normalizer = normalizers.NFC()
    rows = [{"text": c, "ids": t.encode(c, add_special_tokens=False).ids} for c in CASES + NFC_CASES]
    (out / "nfc.json").write_text("[\n" + ",\n".join(json.dumps(r) for r in rows) + "\n]\n")


def spm(out):
    novel = (Path(__file__).resolve().parents[2] / "tests/files/pride-and-prejudice.txt").read_text()
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always", split=True)
    t.train_from_iterator([novel[:200000]] + CASES[:12], trainers.BpeTrainer(vocab_size=500, show_progress=False, limit_alphabet=90))
    trained = json.loads(t.to_str())["model"]
    names = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)] + list(trained["vocab"])
    special = [{"id": i, "content": names[i], "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True} for i in range(3)]
    metaspace = lambda scheme: {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": scheme, "split": False}
    replace = {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}
    variants = {
        "llama2": ({"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "\u2581"}, replace]}, None),
        "first": (None, metaspace("first")), "always": (None, metaspace("always")),
        "gemma": (replace, {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}),
    }
    made = {}
    for name, (normalizer, pre) in variants.items():
        text = json.dumps({"version": "1.0", "truncation": None, "padding": None, "added_tokens": special, "normalizer": normalizer,
                           "pre_tokenizer": pre, "post_processor": None, "decoder": None,
                           "model": {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None, "end_of_word_suffix": None,
                                     "fuse_unk": True, "byte_fallback": True, "ignore_merges": False,
                                     "vocab": {n: i for i, n in enumerate(names)}, "merges": trained["merges"]}})
        (out / f"spm-{name}.json").write_text(text + "\n")
        made[name] = Tokenizer.from_str(text)
    texts = CASES + NFC_CASES[-12:] + ["</s>after", "before</s> after<s>", "\u2581x \u2581 y", "  two", "x\u2581"]
    rows = [{"text": c} | {n: t.encode(c, add_special_tokens=False).ids for n, t in made.items()} for c in texts]
    (out / "spm.json").write_text("[\n" + ",\n".join(json.dumps(r) for r in rows) + "\n]\n")


def train(pre, special, vocab, text):
    t = Tokenizer(models.BPE(ignore_merges=special[0] == "<|begin_of_text|>"))
    t.pre_tokenizer = pre
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(text, trainers.BpeTrainer(vocab_size=vocab, special_tokens=special, show_progress=False,
                                                    initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return t


def main():
    if sys.argv[1] == "--nfc":
        return nfc(Path(sys.argv[2]))
    if sys.argv[1] == "--words":
        return words(Path(sys.argv[2]))
    if sys.argv[1] == "--spm":
        return spm(Path(sys.argv[2]))
    out = Path(sys.argv[1])
    novel = (Path(__file__).resolve().parents[2] / "tests/files/pride-and-prejudice.txt").read_text()
    text = [novel[i:i + 2000] for i in range(0, 200000, 2000)] + CASES * 3
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    small = {
        "gpt2-small": train(byte_level, ["<|endoftext|>"], 700, text),
        "smollm2-small": train(pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), byte_level]),
                               ["<|endoftext|>", "<|im_start|>", "<|im_end|>"], 700, text),
        "llama3-small": train(pre_tokenizers.Sequence([
            pre_tokenizers.Split(Regex(LLAMA3), "isolated", invert=False),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]),
            ["<|begin_of_text|>", "<|end_of_text|>"], 700, text),
    }
    for name, t in small.items():
        (out / f"{name}.json").write_text(t.to_str(pretty=False) + "\n")
    if len(sys.argv) > 2:
        gpt2 = Tokenizer(models.BPE.from_file(sys.argv[2] + "/encoder.json", sys.argv[2] + "/vocab.bpe"))
        gpt2.pre_tokenizer = byte_level
        gpt2.add_special_tokens(["<|endoftext|>"])
        small["gpt2"] = gpt2
    rows = [{"text": c} | {n: t.encode(c, add_special_tokens=False).ids for n, t in small.items()} for c in CASES]
    whole = train(byte_level, ["<|endoftext|>"], 257 + 400, [novel])
    (out / "merges.json").write_text(json.dumps(json.loads(whole.to_str())["model"]["merges"]) + "\n")
    nfc(out)
    spm(out)
    words(out)
    with open(out / "tokens.json", "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(r) for r in rows) + "\n]\n")


main()

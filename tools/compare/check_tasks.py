#!/usr/bin/env python3
"""`vktrain eval --tasks` against the same in PyTorch. Run by hand, where the lab is:
  check_tasks.py make FILE.jsonl                          random questions, logged samples, texts and completions
  vktrain eval FOLDER --tasks FILE.jsonl --json > RESULT.json
  check_tasks.py compare FOLDER FILE.jsonl RESULT.json    in the lab: transformers' logits of the same tokens; 1 if they differ
FOLDER is a Hugging Face folder with a tokenizer.json; a text begins behind its eos_token. Of LongRoPE transformers changes the list with
each text's length, vktrain has the one of its context: give --context, at most the first one, and texts that fit it."""
import json, math, random, sys

WORDS = "the quick brown fox jumps over lazy dog and says \u00e9t\u00e9 \u6771\u4eac hello to all who read it again".split()


def make(path):
    random.seed(3)
    words = lambda n: " ".join(random.choice(WORDS) for _ in range(n))
    rows = [dict(query=words(random.randint(3, 12)) + random.choice(["", " ", "\n"]), choices=[words(random.randint(1, 6)) for _ in range(4)],
                 gold=random.randrange(4), category=random.choice("ab")) for _ in range(40)]
    rows += [dict(arguments=[[words(5), " " + words(2)] for _ in range(3)], target=str(random.randrange(3)), category="old samples") for _ in range(10)]
    rows += [dict(arguments={f"gen_args_{k}": dict(arg_0=words(5), arg_1=" " + words(2)) for k in range(3)}, target=random.randrange(3),
                  category="new samples") for _ in range(10)]
    rows += [dict(text=words(20), category="texts") for _ in range(10)]
    rows += [dict(prompt=words(8), completion=" " + words(4), category="completions") for _ in range(10)]
    open(path, "w").write("\n".join(map(json.dumps, rows)) + "\n")


def compare(folder, path, result):
    import torch
    from tokenizers import Tokenizer
    from transformers import AutoModelForCausalLM
    model = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager").eval()  # others leave out soft caps
    tokenizer = Tokenizer.from_file(folder + "/tokenizer.json")
    eos = json.load(open(folder + "/tokenizer_config.json"))["eos_token"]
    encode = lambda s: tokenizer.encode(s, add_special_tokens=False).ids

    def likelihood(context, rest):
        spaces = len(context) - len(context.rstrip())
        context, rest = context[:len(context) - spaces], context[len(context) - spaces:] + rest
        ids, first = encode(context + rest), len(encode(context))
        if not first: ids, first = [tokenizer.token_to_id(eos)] + ids, 1
        with torch.no_grad(): p = torch.log_softmax(model(torch.tensor([ids])).logits[0].double(), -1)
        return sum(p[i - 1, ids[i]].item() for i in range(first, len(ids))), len(ids) - first

    groups = {}
    for row in map(json.loads, open(path)):
        sums = [groups.setdefault(c, dict(questions=0, acc=0, acc_norm=0, tokens=0, loss=0.0, bytes=0)) for c in ("all", row["category"])]
        if "text" in row or "completion" in row:
            text = row.get("text") or row["completion"]
            p, n = likelihood(row.get("prompt", ""), text)
            for g in sums: g["tokens"] += n; g["loss"] -= p; g["bytes"] += len(text.encode())
            continue
        pairs = [(row["query"], " " + c) for c in row["choices"]] if "choices" in row else \
            [(a if isinstance(a, list) else [a["arg_0"], a["arg_1"]]) for a in
             (row["arguments"] if isinstance(row["arguments"], list) else row["arguments"].values())]
        gold = int(row.get("gold", row.get("target")))
        p = [likelihood(*x)[0] for x in pairs]
        each = [v / len(c[1:].encode()) for v, (_, c) in zip(p, pairs)]
        for g in sums:
            g["questions"] += 1
            g["acc"] += p.index(max(p)) == gold
            g["acc_norm"] += each.index(max(each)) == gold
    bad = 0
    have = {g["category"]: g for g in json.load(open(result))["categories"]}
    for name, g in groups.items():
        n, t = g["questions"], g["tokens"]
        want = dict(questions=n, tokens=t, acc=g["acc"] / n if n else None, acc_norm=g["acc_norm"] / n if n else None,
                    loss=g["loss"] / t if t else None, bits_per_byte=g["loss"] / g["bytes"] / math.log(2) if t else None)
        for key, w in want.items():
            h = have[name][key]
            ok = h is None if w is None else abs(h - w) <= 1e-5 * max(abs(w), 1e-3)
            bad += not ok
            print("ok  " if ok else "FAIL", name, key, h, w)
    return bad != 0


sys.exit(make(*sys.argv[2:]) if sys.argv[1] == "make" else compare(*sys.argv[2:]))

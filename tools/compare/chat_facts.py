#!/usr/bin/env python3
"""Asks an exported folder by transformers, greedily, by its own chat template: chat_facts.py FOLDER QUESTIONS ANSWERS.
QUESTIONS are lines of `vktrain chat` (those with / are left out), ANSWERS what must come, each ended by an end token. For
tests/program/test_chat.sh, in the lab."""
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

folder, questions, answers = sys.argv[1:]
tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder).eval()
wrong = 0
asked = [q for q in open(questions).read().splitlines() if not q.startswith("/")]
for question, answer in zip(asked, open(answers).read().splitlines(), strict=True):
    prompt = tokenizer.apply_chat_template([{"role": "user", "content": question}], add_generation_prompt=True, return_tensors="pt", return_dict=True)
    with torch.no_grad():
        out = model.generate(**prompt, max_new_tokens=40, do_sample=False)[0][prompt["input_ids"].shape[1]:]
    text, ended = tokenizer.decode(out, skip_special_tokens=True), int(out[-1]) in model.generation_config.eos_token_id
    print(question, "->", text)
    if text != answer or not ended:
        wrong += 1
        print(f"  must be {answer!r}, and end", file=sys.stderr)
sys.exit(1 if wrong else 0)

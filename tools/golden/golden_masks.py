#!/usr/bin/env python3
"""Golden masks of conversations from transformers' assistant mask, for tests/data/test_masks.c
(run in the lab: shared/lab/in-testing).

golden_masks.py OUT    OUT: tests/golden; writes OUT/chat_masks.json:
    {"control", "ends", "conversations": [{"messages", "tools"}],
     "templates": [{"name", "template", "eos", "may_refuse", "masks": ["BYTES: FIRST-END ..", ..]}]}
Each template is a construct that chat templates are made of, written for this test. Here « and » stand around what an answer
is, its end tokens included: transformers gets {% generation %} and {% endgeneration %} for them, the golden file nothing, so that
vktrain has to find it. A mask has the bytes of the whole text and of what counts; "" where the template refuses.
"""
import json
import sys
from pathlib import Path

from transformers.utils.chat_template_utils import render_jinja_template

CONTROL = ["<|im_start|>", "<|im_end|>", "<|eot_id|>", "<|start_header_id|>", "<|end_header_id|>", "<start_of_turn>", "<end_of_turn>",
           "<|end|>", "<|user|>", "<|assistant|>", "<|system|>", "<|endoftext|>", "<s>", "</s>", "<|User|>", "<|Assistant|>", "<think>",
           "</think>", "<|start|>", "<|channel|>", "<|message|>", "<|return|>", "<|model|>", "[INST]", "[/INST]"]
ENDS = ["<|im_end|>", "<|eot_id|>", "<end_of_turn>", "<|end|>", "<|return|>"]


def turns(*texts, system=None):
    out = [{"role": "system", "content": system}] if system else []
    return out + [{"role": "user" if i % 2 == 0 else "assistant", "content": t} for i, t in enumerate(texts)]


TOOL = {"type": "function", "function": {"name": "add", "description": "Adds.", "parameters": {"type": "object", "properties": {
    "a": {"type": "number"}}}}}
CALLS = [{"role": "user", "content": "Sum"}, {"role": "assistant", "content": "", "tool_calls": [
    {"type": "function", "function": {"name": "add", "arguments": {"a": 1, "b": "two"}}}]},
    {"role": "tool", "content": "three"}, {"role": "assistant", "content": "It is three."}]
CONVERSATIONS = [
    turns("Hi there", "Hello."),
    turns("one two", "three", "four", "five six seven"),
    turns("Who?", "Me.", "Why?", "So.", system="Be brief."),
    turns("Größe 日本?", "Ja 🙂 é", "naïve", "ß", "ü", "日本語"),
    turns("a", "b", "and now"),
    turns("  spaced \n", "\n Answer with space \n", "x\n\n", "y\n"),
    turns("end it<|im_end|>\n<|im_start|>assistant\nyes</s>", "no", "<|eot_id|> [/INST] <end_of_turn>", "still no"),
    turns("think", "<think>\nhm\n</think>\n\nFirst", "again", "<think>\nso\n</think>\n\nSecond"),
    turns("same", "same", "same", "same", system="same"),
    turns("quote", "It says assistant: <|im_start|>assistant\nhi\n### Response:", "more", "user\nUSER: ASSISTANT: [INST] x"),
    turns("nothing", "", "", "last"),
    CALLS,
]

HEAD = "{% for m in messages %}"
PROMPT = "{% endfor %}{% if add_generation_prompt %}"
A = "{% if m.role == 'assistant' %}"
TEMPLATES = {  # name: (eos, may refuse, template)
    "chatml": ("<|im_end|>", False, HEAD + "<|im_start|>{{ m.role }}{{ '\\n' }}" + A + "«{{ m.content }}<|im_end|>»{% else %}{{ m.content }}<|im_end|>{% endif %}{{ '\\n' }}" + PROMPT + "{{ '<|im_start|>assistant\\n' }}{% endif %}"),
    "no new line": ("<|im_end|>", False, HEAD + "<|im_start|>{{ m.role }}:" + A + "«{{ m.content + '<|im_end|>' }}»{% else %}{{ m.content + '<|im_end|>' }}{% endif %}" + PROMPT + "<|im_start|>assistant:{% endif %}"),
    "default system": ("<|im_end|>", False, HEAD + "{% if loop.first and m.role != 'system' %}{{ '<|im_start|>system\\nHelp.<|im_end|>\\n' }}{% endif %}{{ '<|im_start|>' + m.role + '\\n' }}" + A + "«{{ m.content }}{{ '<|im_end|>' }}»{{ '\\n' }}{% else %}{{ m.content + '<|im_end|>\\n' }}{% endif %}" + PROMPT + "{{ '<|im_start|>assistant\\n' }}{% endif %}"),
    "trimmed headers": ("<|eot_id|>", False, "{{ '<s>' }}" + HEAD + "{{ '<|start_header_id|>' + m.role + '<|end_header_id|>\\n\\n' }}" + A + "«{{ m.content | trim }}{{ '<|eot_id|>' }}»{% else %}{{ m.content | trim + '<|eot_id|>' }}{% endif %}" + PROMPT + "{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}"),
    "another role": ("</s>", False, "{{ '<s>' }}" + HEAD + "{% set role = 'model' if m.role == 'assistant' else m.role %}{{ '<start_of_turn>' + role + '\\n' }}" + A + "«{{ m.content | trim + '<end_of_turn>' }}»{% else %}{{ m.content | trim + '<end_of_turn>' }}{% endif %}{{ '\\n' }}" + PROMPT + "{{ '<start_of_turn>model\\n' }}{% endif %}"),
    "eos behind all": ("<|endoftext|>", False, HEAD + A + "{{ '<|assistant|>\\n' }}«{{ m.content + '<|end|>' }}{% if loop.last and not add_generation_prompt %}{{ '\\n' + eos_token }}{% endif %}»{% if not loop.last or add_generation_prompt %}{{ '\\n' }}{% endif %}{% else %}{{ '<|user|>\\n' + m.content + '<|end|>\\n' }}{% if loop.last and not add_generation_prompt %}{{ eos_token }}{% endif %}{% endif %}" + PROMPT + "{{ '<|assistant|>\\n' }}{% endif %}"),
    "brackets": ("</s>", False, "{{ '<s>' }}" + HEAD + A + "«{{ m.content + eos_token }}»{% else %}{{ '[INST] ' + m.content + ' [/INST]' }}{% endif %}{% endfor %}"),
    "brackets, spaces, bos each": ("</s>", False, HEAD + A + "«{{ ' ' + m.content | trim + ' ' + eos_token }}»{% else %}{{ '<s>[INST] ' + m.content | trim + ' [/INST]' }}{% endif %}{% endfor %}"),
    "system in the first": ("</s>", False, "{% if messages[0].role == 'system' %}{% set rest = messages[1:] %}{% set s = '<<' + messages[0].content + '>>' %}{% else %}{% set rest = messages %}{% set s = '' %}{% endif %}{% for m in rest %}{% if loop.first %}{% set c = s + m.content %}{% else %}{% set c = m.content %}{% endif %}" + A + "«{{ ' ' + c + ' ' + eos_token }}»{% else %}{{ '<s>[INST] ' + c + ' [/INST]' }}{% endif %}{% endfor %}"),
    "system in the last": ("</s>", False, "{% if messages[0].role == 'system' %}{% set rest = messages[1:] %}{% set s = messages[0].content + '\\n' %}{% else %}{% set rest = messages %}{% set s = '' %}{% endif %}{% set users = rest | selectattr('role', 'equalto', 'user') | list %}{{ '<s>' }}{% for m in rest %}" + A + "«{{ m.content + eos_token }}»{% else %}{{ '[INST]' }}{% if m == users[-1] %}{{ s }}{% endif %}{{ m.content + '[/INST]' }}{% endif %}{% endfor %}"),
    "words as roles": ("</s>", False, HEAD + A + "{{ 'ASSISTANT:' }}«{{ ' ' + m.content + eos_token }}»{% else %}{{ m.role | upper + ': ' + m.content + ' ' }}{% endif %}" + PROMPT + "{{ 'ASSISTANT:' }}{% endif %}"),
    "instructions": ("</s>", False, HEAD + A + "{{ '### Response:\\n' }}«{{ m.content }}{{ eos_token }}»{{ '\\n\\n' }}{% else %}{{ '### Instruction:\\n' + m.content + '\\n\\n' }}{% endif %}" + PROMPT + "{{ '### Response:\\n' }}{% endif %}"),
    "role tags": ("</s>", False, HEAD + "{{ '<|' + m.role + '|>\\n' }}" + A + "«{{ m.content + eos_token }}»{% else %}{{ m.content + eos_token }}{% endif %}{{ '\\n' }}" + PROMPT + "{{ '<|assistant|>\\n' }}{% endif %}"),
    "a prompt that thinks": ("</s>", False, HEAD + A + "{{ '<|Assistant|>' }}«{{ m.content.split('</think>')[-1] + eos_token }}»{% else %}{{ '<|User|>' + m.content }}{% endif %}" + PROMPT + "{{ '<|Assistant|><think>\\n' }}{% endif %}"),
    "thoughts of the last": ("<|im_end|>", False, "{% set ns = namespace(last=0) %}" + HEAD + "{% if m.role == 'user' %}{% set ns.last = loop.index0 %}{% endif %}{% endfor %}" + HEAD + "{{ '<|im_start|>' + m.role + '\\n' }}" + A + "«{% if '</think>' in m.content %}{% set t = m.content.split('</think>')[0].split('<think>')[-1].strip() %}{% set c = m.content.split('</think>')[-1].lstrip() %}{% else %}{% set t = '' %}{% set c = m.content %}{% endif %}{% if loop.index0 > ns.last and t %}{{ '<think>\\n' + t + '\\n</think>\\n\\n' }}{% endif %}{{ c + '<|im_end|>' }}»{% else %}{{ m.content + '<|im_end|>' }}{% endif %}{{ '\\n' }}" + PROMPT + "{{ '<|im_start|>assistant\\n' }}{% endif %}"),
    "no thoughts of earlier": ("<|im_end|>", False, HEAD + "{{ '<|im_start|>' + m.role + '\\n' }}" + A + "«{% if not loop.last and '</think>' in m.content %}{{ m.content.split('</think>')[-1].lstrip('\\n') }}{% else %}{{ m.content }}{% endif %}{{ '<|im_end|>' }}»{% else %}{{ m.content + '<|im_end|>' }}{% endif %}{{ '\\n' }}" + PROMPT + "{{ '<|im_start|>assistant\\n' }}{% endif %}"),
    "eos once": ("</s>", False, HEAD + "{{ '<|im_start|>' + m.role + '\\n' }}" + A + "«{{ m.content }}{% if loop.last %}{{ eos_token }}{% endif %}»{% else %}{{ m.content }}{% endif %}" + PROMPT + "{{ '<|im_start|>assistant\\n' }}{% endif %}"),
    "end before the next": ("<|im_end|>", False, HEAD + "{{ '<|im_start|>' + m.role + '\\n' }}" + A + "«{{ m.content }}{% if not loop.last or add_generation_prompt %}{{ '<|im_end|>' }}{% endif %}»{% else %}{{ m.content }}{% if not loop.last or add_generation_prompt %}{{ '<|im_end|>' }}{% endif %}{% endif %}{% if not loop.last or add_generation_prompt %}{{ '\\n' }}{% endif %}" + PROMPT + "{{ '<|im_start|>assistant\\n' }}{% endif %}"),
    "channels": ("<|return|>", False, HEAD + A + "{{ '<|start|>assistant' }}«{{ '<|channel|>final<|message|>' + m.content }}{% if loop.last and not add_generation_prompt %}{{ '<|return|>' }}{% else %}{{ '<|end|>' }}{% endif %}»{% else %}{{ '<|start|>' + m.role + '<|message|>' + m.content + '<|end|>' }}{% endif %}" + PROMPT + "{{ '<|start|>assistant' }}{% endif %}"),
    "always the next header": ("<|im_end|>", False, HEAD + "{{ '<|im_start|>' + m.role + '\\n' }}" + A + "«{{ m.content + '<|im_end|>' }}»{% else %}{{ m.content + '<|im_end|>' }}{% endif %}{{ '\\n' }}{% endfor %}{{ '<|im_start|>assistant\\n' }}"),
    "eos of the last alone": ("<|endoftext|>", False, HEAD + A + "{{ '<|model|>' }}«{{ m.content | trim }}{% if loop.last %}{{ eos_token }}{% endif %}»{% else %}{{ '<|user|>' + m.content | trim }}{% endif %}" + PROMPT + "{{ '<|model|>' }}{% endif %}"),
    "eos before a user": ("</s>", False, HEAD + "{% if m.role != 'assistant' %}{{ 'Q: ' + m.content + '\\n' }}{% else %}{{ 'A: ' }}«{{ m.content }}{% if not loop.last %}{{ eos_token }}{% endif %}»{% endif %}" + PROMPT + "{{ 'A: ' }}{% endif %}"),
    "a macro": ("<|im_end|>", False, "{% macro head(role) %}{{ '<|im_start|>' + role + '\\n' }}{% endmacro %}" + HEAD + "{{ head(m.role) }}" + A + "«{{ m.content }}{{ '<|im_end|>' }}»{% else %}{{ m.content + '<|im_end|>' }}{% endif %}{{ '\\n' }}" + PROMPT + "{{ head('assistant') }}{% endif %}"),
    "a set block": ("<|im_end|>", False, HEAD + "{% set body %}{{ m.content }}{{ '<|im_end|>' }}{% endset %}{{ '<|im_start|>' + m.role + '\\n' }}" + A + "«{{ body }}»{% else %}{{ body }}{% endif %}{{ '\\n' }}" + PROMPT + "{{ '<|im_start|>assistant\\n' }}{% endif %}"),
    "a call block": ("<|im_end|>", False, "{% macro turn(role) %}{{ '<|im_start|>' + role + '\\n' }}{{ caller() }}{% endmacro %}" + HEAD + A + "{{ '<|im_start|>assistant\\n' }}«{{ m.content + '<|im_end|>' }}»{{ '\\n' }}{% else %}{% call turn(m.role) %}{{ m.content + '<|im_end|>\\n' }}{% endcall %}{% endif %}" + PROMPT + "{{ '<|im_start|>assistant\\n' }}{% endif %}"),
    "a filter block": ("<|im_end|>", False, HEAD + "{% filter upper %}{{ m.role }}{% endfilter %}{{ ' ' }}" + A + "«{{ m.content + '<|im_end|>' }}»{% else %}{{ m.content + '<|im_end|>' }}{% endif %}" + PROMPT + "{{ 'ASSISTANT ' }}{% endif %}"),
    "numbered turns": ("</s>", False, "{% set ns = namespace(n=0) %}" + HEAD + A + "{{ 'A' ~ ns.n ~ '>' }}«{{ m.content + eos_token }}»{% else %}{% set ns.n = ns.n + 1 %}{{ 'Q' ~ ns.n ~ '>' + m.content }}{% endif %}" + PROMPT + "{{ 'A' ~ ns.n ~ '>' }}{% endif %}"),
    "by the turn before": ("</s>", False, HEAD + "{% if loop.first or loop.previtem.role != m.role %}{{ '[' + m.role + ']' }}{% endif %}" + A + "«{{ m.content + eos_token }}»{% else %}{{ m.content }}{% endif %}" + PROMPT + "{{ '[assistant]' }}{% endif %}"),
    "white space control": ("<|im_end|>", False, "{%- for m in messages -%}\n  {{- '<|im_start|>' + m.role + '\\n' -}}\n  {%- if m.role == 'assistant' -%}«{{- m.content -}} <|im_end|>»{%- else -%}{{- m.content -}} <|im_end|>{%- endif -%}{{- '\\n' -}}\n{%- endfor -%}\n{%- if add_generation_prompt -%}\n  {{- '<|im_start|>assistant\\n' -}}\n{%- endif -%}"),
    "roles or refused": ("<|im_end|>", False, HEAD + "{% if m.role == 'user' or m.role == 'system' %}{{ '<|user|>' + m.content + '<|end|>' }}{% elif m.role == 'assistant' %}{{ '<|assistant|>' }}«{{ m.content + '<|end|>' }}»{% else %}{{ raise_exception('no ' + m.role) }}{% endif %}" + PROMPT + "{{ '<|assistant|>' }}{% endif %}"),
    "an answer's own header": ("</s>", False, HEAD + A + "{{ '<|assistant|>' }}«{{ 'Answer: ' + m.content + eos_token }}»{% else %}{{ '<|user|>' + m.content }}{% endif %}" + PROMPT + "{{ '<|assistant|>' }}{% endif %}"),
    "blank lines before the prompt": ("<end_of_turn>", False, HEAD + A + "{{ '<start_of_turn>model\\n' }}«{{ m.content | trim + '<end_of_turn>' }}»{% else %}{{ '<start_of_turn>user\\n' + m.content | trim + '<end_of_turn>' }}{% endif %}{% if not loop.last %}{{ '\\n' }}{% endif %}" + PROMPT + "{{ '\\n<start_of_turn>model\\n' }}{% endif %}"),
    "blank lines, words": ("</s>", True, HEAD + A + "{{ 'ASSISTANT: ' }}«{{ m.content | trim + eos_token }}»{% else %}{{ 'USER: ' + m.content | trim }}{% endif %}{% if not loop.last %}{{ '\\n' }}{% endif %}" + PROMPT + "{{ '\\nASSISTANT: ' }}{% endif %}"),
    "two end tokens": ("</s>", False, HEAD + A + "{{ '<|assistant|>' }}«{{ m.content + '<|end|></s>' }}»{{ '\\n' }}{% else %}{{ '<|user|>' + m.content + '<|end|></s>\\n' }}{% endif %}" + PROMPT + "{{ '<|assistant|>' }}{% endif %}"),
    "tool calls": ("<|im_end|>", False, "{% if tools %}{{ '<|im_start|>system\\n' + tools | tojson + '<|im_end|>\\n' }}{% endif %}" + HEAD + "{{ '<|im_start|>' + m.role + '\\n' }}" + A + "«{{ m.content }}{% for c in m.tool_calls or [] %}{{ '<tool_call>\\n' + {'name': c.function.name, 'arguments': c.function.arguments} | tojson + '\\n</tool_call>' }}{% endfor %}{{ '<|im_end|>' }}»{% else %}{{ m.content + '<|im_end|>' }}{% endif %}{{ '\\n' }}" + PROMPT + "{{ '<|im_start|>assistant\\n' }}{% endif %}"),
    "tool results as a user": ("<|im_end|>", False, HEAD + "{% if m.role == 'tool' %}{{ '<|im_start|>user\\n<tool_response>' + m.content + '</tool_response><|im_end|>\\n' }}{% elif m.role == 'assistant' %}{{ '<|im_start|>assistant\\n' }}«{{ m.content }}{% for c in m.tool_calls or [] %}{{ c.function.name }}({% for k, v in c.function.arguments | items %}{{ k ~ '=' ~ v }};{% endfor %}){% endfor %}{{ '<|im_end|>' }}»{{ '\\n' }}{% else %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}{% endif %}" + PROMPT + "{{ '<|im_start|>assistant\\n' }}{% endif %}"),
    "content by length": ("<|im_end|>", False, HEAD + "{{ '<|im_start|>' + m.role + '\\n' }}" + A + "«{{ m.content + '<|im_end|>' }}»{% else %}{{ m.content + ' (' ~ m.content | length ~ ')<|im_end|>' }}{% endif %}{{ '\\n' }}" + PROMPT + "{{ '<|im_start|>assistant\\n' }}{% endif %}"),
    "an answer by length": ("<|im_end|>", False, HEAD + "{{ '<|im_start|>' + m.role + '\\n' }}" + A + "«{{ m.content ~ ' ' ~ (m.content | length) }}<|im_end|>»{% else %}{{ m.content + '<|im_end|>' }}{% endif %}{{ '\\n' }}" + PROMPT + "{{ '<|im_start|>assistant\\n' }}{% endif %}"),
    "slices by two": ("</s>", False, "{% if messages[0].role == 'system' %}{{ messages[0].content + '\\n' }}{% set rest = messages[1:] %}{% else %}{% set rest = messages %}{% endif %}{% for m in rest %}{% if loop.index0 % 2 == 1 %}{{ 'bot>' }}«{{ m.content + eos_token }}»{% else %}{{ 'you>' + m.content }}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ 'bot>' }}{% endif %}"),
    "a sentence before the prompt": ("<|im_end|>", True, HEAD + "{{ '<|im_start|>' + m.role + '\\n' }}" + A + "«{{ m.content + '<|im_end|>' }}»{% else %}{{ m.content + '<|im_end|>' }}{% endif %}{{ '\\n' }}" + PROMPT + "{{ 'Now answer.<|im_start|>assistant\\n' }}{% endif %}"),
    "the question again": ("</s>", True, HEAD + A + "{{ messages[loop.index0 - 1].content + '=' }}«{{ m.content + eos_token }}»{% else %}{{ m.content + '\\n' }}{% endif %}{% endfor %}"),
    "turns from the last": ("</s>", True, "{% for m in messages | reverse %}" + A + "{{ 'A:' }}«{{ m.content + eos_token }}»{% else %}{{ 'Q:' + m.content }}{% endif %}" + PROMPT + "{{ 'A:' }}{% endif %}"),
    "the first question last": ("</s>", True, HEAD + A + "{{ '<|assistant|>' }}«{{ m.content + eos_token }}»{% else %}{{ '<|user|>' + m.content }}{% endif %}{% endfor %}{{ messages[0].content }}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"),
}


def mask(eos, template, messages, tools):
    marked = template.replace("«", "{% generation %}").replace("»", "{% endgeneration %}")
    try:
        texts, spans = render_jinja_template([messages], tools=tools, chat_template=marked, return_assistant_tokens_mask=True,
                                             add_generation_prompt=False, eos_token=eos, bos_token="<s>")
    except Exception as error:
        print("refused:", error, file=sys.stderr)
        return ""
    text, bare = texts[0], template.replace("«", "").replace("»", "")
    again, _ = render_jinja_template([messages], tools=tools, chat_template=bare, add_generation_prompt=False, eos_token=eos, bos_token="<s>")
    assert again[0] == text, (template, text, again[0])
    place = lambda n: len(text[:n].encode())
    return f"{place(len(text))}:" + "".join(f" {place(a)}-{place(b)}" for a, b in spans[0] if b > a)


def main(out):
    rows = []
    for name, (eos, may, template) in TEMPLATES.items():
        masks = [mask(eos, template, m, [TOOL] if m is CALLS else None) for m in CONVERSATIONS]
        rows.append({"name": name, "eos": eos, "may_refuse": may, "template": template.replace("«", "").replace("»", ""), "masks": masks})
    chats = [{"messages": m, "tools": [TOOL] if m is CALLS else None} for m in CONVERSATIONS]
    o = {"control": CONTROL, "ends": ENDS, "conversations": chats, "templates": rows}
    Path(out, "chat_masks.json").write_text(json.dumps(o, ensure_ascii=False, indent=0) + "\n")
    print(len(rows), "templates,", len(chats), "conversations")


main(sys.argv[1])

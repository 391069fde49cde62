#!/usr/bin/env python3
"""Golden texts of chat templates from transformers' apply_chat_template, for tests/data/test_template.c
(run in the lab: shared/lab/in-testing).

golden_chat.py OUT    OUT: tests/golden; writes OUT/chat_templates.json:
    [{"name", "template", "cases": [{"variables", "text" or "error", "generated": [[first, end], ..] in bytes}]}]
The templates are written for this test. Each uses the constructs of a kind that is published (ChatML, Qwen, Llama 3,
Gemma, Phi, Mistral, SmolLM3, DeepSeek, tools, thoughts), or one construct at its edges.
strftime_now is of 2026-01-31 12:00 UTC: run with TZ=UTC.
"""
import datetime
import json
import sys
from pathlib import Path

from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast
from transformers.utils import chat_template_utils


class FixedTime(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(1769860800, tz)


chat_template_utils.datetime = FixedTime

PLAIN = [{"role": "user", "content": "Hi there!"}, {"role": "assistant", "content": " Hello.\n"},
         {"role": "user", "content": "Größe 日本 🙂?"}]
SYSTEM = [{"role": "system", "content": "Be brief.\nBe kind. "}] + PLAIN + [{"role": "assistant", "content": "Fine <b>'it' \"is\"</b>"}]
TOOL = {"type": "function", "function": {"name": "weather", "description": "The weather at a place.", "parameters": {
    "type": "object", "properties": {"place": {"type": "string", "description": "A city, e.g. \"Köln\"", "enum": ["Köln", "Rome"]},
                                     "days": {"type": ["integer", "null"], "items": {"type": "number"}}}, "required": ["place"]}}}
CALL = [{"role": "system", "content": "Use tools."}, {"role": "user", "content": "Weather in Köln & Rome?"},
        {"role": "assistant", "content": "", "tool_calls": [
            {"type": "function", "id": "abc123def", "function": {"name": "weather", "arguments": {"place": "Köln", "days": 3, "x": [1.5, None, True, 1e20, 1e-7]}}},
            {"type": "function", "id": "def456abc", "function": {"name": "weather", "arguments": {"place": "Rome"}}}]},
        {"role": "tool", "name": "weather", "tool_call_id": "abc123def", "content": "{\"deg\": 21}"},
        {"role": "tool", "name": "weather", "tool_call_id": "def456abc", "content": "sunny"},
        {"role": "assistant", "content": "<think>\nTwo cities.\n</think>\n\nKöln 21, Rome sunny."},
        {"role": "user", "content": "Thanks"}]
THOUGHT = PLAIN[:1] + [{"role": "assistant", "reasoning_content": "\nA greeting.\n", "content": "Hello"}, {"role": "user", "content": "More"},
                       {"role": "assistant", "content": "<think>hm</think>Sure"}]
PARTS = [{"role": "user", "content": [{"type": "text", "text": "Look: "}, {"type": "image", "image": "a.png"}, {"type": "text", "text": " what?"}]},
         {"role": "assistant", "content": [{"type": "text", "text": "A cat."}]}]
CHATS = {"plain": (PLAIN, None, True), "system": (SYSTEM, None, False), "tools": (CALL, [TOOL], True),
         "thought": (THOUGHT, None, False), "parts": (PARTS, None, True), "wrong": (PLAIN[:1] + PLAIN[:1], None, True)}

TEMPLATES = {
    "chatml": "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}",
    "chatml default system": "{% for m in messages %}{% if loop.first and m.role != 'system' %}{{ '<|im_start|>system\nA helper.<|im_end|>\n' }}{% endif %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}\n{% if add_generation_prompt -%}\n<|im_start|>assistant\n{% endif %}",
    "qwen tools": """{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0]['role'] == 'system' %}
        {{- messages[0]['content'] }}
    {%- else %}
        {{- 'You help.' }}
    {%- endif %}
    {{- "\\n\\n# Tools\\n\\n<tools>" }}
    {%- for tool in tools %}
        {{- "\\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "\\n</tools>\\n{\\"name\\": <function-name>}<|im_end|>\\n" }}
{%- elif messages[0].role == 'system' %}
    {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) or (message.role == "assistant" and not message.tool_calls) %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {{- '<|im_start|>' + message.role }}
        {%- if message.content %}
            {{- '\\n' + message.content }}
        {%- endif %}
        {%- for tool_call in message.tool_calls %}
            {%- if tool_call.function is defined %}
                {%- set tool_call = tool_call.function %}
            {%- endif %}
            {{- '\\n<tool_call>\\n{"name": "' }}
            {{- tool_call.name }}
            {{- '", "arguments": ' }}
            {{- tool_call.arguments | tojson }}
            {{- '}\\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == "tool" %}
        {%- if (loop.index0 == 0) or (messages[loop.index0 - 1].role != "tool") %}
            {{- '<|im_start|>user' }}
        {%- endif %}
        {{- '\\n<tool_response>\\n' }}
        {{- message.content }}
        {{- '\\n</tool_response>' }}
        {%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}
            {{- '<|im_end|>\\n' }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
""",
    "qwen3 thoughts": """{%- set ns = namespace(multi_step=true, last_query=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step and message.role == "user" and message.content is string and not(message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}
        {%- set ns.multi_step = false %}
        {%- set ns.last_query = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.content is string %}
        {%- set content = message.content %}
    {%- else %}
        {%- set content = '' %}
    {%- endif %}
    {%- if message.role == "assistant" %}
        {%- set thought = '' %}
        {%- if message.reasoning_content is string %}
            {%- set thought = message.reasoning_content %}
        {%- else %}
            {%- if '</think>' in content %}
                {%- set thought = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
                {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
            {%- endif %}
        {%- endif %}
        {%- if loop.index0 > ns.last_query and (loop.last or (not loop.last and thought)) %}
            {{- '<|im_start|>' + message.role + '\\n<think>\\n' + thought.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n') }}
        {%- else %}
            {{- '<|im_start|>' + message.role + '\\n' + content }}
        {%- endif %}
        {{- '<|im_end|>\\n' }}
    {%- else %}
        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}""",
    "llama 3": "{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'+ message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}",
    "llama 3.2": """{{- bos_token }}
{%- if custom_tools is defined %}
    {%- set tools = custom_tools %}
{%- endif %}
{%- if not date_string is defined %}
    {%- if strftime_now is defined %}
        {%- set date_string = strftime_now("%d %b %Y") %}
    {%- else %}
        {%- set date_string = "26 Jul 2024" %}
    {%- endif %}
{%- endif %}
{%- if not tools is defined %}
    {%- set tools = none %}
{%- endif %}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}
{%- if tools is not none %}
    {{- "Environment: ipython\\n" }}
{%- endif %}
{{- "Today Date: " + date_string + "\\n\\n" }}
{{- system_message }}
{{- "<|eot_id|>" }}
{%- if tools is not none %}
    {%- if messages | length != 0 %}
        {%- set first_user_message = messages[0]['content']|trim %}
        {%- set messages = messages[1:] %}
    {%- else %}
        {{- raise_exception("There is no first user message.") }}
    {%- endif %}
    {{- '<|start_header_id|>user<|end_header_id|>\\n\\n' -}}
    {%- for t in tools %}
        {{- t | tojson(indent=4) }}
        {{- "\\n\\n" }}
    {%- endfor %}
    {{- first_user_message + "<|eot_id|>"}}
{%- endif %}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' }}
    {%- elif 'tool_calls' in message %}
        {%- if not message.tool_calls|length == 1 %}
            {{- raise_exception("Only single tool-calls at once!") }}
        {%- endif %}
        {%- set tool_call = message.tool_calls[0].function %}
        {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' -}}
        {{- '{"name": "' + tool_call.name + '", ' }}
        {{- tool_call.arguments | tojson }}
        {{- "}<|eot_id|>" }}
    {%- elif message.role == "tool" or message.role == "ipython" %}
        {{- "<|start_header_id|>ipython<|end_header_id|>\\n\\n" }}
        {%- if message.content is mapping or message.content is iterable %}
            {{- message.content | tojson }}
        {%- else %}
            {{- message.content }}
        {%- endif %}
        {{- "<|eot_id|>" }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
""",
    "gemma 2": "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}{% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %}{% set role = message['role'] %}{% endif %}{{ '<start_of_turn>' + role + '\n' + message['content'] | trim + '<end_of_turn>\n' }}{% endfor %}{% if add_generation_prompt %}{{'<start_of_turn>model\n'}}{% endif %}",
    "gemma 3": """{{ bos_token }}
{%- if messages[0]['role'] == 'system' -%}
    {%- if messages[0]['content'] is string -%}
        {%- set first_user_prefix = messages[0]['content'] + '

' -%}
    {%- else -%}
        {%- set first_user_prefix = messages[0]['content'][0]['text'] + '

' -%}
    {%- endif -%}
    {%- set loop_messages = messages[1:] -%}
{%- else -%}
    {%- set first_user_prefix = "" -%}
    {%- set loop_messages = messages -%}
{%- endif -%}
{%- for message in loop_messages -%}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) -%}
        {{ raise_exception("Conversation roles must alternate") }}
    {%- endif -%}
    {%- if (message['role'] == 'assistant') -%}
        {%- set role = "model" -%}
    {%- else -%}
        {%- set role = message['role'] -%}
    {%- endif -%}
    {{ '<start_of_turn>' + role + '
' + (first_user_prefix if loop.first else "") }}
    {%- if message['content'] is string -%}
        {{ message['content'] | trim }}
    {%- elif message['content'] is iterable -%}
        {%- for item in message['content'] -%}
            {%- if item['type'] == 'image' -%}
                {{ '<start_of_image>' }}
            {%- elif item['type'] == 'text' -%}
                {{ item['text'] | trim }}
            {%- endif -%}
        {%- endfor -%}
    {%- else -%}
        {{ raise_exception("Invalid content type") }}
    {%- endif -%}
    {{ '<end_of_turn>
' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{'<start_of_turn>model
'}}
{%- endif -%}
""",
    "phi 3": "{% for message in messages %}{% if message['role'] == 'system' and message['content'] %}{{'<|system|>\n' + message['content'] + '<|end|>\n'}}{% elif message['role'] == 'user' %}{{'<|user|>\n' + message['content'] + '<|end|>\n'}}{% elif message['role'] == 'assistant' %}{{'<|assistant|>\n' + message['content'] + '<|end|>\n'}}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% else %}{{ eos_token }}{% endif %}",
    "phi 4 mini": "{% for message in messages %}{% if message['role'] == 'system' and 'tools' in message and message['tools'] is not none %}{{ '<|' + message['role'] + '|>' + message['content'] + '<|tool|>' + message['tools'] + '<|/tool|>' + '<|end|>' }}{% else %}{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% else %}{{ eos_token }}{% endif %}",
    "mistral 7b": "{{ bos_token }}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Roles must alternate!') }}{% endif %}{% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] + ' [/INST]' }}{% elif message['role'] == 'assistant' %}{{ message['content'] + eos_token}}{% else %}{{ raise_exception('Only user and assistant roles are supported!') }}{% endif %}{% endfor %}",
    "mistral tools": """{%- if messages[0]["role"] == "system" %}
    {%- set system_message = messages[0]["content"] %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
{%- endif %}
{%- if not tools is defined %}
    {%- set tools = none %}
{%- endif %}
{%- set user_messages = loop_messages | selectattr("role", "equalto", "user") | list %}
{%- set ns = namespace() %}
{%- set ns.index = 0 %}
{%- for message in loop_messages %}
    {%- if not (message.role == "tool" or message.role == "tool_results" or (message.tool_calls is defined and message.tool_calls is not none)) %}
        {%- if (message["role"] == "user") != (ns.index % 2 == 0) %}
            {{- raise_exception("After the optional system message, conversation roles must alternate") }}
        {%- endif %}
        {%- set ns.index = ns.index + 1 %}
    {%- endif %}
{%- endfor %}
{{- bos_token }}
{%- for message in loop_messages %}
    {%- if message["role"] == "user" %}
        {%- if tools is not none and (message == user_messages[-1]) %}
            {{- "[AVAILABLE_TOOLS] [" }}
            {%- for tool in tools %}
                {%- set tool = tool.function %}
                {{- '{"type": "function", "function": {' }}
                {%- for key, val in tool.items() if key != "return" %}
                    {%- if val is string %}
                        {{- '"' + key + '": "' + val + '"' }}
                    {%- else %}
                        {{- '"' + key + '": ' + val|tojson }}
                    {%- endif %}
                    {%- if not loop.last %}
                        {{- ", " }}
                    {%- endif %}
                {%- endfor %}
                {{- "}}" }}
                {%- if not loop.last %}
                    {{- ", " }}
                {%- else %}
                    {{- "]" }}
                {%- endif %}
            {%- endfor %}
            {{- "[/AVAILABLE_TOOLS]" }}
        {%- endif %}
        {%- if loop.last and system_message is defined %}
            {{- "[INST] " + system_message + "\\n\\n" + message["content"] + "[/INST]" }}
        {%- else %}
            {{- "[INST] " + message["content"] + "[/INST]" }}
        {%- endif %}
    {%- elif message.tool_calls is defined and message.tool_calls is not none %}
        {{- "[TOOL_CALLS] [" }}
        {%- for tool_call in message.tool_calls %}
            {%- set out = tool_call.function|tojson %}
            {{- out[:-1] }}
            {%- if not tool_call.id is defined or tool_call.id|length != 9 %}
                {{- raise_exception("Tool call IDs should be alphanumeric strings with length 9!") }}
            {%- endif %}
            {{- ', "id": "' + tool_call.id + '"}' }}
            {%- if not loop.last %}
                {{- ", " }}
            {%- else %}
                {{- "]" + eos_token }}
            {%- endif %}
        {%- endfor %}
    {%- elif message["role"] == "assistant" %}
        {{- " " + message["content"]|trim + eos_token}}
    {%- elif message["role"] == "tool_results" or message["role"] == "tool" %}
        {%- if message.content is defined and message.content.content is defined %}
            {%- set content = message.content.content %}
        {%- else %}
            {%- set content = message.content %}
        {%- endif %}
        {{- '[TOOL_RESULTS] {"content": ' + content|string + ", " }}
        {{- '"call_id": "' + message.tool_call_id + '"}[/TOOL_RESULTS]' }}
    {%- else %}
        {{- raise_exception("Only user and assistant roles are supported!") }}
    {%- endif %}
{%- endfor %}
""",
    "smollm3 generation": """{%- set today = strftime_now("%d %B %Y") -%}
{%- set mode = "/think" if (enable_thinking is not defined or enable_thinking) else "/no_think" -%}
{%- if messages[0].role == "system" -%}
  {%- set custom = messages[0].content.replace("/no_think", "").replace("/think", "").rstrip() -%}
{%- endif -%}
{{- "<|im_start|>system\\n" -}}
{{- "Today Date: " ~ today ~ "\\n" -}}
{{- "Reasoning Mode: " + mode + "\\n\\n" -}}
{%- if custom is defined -%}{{- custom + "\\n" -}}{%- endif -%}
{%- if tools -%}
  {%- set ns = namespace(text="") -%}
  {%- for tool in tools -%}
    {%- set ns.text = ns.text ~ (tool | string) ~ "\\n" -%}
  {%- endfor -%}
  {{- ns.text -}}
{%- endif -%}
{{- "<|im_end|>\\n" -}}
{%- for message in messages -%}
    {%- set content = message.content if message.content is string else "" -%}
    {%- if message.role == "user" -%}
        {{ "<|im_start|>" + message.role + "\\n" + content + "<|im_end|>\\n" }}
    {%- elif message.role == "assistant" -%}
        {% generation %}
        {%- if mode == "/think" -%}
            {{ "<|im_start|>assistant\\n" + content.lstrip("\\n") + "<|im_end|>\\n" }}
        {%- else -%}
            {{ "<|im_start|>assistant\\n" + "<think>\\n\\n</think>\\n" + content.lstrip("\\n") + "<|im_end|>\\n" }}
        {%- endif -%}
        {% endgeneration %}
    {%- elif message.role == "tool" -%}
    {{ "<|im_start|>" + "user\\n" + content + "<|im_end|>\\n" }}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{ "<|im_start|>assistant\\n" }}{% if not mode == "/think" %}{{ "<think>\\n\\n</think>\\n" }}{% endif %}
{%- endif -%}""",
    "generation chatml": "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.role == 'assistant' %}{% generation %}{{ m.content }}<|im_end|>{% endgeneration %}\n\n{% else %}{{ m.content }}<|im_end|>\n{% endif %}{% endfor %}",
    "deepseek r1": "{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif %}{% set ns = namespace(is_first=false, is_tool=false, is_output_first=true, system_prompt='') %}{%- for message in messages %}{%- if message['role'] == 'system' %}{% set ns.system_prompt = message['content'] %}{%- endif %}{%- endfor %}{{bos_token}}{{ns.system_prompt}}{%- for message in messages %}{%- if message['role'] == 'user' %}{%- set ns.is_tool = false -%}{{'<｜User｜>' + message['content']}}{%- endif %}{%- if message['role'] == 'assistant' and message['content'] is none %}{%- set ns.is_tool = false -%}{%- endif %}{%- if message['role'] == 'assistant' and message['content'] is not none %}{%- if ns.is_tool %}{{'<｜tool▁outputs▁end｜>' + message['content'] + '<｜end▁of▁sentence｜>'}}{%- set ns.is_tool = false -%}{%- else %}{% set content = message['content'] %}{% if '</think>' in content %}{% set content = content.split('</think>')[-1] %}{% endif %}{{'<｜Assistant｜>' + content + '<｜end▁of▁sentence｜>'}}{%- endif %}{%- endif %}{%- if message['role'] == 'tool' %}{%- set ns.is_tool = true -%}{%- if ns.is_output_first %}{{'<｜tool▁outputs▁begin｜><｜tool▁output▁begin｜>' + message['content'] + '<｜tool▁output▁end｜>'}}{%- set ns.is_output_first = false %}{%- else %}{{'\n<｜tool▁output▁begin｜>' + message['content'] + '<｜tool▁output▁end｜>'}}{%- endif %}{%- endif %}{%- endfor -%}{% if ns.is_tool %}{{'<｜tool▁outputs▁end｜>'}}{% endif %}{% if add_generation_prompt and not ns.is_tool %}{{'<｜Assistant｜><think>\n'}}{% endif %}",
    "llama 2": "{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% set system_message = messages[0]['content'] %}{% else %}{% set loop_messages = messages %}{% set system_message = false %}{% endif %}{% for message in loop_messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Roles must alternate') }}{% endif %}{% if loop.index0 == 0 and system_message != false %}{% set content = '<<SYS>>\\n' + system_message + '\\n<</SYS>>\\n\\n' + message['content'] %}{% else %}{% set content = message['content'] %}{% endif %}{% if message['role'] == 'user' %}{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}{% elif message['role'] == 'assistant' %}{{ ' '  + content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}",
    "zephyr": "{% for message in messages %}\n{% if message['role'] == 'user' %}\n{{ '<|user|>\n' + message['content'] + eos_token }}\n{% elif message['role'] == 'system' %}\n{{ '<|system|>\n' + message['content'] + eos_token }}\n{% elif message['role'] == 'assistant' %}\n{{ '<|assistant|>\n'  + message['content'] + eos_token }}\n{% endif %}\n{% if loop.last and add_generation_prompt %}\n{{ '<|assistant|>' }}\n{% endif %}\n{% endfor %}",
    "olmo": "{{ bos_token }}{% for message in messages %}{% if message['role'] == 'system' %}{{ '<|system|>\n' + message['content'] + '\n' }}{% elif message['role'] == 'user' %}{{ '<|user|>\n' + message['content'] + '\n' }}{% elif message['role'] == 'assistant' %}{% if not loop.last %}{{ '<|assistant|>\n'  + message['content'] + eos_token + '\n' }}{% else %}{{ '<|assistant|>\n'  + message['content'] + eos_token }}{% endif %}{% endif %}{% if loop.last and add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %}{% endfor %}",
    "granite": """{%- if messages[0]['role'] == 'system' %}
     {%- set system_message = messages[0]['content'] %}
     {%- set loop_messages = messages[1:] %}
 {%- else %}
     {%- set system_message = "Today's Date: " + strftime_now('%B %d, %Y') + "." %}
     {%- if tools and documents %}
         {%- set system_message = system_message + " Both." %}
     {%- elif tools %}
         {%- set system_message = system_message + " Tools." %}
     {%- endif %}
     {%- set loop_messages = messages %}
 {%- endif %}
 {{- '<|start_of_role|>system<|end_of_role|>' + system_message + '<|end_of_text|>
' }}
 {%- if tools %}
     {{- '<|start_of_role|>tools<|end_of_role|>' }}
     {{- tools | tojson(indent=4) }}
     {{- '<|end_of_text|>
' }}
 {%- endif %}
 {%- for message in loop_messages %}
     {{- '<|start_of_role|>' + message['role'] + '<|end_of_role|>' + message['content'] + '<|end_of_text|>
' }}
     {%- if loop.last and add_generation_prompt %}
             {{- '<|start_of_role|>assistant' }}
             {%- if controls %}
                 {{- ' ' + controls | tojson()}}
             {%- endif %}
             {{- '<|end_of_role|>' }}
     {%- endif %}
 {%- endfor %}""",
    "tool macros": """{%- macro json_to_python_type(json_spec) %}
    {%- set basic_type_map = {
    "string": "str",
    "number": "float",
    "integer": "int",
    "boolean": "bool"
} %}
    {%- if basic_type_map[json_spec.type] is defined %}
        {{- basic_type_map[json_spec.type] }}
    {%- elif json_spec.type == "array" %}
        {{- "list[" +  json_to_python_type(json_spec|items) + "]" }}
    {%- elif json_spec.type is iterable and json_spec.type is not string %}
        {{- "Union[" }}
        {%- for t in json_spec.type %}
            {{- json_to_python_type({"type": t}) }}
            {%- if not loop.last %}
                {{- "," }}
            {%- endif %}
        {%- endfor %}
        {{- "]" }}
    {%- else %}
        {{- "Any" }}
    {%- endif %}
{%- endmacro %}
{%- macro render(tool, prefix='- ', suffix=none) -%}
    {{ prefix }}{{ tool.name }}({%- for name, spec in tool.parameters.properties.items() -%}
        {{ name }}: {{ json_to_python_type(spec) }}{{ ", " if not loop.last }}
    {%- endfor -%}){% if suffix is not none %}{{ suffix }}{% endif %}
{%- endmacro -%}
{{- bos_token + '<|im_start|>system\\n' }}
{%- for tool in tools or [] %}
{{- render(tool.function) }}
{{- render(tool.function, suffix='!', prefix='* ') }}
{% endfor %}
{%- for m in messages if m.role == 'user' %}
{{ loop.index }}/{{ loop.length }} {{ m.content }}
{% else %}
nobody
{% endfor %}""",
    "gpt-oss kind": """{%- macro render_typescript_type(param_spec, required_params, is_nullable=false) -%}
    {%- if param_spec.type == "array" -%}
        {%- if param_spec['items'] -%}any[]{%- endif -%}
    {%- elif param_spec.type is defined and param_spec.type is iterable and param_spec.type is not string and param_spec.type is not mapping and param_spec.type[0] is defined -%}
        {{- param_spec.type | join(" | ") -}}
    {%- elif param_spec.enum -%}
        {{- '"' + param_spec.enum|join('" | "') + '"' -}}
    {%- else -%}
        any
    {%- endif -%}
{%- endmacro -%}
{%- macro render_tool_namespace(namespace_name, tools) -%}
    {{- "## " + namespace_name + "\\n\\n" }}
    {{- "namespace " + namespace_name + " {\\n\\n" }}
    {%- for tool in tools %}
        {%- set tool = tool.function %}
        {{- "// " + tool.description + "\\n" }}
        {{- "type "+ tool.name + " = " }}
        {%- if tool.parameters and tool.parameters.properties %}
            {{- "(_: {\\n" }}
            {%- for param_name, param_spec in tool.parameters.properties.items() %}
                {%- if param_spec.description %}
                    {{- "// " + param_spec.description + "\\n" }}
                {%- endif %}
                {{- param_name }}
                {%- if param_name not in (tool.parameters.required or []) -%}
                    {{- "?" }}
                {%- endif -%}
                {{- ": " }}
                {{- render_typescript_type(param_spec, tool.parameters.required or []) }}
                {%- if param_spec.default is defined -%}
                    {{- ", // default: " + param_spec.default|tojson }}
                {%- endif -%}
                {%- if not loop.last %}
                    {{- ",\\n" }}
                {%- else %}
                    {{- "\\n" }}
                {%- endif -%}
            {%- endfor %}
            {{- "}) => any;\\n\\n" }}
        {%- else -%}
            {{- "() => any;\\n\\n" }}
        {%- endif -%}
    {%- endfor %}
    {{- "} // namespace " + namespace_name }}
{%- endmacro -%}
{%- set last_tool_call = namespace(name=none) %}
{%- for message in messages -%}
    {%- if message.role == 'assistant' -%}
        {%- if "tool_calls" in message %}
            {%- for tc in message.tool_calls %}
            {%- set last_tool_call.name = tc.function.name %}
            {{- "<|start|>assistant to=functions." ~ tc.function.name ~ "<|channel|>commentary json<|message|>" ~ tc.function.arguments|tojson ~ "<|call|>" }}
            {%- endfor %}
        {%- elif loop.last and not add_generation_prompt %}
            {{- "<|start|>assistant<|channel|>final<|message|>" + message.content + "<|return|>" }}
        {%- else %}
            {{- "<|start|>assistant<|channel|>final<|message|>" + message.content + "<|end|>" }}
            {%- set last_tool_call.name = none %}
        {%- endif %}
    {%- elif message.role == 'tool' -%}
        {%- if last_tool_call.name is none %}
            {{- raise_exception("Message has tool role, but there was no previous assistant message with a tool call!") }}
        {%- endif %}
        {{- "<|start|>functions." + last_tool_call.name }}
        {{- " to=assistant<|channel|>commentary<|message|>" + message.content|tojson + "<|end|>" }}
    {%- elif message.role == 'user' -%}
        {{- "<|start|>user<|message|>" + message.content + "<|end|>" }}
    {%- elif message.role == 'system' and tools -%}
        {{- "<|start|>developer<|message|># Instructions\\n\\n" + message.content + "\\n\\n# Tools\\n\\n" }}
        {{- render_tool_namespace("functions", tools) }}
        {{- "<|end|>" }}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
<|start|>assistant
{%- endif -%}""",
    "command kind": """{{ bos_token }}{%- macro document_turn(documents) -%}
{# format documents #}
<results>{% for doc in documents %}
Document: {{ loop.index0 }}
{% for key, value in doc.items() %}
{{ key }}: {{ value }}
{% endfor %}
{% endfor %}</results>
{%- endmacro %}
{%- set ns = namespace(n=0) %}
{{ document_turn([{"title": "A", "text": "one"}, {"title": "B", "n": 2.0}]) }}
{%- for message in messages %}
{%- if message.role|lower == 'user' %}
<|START_OF_TURN_TOKEN|><|USER_TOKEN|>{{ message.content }}<|END_OF_TURN_TOKEN|>
{%- elif message.role|lower in ['assistant', 'chatbot'] %}
<|CHATBOT|>{{ (message.content|string)[:20] }}{% set ns.n = ns.n + 1 %}
{%- endif %}
{%- endfor %} {{ ns.n }}""",
    "white space": "a  \n   {% if true %}   \n  b \n\t {%- if true -%} \n\n c {% endif %} \n {# one\n two #}  \n d {{- ' e ' -}}  \n f {%+ if true +%}\n  g{% endif %}\n   {#- x -#}   \n h  {% if true -%}\n   \t i {%- endif %}\n\n   {{ 'j' }}  \n  {% raw %} {{ x }} {% y %}\n {% endraw %}\n k\n\n{% endif %}{% for i in range(3) %}\n  {{ i }}\n{% endfor %}\nend\n",
    "loops": "{% for m in messages %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.depth }}{{ loop.cycle('a', 'b') }}{{ loop.changed(m.role) }}{{ loop.previtem.role if loop.previtem is defined else '-' }}{{ (loop.nextitem | default({'role': '!'})).role }};{% endfor %}\n{% for a, b in [(1, 2), [3, 4]] %}{{ a + b }}{% for c in 'xyz' if c != 'y' %}{{ loop.depth0 }}{{ c }}{% endfor %}{% endfor %}\n{% for x in [] %}no{% else %}empty{% endfor %}{% for i in range(10) %}{% if i == 2 %}{% continue %}{% endif %}{% if i > 4 %}{% break %}{% endif %}{{ i }}{% endfor %}\n{% set x = 1 %}{% for i in range(2, -4, -3) %}{% set x = x + 10 %}{{ x }},{{ i }} {% endfor %}{{ x }}{% for k in {'a': 1, 'b': 2} %}{{ k }}{% endfor %}{% for k, v in {'q': [1]}.items() %}{{ k }}{{ v }}{% endfor %}{% for i in undefined_thing %}x{% endfor %}",
    "values": "{{ none }} {{ True }} {{ false }} {{ 1 }} {{ -1 }} {{ 1.0 }} {{ 1.5e3 }} {{ 1e16 }} {{ 1e-5 }} {{ 0.1 + 0.2 }} {{ 123456789.125 }} {{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 2 ** 10 }} {{ 7.5 % 2 }} {{ [1, 'a', none, 2.5, \"it's\"] }} {{ (1,) }} {{ (1, 'b') }} {{ {'a': 1, 'b': [true, {'c': none}]} }} {{ 'x' * 3 }} {{ [1] + [2] }} {{ 'a' ~ 1 ~ none ~ true ~ 1.5 }} {{ 'tab\\tnl\\n' }} {{ ['tab\\t\"é\\u00e9\\\\'] }} {{ undefined_thing }}{{ messages[99] }}|{{ messages[0].nothing }}|{{ 1_000 }} {{ 3.0 }} {{ 100000.0 * 3 }}",
    "logic": "{{ 1 < 2 < 3 }} {{ 1 < 2 > 3 }} {{ not 1 == 2 }} {{ 'a' in 'cat' }} {{ 'x' not in ['y'] }} {{ 2 in {2: 1} }} {{ '' or 'b' }} {{ 'a' and 'c' }} {{ none or 0 }} {{ 1 == 1.0 }} {{ true == 1 }} {{ 'a' == 1 }} {{ [1, 2] == [1, 2] }} {{ 'a' < 'b' }} {{ 'yes' if false }}|{{ 'yes' if 0 else 'no' }} {{ (1 if true else 2) + 1 }} {{ not (true and false) or false }} {{ 'b' if none is none else 'c' }} {{ -2 ** 2 }} {{ 2 + 3 * 4 - 1 }} {{ 10 - 3 - 2 }} {{ 'a' + 'b' ~ 'c' }} {{ 1 if x is defined and x else 2 }} {{ messages is defined and messages[0] is mapping }}",
    "tests": "{{ 1 is odd }} {{ 2 is even }} {{ 9 is divisibleby 3 }} {{ 9 is divisibleby(2) }} {{ 'a' is string }} {{ 1 is number }} {{ 1.5 is float }} {{ 1 is integer }} {{ true is boolean }} {{ true is number }} {{ true is integer }} {{ true is true }} {{ 1 is true }} {{ none is none }} {{ [] is sequence }} {{ 'a' is iterable }} {{ {} is mapping }} {{ 3 is in [1, 3] }} {{ 1 is eq 1 }} {{ 1 is sameas 1 }} {{ 2 is gt 1 }} {{ 2 is le(2) }} {{ 'ab' is lower }} {{ 'AB' is upper }} {{ x is undefined }} {{ x is not defined }} {{ range is callable }} {{ 1 is not string and 2 is number }} {{ x is defined or true }}",
    "filters": "{{ ' a ' | trim }}|{{ 'xxaxx' | trim('x') }} {{ 'aBc dE' | upper }} {{ 'ÀB' | lower }} {{ 'hello WORLD-foo (bar)' | title }} {{ 'hELLO wORLD' | capitalize }} {{ [3, 1, 2] | sort }} {{ [3, 1, 2] | sort(reverse=true) | join('-') }} {{ ['b', 'A', 'c'] | sort | join }} {{ [1, 2, 2, 1] | unique | list }} {{ [1, 2] | sum }} {{ [1, 2.5] | sum }} {{ [4, 2] | min }}{{ [4, 2] | max }} {{ 'abc' | reverse }} {{ [1, 2] | reverse | list }} {{ 'abc' | first }}{{ [1, 2] | last }} {{ '5' | int + 1 }} {{ 'x' | int(7) }} {{ '2.5' | float }} {{ 3.7 | int }} {{ 2.567 | round(2) }} {{ 2.5 | round }} {{ 2.1 | round(0, 'ceil') }} {{ -3 | abs }} {{ 'a\nb\n\nc' | indent }} {{ 'a\nb' | indent(2, true) }} {{ 'a.b' | replace('.', '--') }} {{ 'aaa' | replace('a', 'b', 2) }} {{ x | default('dflt') }} {{ '' | default('e', true) }} {{ none | d('z') }} {{ 'a<b>&\"c\\'' | e }} {{ {'b': 1, 'a': 2} | dictsort }} {{ {'a': 1} | items | list }} {{ 'abc' | length }} {{ 'Größe' | length }} {{ [1, [2]] | string }} {{ 'ab' | list }} {{ 'x' | safe }}",
    "choices": "{{ messages | map(attribute='role') | join(',') }} {{ messages | map(attribute='name', default='anon') | join(',') }} {{ messages | selectattr('role', 'equalto', 'user') | map(attribute='content') | list | length }} {{ messages | rejectattr('role', 'in', ['user', 'tool']) | map(attribute='role') | join('/') }} {{ [1, 0, none, 'a'] | select | list }} {{ [1, 2, 3] | reject('odd') | list }} {{ ['a', 'b'] | map('upper') | join }} {{ [1, 2, 3, 4] | select('gt', 2) | list }} {{ ['a ', ' b'] | map('trim') | map('length') | list }} {{ messages | selectattr('tool_calls') | list | length }} {{ messages | map(attribute='content') | map('string') | map('length') | sum }} {{ ([1, 2] | map('string') | list) + ['z'] }} {{ none | selectattr('a') | list }} {{ none | map(attribute='a') | list }} {{ 0 | reject | list }} {{ false | rejectattr('a', 'equalto', 1) | list }}",
    "tojson": "{{ {'a': [1, 2.0, none, true], 'é': 'x\\n\\t\"\\\\/\\u0001', 'z': {}, 'y': []} | tojson }} {{ {'b': 1, 'a': [1, {}]} | tojson(indent=2) }} {{ [1, 2] | tojson(separators=(',', ':')) }} {{ {'b': 1, 'a': 2} | tojson(sort_keys=true) }} {{ 'é🙂' | tojson(ensure_ascii=true) }} {{ [] | tojson(indent=2) }} {{ 1e20 | tojson }} {{ '<a>&' | tojson }} {{ messages | tojson }}",
    "strings": "{{ '  a b '.strip() }}|{{ 'xxa'.lstrip('x') }}|{{ 'a\\n\\n'.rstrip('\\n') }}|{{ 'a,b,,c'.split(',') }} {{ ' a  b '.split() }} {{ 'a-b-c'.split('-', 1) }} {{ 'a-b-c'.rsplit('-', 1) }} {{ 'a\\nb\\r\\nc\\n'.splitlines() }} {{ 'abc'.startswith('ab') }} {{ 'abc'.endswith(('x', 'c')) }} {{ 'aXbX'.replace('X', 'yy') }} {{ 'aXbX'.replace('X', 'y', 1) }} {{ 'ab'.upper() }} {{ 'Ab'.lower() }} {{ 'a b'.title() }} {{ 'aB c'.capitalize() }} {{ 'abcb'.find('b') }} {{ 'abcb'.rfind('b') }} {{ 'abc'.find('z') }} {{ 'éxé'.find('x') }} {{ 'banana'.count('an') }} {{ '-'.join(['a', 'b']) }} {{ '12'.isdigit() }} {{ 'a1'.isalpha() }} {{ ' '.isspace() }} {{ 'prefix-a'.removeprefix('prefix-') }} {{ 'a.txt'.removesuffix('.txt') }} {{ 'k=v=w'.partition('=') }} {{ 'k=v=w'.rpartition('=')[0] }} {{ '\\u3000 x\\u00a0'.strip() }}",
    "slices": "{{ 'abcdef'[1:3] }} {{ 'abcdef'[:-2] }} {{ 'abcdef'[-2:] }} {{ 'abcdef'[::2] }} {{ 'abcdef'[::-1] }} {{ 'Größe'[2:4] }} {{ [1, 2, 3, 4][1:] }} {{ [1, 2, 3][:100] }} {{ [1, 2, 3][5:] }} {{ [1, 2, 3][-1] }} {{ 'abc'[0] }} {{ 'abc'[-1] }} {{ (1, 2, 3)[1:] }} {{ messages[1:]|length }} {{ messages[-1]['role'] }} {{ messages[:1][0].role }} {{ [1, 2, 3][::-2] }} {{ {'a': {'b': [5, 6]}}.a['b'].1 }} {{ {'a': 1}.get('b', 'none') }} {{ {'a': 1}.get('a') }} {{ {'a': 1, 'b': 2}.keys() | list }} {{ {'a': 1}.values() | list }}",
    "scopes": "{% set a, b = 1, 'two' %}{{ a }}{{ b }}{% set block %}  in {{ a }} {% endset %}[{{ block }}]{% set up | upper | trim %} loud {% endset %}{{ up }}{% set ns = namespace(n=1, l=[]) %}{% for i in range(3) %}{% set ns.n = ns.n * 2 %}{% set ns.l = ns.l + [i] %}{% endfor %}{{ ns.n }}{{ ns.l }}{% macro m(x, y='d', z=none) %}({{ x }}{{ y }}{{ z }}{{ a }}){% endmacro %}{{ m(1) }}{{ m(1, z=3) }}{{ m(y=2, x='k') }}{{ m() }}{% macro wrap(t) %}<{{ t }}>{{ caller() }}</{{ t }}>{% endmacro %}{% call wrap('b') %}inner {{ a }}{% endcall %}{% filter upper %}loud {{ b }}{% endfilter %}{% with c = 5, d = a %}{{ c + d }}{% endwith %}{{ c is defined }}{% macro outer() %}{{ inner() }}{% endmacro %}{% macro inner() %}in{% endmacro %}{{ outer() }}{% set a = 9 %}{{ m(0) }}{% if true %}{% set q = 1 %}{% endif %}{{ q }}{{ dict(a=1, b=2) }}{% macro three(x, y, z) %}{{ x }}-{{ y }}-{{ z }}{% endmacro %}{{ three(*[1, 2, 3]) }}{{ three(1, *[2, 3]) }}{{ three(*[1], z=3, y=2) }}{{ three(*'xyz') }}{{ three(*[], x=1) }}{{ range(*[2, 5]) | list }}{{ [3, 4] | join(*['/']) }}",
    "error attribute": "ok\n{{ messages[0].content }}\n{{ nothing.attribute }}",
    "error none": "{{ bos_token + none }}",
    "error operator": "{{ 1 + 'a' }}",
    "error call": "{{ messages[0].content.nothing() }}",
    "error arguments": "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}",
    "error mutation": "{% set l = [] %}{{ l.append(1) }}{{ l }}",
    "error tojson": "{{ nothing | tojson }}",
}


def main():
    tok = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE()), bos_token="<s>", eos_token="</s>", pad_token="<pad>")
    rows = []
    for name, template in TEMPLATES.items():
        cases = []
        for chat, (messages, tools, prompt) in CHATS.items():
            construct = name in ("white space", "loops", "values", "logic", "tests", "filters", "tojson", "strings", "slices", "scopes") or name.startswith("error")
            if construct and chat != "plain" or name == "choices" and chat not in ("plain", "tools"):
                continue
            more = {"enable_thinking": False} if name in ("qwen3 thoughts", "smollm3 generation") and chat == "plain" else {}
            variables = {"messages": messages, "tools": tools, "documents": None, "add_generation_prompt": prompt} | tok.special_tokens_map | more
            row = {"chat": chat, "variables": variables}
            try:
                row["text"] = tok.apply_chat_template(messages, tools=tools, chat_template=template, tokenize=False, add_generation_prompt=prompt, **more)
                if "generation" in name:
                    texts, spans = chat_template_utils.render_jinja_template([messages], tools=tools, chat_template=template, add_generation_prompt=prompt,
                                                                             return_assistant_tokens_mask=True, **tok.special_tokens_map, **more)
                    assert texts[0] == row["text"]
                    row["generated"] = [[len(row["text"][:i].encode()) for i in span] for span in spans[0]]
            except Exception as e:
                row["error"] = f"{type(e).__name__}: {e}"
            cases.append(row)
        rows.append({"name": name, "template": template, "cases": cases})
    out = Path(sys.argv[1]) / "chat_templates.json"
    out.write_text("[\n" + ",\n".join(json.dumps(r, ensure_ascii=True) for r in rows) + "\n]\n")
    print(len(rows), "templates,", sum(len(r["cases"]) for r in rows), "cases,", sum("error" in c for r in rows for c in r["cases"]), "of them refused")
    for r in rows:
        for c in r["cases"]:
            if "error" in c:
                print(" ", r["name"], "/", c["chat"], ":", c["error"])


main()

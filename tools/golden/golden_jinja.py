#!/usr/bin/env python3
"""Golden texts of Jinja expressions from Jinja2 in transformers' environment, for tests/data/test_template.c
(run in the lab: shared/lab/in-testing).

golden_jinja.py OUT    OUT: tests/golden; writes OUT/jinja.json: [[template, text or null], ..], null: Jinja2 refuses it
Every operator between values of each kind, every filter, method and test with its arguments, statements at their
edges, and expressions drawn at random. What vktrain refuses by design (REFUSED) is left out.
"""
import json
import random
import re
import sys
from pathlib import Path

import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment

VALUES = ["0", "3", "-2", "2.5", "-0.5", "1e20", "1e-7", "true", "none", "''", "'aB c'", "'x'", "[]", "[3, 1, 2]", "['b', 'A']", "(1,)",
          "{}", "{'k': 1, 'a': [2]}", "'Grüne'"]
NUMBERS = ["0", "7", "-7", "2", "-3", "2.5", "-0.75", "true", "10"]
TEXTS = ["''", "'a'", "'  a b  c '", "'aXbXc'", "'Hello wOrld-it (is)'", "'ABC'", "'abc'", "'12'", "' 3.5 '", "'a\\nb\\n\\nc'", "'Grüne ÄÖ'", "'-4'", "'1e3'", "'+5'", "'x1'"]
LISTS = ["[]", "[3, 1, 2]", "['b', 'A', 'a', 'B']", "[1, 1.0, 2, 1]", "[{'k': 2, 'n': 'x'}, {'k': 1, 'n': 'Y'}, {'k': 2, 'n': 'z'}]", "'cab'", "(2, 1)", "[0, 1, '', 'a', none]",
         "[[1, 2], [0, 3]]"]
DICTS = ["{}", "{'b': 1, 'A': 3, 'c': 2}", "{'x': {'y': [5, 6]}, 'k': none}"]
FILTERS = {"TEXT": ["trim", "trim('c ')", "upper", "lower", "capitalize", "title", "replace('X', '--')", "replace('X', '-', 1)", "length", "count", "default('d')", "default('d', true)", "d('e', false)",
                    "string", "list", "reverse", "first", "last", "int", "int(9)", "float", "float(1.5)", "indent", "indent(2, true)", "indent('> ', blank=true)", "escape", "e", "tojson", "safe",
                    "sort", "unique | list", "min", "max", "join('-')", "map('upper') | list"],
           "LIST": ["length", "first", "last", "list", "reverse | list", "join", "join(', ')", "join('|', attribute='n')", "sort", "sort(true)", "sort(reverse=true, case_sensitive=true)",
                    "sort(attribute='k')", "sort(attribute='n')", "unique | list", "unique(attribute='k') | list", "unique(true) | list", "min", "max", "min(attribute='k')", "max(true)", "sum", "sum(start=10)",
                    "sum('k')", "sum('k', 0.5)", "map('string') | list", "map(attribute='k') | list", "map(attribute='m', default='-') | list", "map(attribute='0') | list", "select | list", "reject | list",
                    "select('odd') | list", "select('gt', 1) | list", "reject('string') | list", "selectattr('k') | list", "selectattr('k', 'equalto', 2) | list", "rejectattr('k', 'lt', 2) | list",
                    "select('in', [1, 'a']) | list", "tojson", "tojson(indent=2)", "string", "default('d')", "default('d', true)"],
           "DICT": ["length", "list", "items | list", "dictsort", "dictsort(true)", "dictsort(false, 'value')", "dictsort(reverse=true)", "dictsort(by='value', reverse=true)", "tojson", "tojson(indent=1)",
                    "tojson(sort_keys=true)", "tojson(separators=(',', ':'))", "tojson(ensure_ascii=true)", "first", "last", "join('+')", "string", "default(1, true)"],
           "NUMBER": ["abs", "round", "round(1)", "round(1, 'floor')", "round(0, 'ceil')", "round(-1)", "int", "float", "string", "tojson", "default(5)", "default(5, true)"]}
METHODS = {"TEXT": ["strip()", "strip('a ')", "lstrip()", "rstrip()", "rstrip('c')", "split()", "split(none, 1)", "split('X')", "split('X', 1)", "rsplit('X', 1)", "rsplit('X')", "split(' ')", "splitlines()",
                    "splitlines(true)", "startswith('a')", "startswith(('b', 'A'))", "endswith('c')", "endswith('')", "removeprefix('a')", "removesuffix('c')", "replace('X', '')", "replace('', '.')",
                    "replace('X', 'y', 1)", "upper()", "lower()", "title()", "capitalize()", "find('X')", "rfind('X')", "find('zz')", "index('b')", "count('X')", "count('')", "join(['1', '2', '3'])",
                    "isdigit()", "isalpha()", "isalnum()", "isspace()", "isupper()", "islower()", "partition('X')", "rpartition('X')", "partition('?')", "rpartition('?')"],
           "DICT": ["items() | list", "keys() | list", "values() | list", "get('b')", "get('z')", "get('z', 7)", "x.y[0]", "b"]}
TESTS = ["defined", "undefined", "none", "string", "mapping", "sequence", "iterable", "number", "integer", "float", "boolean", "callable", "true", "false", "lower", "upper"]
OF_NUMBERS = ["odd", "even", "divisibleby(3)", "divisibleby(2)", "eq(7)", "ne 7", "lt 2", "le 2", "gt(2)", "ge 2", "in [2, 7]", "sameas 2", "not odd"]
STATEMENTS = [
    "{% for x in [1, 2, 3] %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.depth }}{{ loop.depth0 }};{% endfor %}",
    "{% for x in [1, 2, 3] %}{{ loop.previtem }}<{{ x }}>{{ loop.nextitem }};{% endfor %}",
    "{% for x in 'abcd' %}{{ loop.cycle('p', 'q', 'r') }}{{ x }}{% endfor %}",
    "{% for x in [1, 1, 2, 2, 1] %}{{ loop.changed(x) }} {% endfor %}",
    "{% for x in [] %}a{% else %}none{% endfor %}|{% for x in [1] %}a{% else %}none{% endfor %}",
    "{% for x in range(10) if x % 3 == 1 %}{{ loop.index }}:{{ x }} {% else %}none{% endfor %}",
    "{% for x in range(5) if x > 9 %}{{ x }}{% else %}none{% endfor %}",
    "{% for a, b in {'x': 1, 'y': 2}.items() %}{{ a }}={{ b }} {% endfor %}",
    "{% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}",
    "{% for x in range(6) %}{% if x == 1 %}{% continue %}{% endif %}{% if x == 4 %}{% break %}{% endif %}{{ x }}{% endfor %}",
    "{% set x = 1 %}{% for i in [1, 2] %}{% set x = x + i %}{{ x }}{% endfor %}{{ x }}",
    "{% set n = namespace(x=1, y='a') %}{% for i in [1, 2] %}{% set n.x = n.x + i %}{% endfor %}{{ n.x }}{{ n.y }}",
    "{% set a, b = 1, 2 %}{{ a }}{{ b }}", "{% set t %}a{{ 1 + 1 }}b{% endset %}{{ t | upper }}", "{% set t | upper %}ab{% endset %}{{ t }}",
    "{% macro m(a, b=2, c='x') %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(1) }} {{ m(1, c=3) }} {{ m(b=5, a=4) }} {{ m(1, *[7, 8]) }}",
    "{% macro m(a) %}[{{ a }}{{ caller('k') }}]{% endmacro %}{% call(x) m(1) %}<{{ x }}>{% endcall %}",
    "{% macro m(n) %}{{ n }}{% if n > 0 %}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(3) }}",
    "{% filter upper | replace('B', '-') %}abc{% endfilter %}", "{% with a = 1, b = 2 %}{{ a + b }}{% endwith %}[{{ a }}]",
    "{% if 0 %}a{% elif '' %}b{% elif [0] %}c{% else %}d{% endif %}", "{% if none %}a{% elif 0.0 %}b{% else %}d{% endif %}",
    "{{ 'a' if false }}|{{ 'a' if 1 else 'b' }}|{{ 1 if 0 else 2 if 0 else 3 }}", "{# note #}a{#- b -#} c", "a  {%- if 1 -%}  b  {%- endif -%}  c", "{{- ' a ' -}}  b", "  {{ 1 }}  \n  {% if 1 %}\n x\n  {% endif %}\ny\n",
    "{{ 'a\\r\\nb\\rc\\n'.splitlines() }}{{ 'a\\r\\nb\\n'.splitlines(true) }}", "{% raw %}{{ a }}{% endraw %}", "{{ 'a' 'b' }}", "{{ \"q\\\"'\" }}", "{{ 'tab\\tnl\\n\\\\x' | tojson }}", "{{ [1, 'a', none, true, 1.5, 'it\\'s', \"d\\\"q\"] }}", "{{ {'a': (1,), 'b': ()} }}",
    "{{ 1 < 2 < 3 }}{{ 1 < 3 < 2 }}{{ 3 > 2 >= 2 == 2 }}", "{{ not 1 }}{{ not not 1 }}{{ not 0 and 1 }}", "{{ 1 or 2 }}{{ 0 or 2 }}{{ 1 and 2 }}{{ 0 and 2 }}{{ '' or [] }}",
    "{{ 'a' in 'cab' }}{{ 2 in [1, 2] }}{{ 'k' in {'k': 1} }}{{ 1 not in (1,) }}{{ 'x' not in 'y' }}", "{{ -2 ** 2 }}{{ 2 ** -1 }}{{ 2 ** 3 ** 2 }}{{ 2 * -3 }}{{ +4 }}{{ - -4 }}",
    "{{ 1 + 2 * 3 }}{{ (1 + 2) * 3 }}{{ 7 - 2 - 1 }}{{ 8 / 2 / 2 }}{{ 7 // 2 * 2 }}{{ 2 + 3 ~ 4 }}{{ 10 % 4 * 2 }}", "{{ 'abcdef'[1:4] }}{{ 'abcdef'[::-1] }}{{ 'abcdef'[-3:] }}{{ 'abcdef'[:-4] }}{{ 'abcdef'[::2] }}{{ 'abcdef'[4:1:-1] }}{{ 'abcdef'[9:] }}",
    "{{ [1, 2, 3][-1] }}{{ [1, 2, 3][1:] }}{{ (1, 2, 3)[:2] }}{{ 'Grüne'[2] }}{{ 'Grüne'[-1] }}[{{ [1][5] }}]", "{{ {'a': {'b': 1}}.a.b }}{{ {'a': {'b': 1}}['a']['b'] }}[{{ {'a': 1}.c }}]",
    "{{ range(4) | list }}{{ range(2, 5) | list }}{{ range(5, 0, -2) | list }}{{ range(3, 3) | list }}", "{{ dict(a=1, b='x') }}{{ dict({'k': 2}, z=3) }}", "{{ 1_000 }}{{ 1.5e3 }}{{ 1e3 }}{{ 0.1 + 0.2 }}{{ 1e16 }}{{ 123456789.125 }}{{ 1 / 3 }}",
    "{{ 1e15 }} {{ 1e16 }} {{ 1e17 }} {{ 0.0001 }} {{ 0.00001 }} {{ 100.0 }} {{ -0.0 }} {{ 1.0e-10 }} {{ 12345678901234567890.0 }}", "{{ 1 == 1.0 }}{{ 'a' == 'a' }}{{ [1] == [1.0] }}{{ {'a': 1} == {'a': 1} }}{{ true == 1 }}{{ none == false }}{{ (1,) == [1] }}",
    "{{ 'a' < 'b' }}{{ 'a' < 'B' }}{{ 'ab' > 'a' }}{{ [1, 2] < [1, 3] }}{{ [1] < [1, 0] }}{{ 2 > 1.5 }}{{ false < true }}", "{{ 'Ä' | lower }}{{ 'größe' | capitalize }}{{ 'ÉCOLE' | capitalize }}{{ 'ñandú élan' | title }}",
    "{{ 2.5 | round }} {{ 3.5 | round }} {{ 1.115 | round(2) }} {{ 2.675 | round(2) }} {{ 42 | round }} {{ 15 | round(-1) }} {{ 1234.5678 | round(2, 'floor') }}", "{{ '%s' }}{{ 'a' ~ 1 ~ none ~ 1.0 }}",
    "{{ x }}{{ x is defined }}{{ x | default('n') }}{{ x.y is defined }}" , "{{ x is not defined }}{{ 1 is number and 1 is not string }}", "{{ 5 is divisibleby 5 }}{{ 'A' is upper }}{{ [] is iterable }}",
]
# What is refused here on purpose, or written in another way: a lazy object as text, sets of methods, features beside chat templates.
REFUSED = re.compile(r"generator object|<.* at 0x|dict_(items|keys|values)|Undefined|<built-in|<bound|\binf\b|nan|[0-9]j\)")


def environment():
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[jinja2.ext.loopcontrols])
    env.filters["tojson"] = lambda x, ensure_ascii=False, indent=None, separators=None, sort_keys=False: json.dumps(
        x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
    return env


def templates():
    yield from STATEMENTS
    for a in VALUES:
        for op in ("+", "-", "*", "/", "//", "%", "~", "==", "!=", "<", ">=", "in", "and", "or"):
            for b in VALUES[:6] + ["true", "'x'", "[3, 1, 2]", "{'k': 1, 'a': [2]}"]:
                yield "{{ %s %s %s }}" % (a, op, b)
    for a in NUMBERS:
        for b in NUMBERS:
            for op in ("%", "//", "/", "**", "-", "<=", ">"):
                yield "{{ %s %s %s }}" % (a, op, b)
    for kind, of in (("TEXT", TEXTS), ("LIST", LISTS), ("DICT", DICTS), ("NUMBER", NUMBERS)):
        for v in of:
            for f in FILTERS[kind]:
                yield "{{ %s | %s }}" % (v, f)
            for m in METHODS.get(kind, []):
                yield "{{ (%s).%s }}" % (v, m)
    for v in VALUES:
        for t in TESTS:
            yield "{{ %s is %s }}" % (v, t)
    for v in NUMBERS:
        for t in OF_NUMBERS:
            yield "{{ %s is %s }}" % (v, t)


def drawn(n, rnd):
    def value(depth):
        if depth == 0 or rnd.random() < 0.2:
            return rnd.choice(VALUES + TEXTS + LISTS + DICTS + NUMBERS)
        k = rnd.random()
        if k < 0.3:
            return "(%s %s %s)" % (value(depth - 1), rnd.choice(["+", "-", "*", "~", "//", "%", "==", "<", "and", "or", "in", "not in"]), value(depth - 1))
        if k < 0.6:
            return "(%s | %s)" % (value(depth - 1), rnd.choice(FILTERS[rnd.choice(list(FILTERS))]))
        if k < 0.75:
            return "(%s).%s" % (value(depth - 1), rnd.choice(METHODS[rnd.choice(list(METHODS))]))
        if k < 0.85:
            return "(%s if %s else %s)" % (value(depth - 1), value(depth - 1), value(depth - 1))
        return "%s[%s]" % (value(depth - 1), rnd.choice(["0", "-1", "1:", ":2", "::-1", "'k'", "1:3", "-2:", "::2"]))
    for _ in range(n):
        yield "{{ %s }}" % value(rnd.randrange(1, 4))


def main():
    env, rnd, out, seen = environment(), random.Random(36), [], set()
    fixed = list(templates())[len(STATEMENTS):]
    for t in STATEMENTS + rnd.sample(fixed, 2600) + list(drawn(1200, rnd)):
        if t in seen:
            continue
        seen.add(t)
        try:
            text = env.from_string(t).render()
        except Exception:  # whatever Jinja2 and Python refuse
            text = None
        if text is not None and (len(text) > 400 or REFUSED.search(text) or REFUSED.search(t)):
            continue
        out.append([t, text])
    with open(Path(sys.argv[1]) / "jinja.json", "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in out) + "\n]\n")
    print(len(out), "templates,", sum(t is None for _, t in out), "refused")


main()

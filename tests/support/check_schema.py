"""Checks files against a JSON schema. usage: check_schema.py SCHEMA FILE... (a .jsonl file: each of its lines)
Knows the keywords below; a schema with another one is refused, so that none is passed over."""
import json, re, sys

KNOWN = {"$schema", "title", "description", "type", "properties", "required", "additionalProperties", "items", "enum", "const", "minimum",
         "maxLength", "maxItems", "pattern"}
TYPES = {"object": dict, "array": list, "string": str, "null": type(None)}


def is_type(v, name):
    if name == "number": return isinstance(v, (int, float)) and not isinstance(v, bool)
    if name == "integer": return isinstance(v, int) and not isinstance(v, bool)
    return isinstance(v, TYPES[name])


def check(v, s, at):
    unknown = set(s) - KNOWN
    if unknown: raise SystemExit(f"check_schema: keywords it does not know: {unknown}")
    types = s.get("type", [])
    types = types if isinstance(types, list) else [types]
    if types and not any(is_type(v, t) for t in types): return [f"{at}: {v!r:.60} is not of type {' or '.join(types)}"]
    bad = []
    if "const" in s and v != s["const"]: bad.append(f"{at}: is {v!r:.60}, not {s['const']!r}")
    if "enum" in s and v not in s["enum"]: bad.append(f"{at}: {v!r:.60} is none of {s['enum']}")
    if is_type(v, "number") and v < s.get("minimum", v): bad.append(f"{at}: {v} is below {s['minimum']}")
    if isinstance(v, str) and len(v) > s.get("maxLength", len(v)): bad.append(f"{at}: longer than {s['maxLength']}")
    if isinstance(v, str) and "pattern" in s and not re.search(s["pattern"], v): bad.append(f"{at}: {v!r:.60} does not match {s['pattern']}")
    if isinstance(v, list) and len(v) > s.get("maxItems", len(v)): bad.append(f"{at}: more than {s['maxItems']} items")
    if isinstance(v, list) and "items" in s:
        for i, item in enumerate(v): bad += check(item, s["items"], f"{at}[{i}]")
    if isinstance(v, dict):
        known = s.get("properties", {})
        bad += [f"{at}.{k}: is missing" for k in s.get("required", []) if k not in v]
        for k, item in v.items():
            if k in known: bad += check(item, known[k], f"{at}.{k}")
            elif s.get("additionalProperties", True) is False: bad.append(f"{at}.{k}: the schema does not have it")
    return bad


schema, bad = json.load(open(sys.argv[1])), []
for path in sys.argv[2:]:
    text = open(path).read()
    for i, part in enumerate(text.splitlines() if path.endswith(".jsonl") else [text]):
        bad += [f"{path}:{i + 1}: {b}" for b in check(json.loads(part), schema, "")]
print("\n".join(bad[:20]))
sys.exit(bool(bad))

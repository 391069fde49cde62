#!/usr/bin/env python3
"""README and docs/ stay true: README's size, lines and cells; links; files, commands and options that stand in code font; the reference is what the program prints.
usage: check_docs.py PROGRAM"""
import pathlib, re, subprocess, sys

root = pathlib.Path(__file__).resolve().parents[2]
program = str(pathlib.Path(sys.argv[1]).resolve())
pages = [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md"))]
GENERATED = {p: root / f"docs/reference/{p}.md" for p in ("commands", "options", "layers", "onnx")}
bad = []


def asked(*words): return subprocess.run([program, *words], capture_output=True, text=True, check=True).stdout


def prose(text): return re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)


def anchors(path):
    heads = re.findall(r"^#+ +(.+)$", prose(path.read_text()), flags=re.M)
    return {re.sub(r"[^a-z0-9 _-]", "", h.lower()).replace(" ", "-") for h in heads}


def check_size(text):
    lines = text.splitlines()
    if len(lines) > 150: bad.append(f"README.md has {len(lines)} lines, more than 150")
    for n, line in enumerate(lines, 1):
        if len(line) > 120: bad.append(f"README.md:{n}: {len(line)} columns, more than 120")
        if line.startswith("|"):
            for cell in line.split("|")[1:-1]:
                if len(cell.strip()) > 100: bad.append(f"README.md:{n}: a cell of {len(cell.strip())} columns, more than 100")


def check_links(path, text):
    for to in re.findall(r"\]\(([^)\s]+)\)", prose(text)):
        if to.startswith(("http://", "https://")): continue
        file, _, anchor = to.partition("#")
        target = (path.parent / file).resolve() if file else path
        if not target.exists(): bad.append(f"{path.relative_to(root)}: the link {to} leads nowhere")
        elif anchor and target.suffix == ".md" and anchor not in anchors(target): bad.append(f"{path.relative_to(root)}: {to}: no such heading")


PLACES = ("src", "shaders", "include", "tools", "tests", "docs")
commands = re.findall(r"^## vktrain (\S+)$", asked("manual", "markdown", "commands"), flags=re.M)
options = set(re.findall(r"^- `([a-z0-9_.]+)`", asked("manual", "markdown", "options"), flags=re.M))
sections = {o.split(".")[0] for o in options if "." in o}


def check_words(path, text):
    for word in re.findall(r"`([^`\n]+)`", prose(text)):
        where = f"{path.relative_to(root)}: `{word}`"
        first = word.split()[0] if word.split() else ""
        if first.split("/")[0] in PLACES and "/" in first and not re.search(r"[*<>{}]|NAME|FAMILY", first):
            if not (root / first.rstrip("/,;:")).exists(): bad.append(f"{where}: there is no such file")
        name = re.match(r"vktrain ([a-z]+)\b", word)
        if name and name[1] not in commands and name[1] not in ("help",): bad.append(f"{where}: there is no such command")
        key = re.match(r"([a-z]+)\.([a-z0-9_]+(?:\.[a-z0-9_]+)*)\b(?!\()", word)
        if key and key[1] in sections and not re.search(r"\.(h|c|md|json|yaml|py|csv|sh)\b", word):
            full = f"{key[1]}.{key[2]}"
            if full not in options and not any(o.startswith(full + ".") for o in options): bad.append(f"{where}: there is no option {full}")


def main():
    check_size((root / "README.md").read_text())
    for path in pages:
        text = path.read_text()
        check_links(path, text)
        if path not in GENERATED.values(): check_words(path, text)
    for part, path in GENERATED.items():
        if path.read_text() != asked("manual", "markdown", part): bad.append(f"{path.relative_to(root)}: not what the program prints; write it again: cmake --build BUILD --target reference")
    listed = (root / "docs/README.md").read_text() + "".join(p.read_text() for p in (root / "docs").glob("*/README.md"))
    for path in (root / "docs").rglob("*.md"):
        if path.name != "README.md" and path.name not in listed: bad.append(f"{path.relative_to(root)}: no page lists it")


main()
for line in bad: print(f"check_docs: {line}", file=sys.stderr)
print(f"check_docs: {len(pages)} pages, {len(options)} options, {len(commands)} commands")
sys.exit(bool(bad))

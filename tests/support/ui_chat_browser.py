"""A chat fine-tune (LoRA) by the page of vktrain ui: a .jsonl is chosen, a base model's folder is named, the recipe is trained, and Use answers by the model's
template; by the keyboard alone, then by the mouse. usage: ui_chat_browser.py PROGRAM FOLDER [SHOTS]"""
import json, os, re, subprocess, sys, time

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "report"))
from browser import Browser
from ui_client import Ui

program, root, shots = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2]), os.path.realpath(sys.argv[3]) if len(sys.argv) > 3 else None
FIND = "window.$ = (css, text) => [...document.querySelectorAll(css)].find(e => e.offsetParent && (text === undefined || (e.textContent + ' ' + (e.ariaLabel || '')).includes(text)));"
FACTS = {"Who wrote the novel?": "Jane Austen.", "Who owns Netherfield?": "Mr. Bingley lets it."}
os.chdir(root)


def base():
    """A Hugging Face folder with a chat template, of a small net that knows the answers; what is tuned keeps them."""
    os.makedirs("tok")
    open("tok/tokenizer.json", "w").write(open(os.path.join(here, "..", "golden", "smollm2-small.json")).read())
    json.dump({"bos_token": {"content": "<|im_start|>"}, "eos_token": "<|im_end|>", "pad_token": "<|endoftext|>", "chat_template":
               "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + eos_token + '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"},
              open("tok/tokenizer_config.json", "w"))
    json.dump({"eos_token_id": [2, 0]}, open("tok/generation_config.json", "w"))
    with open("chat.jsonl", "w") as f:
        for q, a in list(FACTS.items()) * 12: f.write(json.dumps({"messages": [{"role": "user", "content": q}, {"role": "assistant", "content": a}]}) + "\n")
    open("base.yaml", "w").write("data: {source: text, path: chat.jsonl, tokenizer: tok, context: 64, valid_fraction: 0.2, test_fraction: 0}\nmodel:\n"
                                 "  - transformer: {layers: 2, heads: 2, width: 64, names: llama, positions: rope, norm: rmsnorm, activation: swiglu, bias: false, tie: true}\n"
                                 "optim: {rule: adamw, lr: 0.005}\ntrain: {steps: 80, batch: 4}\n")
    for words in (("train", "base.yaml", "--run", "seen"), ("export", "seen", "--hf", "base")):
        subprocess.run([program, *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def run(script): return b.run(FIND + "{" + script + "}")


def wait(what, script, seconds=90):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if run(f"!!({script})"): return
        time.sleep(0.1)
    if shots: open(f"{shots}/failed.png", "wb").write(b.picture())
    raise SystemExit(f"{what}: not so after {seconds} s: {script}\n{run('document.body.innerText')[-2500:]}")


def focus(what, test, most=200):
    for _ in range(most):
        b.key("Tab")
        if run(f"const e = document.activeElement, t = e.textContent + ' ' + (e.ariaLabel || '') + ' ' + (e.labels && e.labels[0] ? e.labels[0].textContent : ''); {test}"): return
    raise SystemExit(f"Tab does not reach {what}")


def point(what, find):
    """Moves the mouse to what a script finds, and clicks there."""
    wait(f"{what} is there", find)
    x, y, hit = run(f"const e = {find}; e.scrollIntoView({{block: 'center'}}); const r = e.getBoundingClientRect(), x = r.x + r.width / 2, y = r.y + r.height / 2, h = document.elementFromPoint(x, y); [x, y, e.contains(h) || h.contains(e)]")
    if not hit: raise SystemExit(f"{what} is covered")
    b("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
    for kind in ("mousePressed", "mouseReleased"): b("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)


def press(tag, text):
    if mouse: return point(text, f"$({tag!r}, {text!r})")
    wait(f"{tag} {text} is there", f"$({tag!r}, {text!r})")
    focus(text, f"e.tagName === {tag.upper()!r} && t.includes({text!r})")
    b.key("Enter", "\r")


def into(what, test, find):
    """The cursor stands in a field then."""
    point(what, find) if mouse else focus(what, test)


def write_into(label, text):
    find = f"[...document.querySelectorAll('label')].find(l => l.offsetParent && l.textContent.includes({label!r}))"
    wait(f"the field {label}", find)
    into(label, f"e.tagName === 'INPUT' && t.includes({label!r})", f"{find}.querySelector('input')")
    if text is None: run("const e = document.activeElement; e.value = 0; e.dispatchEvent(new Event('change'))")
    else: b("Input.insertText", text=text)
    point("a place where nothing is", "$('h1')") if mouse else b.key("Tab")


def fact(name): return f"([...document.querySelectorAll('.facts div')].find(d => d.firstChild.textContent === {name!r}) || {{lastChild: {{textContent: ''}}}}).lastChild.textContent"


def look(name):
    wait("it is quiet", "!document.querySelector('[aria-busy=true]')")
    for width in (390, 1200):
        b("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 500)
        wide = run("document.documentElement.scrollWidth - innerWidth")
        if wide > 0: raise SystemExit(f"{name} at {width} px is {wide} px too wide")
        if shots: open(f"{shots}/{name}-{width}.png", "wb").write(b.picture())
    if b.complaints(): raise SystemExit(f"{name}: the console says {b.complaints()}")


def tune(name, question):
    """From the files to an answer."""
    press("a", "Data")
    press("button", f"Look at {name}.jsonl")
    wait("the conversations", "$('h2', 'The first conversations') && $('.talk .assistant', 'Jane Austen.')")
    write_into("Model to begin with", "base")
    wait("the recipe begins with it", "$('textarea').value.includes('base') && $('textarea').getAttribute('aria-invalid') === 'false'")
    wait("its command", f"$('code', 'vktrain init {name}.jsonl --set init=base')")
    look("chat-data")
    press("button", "Save and train")
    wait("the recipe is to be trained", f"location.hash.includes('{name}.yaml')")
    wait("its command", f"$('form code', 'vktrain train {name}.yaml')")
    into("the options", "e.tagName === 'TEXTAREA'", "$('form textarea')")
    wait("no options of the run before", "$('form textarea').value === ''")
    b("Input.insertText", text="train.steps=20")
    press("button", "Start")
    wait("it is done", f"{fact('state')} === 'done'")
    look("chat-trained")
    press("button", "Use it")
    wait("it has a template", "$('p', 'A language model with a chat template') && $('textarea')")
    write_into("temperature", None)
    into("the message", "e.tagName === 'TEXTAREA' && e.ariaLabel === 'Message'", "$('textarea', 'Message')")
    b("Input.insertText", text=question)
    press("button", "Send") if mouse else b.key("Enter", "\r")
    wait("its answer", f"$('.talk[role=log] .assistant') && $('.talk[role=log] .assistant').textContent.trim() === {FACTS[question]!r}")
    look("chat-use")


if __name__ == "__main__":
    base()
    ui = Ui(program)
    b = Browser()
    try:
        b("Emulation.setDeviceMetricsOverride", width=1200, height=900, deviceScaleFactor=1, mobile=False)
        b("Page.navigate", url=ui.link)
        wait("the page is there", "$('nav a', 'Train') && $('.files')")
        b.events.clear()
        mouse = False
        tune("chat", "Who wrote the novel?")
        mouse = True
        os.link("chat.jsonl", "talk.jsonl")
        tune("talk", "Who owns Netherfield?")
        print("ui_chat_browser: passed")
    finally:
        b.close()
        ui.close()

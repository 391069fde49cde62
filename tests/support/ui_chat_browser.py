"""A chat fine-tune (LoRA) by the page of vktrain ui: a .jsonl is chosen, a base model's folder is named, the recipe is trained, and Use answers by the model's
template; by the keyboard alone. usage: ui_chat_browser.py PROGRAM FOLDER [SHOTS]"""
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


def by_key(tag, text):
    wait(f"{tag} {text} is there", f"$({tag!r}, {text!r})")
    focus(text, f"e.tagName === {tag.upper()!r} && t.includes({text!r})")
    b.key("Enter", "\r")


def write_into(label, text):
    find = f"[...document.querySelectorAll('label')].find(l => l.offsetParent && l.textContent.includes({label!r}))"
    wait(f"the field {label}", find)
    focus(label, f"e.tagName === 'INPUT' && t.includes({label!r})")
    if text is None: run("const e = document.activeElement; e.value = 0; e.dispatchEvent(new Event('change'))")
    else: b("Input.insertText", text=text)
    b.key("Tab")


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
    by_key("a", "Data")
    by_key("button", f"Look at {name}.jsonl")
    wait("the conversations", "$('h2', 'The first conversations') && $('.talk .assistant', 'Jane Austen.')")
    write_into("Model to begin with", "base")
    wait("the recipe begins with it", "$('textarea').value.includes('base') && $('textarea').getAttribute('aria-invalid') === 'false'")
    wait("its command", f"$('code', 'vktrain init {name}.jsonl --set init=base')")
    look("chat-data")
    by_key("button", "Save and train")
    wait("the recipe is to be trained", f"location.hash.includes('{name}.yaml')")
    wait("its command", f"$('form code', 'vktrain train {name}.yaml')")
    focus("the options", "e.tagName === 'TEXTAREA'")
    b("Input.insertText", text="train.steps=20")
    by_key("button", "Start")
    wait("it is done", f"{fact('state')} === 'done'")
    look("chat-trained")
    by_key("button", "Use it")
    wait("it has a template", "$('p', 'A language model with a chat template') && $('textarea')")
    write_into("temperature", None)
    focus("the message", "e.tagName === 'TEXTAREA' && e.ariaLabel === 'Message'")
    b("Input.insertText", text=question)
    b.key("Enter", "\r")
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
        tune("chat", "Who wrote the novel?")
        print("ui_chat_browser: passed")
    finally:
        b.close()
        ui.close()

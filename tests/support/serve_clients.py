"""Clients of vktrain serve, good and bad, for tests/program/test_serve.sh and test_chat.sh: serve_clients.py make | pictures|table|chat PORT PID WANT."""
import csv, json, os, random, struct, sys, threading, time, zlib
sys.dont_write_bytecode = True
from http_asks import Server, expect, lap


def png(path, size, pixel):
    raw = b"".join(b"\0" + bytes(v for x in range(size) for v in pixel()) for _ in range(size))
    chunk = lambda t, d: struct.pack(">I", len(d)) + t + d + struct.pack(">I", zlib.crc32(t + d))
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b""))


def make():
    random.seed(4)
    with open("table.csv", "w") as f:
        f.write("size,kind,price\n")
        for i in range(200):
            size, kind = random.gauss(20, 8), "abc"[i % 3]
            f.write(f"{size:.2f},{kind},{2 * size + (kind == 'b') * 9:.2f}\n")
    with open("unnamed.csv", "w", newline="") as f, open("unnamed-rows.csv", "w", newline="") as g: # no heading
        for i in range(200):
            row = [f"{random.gauss(0, 1):.3f}", ('a","b', 'c"', "d, e")[i % 3]]
            csv.writer(f).writerow(row + ["ynn"[i % 3]])
            if i < 6: csv.writer(g).writerow(row)
    for which, name in enumerate(("red", "green")):
        os.makedirs(f"pictures/{name}")
        for i in range(12):
            png(f"pictures/{name}/{i}.png", 8, lambda: [random.randrange(160, 255) if k == which else random.randrange(80) for k in range(3)])


def ask(method, path, body=None, **headers):
    return server.ask(method, path, body, **headers)[:2]


def raw(data, wait=5):
    """What the server sends back until it closes; None: it was still open then."""
    got, is_open = server.raw(data, wait)
    return None if is_open else got


def pictures():
    good = open("pictures/red/0.png", "rb").read()
    green = open("pictures/green/0.png", "rb").read()
    want = json.loads(open(want_file).read())
    answer = json.loads(ask("POST", "/predict", good)[1])["predictions"][0]
    assert answer["predicted"] == want["predicted"] == "red", answer
    assert all(abs(a["p"] - b["p"]) < 1e-4 for a, b in zip(answer["classes"], want["classes"])), (answer, want)
    expect("the page", ask("GET", "/"), 200, "Content-Security-Policy")
    expect("the model", ask("GET", "/model"), 200, '"input_shape"')
    expect("another path", ask("GET", "/../etc/passwd"), 404)
    expect("another method", ask("DELETE", "/"), 405)
    expect("a post elsewhere", ask("POST", "/model", good), 404, "POST goes to /predict")
    expect("a form", ask("POST", "/predict", good, Content_Type="multipart/form-data; boundary=x"), 415, "forms are not read")
    expect("no picture", ask("POST", "/predict", b"hello"), 400, "not a PNG, JPEG, BMP, GIF or WebP picture")
    expect("a cut picture", ask("POST", "/predict", good[:60]), 400, "cut short")
    expect("a bomb", ask("POST", "/predict", good[:16] + struct.pack(">II", 16000, 16000) + good[24:]), 400)
    expect("rows for pictures", ask("POST", "/predict", "[{}]", Content_Type="application/json"), 400)
    expect("another host", ask("POST", "/predict", good, Host="rebound.example:80"), 403, "Host header")
    expect("another name", ask("POST", "/predict", good, Host="localhost.evil.example"), 403)
    expect("another site", ask("POST", "/predict", good, Origin="http://evil.example"), 403, "another site")
    expect("its own page", ask("POST", "/predict", good, Origin=f"http://127.0.0.1:{port}"), 200)
    for site, status in (("cross-site", 403), ("same-origin", 200), ("none", 200)):
        expect(f"Sec-Fetch-Site: {site}", ask("GET", "/model", Sec_Fetch_Site=site), status)
        expect(f"Sec-Fetch-Site: {site}", ask("POST", "/predict", good, Sec_Fetch_Site=site), status)
    head = b"GET /model HTTP/1.1\r\nConnection: close\r\nHost: localhost\r\n"
    for twice in (b"Host: localhost\r\n", b"hOsT: evil.example\r\n", b"Origin: http://localhost\r\nOrigin: http://localhost\r\n"):
        got = raw(head + twice + b"\r\n")
        assert got and b" 400 " in got and b"two Host or two Origin" in got, got
    for path in (b"/\0", b"/model\0", b"/model\0/../x", b"/%00", b"/model?a=%00"):  # what stands behind would be lost
        got = raw(head.replace(b"/model", path) + b"\r\n")
        assert got and b" 400 " in got and b"null character" in got, (path, got)
    assert b" 404 " in raw(head.replace(b"/model", b"/%2500") + b"\r\n")
    got = raw(head + b"\r\n")
    assert b" 200 " in got and b"Content-Security-Policy: frame-ancestors 'none'\r\n" in got and b"X-Frame-Options: DENY\r\n" in got, got
    large = raw(b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n")
    assert large and b" 413 " in large, large
    lap("plain")
    chunk = b"80000\r\n" + b"x" * 0x80000 + b"\r\n"
    chunked = b"POST /predict HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    large = raw(chunked + 5 * chunk + b"0\r\n\r\n")
    assert large and b" 413 " in large, large
    # What was refused is held no more: 60 of them are more than the server holds of all bodies, 36 MiB.
    for i in range(60):
        large = raw(chunked + 3 * chunk + b"0\r\n\r\n")
        assert large and b" 413 " in large, (i, large)
    expect("after refused ones", ask("POST", "/predict", good), 200)
    lap("chunks")
    for bad in (b"\0" * 4000, b"GET / HTTP/9.9\r\n\r\n", b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
                b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"".join(b"X-%d: y\r\n" % i for i in range(5000)) + b"\r\n", os.urandom(9000)):
        raw(bad, 0.5)
    lap("malformed")
    before = server.memory()
    # Slow ones: headers that never end, a byte now and then; a body that never comes. Each is cut off, and its place is free again.
    slow = [server.connect() for _ in range(400)]
    start = time.time()
    for s in slow:
        s.sendall(b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n" + (b"\r\n" if s.fileno() % 2 else b""))
    dripping, cut = slow[-20:], 0
    while time.time() - start < 8 and dripping:
        time.sleep(0.2)
        for s in list(dripping):
            try:
                s.sendall(b"x")
            except OSError:
                dripping.remove(s)
                cut += 1
    assert not dripping, f"{len(dripping)} of 20 that send a byte now and then were not cut off in 8 s"
    for s in slow:
        s.close()
    # Those that say nothing delay nobody.
    silent = [server.connect() for _ in range(300)]
    start = time.time()
    for i in range(20):
        expect("beside silent ones", ask("POST", "/predict", good), 200)
    assert time.time() - start < 1, f"20 answers took {time.time() - start:.2f} s beside silent connections"
    for s in silent:
        s.close()
    lap("slow")
    # A thousand at once.
    answers, lock = {}, threading.Lock()
    def one(i):
        for _ in range(3):
            try:
                status, text = ask("POST", "/predict", (b"junk" * 1000, good, green)[i % 3])
            except OSError:
                continue
            if status == 200 and json.loads(text)["predictions"][0]["predicted"] != (0, "red", "green")[i % 3]:
                status = "the answer of another"
            with lock:
                answers[status] = answers.get(status, 0) + 1
            return
    threads = [threading.Thread(target=one, args=(i,)) for i in range(1000)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert answers.get(200, 0) > 600 and answers.get(400, 0) > 300 and set(answers) <= {200, 400, 503}, answers
    grown = server.memory() - before
    assert grown < 40000, f"grown by {grown} KiB"
    assert json.loads(ask("POST", "/predict", good)[1])["predictions"][0] == answer
    lap(f"a thousand: {answers}; grown by {grown} KiB")


def table():
    want = [json.loads(line) for line in open(want_file)]
    rows = [{"size": 31.5, "kind": "b"}, {"size": 2, "kind": "a"}]
    post = lambda body: ask("POST", "/predict", body if isinstance(body, str) else json.dumps(body), Content_Type="application/json")
    got = json.loads(post(rows)[1])["predictions"]
    assert all(abs(a["predicted"] - b["predicted"]) < 1e-3 for a, b in zip(got, want)) and len(got) == 2, (got, want)
    assert json.loads(post(rows[0])[1])["predictions"] == got[:1]
    assert json.loads(post([[31.5, "b"], [2, "a"]])[1])["predictions"] == got
    expect("an unknown column", post({"size": 1, "kind": "a", "colour": 1}), 200, "'colour' is not a column")
    expect("no number", post({"size": "tall", "kind": "a"}), 400, "'tall' in column 'size'")
    expect("too few values", post([[1]]), 400, "as many values")
    expect("no rows", post([]), 400, "no rows")
    expect("no JSON", post("[{"), 400, "not JSON")
    expect("deep JSON", post("[" * 100000), 400, "not JSON")
    expect("much JSON", post("[" + "1," * 2000000 + "1]"), 413)
    expect("a picture", ask("POST", "/predict", b"\x89PNG\r\n\x1a\n" + b"x" * 99), 400, "not JSON")
    expect("the page", ask("GET", "/"), 200, '"kind"')
    silent, start = server.connect(), time.time()
    silent.settimeout(9)
    assert silent.recv(1) == b"" and 4.5 < time.time() - start < 8, f"a silent connection was closed after {time.time() - start:.1f} s"


def token():
    """Who has no token, or another, is refused before a byte of the body is kept; want_file is the token."""
    right, row = "Bearer " + want_file, json.dumps({"size": 31.5, "kind": "b"})
    post = lambda **more: ask("POST", "/predict", row, Content_Type="application/json", **more)
    wrong = [want_file, right[:-1], right + "x", right[:-1] + "!", right.upper(), "Basic " + want_file, "Bearer", "Bearer ", "Bearer  " + want_file, "Bearer x " + want_file, "", "x" * 9000]
    for value in [None] + wrong:
        more = {} if value is None else {"Authorization": value}
        expect(f"with {value!r:.40}", post(**more), 401, "Authorization: Bearer TOKEN")
        for path in ("/", "/model", "/nothing"): expect(f"{path} with {value!r:.40}", ask("GET", path, **more), 401)
    expect("with the token", post(Authorization=right), 200, "predicted")
    expect("with the token", post(Authorization="bearer" + right[6:]), 200, "predicted")
    expect("the page", ask("GET", "/", Authorization=right), 200, '"kind"')
    expect("a rebound name with it", post(Authorization=right, Host="rebound.example"), 403)
    head = b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\nContent-Type: application/octet-stream\r\n\r\n"
    got = raw(head, 3)  # it is refused at once: nobody waits for the body
    assert got and b" 401 " in got[:40] and b"WWW-Authenticate: Bearer\r\n" in got, got
    before, kept = server.memory(), []
    for i in range(100):  # more than all bodies together may have, 36 MiB
        s = server.connect()
        try: s.sendall(head + b"x" * 400000)
        except OSError: pass
        kept.append(s)
        if i % 20 == 0: expect("beside refused bodies", post(Authorization=right), 200)
    assert server.memory() - before < 8000, f"refused bodies are kept: {before} to {server.memory()} KiB"
    for s in kept: s.close()
    lap("token")


def unnamed():
    """Lists of values for a table without names, whose texts have quotes and commas."""
    want = [json.loads(line) for line in open(want_file)]
    rows = [[float(v), kind] for v, kind in csv.reader(open("unnamed-rows.csv", newline=""))]
    got = json.loads(ask("POST", "/predict", json.dumps(rows), Content_Type="application/json")[1])["predictions"]
    assert len(got) == len(want) == 6, (got, want)
    for a, b in zip(got, want):
        assert a["predicted"] == b["predicted"] and all(abs(x["p"] - y["p"]) < 1e-4 for x, y in zip(a["classes"], b["classes"])), (a, b)


def chat():
    want = open(want_file).read().splitlines()
    questions = ["Who wrote the novel?", "What is the house called?", "Who is the eldest sister?", "Who owns Netherfield?", "Where does Lydia go?"]
    post = lambda path, body: ask("POST", path, body if isinstance(body, (str, bytes)) else json.dumps(body), Content_Type="application/json")
    talk = lambda q, **more: {"messages": [{"role": "user", "content": q}], "temperature": 0, **more}
    def answer(q, **more):
        return json.loads(post("/v1/chat/completions", talk(q, **more))[1])
    model = json.loads(ask("GET", "/v1/models")[1])["data"][0]["id"]
    for q, a in zip(questions, want):
        got = answer(q, model=model)
        assert got["choices"][0]["message"] == {"role": "assistant", "content": a} and got["choices"][0]["finish_reason"] == "stop", (got, a)
        assert got["usage"]["total_tokens"] == got["usage"]["prompt_tokens"] + got["usage"]["completion_tokens"] and got["object"] == "chat.completion", got
        status, text = post("/v1/chat/completions", talk(q, stream=True, stream_options={"include_usage": True}))
        parts = text.decode().split("\n\n")
        assert status == 200 and parts[-2:] == ["data: [DONE]", ""] and len(parts) > 5, text
        parts = [json.loads(p.removeprefix("data: ")) for p in parts[:-2]]
        assert "".join(p["choices"][0]["delta"].get("content", "") for p in parts[:-1]) == a, parts
        assert parts[0]["choices"][0]["delta"]["role"] == "assistant" and parts[-2]["choices"][0]["finish_reason"] == "stop", parts
        assert parts[-1]["usage"] == got["usage"] and not parts[-1]["choices"], parts[-1]
    assert answer([{"type": "text", "text": questions[0][:9]}, {"type": "text", "text": questions[0][9:]}])["choices"][0]["message"]["content"] == want[0]
    cut = answer(questions[3], max_tokens=2)["choices"][0]
    assert cut["finish_reason"] == "length" and want[3].startswith(cut["message"]["content"]), cut
    assert answer(questions[3], stop="Bingley")["choices"][0]["message"]["content"] == "Mr. ", "stop"
    assert answer(questions[3], stop=["y" * 256] * 15 + ["Bingley"], top_p=1)["choices"][0]["message"]["content"] == "Mr. ", "the most stops that there can be"
    got = json.loads(post("/v1/completions", {"prompt": "Who", "max_tokens": 4, "temperature": 0, "echo": True})[1])
    assert got["choices"][0]["text"].startswith("Who") and got["object"] == "text_completion", got
    same = [json.loads(post("/v1/completions", {"prompt": "Who", "max_tokens": 20, "seed": 5})[1])["choices"][0]["text"] for _ in range(2)]
    assert same[0] == same[1], same
    # Without a seed each has its own, also those of one second.
    free = [json.loads(post("/v1/completions", {"prompt": "Who", "max_tokens": 20, "temperature": 1})[1])["choices"][0]["text"] for _ in range(8)]
    assert len(set(free)) > 1, free
    # OpenAI's newer name for the system's text.
    said = [json.loads(post("/v1/chat/completions", {"messages": [{"role": role, "content": "Be brief."}] * n + talk(questions[0])["messages"], "temperature": 0, "max_tokens": 8})[1])
            for role, n in (("system", 1), ("developer", 1), ("system", 0))]
    assert said[0]["choices"][0]["message"] == said[1]["choices"][0]["message"] and said[0]["usage"]["prompt_tokens"] == said[1]["usage"]["prompt_tokens"] > said[2]["usage"]["prompt_tokens"], said
    # Several at once, more than there are texts: each has its own keys and values.
    wrong = []
    def client(i):
        for k in range(5):
            q = (i + k) % 5
            got = answer(questions[q])["choices"][0]["message"]["content"]
            if got != want[q]:
                wrong.append((questions[q], got))
    threads = [threading.Thread(target=client, args=(i,)) for i in range(10)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong, wrong[:3]
    before = server.memory()
    for i in range(60): # those that go away
        s = server.connect()
        body = json.dumps(talk(questions[0], stream=i % 2 == 0)).encode()
        s.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        s.close()
    refused = lambda body, status, text, path="/v1/chat/completions": expect(str(body)[:60], post(path, body), status, text)
    refused(talk("x " * 200), 400, "the model's context is 64")
    refused(talk("x", model="gpt-9"), 404, "'gpt-9' is not here")
    refused(talk("x", temprature=1), 400, "did you mean 'temperature'")
    refused(talk("x", tools=[{"type": "function"}]), 400, "'tools' is not supported")
    refused(talk("x", n=2), 400, "'n' can only be 1")
    refused(talk("x", temperature=-1), 400, "'temperature' must be a number from 0")
    refused(talk("x", response_format={"type": "json_object"}), 400, "can only be text")
    refused({"messages": [{"role": "boss", "content": "x"}]}, 400, "'role' must be")
    refused({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, 400, "no pictures")
    refused({"messages": []}, 400, "at least one message")
    refused({}, 400, "'messages' is missing")
    refused({"prompt": ["a", "b"]}, 400, "one text", "/v1/completions")
    for more, text in (({"max_tokens": 0}, "'max_tokens' must be a whole number from 1"), ({"max_tokens": 1.5}, "'max_tokens' must be a whole number"),
                       ({"seed": "x"}, "'seed' must be a whole number"), ({"stream": 1}, "'stream' must be true or false"),
                       ({"stop": ["a"] * 99}, "'stop' has more than"), ({"stop": ""}, "'stop' must be a text of 1 to 256 bytes"),
                       ({"stop": ["a", 1]}, "'stop' must be a text"), ({"stop": "x" * 257}, "'stop' must be a text"),
                       ({"stream_options": 1}, "'stream_options' must be an object"), ({"stream_options": {"x": 1}}, "'stream_options.x' is not known here"),
                       ({"model": 7}, "'model' must be a text"), ({"logprobs": 3}, "'logprobs'"), ({"presence_penalty": 1}, "'presence_penalty' can only be 0"),
                       ({"top_p": 2}, "'top_p' must be a number from 0 to 1")):
        refused(talk("x", **more), 400, text)
    refused({"messages": [{"role": "user", "content": "x", "tool_calls": [{}]}]}, 400, "messages[0]: 'tool_calls' is not known here")
    refused({"messages": "x"}, 400, "'messages' must be a list")
    refused([], 400, "the body must be a JSON object")
    refused(b'{"messages": "\xff"}', 400, "not JSON")
    refused(talk("a\0b"), 400, "not JSON")
    expect("another path", post("/v1/embeddings", {}), 404, "POST goes to")
    assert answer(questions[4])["choices"][0]["message"]["content"] == want[4]
    assert server.memory() - before < 20000, server.memory() - before


port, pid, want_file = (int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]) if len(sys.argv) > 2 else (0, 0, "")
server = Server(port, pid, 30)
{"make": make, "pictures": pictures, "table": table, "unnamed": unnamed, "token": token, "chat": chat}[sys.argv[1]]()

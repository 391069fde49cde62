#!/usr/bin/env python3
"""Requests of a row to `vktrain serve` and to FastAPI with PyTorch (an MLP of 10, 64, 2), by 1, 8 and 64 clients with kept connections:
requests a second, p50 and p99, and the server's CPU time a request, which neighbours on the machine disturb least.
usage: serve_peer.py VKTRAIN RUN [REQUESTS]     RUN: of a table with the columns x0 to x9; REQUESTS of each measurement (2000)
       serve_peer.py --peer PORT                the peer alone, which this starts itself where fastapi, uvicorn and torch are installed"""
import http.client, json, os, pathlib, socket, statistics, subprocess, sys, threading, time

BODY = json.dumps({f"x{k}": k / 4 - 1 for k in range(10)})


def peer(port):
    import fastapi, torch, uvicorn
    torch.set_num_threads(1)
    net = torch.nn.Sequential(torch.nn.Linear(10, 64), torch.nn.ReLU(), torch.nn.Linear(64, 2), torch.nn.Softmax(-1)).eval()
    app = fastapi.FastAPI()

    @app.post("/predict")
    async def predict(row: dict[str, float]):
        with torch.inference_mode():
            p = net(torch.tensor([list(row.values())]))[0].tolist()
        return {"predictions": [{"predicted": "ab" if p[0] > p[1] else "cd", "probabilities": p}]}
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="error", access_log=False)


def cpu_s(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def ask(port, n, times):
    c = http.client.HTTPConnection("127.0.0.1", port)
    for _ in range(n):
        start = time.perf_counter()
        c.request("POST", "/predict", BODY, {"Content-Type": "application/json"})
        answer = c.getresponse()
        text = answer.read()
        assert answer.status == 200, text
        times.append(time.perf_counter() - start)


def measure(name, pid, port, n):
    for clients in (1, 8, 64):
        each = max(1, n // clients)
        times, before, start = [], cpu_s(pid), time.perf_counter()
        threads = [threading.Thread(target=ask, args=(port, each, times)) for _ in range(clients)]
        for t in threads: t.start()
        for t in threads: t.join()
        wall, cpu, times = time.perf_counter() - start, cpu_s(pid) - before, sorted(times)
        assert len(times) == each * clients
        print(f"{name}, {clients} clients: {len(times) / wall:.0f} requests/s, p50 {1e3 * statistics.median(times):.1f} ms, "
              f"p99 {1e3 * times[len(times) * 99 // 100]:.1f} ms, {1e6 * cpu / len(times):.0f} us of CPU a request", flush=True)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def run(name, command, port, n):
    p = subprocess.Popen(command)
    try:
        for _ in range(600):
            try:
                ask(port, 20, [])
                break
            except (ConnectionError, AssertionError):
                if p.poll() is not None: return print(f"{name}: it does not start: left out")
                time.sleep(0.1)
        measure(name, p.pid, port, n)
    finally:
        p.terminate()
        p.wait()


if __name__ == "__main__":
    if sys.argv[1] == "--peer":
        peer(int(sys.argv[2]))
    else:
        n = int(sys.argv[3]) if len(sys.argv) > 3 else 2000
        port = free_port()
        run("vktrain serve", [sys.argv[1], "serve", sys.argv[2], "--port", str(port), "--quiet"], port, n)
        port = free_port()
        run("FastAPI and PyTorch", [sys.executable, __file__, "--peer", str(port)], port, n)

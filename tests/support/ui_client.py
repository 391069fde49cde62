"""A client of `vktrain ui`: the link is exchanged for the cookie, then JSON in and out. Under Wine (tools/windows/run) a program is asked to stop
by an event; VKT_STOP is the command that sets one."""
import http.client, json, os, re, signal, subprocess, time, urllib.parse


class Refused(Exception):
    def __init__(self, status, message):
        super().__init__(f"{status}: {message}")
        self.status, self.message = status, message


class Ui:
    def __init__(self, program, *arguments, log="ui.log"):
        self.log = open(log, "ab")
        self.stop = os.environ.get("VKT_STOP")
        self.event = f"Local\\vktrain-test-{os.getpid()}-{time.monotonic_ns()}"
        self.process = subprocess.Popen([program, "ui", "--no-browser", "--port", "0", *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log,
                                        text=True, env={**os.environ, **({"VKT_STOP_EVENT": self.event} if self.stop else {})})
        self.link = self.process.stdout.readline().strip()
        self.port = int(re.match(r"http://127\.0\.0\.1:(\d+)/", self.link).group(1))
        self.cookie = None

    def enter(self):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        c.request("GET", self.link[self.link.index("/?"):])
        got = c.getresponse()
        assert got.status == 303, got.status
        self.cookie = got.getheader("Set-Cookie").split(";")[0]
        c.close()
        return self

    def raw(self, method, path, body=None, headers={}):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        c.request(method, path, body, {**({"Cookie": self.cookie} if self.cookie else {}), **headers})
        got = c.getresponse()
        data = got.read()
        c.close()
        return got.status, got.getheader("Content-Type") or "", data

    def answer(self, status, kind, data):
        j = json.loads(data) if kind.startswith("application/json") else {}
        if status != 200: raise Refused(status, j.get("error", {}).get("message", data[:200]))
        return j

    def get(self, at, /, **query):
        return self.answer(*self.raw("GET", at + ("?" + urllib.parse.urlencode(query) if query else "")))

    def post(self, at, /, **body):
        return self.answer(*self.raw("POST", at, json.dumps(body), {"Content-Type": "application/json"}))

    def jobs(self): return self.get("/api/jobs")["jobs"]

    def job(self, number): return next((j for j in self.jobs() if j["id"] == number), None)

    def until(self, what, test, seconds=120):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            got = test()
            if got: return got
            time.sleep(0.1)
        raise AssertionError(f"{what}: not within {seconds} s; jobs: {self.jobs()}")

    def ended(self, number, seconds=120): return self.until("the job's end", lambda: (lambda j: j if j and j["state"] == "ended" else None)(self.job(number)), seconds)

    def close(self):
        subprocess.run([self.stop, self.event], check=True) if self.stop else self.process.send_signal(signal.SIGINT)
        self.process.wait(60)
        self.process.stdout.close()
        self.log.close()
        return self.process.returncode

    def kill(self):
        self.process.kill()
        self.process.wait(60)
        self.process.stdout.close()
        self.log.close()

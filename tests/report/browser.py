"""A chromium without a window, spoken to by the DevTools protocol over two pipes: no package is needed. Pages are local files."""
import base64, json, os, select, shutil, subprocess, tempfile, time

LIMIT_S = 90  # that an answer takes on a busy machine


def find():
    return next((p for p in map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")) if p), None)


class Browser:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="vkt-browser.")
        to_read, self.to = os.pipe()
        self.back, back_write = os.pipe()

        def pipes():  # the protocol is on 3 and 4
            a, b = os.dup(to_read), os.dup(back_write)
            os.dup2(a, 3), os.dup2(b, 4)
        self.process = subprocess.Popen([find(), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe", "--no-first-run",
                                         "--disable-background-networking", "--disable-lcd-text", "--font-render-hinting=none", f"--user-data-dir={self.folder}"],
                                        preexec_fn=pipes, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read), os.close(back_write)
        self.n, self.rest, self.session, self.events = 0, b"", None, []
        target = self("Target.createTarget", url="about:blank")["targetId"]
        self.session = self("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"): self(domain + ".enable")

    def __call__(self, method, **params):
        self.n += 1
        message = {"id": self.n, "method": method, "params": params}
        if self.session: message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.n:
                if "error" in answer: raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def receive(self):
        while b"\0" not in self.rest:
            if not select.select([self.back], [], [], LIMIT_S)[0]: raise RuntimeError(f"the browser has not answered for {LIMIT_S} s")
            got = os.read(self.back, 1 << 20)
            if not got: raise RuntimeError("the browser has gone")
            self.rest += got
        one, self.rest = self.rest.split(b"\0", 1)
        message = json.loads(one)
        if "method" in message: self.events.append(message)
        return message

    def open(self, path, width=1280, height=900, dark=False, script=True):
        """Loads a file at a width of so many CSS pixels; returns the seconds until it is drawn. script: whether it may run its own."""
        self("Emulation.setScriptExecutionDisabled", value=not script)
        self("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)
        self("Emulation.setEmulatedMedia", media="screen", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.events.clear()
        began = time.monotonic()
        self("Page.navigate", url="file://" + os.path.abspath(path))
        while not any(e["method"] == "Page.loadEventFired" for e in self.events): self.receive()
        if script: self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")
        return time.monotonic() - began

    def complaints(self):
        """What the page wrote to the console, and what it tried to fetch or run and may not."""
        self.run("1")
        return [json.dumps(e["params"])[:300] for e in self.events if e["method"] in ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled")]

    def run(self, script):
        """The value of a script in the page, as JSON; of a promise what it gives."""
        got = self("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True, allowUnsafeEvalBlockedByCSP=True)
        if "exceptionDetails" in got: raise RuntimeError(json.dumps(got["exceptionDetails"])[:600])
        return got["result"].get("value")

    def key(self, name, text=""):
        """A key as a person presses it; text: what it writes, for keys that write."""
        codes = {"Tab": 9, "Enter": 13, " ": 32, "ArrowLeft": 37, "ArrowRight": 39, "Escape": 27, "End": 35, "Home": 36}
        at = {"key": name, "code": name if len(name) > 1 else "", "windowsVirtualKeyCode": codes.get(name, ord(name[0].upper()))}
        self("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **at, **({"text": text} if text else {}))
        self("Input.dispatchKeyEvent", type="keyUp", **at)

    def picture(self, most=20000):
        """A PNG of the whole page, in CSS pixels."""
        size = self("Page.getLayoutMetrics")
        width, height = size["cssLayoutViewport"]["clientWidth"], min(size["cssContentSize"]["height"], most)
        shot = self("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip={"x": 0, "y": 0, "width": width, "height": height, "scale": 1})
        return base64.b64decode(shot["data"])

    def close(self):
        try: self("Browser.close")
        except (RuntimeError, OSError): self.process.kill()
        self.process.wait(20)
        shutil.rmtree(self.folder, ignore_errors=True)

"""What clients of a server of vktrain share, good and hostile ones: requests, raw bytes, how much memory the server takes, the time so far."""
import http.client, socket, sys, time

began = time.time()


def lap(what):
    print(f"{time.time() - began:6.1f} s  {what}", flush=True)


def expect(what, got, status, text=""):
    if got[0] != status or text.encode() not in got[1]:
        sys.exit(f"{what}: {got[0]} {got[1][:300]!r}, not {status} {text!r}")
    return got


class Server:
    def __init__(self, port, pid, timeout):
        self.port, self.pid, self.timeout, self.cookie = port, pid, timeout, None

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port))

    def ask(self, method, path, body=None, **headers):
        """Status, text and headers; with the cookie, if there is one and none is given."""
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=self.timeout)
        headers = {k.replace("_", "-"): v for k, v in headers.items()}
        if self.cookie and "Cookie" not in headers: headers["Cookie"] = self.cookie
        c.request(method, path, body, headers)
        r = c.getresponse()
        text = r.read()
        c.close()
        return r.status, text, r.headers

    def raw(self, data, wait=5):
        """What the server sends back until it closes or is silent for so long, and whether it was still open then."""
        s = self.connect()
        s.settimeout(wait)
        got = b""
        try:
            s.sendall(data)
            while more := s.recv(65536): got += more
        except socket.timeout: return got, True
        except OSError: pass
        finally: s.close()
        return got, False

    def memory(self):
        with open(f"/proc/{self.pid}/status") as f:
            return int(next(line for line in f if line.startswith("VmRSS")).split()[1])

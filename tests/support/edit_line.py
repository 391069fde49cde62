"""Types into `vktrain chat` on a terminal, edits lines, and reads what it took from what it saves. usage: edit_line.py PROGRAM RUN SAVED"""
import json, os, pty, select, sys, termios, time

program, run, saved = sys.argv[1:]
master, slave = pty.openpty()
before = termios.tcgetattr(slave)
pid = os.fork()
if pid == 0:
    os.setsid()
    os.close(master)
    for fd in (0, 1, 2):
        os.dup2(slave, fd)
    os.environ["TERM"] = "xterm"
    os.execv(program, [program, "chat", run, "--temperature", "0"])

shown = b""


def fail(what):
    os.kill(pid, 9)
    sys.exit(f"edit_line: FAILED: {what}; the terminal shows {shown[-600:]!r}")


def wait(text, most=60):
    """Until the terminal shows text, which is forgotten then."""
    global shown
    end = time.monotonic() + most
    while text not in shown:
        if not select.select([master], [], [], max(0, end - time.monotonic()))[0]:
            fail(f"no {text!r}")
        shown += os.read(master, 65536)
    shown = shown[shown.index(text) + len(text):]


def keys(text):
    os.write(master, text if isinstance(text, bytes) else text.encode())


ready = b"\033[?2004h" # the terminal is told of pasting when a line begins
wait(ready)
keys("Who wote the novl?\x01\033f\033[C\033[Cr") # to the first word's end, two to the right
keys("\x05\033[D\033[De\033[D\033[D\033[C\x1b[F\r") # from the end, two to the left
wait(b"Jane Austen.")
wait(ready)
keys("/reset\r")
wait(ready)
keys("h\u00e9\u4e16\U0001f600\x7f\x7f\x7f\x7fgone\x15gone too\x17\x17") # nothing is left of it
keys("half\033[A\033[A\033[B\033[B\x15\033[A\033[A\r") # through the lines of before, and back to this one
wait(b"Jane Austen.")
wait(ready)
keys("/reset\r")
wait(ready)
keys("no\x03") # an empty line, and on
wait(b"^C")
wait(ready)
keys("\033[200~Where does\r\tLydia go?\033[201~\r") # pasted: one message of two lines
wait(ready)
keys(f"/sav\x01\x06\x06\x06\x06e {saved}\x17{saved}\r")
wait(b"last line of")
wait(ready)
keys("x\x01\x04\x04") # the first deletes, the second ends
end = time.monotonic() + 60
while True:
    got, status = os.waitpid(pid, os.WNOHANG)
    if got:
        break
    if time.monotonic() > end:
        fail("Ctrl-D does not end it")
    if select.select([master], [], [], 0.05)[0]:
        shown += os.read(master, 65536)
if os.waitstatus_to_exitcode(status) != 0:
    sys.exit(f"edit_line: FAILED: exit code {os.waitstatus_to_exitcode(status)}")
if termios.tcgetattr(slave) != before:
    sys.exit("edit_line: FAILED: the terminal is not as it was")
said = [m["content"] for m in json.loads(open(saved).readlines()[-1])["messages"] if m["role"] == "user"]
if said != ["Where does\n Lydia go?"]:
    sys.exit(f"edit_line: FAILED: it took {said}")

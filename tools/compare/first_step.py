#!/usr/bin/env python3
"""Seconds from the start of the program to its line of the first training step, on the digits, of a .deb's program or any other:
   first_step.py FILE.deb|PROGRAM [RUNS]        RUNS: 9 of each kind
cold: vktrain's and the driver's caches are empty, and with root's rights the system's cache of files, too; warm: the same again.
By the recipe, but of one step (its line comes first then). Only for an idle machine: it says the load, and refuses one above 0.5;
the processor's seconds till then, of all threads, tell a change also on a busy one (VKT_BUSY=1), beside the other program's."""
import os, pathlib, shutil, statistics, subprocess, sys, tempfile, time


def first_step(program, work, caches):
    shutil.rmtree(work / "run", ignore_errors=True)
    env = dict(os.environ, XDG_CACHE_HOME=str(caches), MESA_SHADER_CACHE_DIR=str(caches / "mesa"), HOME=str(work))
    env.pop("VKT_DEVICE", None)
    began = time.monotonic()
    p = subprocess.Popen([program, "train", "digits", "--run", "run", "--set", "train.steps=1"], cwd=work, env=env, stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    took, said = None, []
    for line in p.stdout:
        said.append(line)
        if line.startswith("step 1/"):
            took = time.monotonic() - began
            fields = pathlib.Path(f"/proc/{p.pid}/stat").read_text().rpartition(")")[2].split()
            worked = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
            break
    p.kill()
    p.wait()
    if took is None:
        sys.exit("first_step: no line of the first step:\n" + "".join(said[-5:]))
    return took, worked


def drop_files():
    try:
        os.sync()
        pathlib.Path("/proc/sys/vm/drop_caches").write_text("3")
        return True
    except OSError:
        return False


if len(sys.argv) not in (2, 3):
    sys.exit(__doc__)
program, runs = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) == 3 else 9
load = os.getloadavg()[0]
if load > 0.5 and not os.environ.get("VKT_BUSY"):
    sys.exit(f"first_step: the load is {load:.2f}: wait, or set VKT_BUSY=1 to try the script")
with tempfile.TemporaryDirectory(prefix="vktrain-first-") as folder:
    work = pathlib.Path(folder)
    if program.suffix == ".deb":
        subprocess.run(["dpkg-deb", "-x", program, work / "deb"], check=True)
        program = work / "deb/usr/bin/vktrain"
    print(subprocess.run([program, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip(), f"load {load:.2f}")
    times = {"cold": [], "warm": []}
    dropped = True
    for i in range(runs):
        caches = work / f"caches{i}"
        caches.mkdir()
        dropped = drop_files() and dropped
        times["cold"].append(first_step(program, work, caches))
        times["warm"].append(first_step(program, work, caches))
    for kind, t in times.items():
        took, worked = zip(*t)
        print(f"{kind}: median {statistics.median(took):.2f} s, {min(took):.2f} to {max(took):.2f}, {runs} runs; "
              f"processor {statistics.median(worked):.2f} s, {min(worked):.2f} to {max(worked):.2f}")
    if not dropped:
        print("without root's rights: the system's cache of files was warm each time")

#!/usr/bin/env python3
"""How long a slice stands idle between two jobs: bench/daemon/start_gap.py BUILD [JOBS [emulate|mps]]

Short jobs through a real daemon, seven at a time, with real processes; each writes when it began and ended, and the gap is from the end
of one to the begin of the next on the same slice. On emulated MIG slices, and on soft slices by MPS where the control program takes 20 ms
for an answer (tests/e2e/stand_in_h200.sh)."""
import os, shutil, subprocess, sys, tempfile, time

JOB = 'echo "$SMARTMIG_SLICE $(date +%s.%N)"; sleep 0.3; date +%s.%N'


def measure(build, drive, jobs):
    here, root = os.path.dirname(os.path.abspath(__file__)), tempfile.mkdtemp(prefix="smartmig-gap-")
    stand_in = [os.path.join(here, "../../tests/e2e/stand_in_h200.sh"), build, root + "/h200"]
    mig = os.path.join(build, "smartmig")
    environment = dict(os.environ, SMARTMIG_SOCKET=root + "/socket", SMARTMIG_MPS_DIR=root + "/mps", SMARTMIG_LOCK_DIR=root)
    with open(root + "/serve.toml", "w") as file:
        file.write(f'policy = "static+fifo"\nlayouts = "{"+".join(["1g"] * 7)}"\n')
    serve = [mig, "serve", "--config", root + "/serve.toml", "--state", root + "/state", "--socket", root + "/socket"] + drive
    daemon = subprocess.Popen((stand_in if "mps" in drive else []) + serve, env=environment, stdout=open(root + "/log", "w"), stderr=subprocess.STDOUT)
    ask = lambda *words: subprocess.run([mig, *words], env=environment, capture_output=True, text=True)
    try:
        for _ in range(300):
            if ask("queue").returncode == 0: break
            time.sleep(0.1)
        sent = ask("submit", "--array", f"1-{jobs}", "--estimate", "1s", "--", "sh", "-c", JOB)
        if sent.returncode: sys.exit(f"{sent.stderr}{open(root + '/log').read()}")
        ask("wait", "--timeout", "300s")
        stays = {}
        for job in range(1, jobs + 1):
            words = ask("log", str(job)).stdout.split()
            if len(words) >= 3: stays.setdefault(words[0], []).append((float(words[1]), float(words[2])))
        gaps = sorted(b[0] - a[1] for list_ in stays.values() for a, b in zip(sorted(list_), sorted(list_)[1:]))
        starts = sorted(s[0] for list_ in stays.values() for s in list_)
        print(f"{' '.join(drive):34} {len(gaps):4} gaps on {len(stays)} slices: p50 {1000 * gaps[len(gaps) // 2]:6.1f} ms, p90 {1000 * gaps[int(len(gaps) * 0.9)]:6.1f} ms, "
              f"p99 {1000 * gaps[min(len(gaps) - 1, int(len(gaps) * 0.99))]:6.1f} ms; the first seven began within {1000 * (starts[6] - starts[0]):.0f} ms", flush=True)
    finally:
        daemon.terminate()
        daemon.wait()
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    if len(sys.argv) < 2: sys.exit(__doc__)
    for drive in (["--emulate", "1xa100-40gb"], ["--driver", "mps"]):
        if len(sys.argv) < 4 or sys.argv[3] in " ".join(drive): measure(os.path.abspath(sys.argv[1]), drive, int(sys.argv[2]) if len(sys.argv) > 2 else 70)

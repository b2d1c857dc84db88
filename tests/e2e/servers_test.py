#!/usr/bin/env python3
"""srun within a job, servers that start again, ports, jobs that do nothing, what keeps jobs apart:
tests/e2e/servers_test.py BUILD-DIRECTORY [TEST...]."""
import http.client
import json
import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True  # nothing beside the sources
import harness
from harness import check, equal, running, until

def station(build):
    s = harness.Station(build)
    os.mkdir(f"{s.root}/bin/shims")
    os.symlink("../smartmig", f"{s.root}/bin/shims/srun")
    return s


def words_of(s, *words, code=0):
    done = subprocess.run([s.program, *words], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "SMARTMIG_SOCKET": s.socket})  # words after "--" are a job's
    equal(done.returncode, code, f"{words}: {done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def srun_runs_the_one_task(build):
    with running(station(build)) as s:
        client = s.client()
        job = client.sh("srun -n 1 --gres=gpu:1 --cpu-bind=none sh -c 'echo $SLURM_PROCID of $SLURM_NTASKS; exit 5'; echo $?; "
                        "srun -n 2 true; echo $?; srun nosuch; echo $?; srun -D /usr -o out-%j pwd; cat out-*",
                        directory=s.root)
        client.wait(job)
        equal(client.log(job), "0 of 1\n5\nsrun (of smartmig): --ntasks=2 is not supported: a job has one task; start more "
              "processes in the script\n2\nsrun (of smartmig): cannot run nosuch: No such file or directory\n127\n/usr\n",
              "its log")
        # As in a script of Slurm's: srun is the last command, so the job's end is the program's.
        script = f"{s.root}/train.sbatch"
        with open(script, "w") as file:
            file.write("#!/bin/bash\n#SBATCH --ntasks=1 --job-name=two --comment=x\n"
                       "exec srun --kill-on-bad-exit=1 sh -c \"trap 'echo told; exit 6' TERM; echo up; "
                       "while :; do sleep 0.05; done\"\n")
        number = words_of(s, "submit", "--parsable", "--no-model", "--comment", "y", "--account=z", script).split()[0]
        until(lambda: "up" in client.log(number), "the task is up")
        equal(client.ask("DELETE", f"/v1/jobs/{number}").status, 200, "cancel")
        equal(client.wait(number)["exit_code"], 6, "its end")
        check(client.log(number).startswith("up\n") and client.log(number).endswith("told\n"), client.log(number))
        done = subprocess.run([f"{s.root}/bin/shims/srun", "true"], capture_output=True, text=True)
        check(done.returncode == 2 and "not a smartmig job" in done.stderr, done)


def tolerated_options_are_tolerated_everywhere(build):
    with running(station(build)) as s:
        options = ["--account=a", "--partition", "p", "-q", "low", "--nodes=1", "--ntasks=1", "--comment=c",
                   "--ntasks-per-node=1", "--distribution=block", "--oversubscribe", "--verbose"]
        said = words_of(s, "submit", "--hold", *options, "--", "true")
        check(said.count("has no effect here") == 10, said)
        script = f"{s.root}/job.sh"
        with open(script, "w") as file:
            file.write("#!/bin/sh\n" + "".join(f"#SBATCH {o}\n" for o in
                                               ["--account=a", "--partition p", "-q low", "--nodes=1", "--ntasks=1",
                                                "--comment=c", "--ntasks-per-node=1", "--distribution=block",
                                                "--oversubscribe", "--verbose"]) + "true\n")
        equal(words_of(s, "submit", "--hold", script).count("has no effect here"), 10, "of the header")
        check("only one machine" in words_of(s, "submit", "--nodes=2", "--", "true", code=2), "two nodes")


def a_server_starts_again_until_it_is_cancelled(build):
    with running(station(build)) as s:
        client = s.client()
        count = f"{s.root}/count"
        job = client.sh(f"echo x >>{count}; n=$(wc -l <{count}); test $n -ge 3 && exit 0; test $n = 2 && kill -9 $$; exit 9",
                        keep_alive=True)
        ended = client.wait(job, 60)
        equal((ended["state"], ended["restarts"], ended["attempt"]), ("done", 2, 3), ended["reason"])
        server = client.sh("sleep 1000 & wait; exit 1", keep_alive=True)
        until(lambda: client.job(server)["state"] == "running", "the server runs")
        equal(client.ask("DELETE", f"/v1/jobs/{server}").status, 200, "cancel")
        equal(client.wait(server)["state"], "cancelled", "a cancelled server")
        refused = client.post("/v1/jobs", {"command": ["a"], "keep_alive": True, "once": True})
        check(refused.status == 400 and "once" in refused.json["error"]["message"], refused)


def a_server_is_reached_at_its_port(build):
    with running(station(build)) as s:
        client = s.client()
        said = words_of(s, "submit", "--port", "auto", "--mem", "1G", "--max-slices", "1", "--estimate", "1m", "--deadline",
                        "1m", "--", sys.executable, "-m", "http.server", "-d", s.root, "{port}")
        port = int(said.split("once the job is running")[0].rsplit(":", 1)[1].strip(" /\n"))
        check(20000 <= port <= 20999 and "http://" in said, said)

        def answers():
            try:
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
                connection.request("GET", "/")
                return connection.getresponse().status == 200
            except OSError:
                return False
        until(answers, f"port {port} answers: {client.job(1)['reason']} {client.log(1)}")
        check(f":{port}/" in words_of(s, "show", "1"), "show has the URL")
        taken = client.post("/v1/jobs", {"command": ["a"], "port": port})
        check(taken.status == 409 and "job 1;" in taken.json["error"]["message"], taken)
        other = client.sh("echo $SMARTMIG_PORT", port=0, mem_mib=1000)
        client.wait(other)
        check(20000 <= int(client.log(other)) <= 20999 and int(client.log(other)) != port, client.log(other))


def a_job_that_does_nothing_ends(build):
    with running(station(build), config='[energy]\nsample = "0.2s"\n') as s:
        client = s.client()
        lazy = client.sh("sleep 1000", idle_s=3, max_slices=1, mem_mib=1000)
        busy = client.sh("exec python3 -c 'while True: pass'", idle_s=3, max_slices=1, mem_mib=1000)
        ended = client.wait(lazy, 60)
        equal(ended["state"], "cancelled", ended)
        check("did not use its GPU for 3 s" in ended["reason"], ended["reason"])
        check(3 <= ended["ended_at"] - ended["started_at"] < 20, f"after {ended['ended_at'] - ended['started_at']} s")
        equal(client.job(busy)["state"], "running", "a busy job")
        # What it did before the daemon was there counts for nothing, and it is watched again.
        os.kill(s.process.pid, signal.SIGKILL)
        s.process.wait()
        s.serve("1xa100-40gb", config='[energy]\nsample = "0.2s"\n')
        equal(client.job(busy)["state"], "running", "a busy job after a crash of the daemon")
        stopped = client.sh("sleep 1000", idle_s=2, max_slices=1, mem_mib=1000)
        until(lambda: client.job(stopped)["state"] == "running", "it runs")
        equal(client.post("/v1/jobs/suspend", {"ids": [stopped]}).status, 200, "suspend")
        harness.time.sleep(3)
        equal(client.job(stopped)["state"], "running", "a suspended job is not idle")
        for job in (busy, stopped):
            client.ask("DELETE", f"/v1/jobs/{job}")


def status_says_what_isolates_what(build):
    with running(station(build)) as s:
        said = words_of(s, "status")
        check("Isolation between jobs:" in said and "device files" in said and "the GPUs are emulated" in said, said)
        rows = {row["what"]: row["by"] for row in s.client().get("/v1/status").json["isolates"]}
        isolation = s.client().get("/v1/status").json["isolation"]
        equal(rows["device files"].startswith("nothing"), isolation == "cooperative", f"{rows} {isolation}")
        check("Isolation between jobs" not in words_of(s, "queue"), "queue stays short")


def each_emulated_fleet_keeps_a_state_of_its_own(build):
    if os.geteuid() != 0:
        return "needs root, to run as another user with a home directory of its own"
    s = station(build)
    try:
        home = f"{s.root}/home"
        os.mkdir(home)
        os.chown(home, 4242, 4242)
        environment = {"HOME": home, "PATH": os.environ["PATH"], "XDG_RUNTIME_DIR": home, "SMARTMIG_SOCKET": f"{home}/s"}

        def call(*words, code=0):
            done = subprocess.run([s.program, *words], user=4242, group=4242, extra_groups=[], cwd=home, env=environment,
                                  capture_output=True, text=True, timeout=60)
            equal(done.returncode, code, f"{words}: {done.stdout}{done.stderr}")
            return done.stdout

        def jobs_of(fleet, *words):
            with open(f"{home}/log", "w") as log:
                daemon = subprocess.Popen([s.program, "serve", "--emulate", fleet], user=4242, group=4242, cwd=home,
                                          extra_groups=[], env=environment, stdout=log, stderr=log)
            until(lambda: os.path.exists(f"{home}/s") or daemon.poll() is not None, "the daemon listens")
            check(daemon.poll() is None, open(f"{home}/log").read())
            if words:
                call(*words)
            found = json.loads(call("queue", "--json"))["jobs"]
            call("stop")
            equal(daemon.wait(20), 0, "exit code of the daemon after smartmig stop")
            call("stop", code=1)
            return [job["name"] for job in found]

        equal(jobs_of("1xa100-40gb", "submit", "--hold", "--name", "one", "--", "true"), ["one"], "the first fleet")
        equal(jobs_of("2xa100-40gb"), [], "another fleet")
        equal(jobs_of("1xa100-40gb"), ["one"], "the first fleet again")
    finally:
        s.close()


TESTS = [srun_runs_the_one_task, tolerated_options_are_tolerated_everywhere, a_server_starts_again_until_it_is_cancelled,
         a_server_is_reached_at_its_port, a_job_that_does_nothing_ends, status_says_what_isolates_what,
         each_emulated_fleet_keeps_a_state_of_its_own]

if __name__ == "__main__":
    harness.main(TESTS, "servers")

#!/usr/bin/env python3
"""`smartmig kubernetes` against a small API server (kube_server.py) with faults:
tests/e2e/kubernetes_test.py BUILD-DIRECTORY [NAME...]"""
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.dont_write_bytecode = True
import kube_server
from harness import Failed, check, equal, until

SIZES = ("2Gi", "4Gi", "9Gi", "18Gi", "36Gi")


class World:
    def __init__(self, binary, **cluster):
        self.binary = binary
        self.folder = tempfile.mkdtemp(prefix="smartmig-kubernetes-")
        self.cluster = kube_server.Cluster(**cluster)
        self.server = kube_server.serve(self.cluster)
        self.config = os.path.join(self.folder, "kubeconfig")
        with open(self.config, "w", encoding="utf-8") as out:
            out.write(f"""apiVersion: v1
kind: Config
current-context: here
contexts:
- name: here
  context: {{cluster: local, user: nobody}}
clusters:
- name: local
  cluster: {{server: "http://127.0.0.1:{self.server.server_port}"}}
users:
- name: nobody
  user: {{token: secret}}
""")
        self.running = {}

    def start(self, identity="one", *more):
        log = open(os.path.join(self.folder, f"{identity}.log"), "a", encoding="utf-8")
        self.running[identity] = subprocess.Popen(
            [self.binary, "kubernetes", "serve", "--kubeconfig", self.config, "--identity", identity, "--idle", "2s",
             "--start-patience", "10s", "--state", os.path.join(self.folder, identity), *more],
            stdout=log, stderr=log)
        return self.running[identity]

    def kill(self, identity="one", how=signal.SIGKILL):
        process = self.running.pop(identity)
        process.send_signal(how)
        return process.wait(timeout=30)

    def log(self, identity="one"):
        with open(os.path.join(self.folder, f"{identity}.log"), encoding="utf-8") as text:
            return text.read()

    def all_over(self, seconds, ran_once=True):
        def over():
            left = self.cluster.not_over()
            return not left
        try:
            until(over, "all pods are over", seconds)
        except Failed as failed:
            left = self.cluster.not_over()
            notes = [n for n in self.cluster.notes if n[0] in left][-5:]
            raise Failed(f"{failed}: {left[:5]} of {len(left)}; {notes}; {self.log()[-2000:]}") from failed
        equal(self.cluster.violations[:5], [], "violations")
        for name, pod in self.cluster.pods().items():
            equal(pod["status"]["phase"], "Succeeded", name)
            if ran_once:
                equal(self.cluster.ran.get(name), 1, f"{name} began so many times")

    def end(self):
        for identity in list(self.running):
            self.kill(identity)
        self.cluster.stop = True
        self.server.shutdown()


def check_says_what_is_missing(binary):
    world = World(binary, nodes=1, gpus=1)
    try:
        def run():
            done = subprocess.run([binary, "kubernetes", "check", "--kubeconfig", world.config, "--json"],
                                  capture_output=True, text=True, timeout=30)
            return done.returncode, {f["what"]: f for f in json.loads(done.stdout)["findings"]}
        code, findings = run()
        equal(code, 0, f"check: {findings}")
        check("a100-40gb (18 slices)" in findings["node n1"]["words"], f"{findings['node n1']}")
        world.cluster.store.delete(kube_server.CLASSES, "", "smartmig")
        code, findings = run()
        equal((code, findings["DeviceClass smartmig"]["good"]), (1, False), "without a class")
    finally:
        world.end()


def pods_run_where_they_may(binary):
    world = World(binary, nodes=2, gpus=2, cpus=8)
    try:
        world.start("one", "--http-port", "0")
        for i in range(30):
            world.cluster.submit(f"p{i}", SIZES[i % 5], 0.3)
        world.cluster.submit("chosen", "18Gi", 0.3, selector={"kubernetes.io/hostname": "n2"})
        world.cluster.submit("nowhere", "4Gi", 0.3, selector={"kubernetes.io/hostname": "n9"})
        world.cluster.submit("unreadable", "4Gi", 0.3, annotations={"smartmig/mem": "much"})
        until(lambda: len(world.cluster.not_over()) == 2, "all that may run are over", 60)
        equal(world.cluster.violations, [], "violations")
        equal(world.cluster.pods()["chosen"]["spec"]["nodeName"], "n2", "the chosen node")
        until(lambda: any(n[0] == "nowhere" and "no node may run it" in n[2] for n in world.cluster.notes),
              "its owner is told why it waits", 30)
        check("'much' is not a valid value of mem" in world.log(), world.log()[-500:])
        placed = [n for n in world.cluster.notes if n[0] == "chosen" and n[1] == "Placed"]
        check(placed and "on n2" in placed[0][2], f"{placed}")
        port = world.log().split("http://127.0.0.1:")[1].split("/")[0].split()[0].rstrip(".;,")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as reply:
            text = reply.read().decode()
        check("smartmig_kubernetes_gpus 4\n" in text, text[:300])
        equal(world.kill("one", signal.SIGTERM), 0, "exit status after SIGTERM")
    finally:
        world.end()


def faults_of_the_server(binary):
    world = World(binary, nodes=2, gpus=2, cpus=64)
    try:
        world.start()
        world.cluster.conflicts = 0.2
        for i in range(20):
            world.cluster.submit(f"a{i}", SIZES[i % 5], 0.4)
        world.all_over(90)
        world.cluster.conflicts = 0.0
        world.cluster.silent_watches = True  # open connections on which nothing comes any more
        time.sleep(0.3)
        world.cluster.silent_watches = False
        for i in range(6):
            world.cluster.submit(f"b{i}", "9Gi", 0.3)
        world.all_over(60)
        for i in range(12):
            world.cluster.submit(f"c{i}", SIZES[i % 5], 1.0)
        time.sleep(0.5)
        world.cluster.gone_until = time.monotonic() + 8
        time.sleep(2)
        world.cluster.store.forget_events()  # meanwhile versions expire: 410
        for i in range(6):
            world.cluster.submit(f"d{i}", "4Gi", 0.3)
        world.all_over(90)
    finally:
        world.end()


def other_allocators_and_cleared_allocations(binary):
    world = World(binary, nodes=2, gpus=1, cpus=8)
    try:
        store = world.cluster.store
        # A GPU with an allocation of somebody else gets no pods until that is gone.
        other = {"metadata": {"name": "other", "namespace": "default",
                              "finalizers": ["resource.kubernetes.io/delete-protection"]},
                 "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "mig.nvidia.com"}}]}},
                 "status": {"allocation": {
                     "devices": {"results": [{"request": "gpu", "driver": "gpu.nvidia.com", "pool": "n1",
                                              "device": "gpu-0-mig-1g5gb-19-0"}]},
                     "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [
                         {"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]}}}}
        store.create(kube_server.CLAIMS, other)
        world.start()
        for i in range(6):
            world.cluster.submit(f"a{i}", "18Gi", 0.3)
        world.all_over(60)
        equal({p["spec"]["nodeName"] for p in world.cluster.pods().values()}, {"n2"}, "nodes used")
        claim = store.get(kube_server.CLAIMS, "default", "other")
        claim["status"] = {}
        store.update(kube_server.CLAIMS, "default", "other", claim, "status")
        # n1 has CPUs by the count of smartmig, and not by the scheduler's: it clears the allocation, and the pod goes elsewhere.
        node = store.get(kube_server.NODES, "", "n1")
        node["metadata"]["labels"]["zone"] = "a"
        store.update(kube_server.NODES, "", "n1", node, "")
        schedule = world.cluster.schedule
        cleared = []

        def picky():
            for claim in store.all(kube_server.CLAIMS):
                terms = claim["status"].get("allocation", {}).get("nodeSelector", {})
                if "n1" in json.dumps(terms) and not claim["status"].get("reservedFor"):
                    cleared.append(claim["metadata"]["name"])
                    claim["status"] = {}
                    store.update(kube_server.CLAIMS, "default", claim["metadata"]["name"], claim, "status")
            schedule()
        world.cluster.schedule = picky
        submitted, last = 0, time.monotonic() + 60
        while submitted < 6 or not cleared and time.monotonic() < last:  # until smartmig has seen that n1 is free
            world.cluster.submit(f"b{submitted}", "18Gi", 0.3)
            submitted += 1
            time.sleep(0.2)
        world.all_over(90)
        check(cleared, "no allocation was cleared: this shows nothing")
    finally:
        world.end()


def one_instance_is_active(binary):
    world = World(binary, nodes=2, gpus=1)
    try:
        world.start("one")
        until(lambda: "this instance is active" in world.log("one"), "one is active")
        world.start("two")
        for i in range(4):
            world.cluster.submit(f"a{i}", "9Gi", 0.3)
        world.all_over(30)
        check("this instance is active" not in world.log("two"), world.log("two"))
        world.running["one"].send_signal(signal.SIGSTOP)
        for i in range(4):
            world.cluster.submit(f"b{i}", "9Gi", 0.3)
        until(lambda: "this instance is active" in world.log("two"), "two takes over", 40)
        world.all_over(30)
        world.running["one"].send_signal(signal.SIGCONT)  # it wakes up and must not write
        for i in range(6):
            world.cluster.submit(f"c{i}", "9Gi", 0.5)
        world.all_over(30)
        until(lambda: "this instance is not active" in world.log("one"), "one has noticed", 30)
        world.kill("two", signal.SIGTERM)  # gives the Lease back: nobody waits for it to run out
        world.cluster.submit("last", "9Gi", 0.1)
        world.all_over(12)
    finally:
        world.end()


def shadow_writes_nothing(binary):
    world = World(binary, nodes=2, gpus=1)
    try:
        for i in range(2):
            world.cluster.submit(f"a{i}", "9Gi", 0.3)
        world.start("one", "--shadow", "--gpus", "1xa100-40gb")
        until(lambda: world.log().count(" -> n") >= 2, "it says where pods would go", 30)
        equal(set(world.cluster.requests), {"GET"}, "requests")
    finally:
        world.end()


def soak(binary, pods=300, kills=30):
    """No slice allocated twice, no pod lost, each runs once."""
    world = World(binary, nodes=4, gpus=4, delay=0.05)
    try:
        draw = random.Random(32)
        world.start()
        sent = killed = 0
        began = time.monotonic()
        next_kill = began + 2
        while sent < pods or killed < kills:
            if sent < pods and len(world.cluster.not_over()) < 60:
                deadline = {"smartmig/deadline": f"{draw.randint(1, 60)}s"} if draw.random() < 0.5 else {}
                world.cluster.submit(f"p{sent}", draw.choice(SIZES), draw.uniform(0.2, 3.0), annotations=deadline)
                sent += 1
            if time.monotonic() >= next_kill and killed < kills:
                killed += 1
                world.kill()
                if killed % 10 == 0:
                    world.cluster.gone_until = time.monotonic() + 3
                    world.cluster.store.forget_events()
                world.start()
                next_kill = time.monotonic() + draw.uniform(0.3, 3.0)
            time.sleep(0.02)
            check(time.monotonic() - began < 400, f"{sent} pods sent, {killed} kills: too slow")
        world.all_over(200)
        equal(len(world.cluster.ran), pods, "pods that ran")
        print(f"{pods} pods, {kills} kills in {time.monotonic() - began:.0f} s; requests {world.cluster.requests}")
    finally:
        world.end()


TESTS = [check_says_what_is_missing, pods_run_where_they_may, faults_of_the_server,
         other_allocators_and_cleared_allocations, one_instance_is_active,
         shadow_writes_nothing, soak]


def main():
    if len(sys.argv) < 2:
        print(__doc__)
        return 2
    binary = os.path.join(os.path.abspath(sys.argv[1]), "smartmig")
    failed = 0
    for test in TESTS:
        if sys.argv[2:] and test.__name__ not in sys.argv[2:]:
            continue
        began = time.monotonic()
        try:
            test(binary)
            print(f"ok    {test.__name__} ({time.monotonic() - began:.1f} s)", flush=True)
        except (Failed, subprocess.TimeoutExpired) as words:
            failed += 1
            print(f"FAIL  {test.__name__}: {words}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

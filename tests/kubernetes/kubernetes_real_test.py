#!/usr/bin/env python3
"""smartmig on a real control plane of Kubernetes: the facts of the API that it stands on, pods from templates to their
end, kills of everything: tests/kubernetes/kubernetes_real_test.py BUILD-DIRECTORY [NAME...]. Skipped (77) where build.sh
has not built the programs."""
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import control_plane
from control_plane import RESOURCE, ControlPlane, Nodes, pod, template
from harness import Failed, check, equal, until

SIZES = ("2Gi", "4Gi", "9Gi", "18Gi", "36Gi")


class World:
    def __init__(self, binary, bin_folder, nodes=4, gpus=4, cpus=64):
        self.binary = binary
        self.folder = tempfile.mkdtemp(prefix="smartmig-k8s-")
        self.plane = ControlPlane(self.folder, bin_folder)
        self.nodes = None
        self.running = None
        try:
            self.install()
            self.nodes = Nodes(self.plane, nodes, gpus, cpus)
        except BaseException:
            self.end()
            raise

    def install(self):
        """What a user applies: the output of `smartmig kubernetes config`, one document after another."""
        text = subprocess.run([self.binary, "kubernetes", "config"], capture_output=True, text=True, check=True).stdout
        for document in text.split("\n---\n"):
            kind = next(line for line in document.splitlines() if line.startswith("kind: "))[6:]
            path = {"Namespace": "/api/v1/namespaces", "DeviceClass": f"{RESOURCE}/deviceclasses",
                    "ServiceAccount": "/api/v1/namespaces/smartmig/serviceaccounts",
                    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
                    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
                    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/smartmig/roles",
                    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/smartmig/rolebindings",
                    "Deployment": "/apis/apps/v1/namespaces/smartmig/deployments"}[kind]
            status, got = self.yaml(path, document)
            check(status == 201, f"{kind} of `smartmig kubernetes config` is refused: {got}")
        for mem in SIZES:
            self.plane.good("POST", f"{RESOURCE}/namespaces/default/resourceclaimtemplates",
                            template("mem-" + mem.lower(), mem))

    def yaml(self, path, document):
        import urllib.error
        import urllib.request
        request = urllib.request.Request(
            f"https://127.0.0.1:{self.plane.port}{path}", data=document.encode(), method="POST",
            headers={"Authorization": "Bearer admin-token", "Content-Type": "application/yaml"})
        try:
            with urllib.request.urlopen(request, timeout=20, context=self.plane.context) as reply:
                return reply.status, reply.read().decode(errors="replace")
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode(errors="replace")

    def serve(self, identity="one"):
        config = self.plane.write_kubeconfig("smartmig.conf", "smartmig-token")
        log = open(os.path.join(self.folder, "smartmig.log"), "a", encoding="utf-8")
        self.running = subprocess.Popen(
            [self.binary, "kubernetes", "serve", "--kubeconfig", config, "--identity", identity, "--state",
             os.path.join(self.folder, "state"), "--start-patience", "20s"], stdout=log, stderr=log)

    def kill(self):
        if self.running:
            self.running.kill()
            self.running.wait()
        self.running = None

    def log(self):
        path = os.path.join(self.folder, "smartmig.log")
        if not os.path.exists(path):
            return ""
        with open(path, encoding="utf-8") as text:
            return text.read()

    def submit(self, name, mem="4Gi", **more):
        return self.plane.good("POST", "/api/v1/namespaces/default/pods", pod(name, "mem-" + mem.lower(), **more))

    def pods(self):
        return {p["metadata"]["name"]: p for p in self.plane.good("GET", "/api/v1/namespaces/default/pods")["items"]}

    def claim_of(self, name):
        statuses = self.pods()[name]["status"].get("resourceClaimStatuses")
        if not statuses:
            return None
        status, got = self.plane.ask("GET", f"{RESOURCE}/namespaces/default/resourceclaims/" +
                                     statuses[0]["resourceClaimName"])
        return got if status == 200 else None

    def all_over(self, seconds):
        def left():
            return [n for n, p in self.pods().items() if p["status"]["phase"] not in ("Succeeded", "Failed")]
        try:
            until(lambda: not left(), "all pods are over", seconds)
        except Failed as failed:
            names = left()
            conditions = self.pods()[names[0]]["status"].get("conditions") if names else ""
            raise Failed(f"{failed}: {len(names)}, such as {names[:3]}: {conditions}; claim "
                         f"{json.dumps(self.claim_of(names[0]) or {}).replace(chr(10), '')[:1500] if names else ''}; "
                         f"{self.log()[-1500:]}") from failed
        equal(self.nodes.violations[:5], [], "violations")

    def end(self):
        self.kill()
        if self.nodes:
            self.nodes.stop = True
            self.nodes.thread.join()
        self.plane.end()


def allocation(node, device, with_time=True):
    stamp = {"allocationTimestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())} if with_time else {}
    return {**stamp, "devices": {"results": [{"request": "gpu", "driver": "gpu.nvidia.com", "pool": node, "device": device}]},
            "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [
                {"key": "metadata.name", "operator": "In", "values": [node]}]}]}}


def put_allocation(world, claim, wanted, token="admin-token", finalizer=True):
    path = f"{RESOURCE}/namespaces/default/resourceclaims/{claim['metadata']['name']}"
    if finalizer:
        claim["metadata"]["finalizers"] = ["resource.kubernetes.io/delete-protection"]
        status, claim = world.plane.ask("PUT", path, claim, token=token)
        check(status == 200, f"finalizer: {status} {claim}")
    claim["status"] = {"allocation": wanted}
    return world.plane.ask("PUT", path + "/status", claim, token=token)


def facts(world):
    """docs/decisions/24-kubernetes.md has these sentences."""
    world.submit("first", "9Gi", seconds=3)
    claim = until(lambda: world.claim_of("first"), "the controller of claims makes one from the template")
    time.sleep(3)
    check(not (world.claim_of("first").get("status") or {}).get("allocation"),
          "kube-scheduler does not allocate a claim of a class whose selector is `false`")
    # A node is chosen by the allocation, the pod is reserved and bound by the scheduler.
    status, got = put_allocation(world, claim, allocation("n2", "gpu-1-mig-2g10gb-14-2"), token="smartmig-token")
    equal(status, 200, f"the service account of `config` writes an allocation: {got}")
    until(lambda: world.pods()["first"]["spec"].get("nodeName") == "n2", "the scheduler binds it to that node", 30)
    reserved = world.claim_of("first")["status"].get("reservedFor")
    equal([r["name"] for r in reserved], ["first"], "the scheduler reserves the claim for the pod")
    until(lambda: world.pods()["first"]["status"]["phase"] == "Succeeded", "it runs to its end", 30)
    until(lambda: not world.claim_of("first"), "the controller of claims frees and removes the claim", 60)
    # Without its time.
    world.submit("untimed", "9Gi", seconds=1)
    untimed = until(lambda: world.claim_of("untimed"), "its claim")
    equal(put_allocation(world, untimed, allocation("n2", "gpu-1-mig-2g10gb-14-2", with_time=False))[0], 200, "written")
    until(lambda: any("immutable" in c.get("message", "") for c in world.pods()["untimed"]["status"].get("conditions", [])),
          "the scheduler cannot reserve a claim whose allocation has no time", 30)
    world.plane.good("DELETE", "/api/v1/namespaces/default/pods/untimed", {"gracePeriodSeconds": 0})
    # A second writer on the same version is refused; one for another claim on the same device is not.
    world.submit("second", "9Gi", seconds=4)
    world.submit("third", "9Gi", seconds=4)
    second = until(lambda: world.claim_of("second"), "its claim")
    third = until(lambda: world.claim_of("third"), "its claim")
    stale = json.loads(json.dumps(second))
    status, got = put_allocation(world, second, allocation("n1", "gpu-0-mig-2g10gb-14-0"))
    equal(status, 200, f"{got}")
    equal(world.plane.ask("PUT", f"{RESOURCE}/namespaces/default/resourceclaims/{stale['metadata']['name']}/status",
                          {**stale, "status": {"allocation": allocation("n1", "gpu-0-mig-2g10gb-14-2")}})[0], 409,
          "a write on an old version is a conflict")
    world.nodes.violations.clear()
    double = put_allocation(world, third, allocation("n1", "gpu-0-mig-2g10gb-14-0"))
    print(f"      the same device for two claims: status {double[0]} (nothing protects against two allocators)")
    equal(double[0], 200, "the API server lets two claims have one device")
    # Taken back before anything starts there: pods are not bound while their node selector forbids it.
    world.plane.good("DELETE", "/api/v1/namespaces/default/pods/third", {"gracePeriodSeconds": 0})
    until(lambda: world.pods().get("second", {}).get("status", {}).get("phase") == "Succeeded", "the other runs", 30)
    world.nodes.violations.clear()
    # Allocations that the scheduler cannot use: on a node without room for the pod, and on one that it may not use.
    world.submit("fourth", "9Gi", seconds=1, cpu="1000")
    fourth = until(lambda: world.claim_of("fourth"), "its claim")
    equal(put_allocation(world, fourth, allocation("n1", "gpu-0-mig-2g10gb-14-0"))[0], 200, "allocation")
    time.sleep(10)
    check(world.claim_of("fourth")["status"].get("allocation"), "one without room keeps its allocation for 10 s")
    world.plane.good("DELETE", "/api/v1/namespaces/default/pods/fourth", {"gracePeriodSeconds": 0})
    world.submit("elsewhere", "9Gi", seconds=1, selector={"kubernetes.io/hostname": "n4"})
    elsewhere = until(lambda: world.claim_of("elsewhere"), "its claim")
    equal(put_allocation(world, elsewhere, allocation("n1", "gpu-0-mig-2g10gb-14-2"))[0], 200, "allocation")
    until(lambda: not (world.claim_of("elsewhere").get("status") or {}).get("allocation"),
          "the scheduler clears an allocation on a node that the pod may not use", 20)
    world.plane.good("DELETE", "/api/v1/namespaces/default/pods/elsewhere", {"gracePeriodSeconds": 0})
    # Without the finalizer.
    world.submit("fifth", "9Gi", seconds=1)
    fifth = until(lambda: world.claim_of("fifth"), "its claim")
    status, _ = put_allocation(world, fifth, allocation("n1", "gpu-0-mig-2g10gb-14-0"), finalizer=False)
    print(f"      an allocation without the finalizer: status {status}")
    # Without the permission on resourceclaims/binding.
    role = world.plane.good("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/smartmig")
    for rule in role["rules"]:
        rule["resources"] = [r for r in rule["resources"] if r != "resourceclaims/binding"]
    world.plane.good("PUT", "/apis/rbac.authorization.k8s.io/v1/clusterroles/smartmig", role)
    world.submit("sixth", "9Gi", seconds=1)
    sixth = until(lambda: world.claim_of("sixth"), "its claim")
    time.sleep(1)
    status, got = put_allocation(world, sixth, allocation("n3", "gpu-0-mig-2g10gb-14-0"), token="smartmig-token")
    print(f"      without permission on resourceclaims/binding: status {status} {str(got.get('message', ''))[:160]}")
    for rule in role["rules"]:
        if "resourceclaims/status" in rule["resources"]:
            rule["resources"].append("resourceclaims/binding")
    role = {**world.plane.good("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/smartmig"), "rules": role["rules"]}
    world.plane.good("PUT", "/apis/rbac.authorization.k8s.io/v1/clusterroles/smartmig", role)
    for name in list(world.pods()):
        world.plane.ask("DELETE", f"/api/v1/namespaces/default/pods/{name}", {"gracePeriodSeconds": 0})
    until(lambda: not world.pods(), "all are gone", 30)
    world.nodes.violations.clear()


def pods_run(world):
    """200 pods of five sizes, half with deadlines."""
    draw = random.Random(5)
    world.serve()
    began = time.monotonic()
    for i in range(200):
        told = {"smartmig/deadline": f"{draw.randint(5, 120)}s"} if i % 2 else {}
        world.submit(f"p{i}", draw.choice(SIZES), seconds=draw.uniform(0.5, 4.0), annotations=told)
    world.all_over(300)
    pods = {n: p for n, p in world.pods().items() if n.startswith("p")}
    equal(len(pods), 200, "pods")
    for name, one in pods.items():
        equal(one["status"]["phase"], "Succeeded", name)
        equal(world.nodes.ran.get(name), 1, f"{name} began so many times")
    print(f"      200 pods in {time.monotonic() - began:.0f} s")
    world.kill()
    for name in pods:
        world.plane.ask("DELETE", f"/api/v1/namespaces/default/pods/{name}", {"gracePeriodSeconds": 0})


def kills_of_everything(world):
    draw = random.Random(6)
    world.serve()
    began = time.monotonic()
    for i in range(60):
        world.submit(f"k{i}", draw.choice(SIZES), seconds=draw.uniform(0.5, 3.0))
        if i % 6 == 5:
            world.kill()
            world.serve()
        if i == 30:
            world.plane.kill("kube-apiserver")
            time.sleep(2)
            world.plane.start_api()
        if i == 45:
            world.plane.kill("kube-scheduler")
            world.plane.start_other("kube-scheduler")
        time.sleep(0.1)
    world.all_over(240)
    pods = {n: p for n, p in world.pods().items() if n.startswith("k")}
    equal(len(pods), 60, "pods")
    for name, one in pods.items():
        equal(one["status"]["phase"], "Succeeded", name)
        equal(world.nodes.ran.get(name), 1, f"{name} began so many times")
    print(f"      60 pods, 10 kills of smartmig, 1 of the API server and the scheduler: {time.monotonic() - began:.0f} s")
    world.kill()


TESTS = [facts, pods_run, kills_of_everything]


def main():
    if len(sys.argv) < 2:
        print(__doc__)
        return 2
    bin_folder = control_plane.programs()
    if not bin_folder:
        print("skipped: Kubernetes' programs are not built; tests/kubernetes/build.sh builds them (Go 1.26, 15 minutes)")
        return 77
    if not shutil.which("openssl"):
        print("skipped: openssl is not installed")
        return 77
    world = World(os.path.join(os.path.abspath(sys.argv[1]), "smartmig"), bin_folder)
    failed = 0
    try:
        for test in TESTS:
            if sys.argv[2:] and test.__name__ not in sys.argv[2:]:
                continue
            began = time.monotonic()
            try:
                test(world)
                print(f"ok    {test.__name__} ({time.monotonic() - began:.1f} s)", flush=True)
            except (Failed, control_plane.kube_server.Refused, subprocess.TimeoutExpired) as words:
                failed += 1
                print(f"FAIL  {test.__name__}: {words}", flush=True)
    finally:
        world.end()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

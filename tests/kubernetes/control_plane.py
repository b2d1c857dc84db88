"""A control plane of Kubernetes from its own programs (build.sh): etcd, kube-apiserver, kube-scheduler and
kube-controller-manager on loopback, each in a folder of this test; and a stand-in for the kubelets of its nodes, which
prepares slices, starts pods and ends them. What it checks shares no code with smartmig."""
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e"))
import kube_server
from harness import Failed, check, until

PROGRAMS = ("etcd", "kube-apiserver", "kube-scheduler", "kube-controller-manager")


def programs():
    """The folder with all of them; None: they are not built."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = os.path.join(cache, "smartmig-k8s", "bin")
    return folder if all(os.access(os.path.join(folder, p), os.X_OK) for p in PROGRAMS) else None


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class ControlPlane:
    """Users by token: `admin` may do all, `smartmig` is the service account of the Deployment."""

    def __init__(self, folder, bin_folder):
        self.folder, self.bin = folder, bin_folder
        self.processes = {}
        self.etcd, self.peer, self.port = free_port(), free_port(), free_port()
        self.context = ssl.create_default_context()
        self.context.check_hostname = False
        self.context.verify_mode = ssl.CERT_NONE
        subprocess.run(["openssl", "genrsa", "-out", self.file("sa.key"), "2048"], check=True, capture_output=True)
        with open(self.file("tokens.csv"), "w", encoding="utf-8") as out:
            out.write('admin-token,admin,admin,"system:masters"\n'
                      'smartmig-token,system:serviceaccount:smartmig:smartmig,smartmig,"system:serviceaccounts"\n')
        self.start_etcd()
        self.start_api()
        for name in ("kube-controller-manager", "kube-scheduler"):
            self.start_other(name)

    def file(self, name):
        return os.path.join(self.folder, name)

    def start(self, name, *arguments):
        log = open(self.file(name + ".log"), "ab")
        self.processes[name] = subprocess.Popen([os.path.join(self.bin, name), *arguments], stdout=log, stderr=log,
                                                cwd=self.folder)

    def start_etcd(self):
        self.start("etcd", "--data-dir", self.file("etcd"), "--listen-client-urls", f"http://127.0.0.1:{self.etcd}",
                   "--advertise-client-urls", f"http://127.0.0.1:{self.etcd}", "--listen-peer-urls",
                   f"http://127.0.0.1:{self.peer}", "--initial-advertise-peer-urls", f"http://127.0.0.1:{self.peer}",
                   "--initial-cluster", f"default=http://127.0.0.1:{self.peer}", "--unsafe-no-fsync")

    def start_api(self):
        self.start("kube-apiserver", f"--etcd-servers=http://127.0.0.1:{self.etcd}", "--bind-address=127.0.0.1",
                   "--advertise-address=127.0.0.1",
                   f"--secure-port={self.port}", f"--cert-dir={self.file('certs')}",
                   f"--token-auth-file={self.file('tokens.csv')}", "--authorization-mode=RBAC",
                   "--service-account-issuer=https://smartmig.test",
                   f"--service-account-key-file={self.file('sa.key')}",
                   f"--service-account-signing-key-file={self.file('sa.key')}", "--service-cluster-ip-range=10.0.0.0/24",
                   "--disable-admission-plugins=ServiceAccount", "--feature-gates=DRAPartitionableDevices=true")
        until(self.ready, "the API server is ready", 90)

    def start_other(self, name):
        self.write_kubeconfig("admin.conf", "admin-token")
        more = ["--leader-elect=false", f"--kubeconfig={self.file('admin.conf')}", "--secure-port=0"]
        if name == "kube-scheduler":
            more.append("--feature-gates=DRAPartitionableDevices=true")
        if name == "kube-controller-manager":
            more += ["--controllers=resourceclaim-controller,job-controller,garbage-collector-controller,"
                     "pod-garbage-collector-controller,namespace-controller,disruption-controller",
                     "--use-service-account-credentials=false"]
        self.start(name, *more)

    def write_kubeconfig(self, name, token):
        with open(self.file(name), "w", encoding="utf-8") as out:
            json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "here",
                       "contexts": [{"name": "here", "context": {"cluster": "local", "user": "one"}}],
                       "clusters": [{"name": "local", "cluster": {"server": f"https://127.0.0.1:{self.port}",
                                                                  "insecure-skip-tls-verify": True}}],
                       "users": [{"name": "one", "user": {"token": token}}]}, out)
        return self.file(name)

    def ready(self):
        for name, process in self.processes.items():
            check(process.poll() is None, f"{name} has ended: {self.tail(name)}")
        try:
            return self.ask("GET", "/readyz", text=True)[0] == 200
        except OSError:
            return False

    def tail(self, name):
        with open(self.file(name + ".log"), encoding="utf-8", errors="replace") as log:
            return log.read()[-1500:]

    def ask(self, method, path, body=None, token="admin-token", text=False, kind="application/json"):
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(f"https://127.0.0.1:{self.port}{path}", data=data, method=method, headers={
            "Authorization": f"Bearer {token}", "Content-Type": kind, "Accept": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=20, context=self.context) as reply:
                got = reply.read()
                return reply.status, got if text else json.loads(got)
        except urllib.error.HTTPError as error:
            got = error.read()
            try:
                return error.code, got if text else json.loads(got)
            except ValueError:
                return error.code, {"message": got.decode(errors="replace")}

    def good(self, method, path, body=None, **more):
        status, got = self.ask(method, path, body, **more)
        if status >= 300:
            raise kube_server.Refused(status, f"{method} {path}: {got.get('message')}")
        return got

    def kill(self, name):
        process = self.processes.pop(name)
        process.send_signal(signal.SIGKILL)
        process.wait()

    def end(self):
        for name in list(self.processes):
            self.kill(name)
        shutil.rmtree(self.folder, ignore_errors=True)


RESOURCE = "/apis/resource.k8s.io/v1"


class Nodes:
    """Nodes of A100s with ResourceSlices as NVIDIA's DRA driver publishes them, and the stand-in for their kubelets."""

    def __init__(self, plane, nodes=4, gpus=4, cpus=64):
        self.plane = plane
        self.violations, self.prepared, self.done_at, self.ran, self.started, self.ended = [], {}, {}, {}, {}, {}
        self.devices = {}
        self.stop = False
        self.counters = {f"memory-slice-{i}": {"value": "1"} for i in range(8)}
        for n in range(1, nodes + 1):
            name = f"n{n}"
            plane.good("POST", "/api/v1/nodes", {"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}})
            node = plane.good("GET", f"/api/v1/nodes/{name}")
            size = {"cpu": str(cpus), "memory": "256Gi", "pods": "500"}
            node["status"] = {"capacity": size, "allocatable": size,
                              "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady",
                                              "message": "ready"}]}
            plane.good("PUT", f"/api/v1/nodes/{name}/status", node)
            taints = plane.good("GET", f"/api/v1/nodes/{name}")
            taints["spec"].pop("taints", None)
            plane.good("PUT", f"/api/v1/nodes/{name}", taints)
            self.publish(name, gpus)
        self.thread = threading.Thread(target=self.live, daemon=True)
        self.thread.start()

    def publish(self, node, gpus):
        sets = [{"name": f"gpu-{g}-counter-set", "counters": self.counters} for g in range(gpus)]
        pool = {"name": node, "generation": 1, "resourceSliceCount": gpus + 1}
        self.plane.good("POST", f"{RESOURCE}/resourceslices", {
            "metadata": {"name": f"{node}-counters"},
            "spec": {"driver": "gpu.nvidia.com", "nodeName": node, "pool": pool, "sharedCounters": sets}})
        for gpu in range(gpus):
            names = kube_server.device_names(gpu)
            product = {"string": "NVIDIA A100-SXM4-40GB"}
            devices = [self.device(f"gpu-{gpu}", "gpu", product, gpu, 0, 8)]
            for name, place in names.items():
                self.devices[node, name] = place
                devices.append(self.device(name, "mig", product, gpu, place[1], place[2]))
            self.plane.good("POST", f"{RESOURCE}/resourceslices", {
                "metadata": {"name": f"{node}-gpu-{gpu}"},
                "spec": {"driver": "gpu.nvidia.com", "nodeName": node, "pool": pool, "devices": devices}})

    @staticmethod
    def device(name, kind, product, gpu, begin, end):
        return {"name": name, "attributes": {"type": {"string": kind}, "productName": product},
                "consumesCounters": [{"counterSet": f"gpu-{gpu}-counter-set", "counters": {
                    f"memory-slice-{i}": {"value": "1"} for i in range(begin, end)}}]}

    def live(self):
        while not self.stop:
            try:
                self.turn()
            except (kube_server.Refused, OSError, KeyError):
                pass
            time.sleep(0.1)

    def turn(self):
        pods = self.plane.good("GET", "/api/v1/pods")["items"]
        claims = {c["metadata"]["namespace"] + "/" + c["metadata"]["name"]: c
                  for c in self.plane.good("GET", f"{RESOURCE}/resourceclaims")["items"]}
        self.judge(claims.values())
        for pod in pods:
            meta, status = pod["metadata"], pod["status"]
            if not pod["spec"].get("nodeName") or status.get("phase") in ("Succeeded", "Failed"):
                continue
            names = [s["resourceClaimName"] for s in status.get("resourceClaimStatuses", [])]
            mine = [claims[meta["namespace"] + "/" + n] for n in names if meta["namespace"] + "/" + n in claims]
            if status.get("phase", "Pending") == "Pending":
                places = []
                for claim in mine:
                    for one in claim.get("status", {}).get("allocation", {}).get("devices", {}).get("results", []):
                        places.append((claim["metadata"]["uid"], (one["pool"], *self.devices[one["pool"], one["device"]])))
                if len(places) != len(pod["spec"].get("resourceClaims", [])):
                    continue
                for uid, place in places:
                    self.prepare(uid, place, meta["name"])
                self.phase(pod, "Running")
                self.ran[meta["name"]] = self.ran.get(meta["name"], 0) + 1
                self.started[meta["name"]] = time.monotonic()
                self.done_at[meta["uid"]] = time.monotonic() + float(meta.get("annotations", {}).get("test/seconds", 1))
                continue
            over = time.monotonic() >= self.done_at.get(meta["uid"], 0)
            if not over and not meta.get("deletionTimestamp"):
                continue
            for claim in mine:
                self.prepared.pop(claim["metadata"]["uid"], None)
            self.ended[meta["name"]] = time.monotonic()
            self.phase(pod, "Succeeded" if over else "Failed")
            if meta.get("deletionTimestamp"):
                self.plane.ask("DELETE", f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}",
                               {"gracePeriodSeconds": 0})

    def phase(self, pod, phase):
        meta = pod["metadata"]
        pod["status"]["phase"] = phase
        pod["status"].setdefault("startTime", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
        self.plane.good("PUT", f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/status", pod)

    def prepare(self, uid, place, pod):
        for other, (node, gpu, begin, end, _) in self.prepared.items():
            if other != uid and (node, gpu) == place[:2] and begin < place[3] and place[2] < end:
                self.violations.append(f"pod {pod}: its slice overlaps another prepared one")
        self.prepared[uid] = place

    def judge(self, claims):
        seen = []
        for claim in claims:
            for one in (claim.get("status", {}).get("allocation") or {}).get("devices", {}).get("results", []):
                place = self.devices.get((one["pool"], one["device"]))
                if place:
                    seen.append((one["pool"], place[0], place[1], place[2], claim["metadata"]["name"]))
        for i, (node, gpu, begin, end, name) in enumerate(seen):
            for n, g, b, e, other in seen[:i]:
                if (n, g) == (node, gpu) and b < end and begin < e:
                    self.violations.append(f"claims {name} and {other} have one place")


def template(name, mem):
    return {"metadata": {"name": name}, "spec": {"spec": {"devices": {
        "requests": [{"name": "gpu", "exactly": {"deviceClassName": "smartmig"}}],
        "config": [{"opaque": {"driver": "smartmig", "parameters": {"mem": mem}}}]}}}}


def pod(name, template_name, seconds=1.0, cpu="1", annotations=None, selector=None):
    return {"metadata": {"name": name, "annotations": {"test/seconds": str(seconds), **(annotations or {})}},
            "spec": {"restartPolicy": "Never", "nodeSelector": selector or {}, "terminationGracePeriodSeconds": 1,
                     "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": template_name}],
                     "containers": [{"name": "main", "image": "none", "resources": {
                         "requests": {"cpu": cpu}, "claims": [{"name": "gpu"}]}}]}}

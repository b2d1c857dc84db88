"""A small API server of Kubernetes with what stands around it, for tests of `smartmig kubernetes`: lists, watches with
bookmarks, versions, conflicts, claims and their allocations; a scheduler that binds pods whose claims are allocated, a
kubelet that prepares slices and ends pods, and the controllers of claims and of jobs. It judges every write of an
allocation by itself and shares no code with smartmig. Faults: it goes away, watches fall silent, versions expire,
writes conflict, a second allocator writes.
"""
import copy
import json
import random
import threading
import time
import uuid
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CLAIMS, PODS, SLICES, NODES, LEASES, EVENTS, CLASSES = (
    "resourceclaims", "pods", "resourceslices", "nodes", "leases", "events", "deviceclasses")
# Profiles of an A100 40GB: name in devices, NVML's id, memory slices, starts, MiB.
A100 = [("1g5gb", 19, 1, range(7), 4864), ("1g10gb", 15, 2, (0, 2, 4, 6), 9856),
        ("2g10gb", 14, 2, (0, 2, 4), 9984), ("3g20gb", 9, 4, (0, 4), 20096),
        ("4g20gb", 5, 4, (0,), 20096), ("7g40gb", 0, 8, (0,), 40448)]


def device_names(gpu):
    return {f"gpu-{gpu}-mig-{name}-{number}-{start}": (gpu, start, start + length, mib)
            for name, number, length, starts, mib in A100 for start in starts}


def sent_with_spaces(claim):
    """The API server keeps opaque parameters as bytes, and compares them so. JSON from it has none of the spaces that they
    were sent with, so a claim whose parameters have some is never equal again. Here: one of two, by its name."""
    return bool(zlib.crc32(claim["metadata"]["name"].encode()) % 2)


class Store:
    """Objects with versions, and the events that watches replay."""

    def __init__(self):
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.objects = {}  # (kind, namespace, name)
        self.version = 1000
        self.events = []  # (version, type, kind, object)
        self.oldest = 1000

    def write(self, kind, new, type_):
        self.version += 1
        new["metadata"]["resourceVersion"] = str(self.version)
        key = (kind, new["metadata"].get("namespace", ""), new["metadata"]["name"])
        if type_ == "DELETED":
            self.objects.pop(key, None)
        else:
            self.objects[key] = new
        self.events.append((self.version, type_, kind, copy.deepcopy(new)))
        self.changed.notify_all()
        return copy.deepcopy(new)

    def create(self, kind, new):
        with self.lock:
            meta = new.setdefault("metadata", {})
            if (kind, meta.get("namespace", ""), meta["name"]) in self.objects:
                raise Refused(409, "it is there already")
            meta.setdefault("uid", str(uuid.uuid4()))
            meta.setdefault("creationTimestamp", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
            return self.write(kind, copy.deepcopy(new), "ADDED")

    def get(self, kind, space, name):
        with self.lock:
            found = self.objects.get((kind, space, name))
            if found is None:
                raise Refused(404, f"{kind} {space}/{name} not found")
            return copy.deepcopy(found)

    def all(self, kind):
        with self.lock:
            return [copy.deepcopy(o) for (k, _, _), o in sorted(self.objects.items()) if k == kind]

    def update(self, kind, space, name, new, part):
        """`part`: "status", or "" for all but the status."""
        with self.lock:
            old = self.get(kind, space, name)
            version = new.get("metadata", {}).get("resourceVersion")
            if version and version != old["metadata"]["resourceVersion"]:
                raise Refused(409, "the object has been modified; please apply your changes to the latest version")
            if part == "status":
                old["status"] = copy.deepcopy(new.get("status", {}))
            elif kind == CLAIMS and (new["spec"] != old["spec"] or sent_with_spaces(old)):
                raise Refused(422, "spec: Invalid value: field is immutable")
            else:
                status = old.get("status")
                meta = old["metadata"]
                old = copy.deepcopy(new)
                for key in ("uid", "creationTimestamp", "deletionTimestamp"):
                    if key in meta:
                        old["metadata"][key] = meta[key]
                if status is not None:
                    old["status"] = status
            return self.write(kind, old, "MODIFIED")

    def delete(self, kind, space, name):
        with self.lock:
            old = self.get(kind, space, name)
            if old["metadata"].get("finalizers"):
                old["metadata"].setdefault("deletionTimestamp", "2026-01-01T00:00:00Z")
                return self.write(kind, old, "MODIFIED")
            return self.write(kind, old, "DELETED")

    def forget_events(self):
        with self.lock:
            self.events.clear()
            self.oldest = self.version


class Refused(Exception):
    def __init__(self, status, message):
        super().__init__(message)
        self.status, self.message = status, message


class Cluster:
    """The objects of a cluster, who acts on them, and who judges."""

    def __init__(self, nodes=4, gpus=4, cpus=64, seed=1, delay=0.03):
        self.store = Store()
        self.random = random.Random(seed)
        self.delay = delay
        self.violations = []
        self.prepared = {}  # claim UID: (node, gpu, begin, end)
        self.done_at = {}   # pod UID: when it ends
        self.ran = {}       # pod name: how often it began
        self.notes = []     # of Events
        self.requests = {}  # by method
        self.silent_watches = False
        self.conflicts = 0.0  # share of writes of claims that are refused
        self.gone_until = 0.0
        self.stop = False
        self.devices = {}
        for n in range(1, nodes + 1):
            name = f"n{n}"
            self.store.create(NODES, {"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
                                      "spec": {}, "status": {
                                          "allocatable": {"cpu": str(cpus), "memory": "256Gi"},
                                          "conditions": [{"type": "Ready", "status": "True"}]}})
            for gpu in range(gpus):
                devices = device_names(gpu)
                for device, place in devices.items():
                    self.devices[name, device] = place
                self.store.create(SLICES, {"metadata": {"name": f"{name}-gpu-{gpu}"}, "spec": {
                    "driver": "gpu.nvidia.com", "nodeName": name,
                    "pool": {"name": name, "generation": 1, "resourceSliceCount": gpus},
                    "devices": [{"name": f"gpu-{gpu}", "attributes": {
                        "type": {"string": "gpu"}, "productName": {"string": "NVIDIA A100-SXM4-40GB"}}}] + [
                        {"name": d, "attributes": {"type": {"string": "mig"},
                                                   "productName": {"string": "NVIDIA A100-SXM4-40GB"}}}
                        for d in devices]}})
        self.store.create(CLASSES, {"metadata": {"name": "smartmig"}, "spec": {
            "selectors": [{"cel": {"expression": "false"}}]}})
        self.thread = threading.Thread(target=self.live, daemon=True)
        self.thread.start()

    # What users do.
    def submit(self, name, mem="4Gi", seconds=0.5, cpu="1", annotations=None, owned=False, selector=None, space="default"):
        pod = {"metadata": {"name": name, "namespace": space,
                            "annotations": {"test/seconds": str(seconds), **(annotations or {})}},
               "spec": {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": f"mem-{mem}"}],
                        "containers": [{"name": "main", "resources": {"requests": {"cpu": cpu}}}],
                        "nodeSelector": selector or {}},
               "status": {"phase": "Pending"}}
        if owned:
            pod["metadata"]["ownerReferences"] = [{"kind": "Job", "name": name, "controller": True}]
        return self.store.create(PODS, pod)

    def pods(self):
        return {p["metadata"]["name"]: p for p in self.store.all(PODS)}

    def not_over(self):
        return [n for n, p in self.pods().items() if p["status"]["phase"] not in ("Succeeded", "Failed")]

    # Who acts.
    def live(self):
        while not self.stop:
            for act in (self.make_claims, self.schedule, self.run_pods, self.let_go):
                try:
                    act()
                except Refused:
                    pass  # somebody else wrote: the next turn looks again
            time.sleep(self.delay)

    def make_claims(self):
        for pod in self.store.all(PODS):
            meta = pod["metadata"]
            if pod["status"].get("resourceClaimStatuses") or pod["status"]["phase"] != "Pending":
                continue
            template = pod["spec"]["resourceClaims"][0].get("resourceClaimTemplateName")
            if not template:
                continue
            name = f"{meta['name']}-gpu-{meta['uid'][:5]}"
            try:
                self.store.create(CLAIMS, {
                    "metadata": {"name": name, "namespace": meta["namespace"],
                                 "ownerReferences": [{"kind": "Pod", "name": meta["name"], "uid": meta["uid"],
                                                      "controller": True}]},
                    "spec": {"devices": {
                        "requests": [{"name": "gpu", "exactly": {"deviceClassName": "smartmig",
                                                                 "allocationMode": "ExactCount", "count": 1}}],
                        "config": [{"opaque": {"driver": "smartmig", "parameters": {
                            "mem": template.removeprefix("mem-")}}}]}},
                    "status": {}})
            except Refused:
                pass
            pod["status"]["resourceClaimStatuses"] = [{"name": "gpu", "resourceClaimName": name}]
            self.store.update(PODS, meta["namespace"], meta["name"], pod, "status")

    def claim_of(self, pod):
        for one in pod["status"].get("resourceClaimStatuses", []):
            return self.store.get(CLAIMS, pod["metadata"]["namespace"], one["resourceClaimName"])
        name = pod["spec"]["resourceClaims"][0].get("resourceClaimName")
        return self.store.get(CLAIMS, pod["metadata"]["namespace"], name) if name else None

    def schedule(self):
        used = {}
        for pod in self.store.all(PODS):
            if pod["spec"].get("nodeName") and pod["status"]["phase"] not in ("Succeeded", "Failed"):
                node = pod["spec"]["nodeName"]
                used[node] = used.get(node, 0) + int(pod["spec"]["containers"][0]["resources"]["requests"]["cpu"])
        for pod in self.store.all(PODS):
            meta = pod["metadata"]
            if pod["spec"].get("nodeName") or pod["status"]["phase"] != "Pending" or meta.get("deletionTimestamp"):
                continue
            try:
                claim = self.claim_of(pod)
                if not claim or not claim["status"].get("allocation"):
                    continue
                fields = claim["status"]["allocation"]["nodeSelector"]["nodeSelectorTerms"][0]["matchFields"][0]
                node = self.store.get(NODES, "", fields["values"][0])
                name = node["metadata"]["name"]
                cpu = int(pod["spec"]["containers"][0]["resources"]["requests"]["cpu"])
                wanted = pod["spec"].get("nodeSelector", {})
                fits = (used.get(name, 0) + cpu <= int(node["status"]["allocatable"]["cpu"]) and
                        not node["spec"].get("unschedulable") and
                        all(node["metadata"]["labels"].get(k) == v for k, v in wanted.items()))
                if not fits:  # as the real one: an allocation that nobody uses is cleared
                    if not claim["status"].get("reservedFor"):
                        del claim["status"]["allocation"]
                        self.store.update(CLAIMS, meta["namespace"], claim["metadata"]["name"], claim, "status")
                    continue
                claim["status"]["reservedFor"] = [{"resource": "pods", "name": meta["name"], "uid": meta["uid"]}]
                self.store.update(CLAIMS, meta["namespace"], claim["metadata"]["name"], claim, "status")
                time.sleep(self.random.random() * self.delay)
                pod["spec"]["nodeName"] = name
                self.store.update(PODS, meta["namespace"], meta["name"], pod, "")
                used[name] = used.get(name, 0) + cpu
            except Refused:
                continue

    def run_pods(self):
        for pod in self.store.all(PODS):
            meta, status = pod["metadata"], pod["status"]
            node = pod["spec"].get("nodeName")
            if not node:
                continue
            if status["phase"] == "Pending":
                claim = self.claim_of(pod)
                results = claim["status"].get("allocation", {}).get("devices", {}).get("results", [])
                if len(results) != 1:
                    self.violations.append(f"pod {meta['name']} is bound without an allocation")
                    continue
                place = (node, *self.devices[node, results[0]["device"]])
                self.prepare(claim["metadata"]["uid"], place, meta["name"])
                mib = {"Gi": 1024, "Mi": 1}[self.wanted(claim)[-2:]] * int(self.wanted(claim)[:-2])
                if place[4] < mib:
                    self.violations.append(f"pod {meta['name']} has {place[4]} MiB, not {mib}")
                status["phase"] = "Running"
                status["startTime"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
                self.store.update(PODS, meta["namespace"], meta["name"], pod, "status")
                self.ran[meta["name"]] = self.ran.get(meta["name"], 0) + 1
                self.done_at[meta["uid"]] = time.monotonic() + float(meta["annotations"]["test/seconds"])
            elif status["phase"] == "Running":
                over = time.monotonic() >= self.done_at.get(meta["uid"], 0)
                if not over and not meta.get("deletionTimestamp"):
                    continue
                self.prepared.pop(self.claim_of(pod)["metadata"]["uid"], None)  # unprepared before the phase changes
                status["phase"] = "Succeeded" if over else "Failed"
                self.store.update(PODS, meta["namespace"], meta["name"], pod, "status")

    @staticmethod
    def wanted(claim):
        return claim["spec"]["devices"]["config"][0]["opaque"]["parameters"]["mem"]

    def prepare(self, uid, place, pod):
        node, gpu, begin, end, _ = place
        for other, (n, g, b, e, _) in self.prepared.items():
            if other != uid and (n, g) == (node, gpu) and b < end and begin < e:
                self.violations.append(f"pod {pod}: its slice overlaps another prepared one")
        self.prepared[uid] = place

    def let_go(self):
        """Claims of pods that are over lose reservation and allocation, and go with their pod."""
        pods = {p["metadata"]["uid"]: p for p in self.store.all(PODS)}
        for claim in self.store.all(CLAIMS):
            meta = claim["metadata"]
            users = claim["status"].get("reservedFor", [])
            left = [u for u in users if u["uid"] in pods and
                    pods[u["uid"]]["status"]["phase"] not in ("Succeeded", "Failed")]
            try:
                if len(left) < len(users):
                    claim["status"]["reservedFor"] = left
                    if not left:
                        claim["status"] = {}
                    claim = self.store.update(CLAIMS, meta["namespace"], meta["name"], claim, "status")
                owner = (meta.get("ownerReferences") or [{}])[0].get("uid")
                over = owner and (owner not in pods or pods[owner]["status"]["phase"] in ("Succeeded", "Failed"))
                if not over:
                    continue
                if claim["status"].get("allocation") and not claim["status"].get("reservedFor"):
                    claim["status"] = {}
                    claim = self.store.update(CLAIMS, meta["namespace"], meta["name"], claim, "status")
                if not claim["status"].get("allocation"):
                    claim["metadata"]["finalizers"] = []
                    self.store.update(CLAIMS, meta["namespace"], meta["name"], claim, "")
                    self.store.delete(CLAIMS, meta["namespace"], meta["name"])
            except Refused:
                continue
        for pod in pods.values():  # the controller of a Job makes another where one was evicted
            meta = pod["metadata"]
            if pod["status"]["phase"] == "Failed" and meta.get("ownerReferences") and not meta.get("labels", {}).get("made"):
                pod["metadata"]["labels"] = {"made": "yes"}
                self.store.update(PODS, meta["namespace"], meta["name"], pod, "")
                again = {"metadata": {"name": meta["name"] + "-again", "namespace": meta["namespace"],
                                      "annotations": meta["annotations"]},
                         "spec": {**pod["spec"], "nodeName": None}, "status": {"phase": "Pending"}}
                self.store.create(PODS, again)

    def judge(self, claim):
        """Of a written allocation: nobody else's, and one that is there."""
        allocation = claim.get("status", {}).get("allocation")
        if not allocation:
            return
        guarded = "resource.kubernetes.io/delete-protection" in claim["metadata"].get("finalizers", [])
        if not guarded and not sent_with_spaces(claim):
            self.violations.append(f"claim {claim['metadata']['name']} is allocated without its finalizer")
        if not allocation.get("allocationTimestamp"):  # kube-scheduler of 1.36 could not reserve the claim
            self.violations.append(f"claim {claim['metadata']['name']} has an allocation without its time")
        mine = self.places(claim)
        if not mine:
            self.violations.append(f"claim {claim['metadata']['name']} is allocated to nothing")
        for other in self.store.all(CLAIMS):
            if other["metadata"]["uid"] == claim["metadata"]["uid"]:
                continue
            for node, gpu, begin, end in self.places(other):
                for n, g, b, e in mine:
                    if (n, g) == (node, gpu) and b < end and begin < e:
                        self.violations.append(f"claims {claim['metadata']['name']} and {other['metadata']['name']} "
                                               "have one place")

    def places(self, claim):
        out = []
        allocation = claim.get("status", {}).get("allocation") or {}
        for one in allocation.get("devices", {}).get("results", []):
            place = self.devices.get((one["pool"], one["device"]))
            if place:
                out.append((one["pool"], *place[:3]))
        return out


def serve(cluster, port=0):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def reply(self, status, body):
            text = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def parse(self):
            path, _, query = self.path.partition("?")
            parts = [p for p in path.split("/") if p]
            query = dict(q.split("=", 1) for q in query.split("&") if "=" in q)
            parts = parts[2:] if parts[:1] == ["api"] else parts[3:] if parts[:1] == ["apis"] else parts
            space = ""
            if parts[:1] == ["namespaces"] and len(parts) > 2:
                space, parts = parts[1], parts[2:]
            return space, parts, query

        def answer(self):
            if time.monotonic() < cluster.gone_until:
                self.close_connection = True
                self.connection.close()
                return
            cluster.requests[self.command] = cluster.requests.get(self.command, 0) + 1
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            space, parts, query = self.parse()
            try:
                self.carry_out(space, parts, query, body)
            except Refused as refused:
                self.reply(refused.status, {"kind": "Status", "code": refused.status, "message": refused.message})

        do_GET = do_PUT = do_POST = do_DELETE = answer

        def carry_out(self, space, parts, query, body):
            if parts == ["version"]:
                return self.reply(200, {"major": "1", "minor": "36", "gitVersion": "v1.36.3"})
            kind, name, part = (parts + ["", "", ""])[:3]
            if self.command == "GET" and query.get("watch") == "true":
                return self.watch(kind, int(query.get("resourceVersion") or 0))
            if self.command == "GET" and name:
                return self.reply(200, cluster.store.get(kind, space, name))
            if self.command == "GET":
                with cluster.store.lock:
                    items = cluster.store.all(kind)
                    version = cluster.store.version
                begin, limit = int(query.get("continue") or 0), int(query.get("limit") or 10 ** 9)
                more = str(begin + limit) if begin + limit < len(items) else ""
                return self.reply(200, {"kind": "List", "items": items[begin:begin + limit],
                                        "metadata": {"resourceVersion": str(version), "continue": more}})
            if kind == "selfsubjectaccessreviews":
                return self.reply(201, {**body, "status": {"allowed": True}})
            if kind == PODS and part == "eviction":
                pod = cluster.store.get(PODS, space, name)
                pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
                pod["metadata"]["resourceVersion"] = ""
                with cluster.store.lock:
                    cluster.store.write(PODS, pod, "MODIFIED")
                return self.reply(201, {"kind": "Status", "status": "Success"})
            if self.command == "POST":
                body["metadata"].setdefault("namespace", space)
                if kind == EVENTS:
                    cluster.notes.append((body["regarding"]["name"], body["reason"], body["note"]))
                return self.reply(201, cluster.store.create(kind, body))
            if self.command == "PUT":
                if kind == CLAIMS and cluster.random.random() < cluster.conflicts:
                    raise Refused(409, "the object has been modified")
                with cluster.store.lock:
                    done = cluster.store.update(kind, space, name, body, part)
                    if kind == CLAIMS and part == "status":
                        cluster.judge(done)
                return self.reply(200, done)
            if self.command == "DELETE":
                return self.reply(200, cluster.store.delete(kind, space, name))
            raise Refused(405, "no")

        def line(self, event):
            data = (json.dumps(event) + "\n").encode()
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

        def watch(self, kind, version):
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            store, silent, marked = cluster.store, False, time.monotonic()
            try:
                while not cluster.stop and time.monotonic() >= cluster.gone_until:
                    silent = silent or cluster.silent_watches
                    if silent:  # half open: it stays so until the client gives it up
                        time.sleep(0.05)
                        continue
                    with store.lock:
                        if version < store.oldest:
                            self.line({"type": "ERROR", "object": {"kind": "Status", "code": 410,
                                                                   "message": "too old resource version"}})
                            break
                        new = [e for e in store.events if e[0] > version]
                        version_now = store.version
                        if not new:
                            store.changed.wait(0.05)
                    for at, type_, of, object_ in new:
                        version = at
                        if of == kind:
                            self.line({"type": type_, "object": object_})
                    if not new and time.monotonic() - marked > 0.5:
                        marked = time.monotonic()
                        version = max(version, version_now if not new else version)
                        self.line({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": str(version)}}})
                self.wfile.write(b"0\r\n\r\n")
            except OSError:
                pass
            self.close_connection = True

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

        def handle_error(self, request, client_address):
            pass  # clients are killed while they wait

    server = Server(("127.0.0.1", port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server

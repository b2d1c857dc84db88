"""What the page in a browser is told of the cluster of slurm_test.py: live by the controller, and of its journal by smartmig view."""
import json
import os
import urllib.error
import urllib.request

from slurm_cluster import check, lines_of


def page_is_served(world):
    """The live page's API of the controller: to read for everybody here, jobs and slices as Slurm has them, and no orders."""
    world.wait(lambda: "page at http://127.0.0.1:" in world.log("controller"), "the address of the page")
    address = "http://127.0.0.1:" + world.log("controller").rsplit("page at http://127.0.0.1:", 1)[1].split("/")[0]

    def ask(path, method="GET", token=None):
        request = urllib.request.Request(address + path, method=method)
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        try:
            with urllib.request.urlopen(request, timeout=20) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read().decode()

    def get(path):
        status, body = ask(path)
        check(status == 200, f"{path}: {status} {body}")
        return json.loads(body)
    job = world.submit("--comment=smartmig:mem=9G,estimate=20s,deadline=1h", seconds=8, mem=9216)
    world.wait(lambda: lines_of(world, job), "a job for the page")
    world.wait(lambda: any(one["label"] == job and one["state"] == "running" for one in get("/v1/jobs/changes")["jobs"]), "it there")
    facts, shown, line = get("/v1/world"), get(f"/v1/jobs/{job}"), lines_of(world, job)[0]
    check(facts["kind"] == "live" and len(facts["gpus"]) == world.gpus * len(world.nodes), f"the page's world: {facts}")
    gpu = get("/v1/gpus")["gpus"][shown["gpu"]]
    check((gpu["node"], str(gpu["index_on_node"]), shown["slice"]) == (line[2], line[3], line[4]), f"job {job} on {line}: {shown}, {gpu}")
    check([one["job"] for one in gpu["slices"] if one["name"] == line[4]] == [int(job)], f"the slices of {gpu}")
    status = get("/v1/status")
    check(status["queue"]["running"] >= 1 and status["watts_w"] > 0 and status["energy"]["idle_j"] > 0, f"the page's status: {status}")
    check(any(one["id"] == int(job) for one in get("/v1/futures?count=0")["jobs"]), "the future of a running job")
    check(f'"{job}"' in ask("/v1/journal")[1], f"the journal does not name job {job}")
    metrics = ask("/metrics")[1]
    for wanted in (f"smartmig_slurm_gpus {world.gpus * len(world.nodes)}\n", f'smartmig_job_energy_joules_total{{job="{job}"',
                   'smartmig_jobs{state="running"}'):
        check(wanted in metrics, f"/metrics has no {wanted}: {metrics[:3000]}")
    check(ask(f"/v1/jobs/{job}", "DELETE")[0] == 401, "a stranger may cancel a job")
    check(ask(f"/v1/jobs/{job}", token="x" * 32)[0] == 401, "a wrong token is believed")
    with open(f"{world.folder}/controller/page-token") as file:
        refused = ask(f"/v1/jobs/{job}", "DELETE", file.read().strip())
    check(refused[0] == 501 and "scancel" in refused[1], f"an order by HTTP: {refused}")
    world.wait(lambda: world.jobs()[job]["job_state"] == "COMPLETED", "its end")
    world.wait(lambda: any(one["id"] == int(job) and one["state"] == "done" and one["energy"]["energy_j"] > 0
                           for one in get("/v1/jobs?state=final")["jobs"]), "it among the ended ones, with its joules")
    check(ask("/")[0] == (404 if "built without" in ask("/")[1] else 200), "the page's file")


def seen_in_view(world):
    """The page in a browser over the controller's journal: the same as of the daemon, with every start and slice."""
    started = set()
    for name in sorted(os.listdir(f"{world.folder}/controller")):
        if not name.startswith("journal-") or os.path.getsize(f"{world.folder}/controller/{name}") == 0:
            continue  # an empty one is of a controller that was killed before its first line
        check("on 1xa100-40gb," in world.run(world.program, "replay", f"{world.folder}/controller/{name}"), f"replay of {name}")
        page = world.spawn("view", world.program, "view", "--port", "0", f"{world.folder}/controller/{name}")
        pattern = f"{name} at http://127.0.0.1:"
        world.wait(lambda pattern=pattern: pattern in world.log("view") or page.poll() is not None, f"smartmig view {name}")
        if "built without the page" in world.log("view"):
            print("smartmig view is not tried: this program was built without the page")
            return
        check(page.poll() is None, f"smartmig view {name}: {world.log('view')}")
        address = "http://127.0.0.1:" + world.log("view").rsplit(pattern, 1)[1].split("/")[0]

        def get(path, address=address):
            with urllib.request.urlopen(address + path, timeout=20) as reply:
                return reply.read().decode()
        facts = json.loads(get("/v1/world"))
        check(facts["kind"] == "recorded" and len(facts["gpus"]) == world.gpus * len(world.nodes), f"view {name}: {facts}")
        lines = [json.loads(line) for line in get("/v1/journal").splitlines()]
        for line in lines:
            if line.get("ev") == "started":
                check("@" in line["slice"] and line["gpu"] < len(facts["gpus"]), f"view {name}: {line}")
                started.add((name, line["job"]))
        check(json.loads(get("/v1/summary"))["jobs"] >= len({job for one, job in started if one == name}), f"view {name}")
        world.kill("view")
    check(len(started) >= len(world.expected), f"view shows {len(started)} starts of {len(world.expected)} jobs")

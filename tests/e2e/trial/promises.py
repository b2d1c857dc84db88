"""Small promises that are looked at in the middle of it all: deeds of the trial's machine."""
import contextlib
import json
import os
import subprocess

import harness
from trial.users import ENEMY, USERS


class Promises:
    def operators_hold(self):
        """What the operator holds, its owner's cancel and requeue do not release."""
        owner, root = self.station.client(*USERS[1]), self.station.client()
        with contextlib.suppress(OSError, ValueError, KeyError, harness.http.client.HTTPException):
            made = owner.post("/v1/jobs", {"command": ["true"], "directory": "/", "hold": True, "name": "held-by-root"})
            if made.status != 201:
                return
            number = made.json["ids"][0]
            self.event("operators_hold", job=number)
            steps = [root.post("/v1/jobs/hold", {"ids": [number]}), owner.ask("DELETE", f"/v1/jobs/{number}"),
                     owner.post(f"/v1/jobs/{number}/requeue"), owner.post("/v1/jobs/release", {"ids": [number]})]
            state = owner.job(number)["state"]
            if steps[0].status == 200 and not steps[0].json["refused"] and state not in ("held", "cancelled"):
                self.violation(f"job {number}, held by the operator, is {state} after its owner's cancel, requeue and "
                               f"release ({[s.status for s in steps]})")
            root.ask("DELETE", f"/v1/jobs/{number}")

    def laid_links(self):
        """A user makes the directory of locks before root does, with links to root's file by the names of the locks."""
        machine, open_to_all = f"{self.root}/other-machine", f"{self.root}/run-{len(os.listdir(self.root))}"
        os.mkdir(open_to_all)
        os.chmod(open_to_all, 0o1777)
        subprocess.run([self.station.control, "init", machine, "--gpus", "1xa100-40gb", "--force"], capture_output=True)
        uuid = json.loads(subprocess.run([self.station.control, "show", machine, "--json"], capture_output=True).stdout)
        with harness.acting_as(*ENEMY):
            os.mkdir(f"{open_to_all}/locks")
            os.symlink(f"{self.root}/roots-private", f"{open_to_all}/locks/{uuid['gpus'][0]['uuid']}.lock")
        environment = {**os.environ, "NVML_SIM_STATE": machine, "SMARTMIG_LOCK_DIR": f"{open_to_all}/locks"}
        command = [self.station.program, "apply", "--nvml", self.nvml, "--state", f"{machine}-state", "--to", "7g"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
        self.event("laid_links", code=done.returncode, words=(done.stdout + done.stderr)[-200:])
        path = f"{self.root}/roots-private"
        if self.canaries.changed(path):
            self.violation(f"root's smartmig followed a user's link and changed {path}")
            self.canaries.lay_again(path)

    def escapes(self):
        """A command with escapes is shown as harmless text."""
        owner = self.station.client(*USERS[2])
        with contextlib.suppress(OSError, ValueError, KeyError, harness.http.client.HTTPException):
            made = owner.post("/v1/jobs", {"command": ["echo", "\x1b]0;owned\x07", "\x1b[2J"], "directory": "/",
                                           "hold": True, "name": "escapes"})
            if made.status != 201:
                return
            number = made.json["ids"][0]
            self.event("escapes")
            for verb in (["show", str(number)], ["queue"], ["why", str(number)], ["top", "--once"]):
                command = [self.station.program, *verb, "--socket", self.station.socket]
                done = subprocess.run(command, capture_output=True, timeout=30)
                if b"\x1b]" in done.stdout or b"\x1b[2J" in done.stdout and verb[0] != "top":
                    self.violation(f"smartmig {' '.join(verb)} prints the escapes of a command raw")
            self.ask("DELETE", f"/v1/jobs/{number}")

    def secrets(self):
        """Whether a file of root's exists is told to nobody."""
        user = self.station.client(*USERS[0])
        with contextlib.suppress(OSError, ValueError, KeyError, harness.http.client.HTTPException):
            there, words = os.path.expanduser(f"~root/trial-{os.getpid()}"), []
            with open(there, "w") as file:
                file.write("#!/bin/sh\n")
            os.chmod(there, 0o755)
            for path in (there, there + "-not"):
                answer = user.post("/v1/jobs", {"command": [path], "script": f"#!{path}\ntrue\n", "directory": "/",
                                                "hold": True, "prelaunch": True, "name": "secrets"})
                words.append((answer.status, answer.body.replace(path.encode(), b"X"), [
                    user.ask("DELETE", f"/v1/jobs/{n}").status for n in answer.json.get("ids", [])]))
            os.remove(there)
            said = [(status, json.loads(body).get("warnings", body)) for status, body, _ in words]
            self.event("secrets")
            if words[0][0] == words[1][0] == 201 and said[0] != said[1]:
                self.violation(f"a script's interpreter tells whether root's file exists: {said}")

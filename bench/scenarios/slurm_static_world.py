"""Plain Slurm with fixed MIG layouts, as a site has them without smartmig: every slice is a device of the gres `gpu` with its
profile as type, as NVML's autodetection would list them. A job asks for any slice where all can run it, else for the
smallest type that can."""
import os
import stat

from slurm_world import SlurmWorld

# Compute and memory slices of the profiles of an A100-40GB (data/profiles.csv).
SIZES = {"1g.5gb": (1, 1), "1g.10gb": (1, 2), "2g.10gb": (2, 2), "3g.20gb": (3, 4), "4g.20gb": (4, 4), "7g.40gb": (7, 8)}


def profiles_of(layout):
    """Of 3g.20gb+1g.5gb*3, one by one."""
    parts = (part.partition("*") for part in layout.split("+"))
    return [profile for profile, _, count in parts for _ in range(int(count or 1))]


class StaticWorld(SlurmWorld):
    gres_name = "gpu"

    def __init__(self, folder, nodes, gpus, layouts):
        super().__init__(folder, nodes=nodes, gpus=gpus)
        os.makedirs(f"{folder}/devices")
        self.slices = {node: [] for node in self.nodes}  # (GPU, profile@first memory slice), by index of the device
        for i, layout in enumerate(layouts):
            at = 0
            for profile in profiles_of(layout):
                self.slices[self.nodes[i // gpus]].append((i % gpus, f"{profile}@{at}"))
                at += SIZES[profile][1]
        for slices in self.slices.values():  # as Slurm numbers them: by type; the largest first, so that it gives those first
            slices.sort(key=lambda one: ([-n for n in SIZES[one[1].split("@")[0]]], one[0]))

    def types(self):
        """Profiles, the smallest first."""
        return sorted({name.split("@")[0] for slices in self.slices.values() for _, name in slices}, key=lambda p: SIZES[p])

    def gres_lines(self):
        lines = ["AutoDetect=off"]
        for node, slices in self.slices.items():
            for index, (gpu, name) in enumerate(slices):
                device = f"{self.folder}/devices/{node}-{index}"
                if not os.path.exists(device):
                    os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))  # Slurm wants a device: that of /dev/null
                    with open(f"{device}.slice", "w") as file:
                        file.write(f"{gpu} {name}\n")
                lines.append(f"NodeName={node} Name=gpu Type={name.split('@')[0]} File={device}")
        return lines

    def gres_of(self, node):
        names = [name.split("@")[0] for _, name in self.slices[node]]
        return ",".join(f"gpu:{one}:{names.count(one)}" for one in dict.fromkeys(names))

    def request(self, job):
        able = [profile for profile in self.types() if job.seconds_on(profile) is not None]
        if not able:
            raise AssertionError(f"job {job.name} runs on no slice of {', '.join(self.types())}")
        return ["--gres=gpu:1" if able == self.types() else f"--gres=gpu:{able[0]}:1"]

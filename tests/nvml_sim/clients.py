#!/usr/bin/env python3
"""Real clients of NVML on emulated GPUs: runs those that are installed, names those that are not.

    tests/nvml_sim/clients.py BUILD_DIR            a line for each; exit 1 where one fails
    tests/nvml_sim/clients.py BUILD_DIR --table    the table of docs/nvml-sim.md
    tests/nvml_sim/clients.py BUILD_DIR --write    puts it there

Each runs by `nvml-sim-ctl run` on a machine with two H200 and an A100, one instance divided off, and must show what
that machine has. A client that is not installed keeps the row of RECORDED: what was seen where it was.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

root = Path(__file__).resolve().parents[2]
PAGE = root / "docs" / "nvml-sim.md"
BEGIN, END = "<!-- clients.py --table -->\n", "<!-- end of the table -->\n"
GPUS = "2xh200-141gb,1xa100-40gb"


class Missing(Exception):
    """Not installed, or not in a version that knows GPUs."""


class Machine:
    def __init__(self, build, scratch):
        self.sim = Path(build).resolve() / "nvml-sim"
        self.smartmig = Path(build).resolve() / "smartmig"
        self.scratch = Path(scratch)
        self.node = str(self.scratch / "node")
        subprocess.run([self.sim / "nvml-sim-ctl", "init", self.node, "--gpus", GPUS, "--clock", "zero", "--seed", "7"], check=True)
        environment = dict(os.environ, NVML_SIM_STATE=self.node, HOME=str(scratch))
        subprocess.run([self.smartmig, "apply", "--nvml", self.sim / "libnvidia-ml.so.1", "--state", self.scratch / "state",
                        "--to", "3g", "--gpu", "0"], check=True, env=environment, stdout=subprocess.DEVNULL)

    def run(self, *command, seconds=60, cwd=None):
        """What a program prints on this machine; its end with a code other than 0 is a failure."""
        environment = dict(os.environ, HOME=str(self.scratch), TERM="xterm", LC_ALL="C.UTF-8")
        done = subprocess.run([self.sim / "nvml-sim-ctl", "run", self.node, "--", *command], cwd=cwd, env=environment,
                              capture_output=True, text=True, errors="replace", timeout=seconds)
        if done.returncode != 0:
            raise AssertionError(f"{command[0]} ends with {done.returncode}: {(done.stdout + done.stderr)[-600:]}")
        return done.stdout + done.stderr


def need(program):
    path = shutil.which(program)
    if not path:
        raise Missing("not installed")
    return path


def package_version(package):
    done = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True)
    return re.sub(r"^\d+:|[-+].*$", "", done.stdout) if done.returncode == 0 else "unknown"


def shows(text, *wanted):
    for words in wanted:
        if words not in text:
            raise AssertionError(f"does not show '{words}': {text[-600:]}")


def lspci(machine):
    need("lspci")
    lines = machine.run("lspci", "-Dnn", "-d", "10de:").splitlines()
    boards = [line for line in lines if "3D controller [0302]" in line]
    shows("\n".join(boards), "0000:07:00.0", "[10de:2335]", "0000:17:00.0", "[10de:20b0]")
    return package_version("pciutils")


def lstopo(machine):
    program = shutil.which("lstopo-no-graphics") or need("lstopo")
    text = machine.run(program, "--of", "console")
    shows(text, "PCI 07:00.0 (3D)", "PCI 17:00.0 (3D)")
    if list(Path("/usr/lib").glob("*/hwloc/hwloc_nvml.so")):
        shows(text, '"nvml0"', '"nvml2"')
    return package_version("libhwloc15")


def pcp(machine):
    need("pminfo")
    agent = Path("/usr/lib/pcp/pmdas/nvidia")
    if not (agent / "pmda_nvidia.so").exists():
        raise Missing("its NVIDIA agent is not installed")
    names = machine.scratch / "pmns"
    names.write_text("#define NVML 120\nroot { nvidia }\n" + (agent / "pmns").read_text())
    text = machine.run("pminfo", "-L", "-K", "clear", "-K", f"add,120,{agent}/pmda_nvidia.so,nvidia_init", "-n", str(names),
                       "-f", "nvidia")
    shows(text, "nvidia.numcards\n    value 3", '[2 or "gpu2"] value "NVIDIA A100-SXM4-40GB"', '[0 or "gpu0"] value 88200')
    return package_version("pcp")


def rust_wrapper(machine):
    need("cargo")
    crates = sorted(Path("/usr/share/cargo/registry").glob("nvml-wrapper-[0-9]*"))
    if not crates:
        raise Missing("librust-nvml-wrapper-dev is not installed")
    version = crates[-1].name.removeprefix("nvml-wrapper-")
    crate = machine.scratch / "crate"
    (crate / "src").mkdir(parents=True)
    (crate / ".cargo").mkdir()
    (crate / ".cargo" / "config.toml").write_text(
        '[source.crates-io]\nreplace-with = "debian"\n[source.debian]\ndirectory = "/usr/share/cargo/registry"\n')
    (crate / "Cargo.toml").write_text(
        f'[package]\nname = "client"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\nnvml-wrapper = "{version}"\n')
    (crate / "src" / "main.rs").write_text("""
fn main() -> Result<(), nvml_wrapper::error::NvmlError> {
    let nvml = nvml_wrapper::Nvml::init()?;
    for index in 0..nvml.device_count()? {
        let device = nvml.device_by_index(index)?;
        println!("{} {} {} MiB {} mW {} processes", device.name()?, device.pci_info()?.bus_id,
                 device.memory_info()?.total >> 20, device.power_usage()?, device.running_compute_processes()?.len());
    }
    Ok(())
}
""")
    built = subprocess.run(["cargo", "build", "--offline", "--quiet"], cwd=crate, capture_output=True, text=True)
    if built.returncode != 0:
        raise AssertionError(f"cargo: {built.stderr[-600:]}")
    shows(machine.run(str(crate / "target" / "debug" / "client")),
          "NVIDIA H200 00000000:07:00.0 143771 MiB 88200 mW 0 processes", "NVIDIA A100-SXM4-40GB 00000000:17:00.0 40960 MiB")
    return version


def nvtop(machine):
    need("nvtop")
    done = subprocess.run([root / "tests" / "nvml_sim" / "nvtop.sh", machine.sim.parent], capture_output=True, text=True, timeout=60)
    if done.returncode == 77:
        raise Missing(done.stdout.strip().removeprefix("skipped: "))
    if done.returncode != 0:
        raise AssertionError(done.stdout[-600:])
    return done.stdout.split()[-1]


def btop(machine):
    need("btop")
    version = re.search(r"[\d.]+", subprocess.run(["btop", "--version"], capture_output=True, text=True).stdout).group()
    if tuple(map(int, version.split(".")[:2])) < (1, 3):
        raise Missing(f"{version} shows no GPUs; 1.3 and later do")
    need("script")
    text = machine.run("script", "-qec", "stty rows 60 cols 200; timeout -s INT 5 btop -p 5 || true", "/dev/null")
    shows(text, "H200")
    return version


def gpustat(machine):
    text = machine.run(need("gpustat"), "--no-color", "--no-header")
    shows(text, "H200", "A100-SXM4-40GB")
    return subprocess.run(["gpustat", "--version"], capture_output=True, text=True).stdout.split()[-1]


def nvitop(machine):
    shows(machine.run(need("nvitop"), "-1", "--ascii"), "H200", "A100")
    return subprocess.run(["nvitop", "--version"], capture_output=True, text=True).stdout.split()[-1]


def pynvml(machine):
    try:
        import pynvml as module
    except ImportError:
        raise Missing("no module pynvml") from None
    script = ("import pynvml as n; n.nvmlInit(); "
              "[print(n.nvmlDeviceGetName(n.nvmlDeviceGetHandleByIndex(i))) for i in range(n.nvmlDeviceGetCount())]")
    shows(machine.run(sys.executable, "-c", script), "H200", "A100-SXM4-40GB")
    return getattr(module, "__version__", "unknown")


def mig_parted(machine):
    shows(machine.run(need("nvidia-mig-parted"), "export"), "3g.71gb: 1", "mig-enabled: true")
    return subprocess.run(["nvidia-mig-parted", "--version"], capture_output=True, text=True).stdout.split()[-1]


# Name, how it is run here, and what is known of it: version, where it was tried, what works, what does not and why.
HERE, OUTSIDE, REPEATED = "here", "elsewhere", "not tried"
RECORDED = [
    ("pciutils (`lspci`)", lspci, "3.9.0", HERE, "the boards with their names, regions and subsystems", ""),
    ("hwloc (`lstopo`)", lstopo, "2.9.0", HERE, "the boards among the PCI devices; with its NVML plugin the repeated calls",
     "Debian's main archive has hwloc without its NVML plugin"),
    ("Performance Co-Pilot (`pmda_nvidia`)", pcp, "6.0.3", HERE,
     "names, UUIDs, memory, power, energy, temperature, performance state, processes",
     "no utilisation while MIG is on and no fans, as on real boards; no `nvidia.busid`, as with any NVML; no accounting"),
    ("nvml-wrapper (Rust)", rust_wrapper, "0.9.0", HERE, "names, PCI, memory, power, processes", "needs `nvml-sim-ctl run`"),
    ("nvtop", nvtop, "", OUTSIDE, "everything", ""),
    ("gpustat", gpustat, "", OUTSIDE, "everything", ""),
    ("nvidia-ctk", None, "", OUTSIDE, "everything", ""),
    ("k8s-device-plugin", None, "", OUTSIDE, "everything", ""),
    ("gpu-feature-discovery", None, "", OUTSIDE, "everything", ""),
    ("mig-parted", mig_parted, "main", OUTSIDE, "everything", "needs `nvml-sim-ctl run`"),
    ("btop", btop, "", REPEATED, "", ""),
    ("nvitop", nvitop, "", REPEATED, "their calls, repeated by `nvml_client_sequences`", ""),
    ("nvidia-ml-py (`pynvml`)", pynvml, "", REPEATED, "", ""),
    ("go-nvml's examples", None, "", REPEATED, "their calls, repeated by `nvml_client_sequences`", ""),
    ("Slurm's `gpu_nvml`", None, "", REPEATED, "their calls, repeated by `nvml_client_sequences`", ""),
]


def rows(machine):
    """Name, row and outcome (ok, failed, or why it was not run) of each."""
    for name, client, version, tried, works, cannot in RECORDED:
        outcome = "has to be run by hand"
        if client:
            try:
                version, tried, works, outcome = client(machine), HERE, works or "everything", "ok"
            except Missing as why:
                outcome = str(why)
            except (AssertionError, subprocess.TimeoutExpired) as failure:
                outcome = f"FAILED: {failure}"
        yield name, (name, version, tried, works, cannot), outcome


def table(all_rows):
    """Clients of which the same is known share a row; those of which nothing is known have none."""
    shared = {}
    for _, (name, version, tried, works, cannot), _ in all_rows:
        if works or tried != REPEATED:
            shared.setdefault((tried, works, cannot), []).append(f"{name} {version}".rstrip())
    lines = ["| clients | tried | works | limits |", "|---|---|---|---|"]
    return "\n".join(lines + [f"| {', '.join(names)} | {tried} | {works} | {cannot} |"
                              for (tried, works, cannot), names in shared.items()]) + "\n"


def main():
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    if len(arguments) != 1:
        sys.exit("clients.py BUILD_DIR [--table | --write]")
    with tempfile.TemporaryDirectory() as scratch:
        try:
            machine = Machine(arguments[0], scratch)
            machine.run("true")
        except AssertionError as refused:
            print(f"skipped: no program can be run on an emulated machine here: {refused}")
            sys.exit(77)
        found = list(rows(machine))
    failed = [f"{name}: {outcome}" for name, _, outcome in found if outcome.startswith("FAILED")]
    if "--table" in sys.argv or "--write" in sys.argv:
        if failed:
            sys.exit("\n".join(failed))
        if "--table" in sys.argv:
            print(table(found), end="")
            return
        page = PAGE.read_text()
        before, rest = page.split(BEGIN)
        PAGE.write_text(before + BEGIN + table(found) + END + rest.split(END)[1])
        return
    for name, row, outcome in found:
        print(f"{name} {row[1] if outcome == 'ok' else ''}".rstrip() + f": {outcome}")
    ran = [f"{name} {row[1]}" for name, row, outcome in found if outcome == "ok"]
    away = [name for name, _, outcome in found if outcome != "ok" and not outcome.startswith("FAILED")]
    print(f"clients: ran {', '.join(ran) or 'none'}; not here: {', '.join(away)}")
    sys.exit(1 if failed else 0)


main()

#!/usr/bin/env python3
"""Every command, flag, setting, file, link and type named in the documents exists.

    tests/check_docs.py BINARY          one line for each thing that does not; exit 1 if there is one

It reads README.md, ARCHITECTURE.md, CONTRIBUTING.md, deploy/README.md, docs/*.md and docs/decisions/*.md, and checks

  commands   `smartmig VERB --flag ...` in code blocks and in `code`, against `smartmig VERB --help`
  flags      a `--flag` alone belongs to some verb, or to a program of FOREIGN
  settings   `section.key` and TOML blocks, against `serve --gen-config` and `train --gen-config`; the table of
             docs/serve-config.md names exactly the daemon's
  files      paths below the folders of the tree, and names of sources; NAME in a path stands for anything
  variables  SMARTMIG_... is a word of the sources
  links      between pages, with their anchors; every page is in docs/README.md or docs/decisions/README.md
  words      `snake_case` is a word of the sources or tables, and so is `CamelCase` of ARCHITECTURE.md and CONTRIBUTING.md
  columns    README.md stays within 120
  drawings   docs/drawings/*.svg are what their script draws
  tests      named in docs/security.md: `Suite.Test` and FILE_test: function
"""
import fnmatch
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

root = Path(__file__).resolve().parents[1]
PAGES = [root / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "deploy/README.md")]
PAGES += sorted((root / "docs").glob("*.md")) + sorted((root / "docs/decisions").glob("*.md"))
TOP = "src|research|tests|docs|data|bench|deploy|examples|nvml-sim|preload|supervisor|cmake"
SOURCES = (".h", ".cc", ".sh", ".py", ".cmake", ".ts", ".svelte", ".csv", ".toml", ".json", ".txt")
# Flags of other programs that a page names alone.
FOREIGN = {"hpc-job-mapping-dir": "dcgm-exporter", "quick": "./test", "soak": "./test", "help": "every verb",
           "version": "smartmig", "no-preempt": "another name of --no-requeue", "update": "tests/golden/run.sh",
           "fix": "tests/check_format.sh"}
# Options of Slurm that docs/queue.md sets beside ours, of podman (docs/install.md), and of the emulated machine (docs/nvml-sim.md).
FOREIGN_PAGES = {"memory.md": {"model_name_or_path", "fp16", "bf16", "optim", "gradient_checkpointing", "do_train",  # other programs' flags
                               "max-model-len", "dtype", "quantization", "gpu-memory-utilization", "model-id", "max-total-tokens",
                               "quantize", "amp", "opt", "n_layer", "n_head", "n_embd"},
                 "queue.md": {"partition", "nodes", "signal", "gpus", "cpus-per-task", "job-name", "mem-per-gpu", "exclusive", "uid",
                              "container-image"},
                 "install.md": {"device", "gpus", "privileged", "cgroupns", "init"},
                 "containers.md": {"container-image", "nv", "device", "cgroups"}, "slurm.md": {"comment", "deadline", "no-requeue", "exclusive", "program", "srun-filter"},
                 "nvml-sim.md": None, "sbatch.md": None}  # None: its options are all of other programs

complaints = []


def complain(page, number, text):
    complaints.append(f"{page.relative_to(root)}:{number}: {text}")


def say(binary, *arguments):
    return subprocess.run([binary, *arguments], capture_output=True, text=True, timeout=60).stdout


class Program:
    """What the binary knows: verbs with their flags, and settings."""

    def __init__(self, binary):
        self.binary, self.flags_of = binary, {}
        overview = say(binary, "help", "--all")
        self.verbs = set(re.findall(r"^  ([a-z][a-z-]*(?: [a-z-]+)?)  +\S", overview, re.M))
        self.families = {verb.split()[0] for verb in self.verbs if " " in verb}
        self.verbs |= {"export", "help"}  # export --journal and --onnx, which the help of mig export names
        also = re.search(r"^Also: (.*)$", overview, re.M)
        self.verbs |= set(re.findall(r"([a-z]+) \(", also.group(1))) if also else set()
        self.settings = {verb.split()[-1]: keys_of(tomllib.loads(say(binary, *verb.split(), "--gen-config")))
                         for verb in ("serve", "lab train")}
        self.all_flags = set().union(*(self.flags(verb) for verb in self.verbs))

    def flags(self, verb):
        """Of its --help, and of the helps that this one sends its reader to: "see smartmig export --onnx --help"."""
        if verb not in self.flags_of:
            text = say(self.binary, *verb.split(), "--help")
            for words in set(re.findall(r"smartmig ((?:[a-z-]+ )+)--help", " ".join(text.split()))) - {verb + " "}:
                text += say(self.binary, *words.split(), "--help") + "".join(
                    f"\n  {word}" for word in words.split() if word.startswith("--"))
            # A flag stands at the beginning of a line; words about it may name flags of others.
            lines = re.findall(r"^ +((?:-\w, )?--[a-z].*?)(?:  |$)", text, re.M)
            self.flags_of[verb] = set(re.findall(r"--([a-z][\w.-]*)", "\n".join(lines))) | {"help"}
        if verb == "help":
            self.flags_of[verb] |= {"all"}
        if verb == "lab train":  # every setting is an option
            self.flags_of[verb] |= {key.replace("_", "-") for key in self.settings["train"]}
        return self.flags_of[verb]


def keys_of(tree, before=""):
    keys = set()
    for key, value in tree.items():
        keys.add(before + key)
        if isinstance(value, dict):
            keys |= keys_of(value, before + key + ".")
    return keys


class Tree:
    """The files of the repository, their folders, and every word of its sources and tables."""

    def __init__(self):
        self.files = tree_files()
        self.names = {name.rsplit("/", 1)[-1] for name in self.files}
        self.folders = {"/".join(name.split("/")[:i]) for name in self.files for i in range(1, name.count("/") + 1)}
        self.words = {"snake_case", "PascalCase"}
        for name in self.files:
            if name.endswith(SOURCES) and not name.startswith("docs/") or name in ("test", "smartmig"):
                self.words |= set(re.findall(r"\w+", (root / name).read_text(encoding="utf-8", errors="replace")))

    def has(self, path):
        pattern = re.sub(r"(?<![a-z])[A-Z]{2,}(?![a-z])", "*", path)
        return any(fnmatch.fnmatch(name, pattern) for places in (self.files, self.folders) for name in places)


def tree_files():
    """What git tracks or would; without git (a source archive) every file that is no build output."""
    try:
        listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=root, capture_output=True, text=True)
        if listed.returncode == 0:
            return [name for name in listed.stdout.splitlines() if (root / name).exists()]
    except FileNotFoundError:
        pass
    found = []
    for folder, folders, names in os.walk(root):
        here = Path(folder).relative_to(root)
        left_out = {"build", ".git", "__pycache__"} | ({"runs", "shared", "smartmig-demo"} if folder == str(root) else set())
        folders[:] = [name for name in folders if name not in left_out]
        found += [str(here / name) for name in names if ".tmp-" not in name]
    return found


def slug(heading):
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def code_of(page):
    """(line number, language of the block or None, text) for every line of a block and every `code` in the prose."""
    language = inside = None
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if line.lstrip().startswith("```"):
            inside, language = (None, None) if inside else (True, line.strip()[3:].strip())
        elif inside:
            yield number, language, line
        elif re.match(r" {4,}\S", line):
            yield number, "", line
        else:
            for code in re.findall(r"`([^`]+)`", line):
                yield number, None, code.replace("\\|", "|")


def joined(pieces):
    """A line of a block that ends with a backslash goes on in the next."""
    held = None
    for number, language, text in pieces:
        if held:
            number, text, held = held[0], held[1] + " " + text.strip(), None
        if language is not None and text.endswith("\\"):
            held = (number, text[:-1])
            continue
        yield number, language, text


def check_commands(program, page, number, text):
    text = re.sub(r"'[^']*'|\"[^\"]*\"", "WORD", text)
    for command in re.finditer(r"(?<![\w/.-])(?:\./)?smartmig(?: +(?!-)|$)([^;&|<>#()]*)", text):
        words = command.group(1).split()
        if not words or not re.fullmatch(r"[a-z][a-z-]*", words[0]):
            continue
        length = 2 if words[0] in program.families and len(words) > 1 else 1
        verb = " ".join(words[:length])
        if verb in program.families:
            continue
        if verb not in program.verbs:
            complain(page, number, f"'smartmig {verb}': there is no such verb")
            continue
        for word in words[length:]:
            if word == "--":
                break
            flag = re.match(r"\[?--([a-z][\w.-]*)", word)
            if flag and flag.group(1) not in program.flags(verb):
                complain(page, number, f"'smartmig {verb} --{flag.group(1)}': {verb} has no such option")


def check_lone_flags(program, page, number, text):
    allowed = FOREIGN_PAGES.get(page.name, set())
    if allowed is None or "smartmig" in text or not text.startswith("--"):
        return
    for flag in re.findall(r"(?:^|[ ,|])--([a-z][\w.-]*)", text):
        if flag not in program.all_flags and flag not in FOREIGN and flag not in allowed:
            complain(page, number, f"--{flag} is an option of no verb")


def check_settings(program, page, number, text):
    known = program.settings["serve"] | program.settings["train"]
    sections = {key.split(".")[0] for key in known if "." in key}
    found = re.fullmatch(r"([a-z_]+)\.([a-z_]+|\*)(?: = .*)?", text)
    if not found or found.group(1) not in sections or found.group(2) in ("h", "cc", "py", "csv", "md", "db", "toml", "json", "jsonl"):
        return
    key = f"{found.group(1)}.{found.group(2)}"
    if not any(fnmatch.fnmatch(one, key) for one in known):
        complain(page, number, f"{key} is no setting of the daemon or the trainer")


def check_toml(program, page):
    for block in re.finditer(r"^```toml\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S):
        number = page.read_text(encoding="utf-8")[:block.start()].count("\n") + 1
        known = program.settings["serve"] | program.settings["train"]
        for key in keys_of(tomllib.loads(block.group(1))):
            if key not in known and key.split(".")[0] != "priorities":
                complain(page, number, f"{key} is no setting")


def check_table_of_settings(program):
    page = root / "docs" / "serve-config.md"
    named = set()
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("| `"):
            named |= set(re.findall(r"`([a-z_.]+)`", line.split("|")[1]))
    leaves = {key for key in program.settings["serve"] if not any(other.startswith(key + ".") for other in program.settings["serve"])}
    for key in sorted(leaves - named):
        complain(page, 1, f"the setting {key} is not in the table")
    for key in sorted(named - program.settings["serve"]):
        complain(page, 1, f"{key} is no setting")


def check_files(tree, page, number, text):
    for path in re.findall(rf"(?<![\w/.$-])(?:{TOP})/[\w./*{{}},-]*", text):
        for one in braces(path.rstrip(".,/")):
            if not tree.has(one):
                complain(page, number, f"there is no {one}")
    if re.fullmatch(r"[\w*]+\.(h|cc|sh|py)", text) and not re.match(r"(x|x_test|train|job|work)\.", text):
        if not any(fnmatch.fnmatch(name, re.sub(r"[A-Z]{2,}", "*", text)) for name in tree.names):
            complain(page, number, f"no file is named {text}")


def check_words(program, tree, page, number, text):
    if re.fullmatch(r"[a-z]+(_[a-z0-9]+)+", text) and text not in tree.words:
        complain(page, number, f"{text} is a word of no source")
    if page.name in ("ARCHITECTURE.md", "CONTRIBUTING.md"):
        for name in re.findall(r"\b[A-Z][a-z]+[A-Z][A-Za-z]+\b", text):
            if name not in tree.words:
                complain(page, number, f"{name} is a word of no source")
    for variable in re.findall(r"\bSMARTMIG_[A-Z][A-Z_]+[A-Z]\b", text):
        if variable not in tree.words:
            complain(page, number, f"nothing reads {variable}")


def braces(path):
    found = re.search(r"\{([^{}]*)\}", path)
    if not found:
        return [path]
    return [one for part in found.group(1).split(",") for one in braces(path[:found.start()] + part + path[found.end():])]


def check_links(page, anchors):
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            file = (page.parent / path).resolve() if path else page
            if not file.exists():
                complain(page, number, f"the link {target} leads nowhere")
            elif anchor and file.suffix == ".md" and anchor not in anchors(file):
                complain(page, number, f"{file.name} has no heading #{anchor}")


def headings(file):
    text = re.sub(r"(?ms)^```.*?^```", "", file.read_text(encoding="utf-8"))
    return {slug(line) for line in re.findall(r"(?m)^#+ (.*)$", text)}


def check_named_tests(tree):
    page, units, functions = root / "docs/security.md", set(), {}
    for name in tree.files:
        if name.endswith("_test.cc"):
            units |= {".".join(words) for words in re.findall(
                r"^(?:TYPED_)?TEST(?:_[FP])?\((\w+), (\w+)\)", (root / name).read_text(encoding="utf-8"), re.M)}
        elif re.fullmatch(r"tests/e2e/\w+_test\.py", name):
            functions[Path(name).stem] = set(re.findall(r"^def (\w+)", (root / name).read_text(encoding="utf-8"), re.M))
    for number, _, text in joined(code_of(page)):
        if re.fullmatch(r"(?:\*/)?[A-Z]\w*\.[A-Z][\w*]*(?:/\*)?", text) and text != "Suite.Test":
            if not any(fnmatch.fnmatch(unit, text.removeprefix("*/").removesuffix("/*")) for unit in units):
                complain(page, number, f"there is no test {text}")
    words = " ".join(page.read_text(encoding="utf-8").split())
    for file, names in re.findall(r"(\w+_test): ((?:[a-z_0-9]+)(?:, [a-z_0-9]+)*)", words):
        for name in set(names.split(", ")) - functions.get(file, set()):
            complain(page, 1, f"{file} has no test {name}")


def main():
    if len(sys.argv) != 2 or not Path(sys.argv[1]).exists():
        sys.exit("usage: tests/check_docs.py BINARY")
    program, tree, count = Program(str(Path(sys.argv[1]).resolve())), Tree(), 0
    for page in PAGES:
        for number, language, text in joined(code_of(page)):
            count += 1
            if language is None:
                check_lone_flags(program, page, number, text)
                check_settings(program, page, number, text)
            if language in (None, "", "console", "console varies"):
                check_commands(program, page, number, text)
                check_files(tree, page, number, text)
                check_words(program, tree, page, number, text)
        check_toml(program, page)
        check_links(page, headings)
    check_table_of_settings(program)
    check_named_tests(tree)
    for folder in ("docs", "docs/decisions"):
        index = (root / folder / "README.md").read_text(encoding="utf-8")
        for page in sorted((root / folder).glob("*.md")):
            if page.name != "README.md" and f"({page.name})" not in index:
                complain(page, 1, f"{folder}/README.md does not lead here")
    for number, line in enumerate((root / "README.md").read_text(encoding="utf-8").splitlines(), 1):
        if len(line) > 120:
            complain(root / "README.md", number, f"{len(line)} columns; 120 are enough")
    drawn = subprocess.run([sys.executable, root / "docs/drawings/make.py", "--check"], capture_output=True, text=True)
    complaints.extend((drawn.stdout + drawn.stderr).splitlines())
    print("\n".join(complaints) or f"{len(PAGES)} pages, {count} pieces of code: all they name exists")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())

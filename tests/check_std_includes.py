#!/usr/bin/env python3
"""Every source of src/ and research/ reaches, by its own includes, the header of each standard or library name it uses. The builds compile
folders together and tests/check_alone.sh has these headers at hand beforehand, so the compiler would not notice."""
import functools
import pathlib
import re
import sys

NAMES = {  # name: headers that declare it, any of which will do
    r"std::(vector)\b": ["vector"],
    r"std::(map|multimap)\b": ["map"],
    r"std::(set|multiset)\b": ["set"],
    r"std::(unordered_map)\b": ["unordered_map"],
    r"std::(unordered_set)\b": ["unordered_set"],
    r"std::(deque)\b": ["deque"],
    r"std::(optional|nullopt)\b": ["optional"],
    r"std::(variant|visit)\b": ["variant"],
    r"std::(span)\b": ["span"],
    r"std::(function)\b": ["functional"],
    r"std::(unique_ptr|shared_ptr|make_unique|make_shared)\b": ["memory"],
    r"std::(thread|this_thread)\b": ["thread"],
    r"std::(mutex|lock_guard|unique_lock)\b": ["mutex"],
    r"std::(condition_variable)\b": ["condition_variable"],
    r"std::(atomic)\b": ["atomic"],
    r"std::(filesystem)\b": ["filesystem"],
    r"std::(ifstream|ofstream|fstream)\b": ["fstream"],
    r"std::(ostringstream|istringstream|stringstream)\b": ["sstream"],
    r"std::(chrono)\b": ["chrono"],
    r"(fmt)::": ["fmt/format.h", "fmt/core.h", "fmt/ranges.h"],
    r"(nlohmann)::": ["nlohmann/json.hpp", "nlohmann/json_fwd.hpp"],
}
ROOT = pathlib.Path(__file__).resolve().parent.parent


@functools.lru_cache(None)
def includes(path):
    """(library headers, project files) that a file includes itself."""
    text = path.read_text()
    own = [ROOT / folder / name for name in re.findall(r'^\s*#\s*include\s*"([^"]+)"', text, re.M)
           for folder in ("src", "nvml-sim", ".", path.parent) if (ROOT / folder / name).is_file()]
    return frozenset(re.findall(r"^\s*#\s*include\s*<([^>]+)>", text, re.M)), tuple(own)


def reached(path):
    found, waiting, seen = set(), [path], set()
    while waiting:
        at = waiting.pop()
        if at in seen:
            continue
        seen.add(at)
        headers, own = includes(at)
        found |= headers
        waiting += own
    return found


failed = files = 0
for path in sorted([*(ROOT / "src").rglob("*.cc"), *(ROOT / "research").rglob("*.cc")]):
    if path.name.endswith("_test.cc"):
        continue
    files += 1
    code = re.sub(r"//.*", "", path.read_text())
    headers = reached(path)
    for pattern, wanted in NAMES.items():
        use = re.search(pattern, code)
        if use and not headers & set(wanted):
            failed += 1
            print(f"{path.relative_to(ROOT)}: uses {use.group(0)} without <{wanted[0]}>")
if not failed:
    print(f"{files} sources include what they use of the standard library")
sys.exit(1 if failed or not files else 0)

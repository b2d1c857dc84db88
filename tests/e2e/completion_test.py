#!/usr/bin/env python3
"""Completion in real shells, as a user meets it: a line, the Tab key, the line then.
tests/e2e/completion_test.py BUILD-DIRECTORY [TEST...]. A shell that is not installed is skipped."""
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # nothing beside the sources
import harness
from harness import check, equal

# A line before the Tab key, and after: one candidate alone. The numbers of jobs come from the daemon.
LINES = [("smartmig submi", "smartmig submit "),
         ("smartmig submit --deadl", "smartmig submit --deadline "),
         ("smartmig queue --id", "smartmig queue --ids "),
         ("smartmig kil", "smartmig kill "),            # another name of cancel
         ("smartmig kill --us", "smartmig kill --user "),
         ("smartmig why 1", "smartmig why 17 "),
         ("smartmig release ", "smartmig release 17 "),
         ("smartmig submit -- queue --ids", "smartmig submit -- queue --ids"),  # a job's own words are left alone
         ("smartmig serve --config exam", "smartmig serve --config example.toml ")]

ZSH = r"""
zmodload zsh/zpty
zpty shell zsh -f -i
heard= line=
until_said() { while [[ $heard != *$1* ]]; do zpty -r shell line || exit 3; heard+=$line; done }
zpty -w shell "PS1= PS2=; unset zle_bracketed_paste; source $FUNCTIONS/setup.zsh"
until_said '<ready>'
for before in "$@"; do
  heard=
  zpty -w -n shell $'\x15'"$before"$'\t\x18p'
  until_said '</line>'
  print -r -- "${${heard##*<line>}%</line>*}"
done
zpty -d shell
"""
ZSH_SETUP = r"""
fpath=($FUNCTIONS $fpath)
autoload -Uz compinit && compinit -u -D
unsetopt auto_menu auto_list
print_line() { zle -I; print -r -- "<line>$BUFFER</line>"; BUFFER=; }
zle -N print_line
bindkey -e
bindkey '^Xp' print_line
print '<'ready'>'
"""
BASH = r"""
source "$1"
shift
for before; do
  read -ra COMP_WORDS <<<"$before"
  [[ $before != *' ' ]] || COMP_WORDS+=("")
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
  _smartmig
  [ ${#COMPREPLY[@]} = 1 ] && before=${before% *}\ ${COMPREPLY[0]}\ 
  printf '%s\n' "$before"
done
"""
FISH = r"""
source $FUNCTIONS/smartmig.fish
for before in $argv
    set -l found (complete -C $before | string replace -r '\t.*' '')
    test (count $found) -eq 1; and set before (string replace -r '\S*$' '' -- $before)$found[1]' '
    echo $before
end
"""


def shell(name, build, script, *arguments):
    """The lines after the Tab key. The program in the PATH knows one job and prints its own scripts."""
    if not shutil.which(name):
        return f"{name} is not installed"
    with tempfile.TemporaryDirectory() as directory:
        for other, file in (("bash", "smartmig.bash"), ("zsh", "_smartmig"), ("fish", "smartmig.fish")):
            made = subprocess.run([os.path.join(build, "smartmig"), "completion", other], capture_output=True, text=True)
            equal(made.returncode, 0, f"completion {other}")
            write(os.path.join(directory, file), made.stdout)
        write(os.path.join(directory, "setup.zsh"), ZSH_SETUP)
        write(os.path.join(directory, "script"), script)
        write(os.path.join(directory, "example.toml"), "")
        write(os.path.join(directory, "smartmig"), '#!/bin/sh\n[ "$*" != "queue --ids" ] || echo 17\n')
        os.chmod(os.path.join(directory, "smartmig"), 0o755)
        where = {"PATH": f"{directory}:{os.environ['PATH']}", "FUNCTIONS": directory, "HOME": directory, "TERM": "dumb"}
        done = subprocess.run([name, *arguments, os.path.join(directory, "script"),
                               *([os.path.join(directory, "smartmig.bash")] if name == "bash" else []),
                               *[before for before, _ in LINES]], cwd=directory, env=where, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60)
        check(done.returncode == 0, f"{name}: {done.returncode} {done.stdout} {done.stderr}")
        equal(done.stdout.rstrip("\n").split("\n"), [after for _, after in LINES], f"{name} {done.stderr}")


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def bash(build):
    return shell("bash", build, BASH, "--norc")


def zsh(build):
    return shell("zsh", build, ZSH, "-f")


def fish(build):
    return shell("fish", build, FISH, "--no-config")


if __name__ == "__main__":
    harness.main([bash, zsh, fish], "completion")

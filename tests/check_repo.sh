#!/usr/bin/env bash
# What every file of the repository keeps to; one line for each violation.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
root=$(pwd -P)
failed=0
complain() { printf '%s\n' "$*"; failed=1; }
complain_lines() {  # WHY: one complaint for each line of stdin
  local line
  while IFS= read -r line; do complain "$line: $1"; done
}

# With git: what is tracked or would be. Without (a source archive): every file that is not a build output.
mapfile -t files < <({ git ls-files -co --exclude-standard 2>/dev/null ||
  find . -path ./.git -prune -o -path ./build -prune -o -path ./runs -prune -o -path ./shared -prune -o -type f -print |
  sed 's|^\./||'; } | LC_ALL=C sort -u)
present=()
for file in "${files[@]}"; do [ -f "$file" ] && present+=("$file"); done
files=("${present[@]}")
[ ${#files[@]} -gt 0 ] || complain "no file found: the check does not see the tree"

# Paths of one machine: a home or work directory, or this checkout itself.
complain_lines "a path of one machine" < <(
  grep -nIE '(^|[^A-Za-z0-9_.$})/-])/(home|root|work|workspace|builds|Users)/[A-Za-z0-9_.]' -- "${files[@]}" | cut -c1-160)
case $root in
  /*/*) complain_lines "a path of this machine" < <(grep -nIF -e "$root/" -- "${files[@]}" | cut -c1-160) ;;
esac

complain_lines "unfinished work belongs in an issue, not in the tree" < <(
  grep -nIwE 'TO''DO|FIX''ME|X''XX' -- "${files[@]}" | cut -c1-160)

for file in "${files[@]}"; do
  case $file in
    src/*.h | research/*.h) IFS= read -r first <"$file"; [[ $first == //* ]] || complain "$file: a header opens with a comment" ;;
  esac
  case $file in
    *.cc | *.h | *.sh | *.cmake | *.md | *.ts | *.svelte | *.py | */CMakeLists.txt | CMakeLists.txt)
      lines=$(wc -l <"$file")
      [ "$lines" -le 600 ] || complain "$file: $lines lines; split it at 600" ;;
  esac
  read -r -n 2 magic <"$file" 2>/dev/null || magic=
  if [ "$magic" = '#!' ]; then
    [ -x "$file" ] || complain "$file: a script without its executable bit"
    head -n 1 "$file" | grep -q bash && { bash -n "$file" || complain "$file: bash cannot parse it"; }
  elif [ -x "$file" ]; then
    complain "$file: executable, but not a script"
  fi
done

# Every number in data/ and research/data/ has a source: a column "source" that is filled in each row, or a comment line that names it.
for file in "${files[@]}"; do
  case $file in
    data/*.csv | data/*.toml | research/data/*.csv)
      grep -qiE '^#.*(source|https?://|arxiv)' "$file" && continue
      awk -v file="$file" '
        function fields(line,    n, i, c, quoted, text) {  # splits one CSV record without line breaks into field[]
          n = 1; text = ""
          for (i = 1; i <= length(line); i++) {
            c = substr(line, i, 1)
            if (c == "\"") quoted = !quoted
            else if (c == "," && !quoted) { field[n++] = text; text = "" }
            else text = text c
          }
          field[n] = text
          return n
        }
        /^#/ || /^$/ { next }
        !header { header = 1; n = fields($0); for (i = 1; i <= n; i++) if (field[i] == "source") column = i
                  if (!column) { print file ": no column \"source\" and no comment line that names a source"; exit }
                  next }
        { delete field; fields($0); if (field[column] == "") print file ":" NR ": an empty source" }' "$file" |
        { ! grep .; } || failed=1 ;;
    data/*.json)
      grep -q '"source"' "$file" || complain "$file: no key \"source\"" ;;
  esac
done

# One name, one type: two of them in one namespace would be one symbol to the linker.
twice=$(grep -hE '^(struct|class) [A-Z][A-Za-z]+( |:|$)' $(find src research -name '*.h' -not -path 'src/cli/*') | awk '{ print $2 }' | tr -d ':{' | sort | uniq -d)
for name in $twice; do complain "the type $name is defined in more than one header: $(grep -rlE --include='*.h' "^(struct|class) $name( |:|\$)" src research | tr '\n' ' ')"; done

[ "$failed" = 0 ] && echo "${#files[@]} files keep the rules"
exit "$failed"

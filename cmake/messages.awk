# Every message of the program, from its sources: each call of a maker of errors (base/result.h, base/errors.h) whose
# first argument is a string literal. Prints C++ rows {"invalid", "text", "file"}; the literals are taken as they stand.
# usage: awk -f messages.awk ROOT FILE...
BEGIN {
  code["invalid"] = "invalid"; code["io_error"] = "io"; code["not_found"] = "not_found"; code["busy_error"] = "busy"
  code["lost_error"] = "lost"; code["no_permission"] = "no_permission"; code["unsupported"] = "unsupported"
  code["timeout_error"] = "timeout"
  root = ARGV[1]; ARGV[1] = ""
}
FNR == 1 { finish(); name = FILENAME; if (index(name, root "/") == 1) name = substr(name, length(root) + 2) }
{ line = $0; scan() }
END { finish() }

function finish() { if (text != "") printf "    {\"%s\", %s, \"%s\"},\n", maker, text, name; text = ""; open = 0 }
function scan(  at) {
  while (line != "") {
    if (open) {                                  # after the bracket, or after a literal: more literals may follow
      sub(/^[ \t]+/, "", line)
      if (line == "") return
      if (match(line, /^"([^"\\]|\\.)*"/)) {
        text = text (text == "" ? "" : " ") substr(line, 1, RLENGTH)
        line = substr(line, RLENGTH + 1)
        continue
      }
      finish()
    }
    at = match(line, /(^|[^A-Za-z0-9_])(invalid|io_error|not_found|busy_error|lost_error|no_permission|unsupported|timeout_error)\(/)
    if (!at) return
    maker = substr(line, RSTART, RLENGTH)
    gsub(/[^a-z_]/, "", maker)
    maker = code[maker]
    line = substr(line, RSTART + RLENGTH)
    open = 1
  }
}

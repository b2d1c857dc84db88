// A command line as a POSIX shell would split it: quotes, backslashes, and pieces that touch. Nothing is expanded, and
// no shell runs the command; what only a shell could do is refused in words.

// The words, or why there are none.
export function shellWords(line: string): {words: string[]; error: string} {
  const words: string[] = [], refuse = (error: string) => ({words: [], error});
  let word = '', begun = false;
  for (let i = 0; i < line.length; ++i) {
    const c = line[i];
    if (c === "'") {
      const end = line.indexOf("'", i + 1);
      if (end < 0) return refuse("A ' has no end.");
      word += line.slice(i + 1, end);
      i = end;
      begun = true;
    } else if (c === '"') {
      begun = true;
      for (++i; line[i] !== '"'; ++i) {
        if (i >= line.length) return refuse('A " has no end.');
        if (line[i] === '\\' && '$`"\\'.includes(line[i + 1] ?? ' ')) word += line[++i];
        else if ('$`'.includes(line[i])) return needsShell(line[i]);
        else word += line[i];
      }
    } else if (c === '\\') {
      if (i + 1 >= line.length) return refuse('Nothing follows the last backslash.');
      word += line[++i];
      begun = true;
    } else if (/\s/.test(c)) {
      if (begun) words.push(word);
      word = '';
      begun = false;
    } else if ('|&;<>()$`'.includes(c)) {
      return needsShell(c);
    } else {
      word += c;
      begun = true;
    }
  }
  if (begun) words.push(word);
  return words.length ? {words, error: ''} : refuse('Name a command.');
}

function needsShell(c: string) {
  return {words: [], error: `${c} needs a shell, and none runs the command: quote it, or write sh -c '...'.`};
}

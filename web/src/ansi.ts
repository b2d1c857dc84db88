// A log as a terminal shows it: colours and bold of SGR sequences, a carriage return that writes over its line, other
// control sequences left out. What has been read is kept as text; only spans with fixed classes are made of it.
export interface Piece { text: string; classes: string; }

const NAMES = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'];
const SEQUENCE = /\x1b\[([0-9;]*)m|\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[ -/]*[0-~]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/g;

// A progress bar that returns to the start of its line shows its last state.
export function lastOfLines(text: string): string {
  return text.replace(/\r+\n/g, '\n').split('\n').map(line => {
    const parts = line.split('\r').filter(part => part.replace(SEQUENCE, '') !== '');
    return parts.length ? parts[parts.length - 1] : '';
  }).join('\n');
}

export function pieces(text: string): Piece[] {
  const out: Piece[] = [];
  let bold = false, colour = '', from = 0;
  const put = (to: number) => {
    if (to > from) out.push({text: text.slice(from, to), classes: [bold ? 'bold' : '', colour ? 'ansi-' + colour : ''].filter(c => c).join(' ')});
  };
  for (const match of text.matchAll(SEQUENCE)) {
    put(match.index!);
    from = match.index! + match[0].length;
    if (match[1] === undefined) continue;
    const codes = match[1].split(';').map(Number);
    for (let i = 0; i < codes.length; ++i) {
      const code = codes[i];
      if (code === 0) { bold = false; colour = ''; }
      else if (code === 1) bold = true;
      else if (code === 22) bold = false;
      else if (code >= 30 && code <= 37) colour = NAMES[code - 30];
      else if (code >= 90 && code <= 97) colour = NAMES[code - 90];
      else if (code === 39) colour = '';
      else if (code === 38 || code === 48) i += codes[i + 1] === 5 ? 2 : 4;  // of 256 or more colours: none here
    }
  }
  put(text.length);
  return out;
}

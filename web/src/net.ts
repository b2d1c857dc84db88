// Requests to the server that the page came from, with the token where there is one, and the event stream: read by
// fetch, since EventSource can show no token. A broken stream goes on after the last event it gave.
export class ApiError extends Error {
  constructor(readonly status: number, readonly code: string, message: string) { super(message); }
}

const KEY = 'smartmig-token';
let token = sessionStorage.getItem(KEY) ?? '';
export const hasToken = () => token !== '';
export function setToken(next: string) {
  token = next;
  if (next) sessionStorage.setItem(KEY, next);
  else sessionStorage.removeItem(KEY);
}

async function ask(method: string, path: string, body?: unknown, signal?: AbortSignal, headers: {[k: string]: string} = {}) {
  const sent: {[name: string]: string} = {...headers};
  if (token) sent['Authorization'] = 'Bearer ' + token;
  if (body !== undefined) sent['Content-Type'] = 'application/json';
  const reply = await fetch(path, {
    method, headers: sent, signal, body: body === undefined ? undefined : JSON.stringify(body), credentials: 'omit',
    cache: 'no-store',
  });
  if (reply.ok) return reply;
  const text = await reply.text();
  let code = 'lost', message = `${method} ${path}: ${reply.status}`;
  try {
    const error = JSON.parse(text).error;
    code = error.code;
    message = error.message;
  } catch { /* not the API's words */ }
  throw new ApiError(reply.status, code, message);
}

export async function get<T>(path: string): Promise<T> { return (await ask('GET', path)).json() as Promise<T>; }
export async function post<T>(path: string, body?: unknown): Promise<T> {
  return (await ask('POST', path, body)).json() as Promise<T>;
}
export async function remove<T>(path: string): Promise<T> { return (await ask('DELETE', path)).json() as Promise<T>; }

// Every piece of a growing body, as text, until it ends or is aborted.
export async function stream(path: string, piece: (text: string) => void, signal?: AbortSignal,
                             headers: {[k: string]: string} = {}) {
  const reply = await ask('GET', path, undefined, signal, headers);
  const reader = reply.body!.getReader(), decoder = new TextDecoder();
  for (;;) {
    const {done, value} = await reader.read();
    if (done) break;
    piece(decoder.decode(value, {stream: true}));
  }
}

// Lines of a body one by one.
export async function lines(path: string, line: (text: string) => void) {
  let rest = '';
  await stream(path, piece => {
    const parts = (rest + piece).split('\n');
    rest = parts.pop()!;
    for (const part of parts)
      if (part) line(part);
  });
  if (rest) line(rest);
}

export interface EventFeed { close(): void; }
// Calls `event` with position and line, `state` when the connection comes and goes. Reconnects by itself.
export function events(after: () => number, event: (position: number, line: string) => void,
                       state: (connected: boolean, words: string) => void): EventFeed {
  const control = new AbortController();
  let wait = 250, closed = false;
  const run = async () => {
    while (!closed) {
      let rest = '';
      try {
        await stream('/v1/events', piece => {
          if (wait !== 250 || rest === '') state(true, '');
          wait = 250;
          rest += piece;
          let at;
          while ((at = rest.indexOf('\n\n')) >= 0) {
            take(rest.slice(0, at));
            rest = rest.slice(at + 2);
          }
        }, control.signal, {'Last-Event-ID': String(after())});
        state(false, 'the server ended the stream');
      } catch (error) {
        if (closed) return;
        state(false, error instanceof ApiError ? error.message : 'the server does not answer');
        if (error instanceof ApiError && (error.status === 401 || error.status === 403)) wait = 5000;
      }
      await new Promise(r => setTimeout(r, wait));
      wait = Math.min(4000, wait * 1.6);
    }
  };
  const take = (block: string) => {
    let id = 0, data = '';
    for (const line of block.split('\n')) {
      if (line.startsWith('id: ')) id = Number(line.slice(4));
      else if (line.startsWith('data: ')) data = line.slice(6);
    }
    if (data) event(id, data);
  };
  void run();
  return {close() { closed = true; control.abort(); }};
}

// Signing in with a token, submitting a job, draining a GPU: what changes something. The token stays in this tab.
import {byId, el, setText} from './dom';
import {post} from './net';
import {shellWords} from './shell_words';
import {View} from './view';
import {LiveWorld, World} from './world';

type Say = (words: string, bad?: boolean) => void;

function dialog(id: string, title: string, ...content: Node[]) {
  const close = el('button', {type: 'button', class: 'quiet', 'aria-label': 'Close'}, '×');
  const made = el('dialog', {id, 'aria-label': title}, el('div', {class: 'panel-head'}, el('h2', {}, title), close), ...content);
  close.addEventListener('click', () => made.close());
  document.body.append(made);
  return made;
}

export function signInDialog(world: World, say: Say) {
  const button = byId('sign-in');
  if (!(world instanceof LiveWorld)) {
    button.hidden = true;
    return;
  }
  const field = el('input', {type: 'password', id: 'token', autocomplete: 'off', required: true, minlength: 16});
  const words = el('p', {class: 'bad', role: 'alert', id: 'sign-in-words'});
  const form = el('form', {method: 'dialog'}, el('label', {}, 'Token', field),
    el('p', {class: 'note'}, 'It stands in the file that the daemon named when it started. It stays in this tab.'), words, el('button', {class: 'main'}, 'Sign in'));
  const box = dialog('sign-in-dialog', 'Sign in', form);
  form.addEventListener('submit', event => {
    event.preventDefault();
    world.signIn(field.value.trim()).then(info => {
      field.value = '';
      setText(words, '');
      box.close();
      say(`signed in as ${info.user}${info.operator ? ', operator' : ''}`);
    }, error => setText(words, error.status === 401 ? 'The server does not know this token.' : (error as Error).message));
  });
  button.addEventListener('click', () => {
    if (world.info.signed_in) void world.signOut();
    else box.showModal();
  });
  const show = () => {
    setText(button, world.info.signed_in ? 'Sign out' : 'Sign in');
    setText(byId('who'), world.info.signed_in ? `${world.info.user}${world.info.operator ? ' · operator' : ''}` : 'read only');
  };
  world.on(topic => { if (topic === 'who') show(); });
  show();
}

export function submitDialog(world: World, say: Say) {
  const open = byId('open-submit');
  open.hidden = !world.live;
  const field = (name: string, title: string, placeholder: string, type = 'text', required = false) =>
    el('label', {}, title, el('input', {name, type, placeholder, required, step: 'any', autocomplete: 'off'}));
  const trouble = el('p', {class: 'bad', role: 'alert', id: 'submit-trouble'}), shown = el('p', {class: 'note', id: 'submit-words'});
  const form = el('form', {method: 'dialog', id: 'submit-form'}, field('command', 'Command, quoted as in a shell', 'python3 train.py', 'text', true), shown, field('directory', 'Directory', '/data/me'),
    field('name', 'Name', ''), field('mem', 'GPU memory, GiB', 'learned', 'number'), field('estimate', 'Minutes on a whole GPU', 'learned', 'number'),
    field('deadline', 'Deadline in minutes', 'none', 'number'), trouble, el('button', {class: 'main'}, 'Submit'));
  const box = dialog('submit-dialog', 'Submit a job', form);
  form.querySelector('input')!.addEventListener('input', event => {  // as it will be run
    const line = (event.target as HTMLInputElement).value, {words, error} = shellWords(line);
    setText(shown, line.trim() === '' ? '' : error || words.map(word => `[${word}]`).join(' '));
  });
  form.addEventListener('submit', event => {
    event.preventDefault();
    const data = new FormData(form), text = (key: string) => String(data.get(key) ?? '').trim();
    const command = shellWords(text('command'));
    if (command.error) return setText(trouble, command.error);
    const spec: {[key: string]: unknown} = {command: command.words};
    if (text('directory')) spec.directory = text('directory');
    if (text('name')) spec.name = text('name');
    if (text('mem')) spec.mem_mib = Math.round(1024 * Number(text('mem')));
    if (text('estimate')) spec.estimate_s = 60 * Number(text('estimate'));
    if (text('deadline')) spec.deadline_s = 60 * Number(text('deadline'));
    post<{ids: number[]; warnings: string[]}>('/v1/jobs', spec).then(answer => {
      setText(trouble, '');
      box.close();
      say([`submitted job ${answer.ids.join(', ')}`, ...answer.warnings].join('; '));
    }, error => setText(trouble, (error as Error).message));
  });
  open.addEventListener('click', () => {
    if (world.info.signed_in) box.showModal();
    else byId('sign-in').click();
  });
}

export function drainButton(node: HTMLElement, world: World, view: View, say: Say) {
  const button = el('button', {id: 'drain'});
  const number = () => view.gpu ?? 0;
  const drained = () => world.gpus?.[number()]?.state === 'drained';
  button.addEventListener('click', () => {
    post(`/v1/gpus/${number()}/${drained() ? 'resume' : 'drain'}`).then(
      () => say(`GPU ${number()}: ${drained() ? 'resumes' : 'drains'}`), error => say((error as Error).message, true));
  });
  const choice = el('select', {'aria-label': 'GPU to drain', id: 'drain-gpu'}, ...world.info.gpus.slice(0, 2000).map((_, g) => el('option', {value: g}, 'GPU ' + g)));
  choice.addEventListener('change', () => { view.gpu = Number(choice.value); view.changed(); });
  node.append(choice, button);
  return () => {
    node.hidden = !world.live || !world.info.operator;
    setText(button, drained() ? 'Resume' : 'Drain');
    if (choice.value !== String(number())) choice.value = String(number());
  };
}

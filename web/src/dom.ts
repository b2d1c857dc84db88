// Elements made from plain values. Whatever comes from a job, a user or a driver is set as text, never as markup.
type Child = Node | string | number | null | undefined | false;
type Props = {[key: string]: unknown};

export function el<K extends keyof HTMLElementTagNameMap>(tag: K, props: Props = {}, ...children: Child[]):
    HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (key === 'class')
      made.className = String(value);
    else if (key.startsWith('on') && typeof value === 'function')
      made.addEventListener(key.slice(2), value as EventListener);
    else
      made.setAttribute(key, value === true ? '' : String(value));
  }
  append(made, children);
  return made;
}

function append(to: Node, children: Child[]) {
  for (const child of children)
    if (child !== null && child !== undefined && child !== false)
      to.appendChild(child instanceof Node ? child : document.createTextNode(String(child)));
}

export function fill(parent: Element, ...children: Child[]) {
  parent.textContent = '';
  append(parent, children);
}

// Only where it differs: an unchanged text costs no layout.
export function setText(node: Element, text: string) {
  if (node.textContent !== text) node.textContent = text;
}
export function setAttr(node: Element, name: string, value: string|null) {
  if (value === null) {
    if (node.hasAttribute(name)) node.removeAttribute(name);
  } else if (node.getAttribute(name) !== value) {
    node.setAttribute(name, value);
  }
}
export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

// Keeps the children of a list in step with rows: made once for each key, updated in place, in the order of rows.
export function keyed<Row>(parent: HTMLElement, rows: Row[], key: (row: Row) => string, make: (row: Row) => HTMLElement,
                           update: (node: HTMLElement, row: Row) => void) {
  const have = new Map<string, HTMLElement>();
  for (const node of Array.from(parent.children) as HTMLElement[]) have.set(node.dataset.key ?? '', node);
  let at: ChildNode|null = parent.firstChild;
  for (const row of rows) {
    const k = key(row);
    let node = have.get(k);
    if (node)
      have.delete(k);
    else {
      node = make(row);
      node.dataset.key = k;
    }
    update(node, row);
    if (node === at)
      at = at.nextSibling;
    else
      parent.insertBefore(node, at);
  }
  for (const node of have.values()) node.remove();
}

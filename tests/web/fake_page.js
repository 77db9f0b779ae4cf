// As much of a browser's document as the page's modules draw with, for tests that read what was drawn.

class FakeElement {
  constructor(tag) {
    this.tag = tag;
    this.className = "";
    this.dataset = {};
    this.style = {};
    this.hidden = false;
    this.attributes = {};
    this.children = [];
    this.listeners = {};
    this.parentElement = null;
  }

  append(...nodes) {
    for (const node of nodes) {
      if (node instanceof FakeElement) node.parentElement = this;
      this.children.push(node);
    }
  }

  insertBefore(node, before) {
    node.parentElement = this;
    this.children.splice(before === null ? this.children.length : this.children.indexOf(before), 0, node);
  }

  replaceChildren(...nodes) {
    this.children = [];
    this.append(...nodes);
  }

  remove() {
    const { children } = this.parentElement;
    children.splice(children.indexOf(this), 1);
  }

  setAttribute(name, value) {
    this.attributes[name] = value;
  }

  addEventListener(type, listener) {
    this.listeners[type] = listener;
  }

  get textContent() {
    return this.children.map((node) => node.textContent ?? node).join("");
  }

  set textContent(words) {
    this.children = [String(words)];
  }

  /** Every element below this one that has the class, or is the tag. */
  all(wanted) {
    const below = this.children.filter((node) => node instanceof FakeElement);
    const here = below.filter((node) => node.tag === wanted || node.className.split(" ").includes(wanted));
    return [...here, ...below.flatMap((node) => node.all(wanted))];
  }

  /** The words of those. */
  words(wanted) {
    return this.all(wanted).map((node) => node.textContent);
  }
}

export function element(tag = "div") {
  return new FakeElement(tag);
}

/** Let the modules make elements; to be called before they are used. */
export function openPage() {
  globalThis.document = { createElement: element, createElementNS: (_, tag) => element(tag), createTextNode: (words) => words };
}

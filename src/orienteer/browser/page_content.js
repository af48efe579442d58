// Return the current text of the page and the targets of its links, also in shadow roots, ignoring styles.
(maxLength) => {
  const SKIPPED = new Set(['script', 'style', 'noscript', 'template', 'title']);
  const links = new Set(), texts = [];
  let length = 0;
  const walk = (node, depth) => {
    for (const child of node.childNodes) {
      if (length > maxLength || depth > 2000) return;
      if (child.nodeType === Node.TEXT_NODE) {
        texts.push(child.data);
        length += child.data.length;
      } else if (child.nodeType === Node.ELEMENT_NODE && !SKIPPED.has(child.localName)) {
        const href = child.localName === 'a' || child.localName === 'area' ? child.href : '';
        if (typeof href === 'string' && /^https?:/.test(href)) links.add(href);
        if (child.shadowRoot) walk(child.shadowRoot, depth + 1);
        walk(child, depth + 1);
      }
    }
  };
  walk(document, 0);
  return { text: texts.join(' ').split(/\s+/).join(' ').trim(), links: [...links] };
}

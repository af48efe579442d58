// What the page shows: called in a world of its own, where the page's scripts have changed nothing.
(maxLength, maxElements) => {
  const FORM_PARTS = 'a[href],area[href],button,input,select,textarea,label,option,summary,details,video,audio,[contenteditable],[role=button],[role=tab],[role=checkbox],[role=switch],[role=radio],[role=menuitem],[role=option],[role=slider]';
  const LEADS = /location|navigate|href|router|window\.open|pushState|goto/i;
  const roots = [], links = [], ids = new Set();
  let nElements = 0, nClickable = 0, shadowDepth = 0;

  const target = (element) => {
    const href = element.href;
    const text = typeof href === 'string' ? href : href && href.baseVal;
    if (!text) return '';
    try { return new URL(text, element.baseURI).href; } catch { return ''; }
  };
  const isPointer = (element) => {
    const view = element && element.ownerDocument.defaultView;
    return Boolean(view) && view.getComputedStyle(element).cursor === 'pointer';
  };
  const mayLead = (element) => {
    const handler = element.getAttribute('onclick');
    if (handler && LEADS.test(handler)) return true;
    if (element.getAttribute('role') === 'link') return !element.closest(FORM_PARTS);
    if (nElements > 20000) return false;  // styles of more are not worth their time
    return isPointer(element) && !isPointer(element.parentElement) && !element.closest(FORM_PARTS)
      && element.getClientRects().length > 0;
  };
  const walk = (root, isFrame) => {
    for (const element of root.querySelectorAll('*')) {
      if (++nElements > maxElements) return;
      const name = element.localName;
      if (name === 'a' || name === 'area') {
        const url = target(element);
        if (/^https?:/.test(url)) { links.push(url); continue; }
      }
      if (name === 'iframe' || name === 'frame') {
        let inner = null;
        try { inner = element.contentDocument; } catch { inner = null; }
        if (inner && shadowDepth < 20) { shadowDepth++; walk(inner, true); shadowDepth--; }
      }
      if (element.shadowRoot && shadowDepth < 20) {
        if (!isFrame) roots.push(element.shadowRoot);
        shadowDepth++; walk(element.shadowRoot, isFrame); shadowDepth--;
      }
      if (!isFrame && mayLead(element)) nClickable++;
    }
  };
  walk(document, false);

  const here = location.href.split('#')[0];
  const isRoute = (url) => {
    const [page, fragment] = [url.split('#')[0], url.slice(url.indexOf('#') + 1)];
    if (page !== here || !url.includes('#') || !/^(\/|!)/.test(fragment)) return false;
    let name = fragment;
    try { name = decodeURIComponent(fragment); } catch { name = fragment; }
    return !document.getElementById(fragment) && !document.getElementById(name) && !document.getElementsByName(name).length;
  };

  let dom = '', isCut = nElements > maxElements;
  const top = document.documentElement;
  if (top && !isCut) {
    const type = document.doctype;
    const own = top.cloneNode(false).outerHTML;
    const end = own.lastIndexOf('</');
    dom = (type ? `<!DOCTYPE ${type.name}>` : '') + (end < 0 ? own : own.slice(0, end))
      + top.getHTML({ shadowRoots: roots }) + (end < 0 ? '' : own.slice(end));
    if (dom.length > maxLength) { dom = dom.slice(0, maxLength); isCut = true; }
  }
  return {
    url: location.href, title: document.title, dom, isCut, links, nClickable, hasHashLinks: links.some(isRoute),
  };
}

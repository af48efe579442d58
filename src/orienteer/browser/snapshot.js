// Take a snapshot of the page. Called in an isolated world, where the page's scripts have changed no built-ins.
(maxLength, maxElements) => {
  const CONTROLS = 'a[href],area[href],button,input,select,textarea,label,option,summary,details,video,audio,[contenteditable],[role=button],[role=tab],[role=checkbox],[role=switch],[role=radio],[role=menuitem],[role=option],[role=slider]';
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
    if (element.getAttribute('role') === 'link') return !element.closest(CONTROLS);
    if (nElements > 20000) return false;  // computed styles of more elements take too long
    return isPointer(element) && !isPointer(element.parentElement) && !element.closest(CONTROLS)
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
  const elementNames = new Set([...document.querySelectorAll('[name]')].map((element) => element.getAttribute('name')));
  const isElement = (fragment) => {
    let name = fragment;
    try { name = decodeURIComponent(fragment); } catch { name = fragment; }
    return [fragment, name].some((text) => document.getElementById(text) || elementNames.has(text));
  };
  const toFragments = [...new Set(links)].filter((url) => {  // of this document, without those that name an element
    const [page, fragment] = [url.split('#')[0], url.slice(url.indexOf('#') + 1)];
    return page === here && url.includes('#') && fragment && !/^top$/i.test(fragment) && !isElement(fragment);
  }).slice(0, 10000);
  const isRoute = (url) => /^[^#]*#[/!]/.test(url);

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
    url: location.href, title: document.title, dom, isCut, links, nClickable,
    routes: toFragments.filter(isRoute), names: toFragments.filter((url) => !isRoute(url)),
  };
}

// Measure the page and load more: scroll to the end and click "load more" buttons. New content appears later.
async (before, asks) => {
  const WORDS = /^\W*((load|show|see|view|read) (\d+ )?more|more (results|items|posts|articles|entries)|weitere (\S+ )?(laden|anzeigen)|mehr (\S+ )?(laden|anzeigen)|(charger|afficher|voir) (plus|la suite)|(cargar|mostrar|ver) más|(carregar|mostrar|ver) mais|(carica|mostra|vedi) altr[oi]|meer (laden|tonen|weergeven)|(ladda|visa) fler|(załaduj|pokaż) więcej|(показать|загрузить) (ещ[её]|больше)|もっと(見る|読み込む|表示)|さらに(表示|読み込む)|加载更多|查看更多|顯示更多|載入更多|더 ?보기)/iu;
  const NAMES = /(^|[-_\s])(load|show)-?_?more([-_\s]|$)/i;
  const scroller = () => {
    const page = document.scrollingElement;
    let best = page, most = page ? page.scrollHeight - innerHeight : 0;
    if (most > innerHeight) return page;
    for (const element of document.querySelectorAll('main,section,div,ul,ol')) {
      const hidden = element.scrollHeight - element.clientHeight;
      if (hidden > most && element.clientHeight > innerHeight / 3 && /auto|scroll/.test(getComputedStyle(element).overflowY)) {
        most = hidden; best = element;
      }
    }
    return best;
  };
  const label = (element) =>
    (element.innerText || element.value || element.getAttribute('aria-label') || '').trim().slice(0, 60);
  const isMore = (element) => {
    if (element.disabled || !element.getClientRects().length) return false;
    if (element.form && !['button', 'reset'].includes(element.type)) return false;
    if (element.closest('a[href]') && !/^#?$/.test(element.closest('a[href]').getAttribute('href'))) return false;
    return WORDS.test(label(element)) || WORDS.test(element.getAttribute('aria-label') || '')
      || NAMES.test(element.className) || NAMES.test(element.id);
  };
  const buttons = (root, depth) => {
    const found = [...root.querySelectorAll('button,[role=button],input[type=button]')].find(isMore);
    if (found || depth > 20 || elements > 50000) return found;
    for (const element of root.querySelectorAll('*')) {
      const inner = element.shadowRoot && buttons(element.shadowRoot, depth + 1);
      if (inner) return inner;
    }
    return undefined;
  };
  const list = scroller();
  const links = document.querySelectorAll('a[href]').length, elements = document.querySelectorAll('*').length;
  const now = list ? [list.scrollHeight, links, elements] : [0, 0, 0];
  if (before && now.every((value, i) => value <= before[i])) return { now, more: false };
  const button = buttons(document, 0);
  const height = list === document.scrollingElement ? innerHeight : list ? list.clientHeight : 0;
  const left = list ? list.scrollHeight - height - list.scrollTop : 0;
  if (!button && left <= 1) return { now, more: false };
  if (!asks) return { now, more: true };
  const steps = Math.min(40, Math.ceil(left / Math.max(100, height)));
  for (let i = 1; i <= steps; i++) {
    list.scrollTop = i === steps ? list.scrollHeight : list.scrollTop + height;
    await new Promise((done) => requestAnimationFrame(done));
  }
  if (button) button.click();
  return { now, more: true };
}


(() => {
  'use strict';
  const every = 5000;
  const stale = document.getElementById('stale');
  const main = () => document.querySelector('main');
  let answered = new Date();

  // Whoever marks a command to copy it must not lose the mark.
  const marked = () => {
    const s = getSelection();
    return s && !s.isCollapsed && main().contains(s.anchorNode);
  };

  const show = (page) => {
    const next = page.querySelector('main');
    if (!next) throw new Error('no page');
    for (const before of main().querySelectorAll('details[id]')) {
      const after = next.querySelector('#' + CSS.escape(before.id));
      if (after) after.open = before.open;
    }
    const focus = document.activeElement && main().contains(document.activeElement) ? document.activeElement.id : '';
    const x = scrollX, y = scrollY;
    main().replaceWith(document.adoptNode(next));
    scrollTo(x, y);
    if (focus) document.getElementById(focus)?.focus({preventScroll: true});
    document.title = page.title;
  };

  const refresh = async () => {
    if (document.hidden || marked()) return;
    try {
      const answer = await fetch('/', {cache: 'no-store', credentials: 'same-origin', signal: AbortSignal.timeout(10000)});
      if (answer.status === 401) return location.reload();
      if (!answer.ok) throw new Error(answer.status);
      show(new DOMParser().parseFromString(await answer.text(), 'text/html'));
      answered = new Date();
      stale.hidden = true;
    } catch {
      stale.textContent = 'adsync has not answered since ' + answered.toLocaleTimeString() + '. What is shown is of then.';
      stale.hidden = false;
    }
  };

  const turn = async () => {
    await refresh();
    setTimeout(turn, every);
  };
  setTimeout(turn, every);
  document.addEventListener('visibilitychange', refresh);
})();

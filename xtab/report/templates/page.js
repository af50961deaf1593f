"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const caption = document.getElementById("the-caption");
  const bookkeeping = document.getElementById("show-bookkeeping");
  const ROW = 20;
  let pinned = null; // a region is {section, letter}
  let shown = null;
  document.documentElement.classList.add("scripted");

  // What a region is called and where it goes stands in its row of the legend.
  const legendRow = (region) => region.section.querySelector(`.legend tr[data-r="${region.letter}"]`);
  const anchorOf = (region) => legendRow(region).id;
  const lanesOf = (section) => section.querySelector(bookkeeping.checked ? ".gutter.all" : ".gutter.few");
  const laneOf = (region) => lanesOf(region.section)?.querySelector(`.lane[data-r="${region.letter}"]`);
  const regionAt = (element) => {
    const holder = element?.closest?.("[data-r]");
    return holder && { section: holder.closest("section"), letter: holder.dataset.r };
  };
  const same = (one, other) => one?.section === other?.section && one?.letter === other?.letter;
  const written = (letter) => letter === letter.toUpperCase();
  const rowsOf = (section) => all(".bytecode tbody tr:not(.fold-row)", section);
  const letters = (row) => row.querySelector("td.gut").dataset.c?.split(" ") ?? [];
  const seen = (letter) => bookkeeping.checked || written(letter);

  function step(section, letter) {
    const cells = legendRow({ section, letter }).cells;
    return `${letter} ${cells[1].textContent} (${cells[4].textContent})`;
  }
  function path(section, chain) {
    return [...chain.filter(seen).reverse().map((letter) => step(section, letter)), "caller"].join(" → ");
  }
  function around(region) { // letters, outermost first
    const chain = [];
    for (let { section, letter } = region; letter; letter = legendRow({ section, letter }).dataset.in) chain.unshift(letter);
    return chain;
  }

  // Light some regions of a section, and say why.
  function light(section, chosen, words) {
    clear();
    caption.textContent = words;
    if (!section) return;
    shown = section;
    if (chosen.length) section.classList.add("lit");
    for (const element of all(".lane, .edge, .head, .legend tr", section)) {
      const letter = element.dataset.r ?? element.dataset.e;
      if (letter && chosen.includes(letter)) element.classList.add("on");
    }
  }
  function clear() {
    if (!shown) return;
    shown.classList.remove("lit");
    for (const name of ["on", "in", "spot", "goes"]) all("." + name, shown).forEach((each) => each.classList.remove(name));
    shown = null;
  }
  function showRegion(region) {
    const { section, letter } = region;
    const row = legendRow(region);
    const lines = row.cells[2].textContent;
    const where = lines === "--" ? "What raises in it" : `What raises in lines ${lines}`;
    light(section, [letter], `${where} goes to ${path(section, around(region))}`);
    const covered = new Set();
    for (const each of rowsOf(section)) {
      if (letters(each).includes(letter)) {
        each.classList.add("in");
        if (each.dataset.l) covered.add(each.dataset.l);
      }
    }
    for (const line of all(".source tr", section)) if (covered.has(line.dataset.l)) line.classList.add("in");
    handlerRow(region)?.classList.add("goes");
  }
  function handlerRow(region) {
    return document.getElementById(decodeURIComponent(legendRow(region).cells[4].querySelector("a").hash.slice(1)));
  }
  function showRow(row) {
    const section = row.closest("section");
    const chain = letters(row);
    const words = row.dataset.q === undefined ? `If this raises: ${path(section, chain)}` : "This can't raise.";
    light(section, chain, words);
    row.classList.add("spot");
    const line = section.querySelector(`.source tr[data-l="${row.dataset.l}"]`);
    line?.classList.add("spot");
    if (line) reveal(line);
  }
  function showLine(line) {
    const section = line.closest("section");
    const rows = all(`.bytecode tr[data-l="${line.dataset.l}"]`, section);
    const chain = rows.reduce((best, row) => (letters(row).length > best.length ? letters(row) : best), []);
    light(section, chain, rows.length ? `If line ${line.dataset.l} raises: ${path(section, chain)}` : "");
    for (const each of [line, ...rows]) each.classList.add("spot");
  }
  function reveal(line) { // scroll the source alone, never the page
    const pane = line.closest(".source");
    const box = line.getBoundingClientRect(), frame = pane.getBoundingClientRect();
    if (box.top < frame.top) pane.scrollTop += box.top - frame.top - ROW;
    else if (box.bottom > frame.bottom) pane.scrollTop += box.bottom - frame.bottom + ROW;
  }
  function rest() {
    if (pinned) showRegion(pinned);
    else light(null, [], "Point at an instruction, a line or a bracket.");
  }
  function show(element) {
    const region = regionAt(element);
    if (region) return showRegion(region);
    const row = element?.closest?.(".bytecode tbody tr:not(.fold-row)");
    if (row) return showRow(row);
    const line = element?.closest?.(".source tr");
    if (line) return showLine(line);
    rest();
  }

  // Pin: the region stays lit, and its name stands in the address.
  function pin(region) {
    pinned = region;
    for (const each of all(".lane[aria-pressed]")) {
      each.setAttribute("aria-pressed", String(Boolean(region) && same(regionAt(each), region)));
    }
    address(region ? anchorOf(region) : "");
    rest();
  }
  function address(anchor) {
    try {
      history.replaceState(null, "", anchor ? "#" + encodeURI(anchor) : location.pathname + location.search);
    } catch { /* a frame within a notebook has no address of its own */ }
  }

  // Go to what an anchor names, unfolded.
  function go(anchor, focus) {
    const target = document.getElementById(anchor);
    if (!target) return;
    if (target.matches(".legend tr")) {
      const region = regionAt(target);
      if (!written(region.letter)) bookkeeping.checked = true;
      toggle();
      pin(region);
      scrollTo(laneOf(region)?.querySelector(".tag") ?? target, "nearest");
      return;
    }
    unfold(target.closest("tbody.fold"));
    scrollTo(target, target.matches("section") ? "start" : "center");
    if (focus || target.matches("tr")) {
      target.tabIndex = -1;
      target.focus({ preventScroll: true });
    }
  }
  const scrollTo = (element, block) => element.scrollIntoView({ block, inline: "nearest" });
  const readAddress = () => {
    let anchor = location.hash.slice(1);
    try { anchor = decodeURIComponent(anchor); } catch { /* not one of ours */ }
    if (anchor) go(anchor, false);
  };

  document.addEventListener("pointerover", (event) => {
    if (!event.target.closest("footer, .top")) show(event.target);
  });
  document.addEventListener("pointerleave", rest);
  document.addEventListener("focusin", (event) => {
    if (event.target.matches(":focus-visible")) show(event.target);
  });
  document.addEventListener("click", (event) => {
    const picker = event.target.closest(".picker");
    for (const each of all(".picker[open]")) if (each !== picker || event.target.closest("a")) each.open = false;
    const link = event.target.closest('a[href^="#"]');
    const region = regionAt(event.target.closest(".lane, a[data-r]"));
    if (region) {
      event.preventDefault();
      pin(same(region, pinned) ? null : region);
    } else if (link) {
      event.preventDefault();
      const anchor = decodeURIComponent(link.getAttribute("href").slice(1));
      address(anchor);
      go(anchor, true);
    } else if (pinned && event.target.closest("main") && !event.target.closest(".source, button")) {
      pin(null);
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const lane = event.target.closest?.(".lane");
    if (lane && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault();
      pin(same(regionAt(lane), pinned) ? null : regionAt(lane));
    } else if (event.key === "Escape") {
      for (const each of all(".picker[open]")) {
        each.open = false;
        each.querySelector("summary").focus();
      }
      pin(null);
    } else if (event.key === "j" || event.key === "k") {
      move(event.key === "j" ? 1 : -1);
    } else if (event.key === "h") {
      const region = regionAt(document.activeElement) ?? pinned;
      const row = region && handlerRow(region);
      if (row) go(row.id, true);
    }
  });

  // The next or the previous region, from where one is, or else from what is on the screen.
  function move(by) {
    const lanes = all(`.bytecode .gutter.${bookkeeping.checked ? "all" : "few"} .lane`);
    if (!lanes.length) return;
    const here = regionAt(document.activeElement) ?? pinned;
    let at = here ? lanes.findIndex((each) => same(regionAt(each), here)) : -1;
    if (at >= 0) at += by;
    else {
      const from = document.activeElement.closest("section") ?? all("section").find((each) => each.getBoundingClientRect().bottom > 120);
      at = lanes.findIndex((each) => from === each.closest("section") || from.compareDocumentPosition(each) & 4);
      if (by < 0) at -= 1;
    }
    const lane = lanes[(at + lanes.length) % lanes.length];
    lane.focus({ preventScroll: true });
    showRegion(regionAt(lane));
    scrollTo(lane.querySelector(".tag"), "nearest");
  }

  function toggle() {
    for (const box of all(".toggles input")) document.body.classList.toggle(box.id, box.checked);
  }
  document.querySelector(".toggles").addEventListener("change", () => {
    toggle();
    if (!bookkeeping.checked && pinned && !written(pinned.letter)) pin(null);
    else rest();
  });
  window.addEventListener("hashchange", readAddress);

  // Folding: the shapes were laid out for rows that are all shown; each y moves up by what is folded above it.
  const original = new WeakMap();
  function fold(body) {
    const rows = body.rows.length;
    const holder = document.createElement("tbody");
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = `… ${rows} rows`;
    button.addEventListener("click", () => {
      unfold(body);
      body.rows[0].tabIndex = -1;
      body.rows[0].focus();
    });
    const row = holder.insertRow();
    row.className = "fold-row";
    const cell = row.insertCell();
    cell.colSpan = 9;
    cell.append(button);
    body.before(holder);
    body.hidden = true;
  }
  function unfold(body) {
    if (!body?.hidden) return;
    body.previousElementSibling.remove();
    body.hidden = false;
    relocate(body.closest("section"));
  }
  function relocate(section) {
    const folds = []; // first row and number of rows of each that is folded
    let first = 0;
    for (const body of all(".bytecode tbody", section)) {
      if (body.firstElementChild?.className === "fold-row") continue;
      if (body.hidden) folds.push([first, body.rows.length]);
      first += body.rows.length;
    }
    const moved = (y) => {
      let by = 0;
      for (const [start, rows] of folds) {
        const inside = y - start * ROW;
        if (inside <= 0) break;
        by += Math.max(0, Math.min(inside, rows * ROW) - Math.min(inside, ROW));
      }
      return y - by;
    };
    for (const element of all(".bytecode .gutter :is(path, rect, text)", section)) {
      const kept = original.get(element) ?? { d: element.getAttribute("d"), y: +element.getAttribute("y"), height: +element.getAttribute("height") };
      original.set(element, kept);
      if (kept.d) {
        element.setAttribute("d", kept.d.replace(/([ML][\d.]+ |V)([\d.]+)/g, (_, before, y) => before + moved(+y)));
      } else {
        element.setAttribute("y", moved(kept.y));
        if (kept.height) element.setAttribute("height", moved(kept.y + kept.height) - moved(kept.y));
      }
    }
  }
  for (const section of all("section")) {
    const bodies = all("tbody.fold", section);
    bodies.forEach(fold);
    if (bodies.length) relocate(section);
  }
  toggle();
  rest();
  readAddress();
})();

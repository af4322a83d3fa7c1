"use strict";
// The page follows the server: changed sections are put in place, and scroll, sort and open tables stay as they are.
(() => {
  const { project, question } = document.body.dataset;
  const search = location.search;
  const connection = document.getElementById("connection");
  const kept = new Map();
  const remember = (root) => ({
    open: [...root.querySelectorAll("details[open]")].map((each) => each.querySelector("table")?.id ?? each.id),
    sorted: [...root.querySelectorAll("th[aria-sort]")].map((each) => [each.closest("table").id, each.cellIndex, each.getAttribute("aria-sort")]),
  });
  const restore = (root, { open, sorted }) => {
    for (const each of root.querySelectorAll("details")) {
      if (open.includes(each.querySelector("table")?.id ?? each.id)) each.open = true;
    }
    for (const [id, place, direction] of sorted) {
      const heading = root.querySelector(`table[id="${CSS.escape(id)}"]`)?.tHead.rows[0].cells[place];
      const button = heading?.querySelector(".sort");
      if (!button) continue;
      button.click();
      if (direction === "descending") button.click();
    }
  };
  // A chart stays where it is until the new one is drawn: nothing flickers.
  const put = (id, html) => {
    const template = document.createElement("template");
    template.innerHTML = html;
    const old = document.getElementById(id);
    const state = old ? remember(old) : { open: [], sorted: [] };
    if (id === "live") {
      old.replaceChildren(template.content);
    } else if (old) {
      old.replaceWith(template.content);
    } else {
      document.getElementById("sections").append(template.content);
    }
    const fresh = document.getElementById(id);
    if (fresh) restore(fresh, state);
  };
  const heights = () => new Map([...document.querySelectorAll(".chart")].map((each) => [each.dataset.chart, each.offsetHeight]));
  const show = (found) => {
    const before = heights();
    const top = window.scrollY;
    for (const [id, html] of Object.entries(found.sections)) {
      const charts = JSON.stringify([...html.matchAll(/data-chart="([^"]*)"/g)].map(([, name]) => found.specs[name]));
      if (kept.get(id) === html + charts) continue;
      kept.set(id, html + charts);
      put(id, html);
    }
    for (const each of document.querySelectorAll(".chart:not([data-drawn])")) {
      const height = before.get(each.dataset.chart);
      if (height) each.style.minHeight = `${height}px`;
    }
    window.scrollTo({ top, behavior: "instant" });
    dispatchEvent(new CustomEvent("sections", { detail: found.specs }));
    document.body.dataset.version = found.version;
  };
  let asking = false;
  let again = false;
  let later;
  const ask = async () => {
    if (asking) { again = true; return; }
    asking = true;
    try {
      const answer = await fetch(`/changing${search}`, { headers: { Accept: "application/json" } });
      if (answer.ok) {
        const found = await answer.json();
        show(found);
        clearTimeout(later);
        if (found.is_behind) later = setTimeout(ask, 5000);
      }
    } catch { /* the connection says so */ }
    asking = false;
    if (again) { again = false; setTimeout(ask, 250); }
  };
  const say = (words, lost) => {
    connection.textContent = words;
    connection.classList.toggle("lost", lost);
  };
  const events = new EventSource("/events");
  let wasLost = false;
  events.addEventListener("open", () => {
    say("● live", false);
    if (wasLost) question === undefined ? location.reload() : ask();
    wasLost = false;
  });
  events.addEventListener("error", () => { wasLost = true; say("○ no connection; trying again", true); });
  events.addEventListener("changed", (event) => {
    const changed = JSON.parse(event.data);
    if (question === undefined) { location.reload(); return; }
    if (changed.project === project && changed.question === question) ask();
  });
})();

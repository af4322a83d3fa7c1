"use strict";
// The page follows the server: changed sections are redrawn in place.
(() => {
  const { project, question } = document.body.dataset;
  const search = location.search;
  const connection = document.getElementById("connection");
  const show = (content) => {
    spagree.redraw(content, document.getElementById("sections"));
    document.body.dataset.version = content.version;
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
        const content = await answer.json();
        show(content);
        clearTimeout(later);
        if (content.is_behind) later = setTimeout(ask, 5000);
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

"use strict";
// The page follows the server: changed sections are redrawn in place.
(() => {
  const { project, question } = document.body.dataset;
  const search = location.search;
  const connection = document.getElementById("connection");
  const show = (content) => {
    spagree.redraw(content);
    localise();
    document.body.dataset.version = content.version;
  };
  // Moments in the reader's own time, as the chart has them.
  const two = (number) => String(number).padStart(2, "0");
  const localise = () => {
    for (const each of document.querySelectorAll("time[data-at]")) {
      const at = new Date(1000 * Number(each.dataset.at));
      each.textContent = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}`;
    }
  };
  localise();
  let asking = false;
  let again = false;
  const ask = async () => {
    if (asking) { again = true; return; }
    asking = true;
    try {
      const answer = await fetch(`/changing${search}`, { headers: { Accept: "application/json" } });
      if (answer.ok) {
        const content = await answer.json();
        show(content);
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

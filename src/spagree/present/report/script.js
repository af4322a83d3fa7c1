"use strict";
// Charts, sorting, filters and downloads. The page is complete without this: every number is in a table.
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  let specs = read("specs");
  const theme = read("theme");
  const PHONE = 480;
  const NARROWEST = 240;

  // Charts ------------------------------------------------------------------------------------
  // A chart is as wide as its column, and names get less room on a phone.
  const fitted = (spec, room) => {
    const narrow = room < PHONE;
    const square = spec.width === spec.height;
    const width = Math.max(NARROWEST, Math.min(room, spec.width + (square ? 120 : 180)));
    return {
      ...spec,
      width,
      height: square ? width + 20 : spec.height,
      autosize: { type: square ? "fit" : "fit-x", contains: "padding" },
      config: {
        ...theme,
        axis: { ...theme.axis, labelLimit: narrow ? 110 : 170 },
        // A title longer than a narrow axis starts under the names beside the axis.
        axisX: narrow ? { titleAnchor: "end", titleLimit: width } : {},
        legend: { ...theme.legend, direction: narrow ? "vertical" : "horizontal" },
      },
    };
  };

  // Clicking a cell or a dot of a class or annotator filters the items.
  const picked = (place, datum) => {
    if (datum?.pick) choose(place, datum.pick, datum.name);
  };
  // The drawing library is deflated and base64-encoded; the page's policy contains its hash. A browser that cannot
  // unpack it shows only the tables.
  const unpack = async () => {
    const packed = Uint8Array.from(atob(document.getElementById("library").textContent), (each) => each.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script); // runs at once
    script.remove();
    return window.vegaEmbed;
  };
  let embed;
  const library = () => (embed ??= window.vegaEmbed ? Promise.resolve(window.vegaEmbed) : unpack());

  const draw = (place) =>
    library().then((vegaEmbed) => vegaEmbed(place, fitted(specs[place.dataset.chart], place.clientWidth), {
      mode: "vega-lite",
      ast: true, // the page's policy allows no eval
      renderer: "svg",
      actions: false,
      defaultStyle: false,
      logLevel: 1,
      tooltip: { disableDefaultStyle: true },
    })).then((drawn) => {
      drawn.view.addEventListener("click", (_, mark) => picked(place, mark?.datum));
      place.classList.toggle("picks", JSON.stringify(specs[place.dataset.chart].data ?? {}).includes('"pick"'));
      place.setAttribute("data-drawn", "");
      place.style.removeProperty("min-height");
    }, (error) => {
      place.textContent = "The chart could not be drawn; its numbers are in the table.";
      console.error(error);
    });

  const widths = new WeakMap();
  const drawAll = () => {
    for (const place of document.querySelectorAll(".chart")) {
      if (place.clientWidth && widths.get(place) !== place.clientWidth) {
        widths.set(place, place.clientWidth);
        draw(place);
      }
    }
  };
  let waiting;
  addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(drawAll, 150);
  });

  // Tables ------------------------------------------------------------------------------------
  // Numbers sort by full value, intervals by lower end, names in natural order; missing values stay last.
  const key = (cell) => {
    const value = cell.dataset.value ?? cell.dataset.low;
    if (value === undefined) return cell.textContent;
    return value === "" ? null : Number(value);
  };
  const compare = (a, b) => (typeof a === "number" ? a - b : a.localeCompare(b, undefined, { numeric: true }));
  const sort = (heading, direction) => {
    const place = heading.cellIndex;
    const body = heading.closest("table").tBodies[0];
    const rows = [...body.rows].map((row) => [key(row.cells[place]), row]);
    const known = rows.filter(([value]) => value !== null).sort((a, b) => compare(a[0], b[0]));
    if (direction === "descending") known.reverse();
    for (const other of heading.parentNode.cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", direction);
    body.append(...[...known, ...rows.filter(([value]) => value === null)].map(([, row]) => row));
  };
  const folded = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  const find = (input) => {
    const wanted = folded(input.value.trim());
    const rows = [...document.getElementById(input.dataset.find).tBodies[0].rows];
    for (const row of rows) row.hidden = wanted !== "" && !folded(row.textContent).includes(wanted);
    const seen = rows.filter((row) => !row.hidden).length;
    input.closest(".find").querySelector("output").textContent = wanted ? `${seen} of ${rows.length} rows` : "";
  };

  // CSV: all text is quoted, since spreadsheets also split lines at other characters; text that a spreadsheet would
  // run as a formula gets a leading apostrophe. Numbers are plain; an interval becomes two numbers.
  const FORMULA = /^[\s"']*[=+\-@\t\r\uFF1D\uFF0B\uFF0D\uFF20]/;
  const quoted = (text) => `"${text.replaceAll('"', '""')}"`;
  const exported = (cell) => {
    const { value, low, high, ends, full } = cell.dataset;
    if (value !== undefined) return value;
    if (low !== undefined) return `${low},${high}`;
    if (ends !== undefined) return ends.split(" ").map(quoted).join(",");
    const text = full ?? cell.textContent;
    return quoted(FORMULA.test(text) ? `'${text}` : text);
  };
  const MARK = "\uFEFF"; // tells Excel that this is UTF-8
  const csv = (table) => [...table.rows].map((row) => [...row.cells].map(exported).join(",")).join("\r\n") + "\r\n";
  const download = ({ dataset }) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([MARK, csv(document.getElementById(dataset.table))], { type: "text/csv" }));
    link.download = `${dataset.file}.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  const copy = async (button) => {
    const text = document.getElementById(button.dataset.copy).textContent;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(document.getElementById(button.dataset.copy));
      button.textContent = "Selected: press Ctrl+C";
    }
    setTimeout(() => (button.textContent = "Copy"), 2000);
  };

  // Items -------------------------------------------------------------------------------------
  const has = (card, name, wanted) => !wanted || wanted.split(" ").some((each) => card.dataset[name].split(" ").includes(each));
  const fits = (card, wanted) =>
    has(card, "classes", wanted.class) &&
    has(card, "classes", wanted.other) &&
    has(card, "annotators", wanted.annotator) &&
    (!wanted.from || (card.dataset.last ?? "") >= wanted.from) &&
    (!wanted.to || (card.dataset.first ?? "9") <= wanted.to) &&
    (!wanted.text || folded(card.textContent).includes(folded(wanted.text.trim())));
  const filter = (form) => {
    const wanted = Object.fromEntries(new FormData(form));
    const box = form.closest(".items");
    const cards = [...box.querySelectorAll(".card")];
    const filtered = Object.values(wanted).some((value) => value.trim() !== "");
    for (const card of cards) card.classList.toggle("out", !fits(card, wanted));
    const seen = cards.filter((card) => !card.classList.contains("out")).length;
    const list = box.querySelector(".cards");
    const more = box.querySelector(".all-cards");
    list.classList.toggle("all", filtered || list.dataset.all === "");
    more.hidden = list.classList.contains("all") || cards.length <= 6;
    form.querySelector("output").textContent = filtered ? `${seen} of ${cards.length} items` : "";
  };
  // Keys are a class, two classes ("3 5"), annotators ("a7 a9") or days ("d2024-03-01 d2024-03-07").
  const choose = (from, keys, name) => {
    const near = from.closest("[data-question]") ?? document;
    const form = near.querySelector(".filters");
    if (!form) return;
    form.reset();
    const [first, second] = keys.split(" ");
    if (first.startsWith("d")) {
      if (!form.elements.from) return;
      form.elements.from.value = first.slice(1);
      form.elements.to.value = second.slice(1);
    } else if (first.startsWith("a")) {
      const people = form.elements.annotator; // those of the items here
      if (!people) return;
      if (![...people.options].some((each) => each.value === keys)) people.add(new Option(name, keys));
      people.value = keys;
    } else {
      form.elements.class.value = first;
      form.elements.other.value = second === first ? "" : (second ?? "");
    }
    filter(form);
    form.scrollIntoView({ block: "start" });
  };

  const DO = {
    sort: (button) => {
      const heading = button.closest("th");
      sort(heading, heading.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending");
    },
    download,
    copy,
    pick: (button) => choose(button, button.dataset.pick, button.textContent),
    "all-cards": (button) => {
      const box = button.closest(".items");
      box.querySelector(".cards").dataset.all = "";
      filter(box.querySelector(".filters"));
    },
  };
  // A link opens what it leads to, and filters the items where it names some.
  const reveal = () => {
    const place = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let each = place?.matches?.("details") ? place : place?.closest?.("details"); each; each = each.parentElement.closest("details")) each.open = true;
    place?.scrollIntoView({ block: "start" });
  };
  addEventListener("hashchange", reveal);
  addEventListener("toggle", () => drawAll(), true);
  addEventListener("click", (event) => {
    const link = event.target.closest("a[data-pick]");
    if (link) setTimeout(() => choose(link, link.dataset.pick, link.dataset.names));
    const button = event.target.closest("button");
    const act = button && Object.keys(DO).find((name) => button.classList.contains(name));
    if (act) DO[act](button);
  });
  addEventListener("input", (event) => {
    if (event.target.dataset.find) find(event.target);
    const form = event.target.closest(".filters");
    if (form) filter(form);
  });
  addEventListener("reset", (event) => setTimeout(() => event.target.matches(".filters") && filter(event.target)));
  addEventListener("submit", (event) => event.target.matches(".filters") && event.preventDefault());

  // A scrolling box can be focused and scrolled with the keyboard; other boxes are not tab stops.
  const reachable = new ResizeObserver((changes) => {
    for (const { target } of changes) {
      const scrolls = target.scrollWidth > target.clientWidth;
      const names = { tabindex: "0", role: "region", "aria-label": target.dataset.name };
      for (const [name, value] of Object.entries(names)) {
        if (scrolls) target.setAttribute(name, value);
        else target.removeAttribute(name);
      }
    }
  });
  // The navigation highlights the section on screen.
  const seen = new IntersectionObserver((changes) => {
    for (const { target, isIntersecting } of changes) {
      const link = document.querySelector(`nav.sections a[href="#${CSS.escape(target.id)}"]`);
      if (link && isIntersecting) link.setAttribute("aria-current", "true");
      else link?.removeAttribute("aria-current");
    }
  }, { rootMargin: "-20% 0px -70% 0px" });
  const prepare = (root = document) => {
    for (const box of root.querySelectorAll(".table-box")) reachable.observe(box);
    for (const part of root.querySelectorAll(".download, .copy, .find, .filters")) part.hidden = false;
    for (const button of root.querySelectorAll(".pick")) button.disabled = false;
    for (const form of root.querySelectorAll(".filters")) filter(form);
    for (const section of root.querySelectorAll("main > section[id], .question")) seen.observe(section);
  };

  // Redrawing ---------------------------------------------------------------------------------
  // A section's new HTML replaces the old one; what the reader opened, sorted, typed and scrolled to stays.
  const remember = (root) => ({
    open: [...root.querySelectorAll("details[open]")].map((each) => each.querySelector("table")?.id ?? each.id),
    sorted: [...root.querySelectorAll("th[aria-sort]")].map((each) => [each.closest("table").id, each.cellIndex, each.getAttribute("aria-sort")]),
    typed: [...root.querySelectorAll("input[type=search], .filters input, .filters select")].map((each) => each.value),
    all: root.querySelector(".cards")?.dataset.all,
    heights: [...root.querySelectorAll(".chart")].map((each) => [each.dataset.chart, each.offsetHeight]),
  });
  const restore = (root, state) => {
    for (const each of root.querySelectorAll("details")) {
      if (state.open.includes(each.querySelector("table")?.id ?? each.id)) each.open = true;
    }
    for (const [id, place, direction] of state.sorted) {
      const heading = root.querySelector(`table[id="${CSS.escape(id)}"]`)?.tHead.rows[0].cells[place];
      if (heading) sort(heading, direction);
    }
    const fields = [...root.querySelectorAll("input[type=search], .filters input, .filters select")];
    if (fields.length === state.typed.length) fields.forEach((each, place) => (each.value = state.typed[place]));
    if (state.all !== undefined && root.querySelector(".cards")) root.querySelector(".cards").dataset.all = "";
    for (const [name, height] of state.heights) {
      const chart = root.querySelector(`[data-chart="${CSS.escape(name)}"]`);
      if (chart) chart.style.minHeight = `${height}px`; // keeps the layout still until the new chart is drawn
    }
    prepare(root);
    for (const input of root.querySelectorAll("input[data-find]")) if (input.value) find(input);
  };
  const redrawn = new Map();
  const put = (id, html, into) => {
    const template = document.createElement("template");
    template.innerHTML = html;
    const old = document.getElementById(id);
    const state = old && remember(old);
    if (old?.dataset.inner === "") old.replaceChildren(template.content);
    else if (old) old.replaceWith(template.content);
    else into.append(template.content);
    const fresh = document.getElementById(id);
    if (fresh && state) restore(fresh, state);
    else if (fresh) prepare(fresh);
  };
  const redraw = ({ sections, specs: fresh }, into = document.getElementById("main")) => {
    const top = window.scrollY;
    const focus = document.activeElement?.id;
    specs = fresh;
    for (const [id, html] of Object.entries(sections)) {
      const charts = JSON.stringify([...html.matchAll(/data-chart="([^"]*)"/g)].map(([, name]) => fresh[name]));
      if (redrawn.get(id) === html + charts) continue;
      redrawn.set(id, html + charts);
      put(id, html, into);
    }
    window.scrollTo({ top, behavior: "instant" });
    if (focus && document.activeElement?.id !== focus) document.getElementById(focus)?.focus({ preventScroll: true });
    drawAll();
  };

  drawAll();
  prepare();
  reveal();
  window.spagree = { redraw };
  document.documentElement.setAttribute("data-ready", "");
})();

"use strict";
// Charts, sorting and downloads. The page is complete without: every number stands in its tables.
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  let specs = read("specs");
  const theme = read("theme");
  const PHONE = 480;

  // A chart is as wide as its column, and names get less room on a phone.
  const fitted = (spec, room) => {
    const narrow = room < PHONE;
    const square = spec.width === spec.height;
    const width = Math.max(220, Math.min(room, spec.width + (square ? 120 : 180)));
    return {
      ...spec,
      width,
      height: square ? width + 20 : spec.height,
      autosize: { type: square ? "fit" : "fit-x", contains: "padding" },
      config: {
        ...theme,
        axis: { ...theme.axis, labelLimit: narrow ? 110 : 170 },
        // A title may be longer than a narrow axis: it then begins under the names beside it.
        axisX: narrow ? { titleAnchor: "end", titleLimit: width } : {},
        legend: { ...theme.legend, direction: narrow ? "vertical" : "horizontal" },
      },
    };
  };

  const draw = (place) =>
    vegaEmbed(place, fitted(specs[place.dataset.chart], place.clientWidth), {
      mode: "vega-lite",
      ast: true, // the page's policy allows no eval
      renderer: "svg",
      actions: false,
      defaultStyle: false,
      logLevel: 1,
      tooltip: { disableDefaultStyle: true },
    }).then(() => place.setAttribute("data-drawn", ""), (error) => {
      place.textContent = "The chart could not be drawn; its numbers are in the table.";
      console.error(error);
    });

  const widths = new WeakMap();
  const drawAll = () => {
    for (const place of document.querySelectorAll(".chart")) {
      if (widths.get(place) !== place.clientWidth) {
        widths.set(place, place.clientWidth);
        draw(place);
      }
    }
  };
  drawAll();
  // A live page brings new sections: their charts are drawn where the old ones were.
  addEventListener("sections", (event) => {
    specs = event.detail;
    drawAll();
    prepare();
  });
  let waiting;
  addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(drawAll, 150);
  });

  // Sorting: numbers by their full value, intervals by their lower end, names as people sort them; what is missing
  // stays last.
  const key = (cell) => {
    const value = cell.dataset.value ?? cell.dataset.low;
    if (value === undefined) return cell.textContent;
    return value === "" ? null : Number(value);
  };
  const compare = (a, b) => (typeof a === "number" ? a - b : a.localeCompare(b, undefined, { numeric: true }));
  const sort = (heading) => {
    const place = heading.cellIndex;
    const body = heading.closest("table").tBodies[0];
    const down = heading.getAttribute("aria-sort") === "ascending";
    const rows = [...body.rows].map((row) => [key(row.cells[place]), row]);
    const known = rows.filter(([value]) => value !== null).sort((a, b) => compare(a[0], b[0]));
    if (down) known.reverse();
    for (const other of heading.parentNode.cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    body.append(...[...known, ...rows.filter(([value]) => value === null)].map(([, row]) => row));
  };
  addEventListener("click", (event) => {
    const button = event.target.closest(".sort");
    if (button) sort(button.closest("th"));
  });

  // A box that scrolls can be reached and scrolled with the keyboard; one that does not is no stop on the way.
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

  // CSV: every text is quoted, since spreadsheets split lines at other characters as well, and one that a spreadsheet
  // would run as a formula gets an apostrophe in front. Numbers are plain, and an interval is two of them.
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
  const MARK = "\uFEFF"; // by which Excel knows UTF-8
  const csv = (table) => [...table.rows].map((row) => [...row.cells].map(exported).join(",")).join("\r\n") + "\r\n";
  addEventListener("click", (event) => {
    const button = event.target.closest(".download");
    if (!button) return;
    const name = button.dataset.table;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([MARK, csv(document.getElementById(`table-${name}`))], { type: "text/csv" }));
    link.download = `${button.dataset.file}.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
  const prepare = () => {
    for (const box of document.querySelectorAll(".table-box")) reachable.observe(box);
    for (const button of document.querySelectorAll(".download")) button.hidden = false;
  };
  prepare();

  // On paper nothing can be opened: everything is.
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const each of closed) each.open = true;
  });
  addEventListener("afterprint", () => {
    for (const each of closed) each.open = false;
  });
  document.documentElement.setAttribute("data-ready", "");
})();

"use strict";
// The theme: what the system says, until the button is used. Pages opened from a disk may have no storage.
const root = document.documentElement, button = document.getElementById("theme");
const stored = { get() { try { return localStorage.getItem("theme"); } catch { return null; } },
                 set(value) { try { localStorage.setItem("theme", value); } catch { /* for this page only */ } } };
if (["light", "dark"].includes(stored.get())) root.dataset.theme = stored.get();
button.hidden = false;
button.addEventListener("click", () => {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  stored.set(root.dataset.theme);
});

// A click on a heading sorts by its column, a second one the other way round.
const valueOf = (row, column) => {
  const cell = row.cells[column], text = cell.dataset.value ?? cell.textContent.trim(), number = parseFloat(text.replace(/[,=]/g, ""));
  return Number.isNaN(number) ? text.toLowerCase() : number;
};
const compare = (a, b) => (typeof a === typeof b ? (a < b ? -1 : a > b ? 1 : 0) : typeof a === "number" ? -1 : 1);
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    head.tabIndex = 0;
    const sort = () => {
      const way = head.getAttribute("aria-sort") === "ascending" ? -1 : 1, body = table.tBodies[0];
      const rows = [...body.rows].sort((a, b) => way * compare(valueOf(a, column), valueOf(b, column)));
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", way === 1 ? "ascending" : "descending");
      body.append(...rows);
    };
    head.addEventListener("click", sort);
    head.addEventListener("keydown", (event) => { if (event.key === "Enter") sort(); });
  });
}

"use strict";
document.documentElement.classList.add("js");
for (const table of document.querySelectorAll("table[data-list]")) {
  const tools = table.closest(".scroll").previousElementSibling;
  const rows = () => Array.from(table.tBodies[0]?.classList.contains("g") ? table.tBodies : table.tBodies[0]?.rows ?? []);
  const first = (entry) => (entry.rows ? entry.rows[0] : entry);
  const shown = tools.querySelector("output");
  const filter = tools.querySelector("input");
  // A long list begins with its first rows, each group folded; paper has all of it.
  const page = 100;
  let limit = page;
  const more = document.createElement("button");
  more.type = "button";
  table.closest(".scroll").after(more);
  const cut = () => {
    const filtered = filter.value.trim() !== "";
    const all = rows();
    all.forEach((entry, place) => entry.classList.toggle("later", !filtered && place >= limit));
    more.hidden = filtered || all.length <= limit;
    more.textContent = "Show " + Math.min(10 * page, all.length - limit) + " more of " + all.length;
  };
  more.addEventListener("click", () => { limit += 10 * page; cut(); });
  filter.addEventListener("input", () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const entry of rows()) {
      const text = entry.textContent.toLowerCase();
      entry.hidden = !words.every((word) => text.includes(word));
      if (!entry.hidden) count++;
    }
    shown.textContent = words.length ? count + " shown" : "";
    cut();
  });
  const fold = (entry, closed) => {
    entry.classList.toggle("closed", closed);
    const button = entry.querySelector(".fold");
    if (button) { button.textContent = closed ? "▸" : "▾"; button.setAttribute("aria-expanded", String(!closed)); }
  };
  for (const button of tools.querySelectorAll("button[data-fold]"))
    button.addEventListener("click", () => rows().forEach((entry) => fold(entry, button.dataset.fold === "close")));
  if (rows().length > page / 5) rows().forEach((entry) => { if (entry.rows) fold(entry, true); });
  cut();
  table.addEventListener("click", (event) => {
    const button = event.target.closest(".fold");
    if (button) { const entry = button.closest("tbody"); fold(entry, !entry.classList.contains("closed")); }
  });
  Array.from(table.tHead.rows[0].cells).forEach((head, place) => {
    if (!head.hasAttribute("data-sort")) return;
    head.tabIndex = 0;
    const sort = () => {
      const down = head.getAttribute("aria-sort") !== "descending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (entry) => { const cell = first(entry).cells[place]; return cell.dataset.v ?? cell.textContent; };
      const numeric = head.classList.contains("n");
      const sorted = rows().sort((a, b) => {
        const [x, y] = [key(a), key(b)];
        const order = numeric ? Number(x || -1) - Number(y || -1) : x.localeCompare(y);
        return down ? -order : order;
      });
      for (const entry of sorted) entry.parentNode.appendChild(entry);
      cut();
    };
    head.addEventListener("click", sort);
    head.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); sort(); } });
  });
}

// Cognate's pages work without this. It adds keys, copying, and pages that keep themselves up to date.
"use strict";
(() => {
  const typing = (target) => target.closest("input, textarea, select, [contenteditable]");

  // --- Rows of tables by keys
  const rows = () => [...document.querySelectorAll("table[data-rows] > tbody > tr")];
  let here = null;
  const go = (step) => {
    const all = rows();
    if (!all.length) return;
    const place = here && all.includes(here) ? all.indexOf(here) + step : step > 0 ? 0 : all.length - 1;
    const next = all[Math.max(0, Math.min(all.length - 1, place))];
    if (here) here.classList.remove("here");
    here = next;
    here.classList.add("here");
    const target = here.querySelector("a, button, input");
    if (target) target.focus({ preventScroll: true });
    here.scrollIntoView({ block: "nearest" });
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || typing(event.target)) return;
    if (event.key === "j") go(1);
    else if (event.key === "k") go(-1);
    else if (event.key === "/") {
      const field = document.querySelector("[data-filter]");
      if (!field) return;
      event.preventDefault();
      field.focus();
    }
  });

  // --- Copying
  for (const button of document.querySelectorAll("button[data-copy]")) {
    if (!navigator.clipboard) continue;
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
      button.textContent = "Copied";
    });
  }

  // --- All boxes of a list at once
  for (const box of document.querySelectorAll("input[data-all]")) {
    box.closest("label").hidden = false;
    box.addEventListener("change", () => {
      for (const each of document.querySelectorAll(`input[name="${box.dataset.all}"]`)) each.checked = box.checked;
    });
  }

  // --- What is live: the server sends the part of the page anew, as it would be after a reload
  const live = document.querySelector("[data-live]");
  if (live) {
    const source = new EventSource(live.dataset.live);
    source.addEventListener("part", (event) => {
      const fresh = new DOMParser().parseFromString(event.data, "text/html").body;
      live.replaceChildren(...fresh.childNodes);
    });
    source.addEventListener("over", () => {
      source.close();
      location.reload();
    });
  }
})();

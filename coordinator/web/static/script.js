// Cognate's pages work without this. It adds keys, copying, and pages that keep themselves up to date.
"use strict";
(() => {
  const typing = (target) =>
    target.closest("input:not([type=checkbox]):not([type=radio]):not([type=range]), textarea, select, [contenteditable]");

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
    const target = here.querySelector("a") || here.querySelector("button, input");
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

  // --- Verdicts by keys: about the row, or about what is selected
  const list = document.querySelector("form[data-verdicts]");
  const single = document.querySelector("form[data-verdict-form]");
  const decide = async (button) => {
    if (single) return single.requestSubmit(button);
    const selected = [...list.querySelectorAll("tbody input[type=checkbox]:checked")];
    const box = here && here.querySelector("input[type=checkbox]");
    if (selected.length || !box) return list.requestSubmit(button);
    // One row after the other, without reloading the list each time.
    const row = here;
    const body = new URLSearchParams({ csrf: list.elements.csrf.value, verdict: button.value, quiet: "1", [box.name]: box.value });
    const answer = await fetch(list.action, { method: "POST", body });
    if (!answer.ok || answer.redirected) return location.reload();
    const state = document.createElement("span");
    state.className = `state verdict ${button.value}`;
    state.textContent = button.value;
    row.querySelector("td.mark").replaceChildren(state);
    if (row === here) go(1);
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || typing(event.target)) return;
    const form = list || single;
    if (/^[1-5]$/.test(event.key) && form) {
      const button = form.querySelector(`button[data-verdict="${event.key}"]`);
      if (button) decide(button);
    } else if (event.key === "u") {
      const undo = document.querySelector("form[data-undo]");
      if (undo) undo.requestSubmit();
    } else if (event.key === " " && here && !event.target.matches("button, input, summary")) {
      const box = here.querySelector("input[type=checkbox]");
      if (!box) return;
      event.preventDefault();
      box.checked = !box.checked;
    } else {
      const link = document.querySelector(`a[data-key="${CSS.escape(event.key)}"]`);
      if (link) link.click();
    }
  });
  for (const form of document.querySelectorAll("form[data-slider]")) {
    const range = form.querySelector("input[type=range]");
    range.addEventListener("input", () => (form.querySelector("output").textContent = range.value));
    range.addEventListener("change", () => form.requestSubmit());
  }

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

  // --- Live parts: the server sends the part of the page again, as it would be after a reload
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

// Cognate's pages work without this. It adds keys, copying, and pages that keep themselves up to date.
"use strict";
(() => {
  const typing = (target) =>
    target.closest("input:not([type=checkbox]):not([type=radio]):not([type=range]), textarea, select, [contenteditable]");

  const keyed = (event) => !(event.ctrlKey || event.altKey || event.metaKey || typing(event.target));

  // --- Rows of tables and lists by keys
  const rows = () => [...document.querySelectorAll("table[data-rows] > tbody > tr, ol[data-rows] > li")];
  const desk = document.querySelector("[data-desk]");
  // In a narrow window, the list and the cluster are two pages.
  const isWide = () => desk && window.matchMedia("(min-width: 961px)").matches;
  let here = document.querySelector("ol[data-rows] > li.here");
  const select = (row) => {
    if (here) here.classList.remove("here");
    if (here) here.removeAttribute("aria-current");
    here = row;
    here.classList.add("here");
    here.scrollIntoView({ block: "nearest" });
  };
  const go = (step) => {
    if (desk && !isWide() && desk.matches(".on-cluster")) {
      const link = document.querySelector(`a[data-key="${step > 0 ? "n" : "p"}"]`);
      if (link) link.click();
      return;
    }
    const all = rows();
    if (!all.length) return;
    const place = here && all.includes(here) ? all.indexOf(here) + step : step > 0 ? 0 : all.length - 1;
    select(all[Math.max(0, Math.min(all.length - 1, place))]);
    const target = here.querySelector("a") || here.querySelector("button, input");
    if (target) target.focus({ preventScroll: true });
    if (isWide()) open(here);
  };
  document.addEventListener("keydown", (event) => {
    if (!keyed(event)) return;
    if (event.key === "j") go(1);
    else if (event.key === "k") go(-1);
    else if (event.key === "/") {
      const field = document.querySelector("[data-filter]");
      if (!field) return;
      event.preventDefault();
      field.focus();
    } else if (event.key === "t" || event.key === "a") {
      const field = document.querySelector(`[data-focus="${event.key}"]`);
      if (!field) return;
      event.preventDefault();
      field.focus();
      field.select();
    } else if (event.key === "?") {
      const keys = document.getElementById("keys");
      if (!keys.open) keys.showModal();
    }
  });
  for (const button of document.querySelectorAll("button[data-keys]")) {
    button.hidden = false;
    button.addEventListener("click", () => document.getElementById("keys").showModal());
  }

  // --- The workspace: a row opens at the right, without another page
  let latest = 0;
  const open = async (row) => {
    const number = ++latest;
    const link = row.querySelector("a");
    const answer = await fetch(link.href);
    if (!answer.ok || answer.redirected) return location.assign(link.href);
    const text = await answer.text();
    if (number !== latest) return;
    const page = new DOMParser().parseFromString(text, "text/html");
    const detail = document.getElementById("detail");
    detail.replaceChildren(...page.getElementById("detail").childNodes);
    row.setAttribute("aria-current", "true");
    document.title = page.title;
    history.replaceState(null, "", link.href);
    prepare(detail);
    // Its name comes first: a cluster never opens in its middle.
    const top = detail.getBoundingClientRect().top;
    if (top < 0 || top > window.innerHeight / 2) window.scrollBy(0, top - 8);
  };
  if (desk) {
    desk.addEventListener("click", (event) => {
      const link = event.target.closest("ol[data-rows] > li > a");
      if (!link || !isWide() || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
      event.preventDefault();
      select(link.parentElement);
      open(here);
    });
  }

  // --- Verdicts by keys: about the open cluster or the row, or about what is selected
  const list = document.querySelector("form[data-verdicts]");
  const single = () => document.querySelector("form[data-verdict-form]");
  const mark = (row, word) => {
    const state = document.createElement("span");
    state.className = word ? `state verdict ${word}` : "state";
    state.textContent = word || "taken back";
    row.querySelector(".mark").replaceChildren(state);
    return state;
  };
  const decided = [];
  const post = (form, fields) => fetch(form.action, { method: "POST", body: new URLSearchParams(fields) });
  // One row after the other, without another page each time.
  const decide = async (word, note) => {
    const row = here;
    const box = row.querySelector("input[type=checkbox]");
    const answer = await post(list, { csrf: list.elements.csrf.value, verdict: word, quiet: "1", note, [box.name]: box.value });
    if (!answer.ok || answer.redirected) return location.reload();
    decided.push(row);
    mark(row, word);
    const all = rows();
    if (row !== here) return;
    if (all.indexOf(row) + 1 < all.length) return go(1);
    if (list.dataset.onward) return location.assign(list.dataset.onward);
    if (isWide()) open(row);
  };
  const undo = async (form) => {
    const row = decided.pop();
    if (!row) return form.requestSubmit();
    const answer = await post(form, { csrf: form.elements.csrf.value, to: location.pathname + location.search });
    if (!answer.ok) return location.reload();
    mark(row, "");
    select(row);
    row.querySelector("a").focus({ preventScroll: true });
    if (isWide()) open(row);
  };
  document.addEventListener("keydown", (event) => {
    if (!keyed(event) || document.querySelector("dialog[open]")) return;
    const form = single() || list;
    if (/^[1-5]$/.test(event.key) && form) {
      const selected = list && list.querySelector("input[name]:checked");
      const button = selected
        ? document.querySelector(`button[data-selected="${event.key}"]`) || form.querySelector(`button[data-verdict="${event.key}"]`)
        : form.querySelector(`button[data-verdict="${event.key}"]`);
      if (!button) return;
      if (!selected && list && here && (isWide() || !desk || desk.matches(".on-list"))) return decide(button.value, "");
      button.form.requestSubmit(button);
    } else if (event.key === "u") {
      const form = document.querySelector("form[data-undo]");
      if (form) undo(form);
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
  // Escape leaves a field, so that keys act again.
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && event.target.matches("input, textarea, select")) event.target.blur();
  });
  // Buttons of the open cluster do what keys do.
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form[data-verdict-form]") || !isWide() || !here || !list) return;
    event.preventDefault();
    decide(event.submitter.value, event.target.elements.note.value);
  });
  // With Shift, a click on a box selects all rows from the last one on.
  let last = null;
  document.addEventListener("click", (event) => {
    const box = event.target;
    if (!list || !box.matches("input[type=checkbox]") || !list.contains(box) || !box.name) return;
    const boxes = [...list.querySelectorAll("input[type=checkbox][name]")];
    if (event.shiftKey && last) {
      const [from, to] = [boxes.indexOf(last), boxes.indexOf(box)].sort((a, b) => a - b);
      for (const each of boxes.slice(from, to + 1)) each.checked = box.checked;
    }
    last = box;
  });

  // --- Passages of two files that are at hand, side by side with their line numbers; nothing is sent
  const readPassages = async (part, files) => {
    const lines = (text) => text.split("\n").length - 1;
    const texts = [];
    const status = part.querySelector("[role=status]");
    const read = part.querySelector(".read");
    read.replaceChildren();
    for (const [place, file] of files.entries()) {
      const size = Number(place ? part.dataset.sizeB : part.dataset.sizeA);
      if (file.size !== size) {
        status.textContent = `“${file.name}” has ${file.size} bytes, and the document had ${size}: it is another file, or another version.`;
        return;
      }
      texts.push(new Uint8Array(await file.arrayBuffer()));
    }
    const runs = [...part.querySelectorAll("tr[data-run]")].map((row) => row.dataset.run.split(" ").map(Number));
    const decoder = new TextDecoder();
    const piece = (bytes, from, length) => decoder.decode(bytes.subarray(from, from + length));
    const same = (a, b, length) => {
      for (let at = 0; at < length; at += 1) if (texts[0][a + at] !== texts[1][b + at]) return false;
      return true;
    };
    if (!runs.every(([a, b, length]) => same(a, b, length))) {
      status.textContent = "These files do not have the passages: they are not the documents of the scan.";
      return;
    }
    status.textContent = "";
    for (const [a, b, length] of runs) {
      const row = document.createElement("div");
      row.className = "two";
      for (const [place, offset] of [a, b].entries()) {
        const text = piece(texts[place], offset, Math.min(length, 4000));
        const first = lines(piece(texts[place], 0, offset)) + 1;
        const side = document.createElement("figure");
        const name = document.createElement("figcaption");
        name.textContent = `${place ? "B" : "A"}, from line ${first}`;
        const shown = document.createElement("pre");
        shown.tabIndex = 0;
        for (const [at, line] of text.split("\n").entries()) {
          const number = document.createElement("span");
          number.className = "line";
          number.textContent = first + at;
          shown.append(number, `${line}\n`);
        }
        if (length > 4000) shown.append("…");
        side.append(name, shown);
        row.append(side);
      }
      read.append(row);
    }
  };
  const prepare = (part) => {
    for (const form of part.querySelectorAll("form[data-slider]")) {
      const range = form.querySelector("input[type=range]");
      range.addEventListener("input", () => (form.querySelector("output").textContent = range.value));
      range.addEventListener("change", () => form.requestSubmit());
    }
    for (const passages of part.querySelectorAll("[data-passages]")) {
      passages.querySelector(".at-hand").hidden = false;
      const inputs = [...passages.querySelectorAll("input[type=file]")];
      const changed = () => {
        const files = inputs.map((input) => input.files[0]);
        if (files.every(Boolean)) readPassages(passages, files);
      };
      for (const input of inputs) input.addEventListener("change", changed);
    }
  };
  prepare(document);

  // --- Copying
  for (const button of document.querySelectorAll("button[data-copy]")) {
    if (!navigator.clipboard) continue;
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
      button.textContent = "Copied";
    });
  }

  // --- Files that are dropped: their hashes go into the list, and the files stay where they are
  for (const drop of document.querySelectorAll("[data-hashes]")) {
    drop.hidden = false;
    const list = document.getElementById(drop.dataset.hashes);
    const status = drop.querySelector("[role=status]");
    const input = drop.querySelector("input[type=file]");
    if (!crypto.subtle) {
      input.disabled = true;
      status.textContent = "This browser computes hashes only on pages that are served over HTTPS or from this machine. Run sha256sum FILE… instead, and paste its output.";
      continue;
    }
    const take = async (files) => {
      for (const [place, file] of [...files].entries()) {
        status.textContent = `Reading ${file.name} (${place + 1} of ${files.length})…`;
        try {
          const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", await file.arrayBuffer()));
          const hex = [...hash].map((byte) => byte.toString(16).padStart(2, "0")).join("");
          if (list.value && !list.value.endsWith("\n")) list.value += "\n";
          list.value += `${hex}  ${file.name.replace(/[\r\n]/g, " ")}\n`;
        } catch {
          status.textContent = `${file.name} cannot be read here: it may be a folder, or too large for this browser. Run sha256sum on it, and paste the output.`;
          return;
        }
      }
      status.textContent = `The hashes of ${files.length} file${files.length === 1 ? "" : "s"} are in the list.`;
    };
    input.addEventListener("change", () => take(input.files));
    drop.addEventListener("dragover", (event) => event.preventDefault());
    drop.addEventListener("drop", (event) => {
      event.preventDefault();
      take(event.dataTransfer.files);
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
  // Without this script, the page has an instruction to do the same.
  if (document.querySelector("[data-reload]")) setTimeout(() => location.reload(), 2000);

  const live = document.querySelector("[data-live]");
  if (live) {
    const source = new EventSource(live.dataset.live);
    source.addEventListener("part", (event) => {
      const fresh = new DOMParser().parseFromString(event.data, "text/html").body;
      live.replaceChildren(...fresh.childNodes);
    });
    source.addEventListener("over", () => {
      source.close();
      location.replace(live.dataset.over);
    });
  }
})();

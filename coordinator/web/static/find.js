// Files that are dropped on the page of finds: a worker fingerprints them in this browser, and the form sends the fingerprints.
"use strict";
(() => {
  const drop = document.querySelector("[data-find]");
  if (!drop) return;
  const form = document.getElementById("find");
  const input = drop.querySelector("input[type=file]");
  const status = drop.querySelector("[role=status]");
  const stop = drop.querySelector("button");
  const recipe = JSON.parse(drop.dataset.find);
  // A file that takes longer is left out: a person waits.
  const patience = 120_000;
  drop.hidden = false;
  if (!window.WebAssembly || !window.Worker) {
    input.disabled = true;
    status.textContent = "This browser cannot run the fingerprinting. Run the command below instead.";
    return;
  }

  let worker = null;
  const end = () => {
    if (worker) worker.terminate();
    worker = null;
  };
  const ask = (file, way) =>
    new Promise((resolve) => {
      worker ??= new Worker(`${recipe.script}&module=${encodeURIComponent(recipe.module)}`);
      const failed = (reason) => {
        end();
        resolve({ reason });
      };
      const timer = setTimeout(() => failed(`it took longer than ${patience / 60_000} minutes`), patience);
      stop.onclick = () => {
        clearTimeout(timer);
        failed("");
      };
      worker.onerror = () => {
        clearTimeout(timer);
        failed("this browser does not run the fingerprinting");
      };
      worker.onmessage = ({ data }) => {
        clearTimeout(timer);
        resolve(data);
      };
      worker.postMessage({ number: 0, file, way: { ...way, fine_max: recipe.fine_max } });
    });

  const encoded = (text) => new URLSearchParams([["", text]]).toString().length;

  // The form has a greatest size: first the fine chunks of the largest documents are left out, then documents.
  const fitting = (lines, unread, space) => {
    const all = lines.map((line) => ({ line, bytes: encoded(line) + 3 }));
    let total = all.reduce((sum, one) => sum + one.bytes, 0);
    const largest = () => [...all].sort((a, b) => b.bytes - a.bytes);
    const replace = (one, line) => {
      const bytes = line ? encoded(line) + 3 : 0;
      total += bytes - one.bytes;
      Object.assign(one, { line, bytes });
    };
    for (const one of largest()) {
      if (total > space) replace(one, one.line.replace(/"fine":\[[^\]]*\],/, ""));
    }
    for (const one of largest()) {
      if (total <= space) break;
      unread.push({ path: JSON.parse(one.line).path, unread: "its fingerprints are too many for a page: run cognate find on it" });
      replace(one, "");
    }
    return all.map((one) => one.line).filter(Boolean);
  };

  const take = async (files) => {
    if (!files.length || stop.dataset.busy) return;
    stop.dataset.busy = "1";
    stop.hidden = false;
    let stopped = false;
    const [lines, unread] = [[], []];
    for (const [place, file] of [...files].entries()) {
      status.textContent = `Fingerprinting ${file.name} (${place + 1} of ${files.length})…`;
      for (const way of recipe.ways) {
        const { lines: answer, reason } = await ask(file, way);
        if (reason === "") stopped = true;
        if (stopped) break;
        const rows = (answer || "").split("\n").filter(Boolean);
        if (reason) unread.push({ path: file.name, unread: `${way.view === "raw" ? "" : "its text: "}${reason}` });
        for (const row of rows) {
          if (row.startsWith('{"path":') && row.includes(',"unread":')) {
            const one = JSON.parse(row);
            unread.push({ ...one, unread: `its text: ${one.unread}` });
          } else lines.push(row);
        }
      }
      if (stopped) break;
    }
    end();
    delete stop.dataset.busy;
    stop.hidden = true;
    input.value = "";
    if (stopped) {
      status.textContent = "Stopped. Nothing was sent.";
      return;
    }
    if (lines.length > recipe.documents_max) {
      for (const row of lines.splice(recipe.documents_max)) {
        unread.push({ path: JSON.parse(row).path, unread: `a find is about ${recipe.documents_max} documents at most` });
      }
    }
    const fitted = fitting(lines, unread, recipe.form_bytes_max - 65_536 - encoded(JSON.stringify(unread)));
    form.elements.fingerprints.value = fitted.join("\n");
    form.elements.unread.value = unread.map((one) => JSON.stringify(one)).join("\n");
    form.elements.dropped.value = "1";
    status.textContent = "Searching…";
    form.requestSubmit();
  };

  input.addEventListener("change", () => take(input.files));
  for (const kind of ["dragenter", "dragover"]) {
    drop.addEventListener(kind, (event) => {
      event.preventDefault();
      drop.classList.add("over");
    });
  }
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    take(event.dataTransfer.files);
  });
  // What is typed or pasted is no drop.
  form.elements.fingerprints.addEventListener("input", () => {
    form.elements.dropped.value = "";
    form.elements.unread.value = "";
  });
})();

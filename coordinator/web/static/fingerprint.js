// Fingerprints files in the browser, in a worker of the page of finds: the module is the code of `cognate fingerprint`.
//
// A message is a file and how to fingerprint it; the answer is lines for the form. No file is sent anywhere. The page ends the worker if
// a file takes too long.
"use strict";

const module = fetch(new URL(self.location).searchParams.get("module")).then((answer) => {
  if (!answer.ok) throw new Error(`the module cannot be loaded: ${answer.status}`);
  return WebAssembly.compileStreaming(answer);
});

const fingerprint = async (file, way) => {
  // A fresh one each time: what one file took of the memory is given back.
  let instance;
  const reader = new FileReaderSync();
  const read_at = (into, length, offset) => {
    try {
      const bytes = new Uint8Array(reader.readAsArrayBuffer(file.slice(offset, offset + length)));
      new Uint8Array(instance.exports.memory.buffer, into, bytes.length).set(bytes);
      return bytes.length;
    } catch {
      return length + 1;
    }
  };
  instance = await WebAssembly.instantiate(await module, { file: { read_at } });
  const { memory, request, fingerprint, answer } = instance.exports;
  const asked = new TextEncoder().encode(JSON.stringify({ ...way, name: file.name, size_bytes: file.size }));
  const place = request(asked.length);
  new Uint8Array(memory.buffer, place, asked.length).set(asked);
  const length = fingerprint();
  return new TextDecoder().decode(new Uint8Array(memory.buffer, answer(), length));
};

self.onmessage = async ({ data: { number, file, way } }) => {
  try {
    self.postMessage({ number, lines: await fingerprint(file, way) });
  } catch (error) {
    const reason = error instanceof WebAssembly.RuntimeError ? "it is damaged, or takes too much memory" : error.message;
    self.postMessage({ number, reason });
  }
};

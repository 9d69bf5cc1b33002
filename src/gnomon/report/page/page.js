// Draws the figures of the page from the JSON it carries; nothing is fetched.
"use strict";
(() => {
  const store = JSON.parse(document.getElementById("figures").textContent);
  const root = document.documentElement;
  const narrow = window.matchMedia("(max-width: 40rem)");
  const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
  const touch = window.matchMedia("(pointer: coarse)");
  const PRINTED_WIDTH = 680; // pixels of an A4 page inside its margins
  const PRINTED_HEIGHT = 0.5; // of the height on a screen: two figures have room on a page
  const MOST_LIVE = 8; // browsers keep about sixteen WebGL contexts, some only eight
  const ABSENT = 65535;
  const decoded = new Map();
  const live = []; // places of 3-D figures, the oldest first
  const unfolded = []; // what was opened for print alone
  let printing = false;

  // -- arrays --------------------------------------------------------------------------------
  function bytes(text) {
    const raw = atob(text);
    const found = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i += 1) found[i] = raw.charCodeAt(i);
    return found.buffer;
  }
  function symmetric(packed) {
    const codes = new Uint16Array(bytes(packed.bytes));
    const rows = Array.from({ length: packed.n }, () => new Float64Array(packed.n));
    let at = 0;
    for (let i = 0; i < packed.n; i += 1) {
      for (let j = i; j < packed.n; j += 1, at += 1) {
        const value = codes[at] === ABSENT ? NaN : packed.low + codes[at] * packed.step;
        rows[i][j] = value;
        rows[j][i] = value;
      }
    }
    return rows;
  }
  function array(index) {
    if (!decoded.has(index)) {
      const packed = store.arrays[index];
      const vector = packed.kind === "vector";
      decoded.set(index, vector ? new Float64Array(bytes(packed.bytes)) : symmetric(packed));
    }
    return decoded.get(index);
  }
  function unpacked(value) { // always a copy: Plotly writes into what it is given
    if (Array.isArray(value)) return value.map(unpacked);
    if (value === null || typeof value !== "object") return value;
    if ("$array" in value) return array(value.$array);
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, unpacked(item)]));
  }

  // -- theme ---------------------------------------------------------------------------------
  function colour(name) {
    return getComputedStyle(root).getPropertyValue(`--${name}`).trim();
  }
  function merged(base, extra) {
    const found = { ...base };
    for (const [key, item] of Object.entries(extra)) {
      const plain = item !== null && typeof item === "object" && !Array.isArray(item);
      const inner = found[key] !== null && typeof found[key] === "object" ? found[key] : {};
      found[key] = plain ? merged(inner, item) : item;
    }
    return found;
  }
  function template() { // what a layout does not say itself
    const [ink, soft, line, grid, paper] = ["ink", "soft", "line", "grid", "paper"].map(colour);
    const [text, ticks] = printing ? [9.5, 8.5] : [13, 12];
    const title = { font: { size: text, color: ink } };
    const axis = {
      gridcolor: grid, zerolinecolor: line, linecolor: line, tickcolor: line, title,
      tickfont: { size: ticks, color: soft }, automargin: true,
    };
    const solid = { ...axis, backgroundcolor: "rgba(0,0,0,0)", color: soft, automargin: undefined };
    return { layout: {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: getComputedStyle(document.body).fontFamily, size: text, color: ink },
      margin: printing ? { l: 45, r: 10, t: 24, b: 36 } : { l: 60, r: 20, t: 30, b: 50 },
      xaxis: axis, yaxis: axis, scene: { xaxis: solid, yaxis: solid, zaxis: solid },
      annotationdefaults: { font: { size: text, color: ink } },
      coloraxis: { colorbar: { title, tickfont: { size: ticks, color: soft }, outlinewidth: 0 } },
      legend: { font: { size: text }, title, bgcolor: "rgba(0,0,0,0)" },
      hoverlabel: { align: "left", bgcolor: paper, bordercolor: soft, font: { color: ink, size: 13 } },
    } };
  }
  function themed(layout) {
    const found = { ...layout, template: template() };
    if (touch.matches || printing) found.dragmode = false; // a finger scrolls the page
    return found;
  }

  // -- figures -------------------------------------------------------------------------------
  function small() {
    return narrow.matches && !printing;
  }
  function specification(id) {
    const figure = store.figures[id];
    const layout = merged({ height: figure.height }, unpacked(figure.layout));
    const found = themed(small() ? merged(layout, unpacked(figure.narrow)) : layout);
    found.autosize = !printing;
    if (printing) {
      found.width = PRINTED_WIDTH;
      found.legend = merged(found.legend || {}, { title: { text: "" } }); // nothing to press
      found.height = Math.round(found.height * PRINTED_HEIGHT);
    }
    const options = { displayModeBar: false, responsive: true, showTips: false };
    const data = unpacked(figure.data);
    return [printing ? data.filter((trace) => trace.visible !== "legendonly") : data, found, options];
  }
  function solid(place) {
    return store.figures[place.dataset.figure].data.some((trace) => /3d$/.test(trace.type || ""));
  }
  function makeRoom(place) {
    while (live.length >= MOST_LIVE) {
      const oldest = live.shift();
      Plotly.purge(oldest);
      oldest.dataset.state = "waiting";
      seen.observe(oldest);
    }
    live.push(place);
  }
  function draw(place) {
    if (place.dataset.state !== "waiting") return;
    place.dataset.state = "drawing";
    seen.unobserve(place);
    try {
      if (solid(place)) {
        makeRoom(place);
        turnable(place);
      }
      const done = Plotly.newPlot(place, ...specification(place.dataset.figure));
      place.dataset.small = small();
      place.style.minHeight = "";
      done.then(() => { place.dataset.state = "drawn"; }, (error) => failed(place, error));
    } catch (error) {
      failed(place, error);
    }
  }
  function failed(place, error) {
    place.dataset.state = "failed";
    place.textContent = `This figure could not be drawn here (${error.message}); its data is there as CSV.`;
  }
  function redraw() {
    for (const place of places) {
      if (/^(drawn|drawing)$/.test(place.dataset.state)) {
        const [data, layout, options] = specification(place.dataset.figure);
        if (place.layout && place.layout.scene && layout.scene) layout.scene.camera = place.layout.scene.camera;
        if (place.dataset.small !== String(small())) Plotly.purge(place); // else parts of a scale that turns stay
        place.dataset.small = small();
        Plotly.react(place, data, layout, options);
      }
    }
  }
  function turnable(place) { // arrow keys turn a 3-D figure, as dragging does
    if (place.tabIndex === 0) return;
    place.tabIndex = 0;
    place.addEventListener("keydown", (event) => {
      const turns = { ArrowLeft: [0.15, 0], ArrowRight: [-0.15, 0], ArrowUp: [0, 0.15], ArrowDown: [0, -0.15] };
      const turn = turns[event.key];
      if (!turn || place.dataset.state !== "drawn") return;
      event.preventDefault();
      const { x, y, z } = place._fullLayout.scene.camera.eye;
      const [angle, flat] = [Math.atan2(y, x) + turn[0], Math.hypot(x, y)];
      const lift = Math.max(-1.4, Math.min(1.4, Math.atan2(z, flat) + turn[1]));
      const far = Math.hypot(x, y, z);
      const eye = {
        x: far * Math.cos(lift) * Math.cos(angle), y: far * Math.cos(lift) * Math.sin(angle), z: far * Math.sin(lift),
      };
      Plotly.relayout(place, { "scene.camera.eye": eye });
    });
  }

  // -- data to take away ---------------------------------------------------------------------
  function cell(value) {
    if (value === null || value === undefined || Number.isNaN(value)) return "";
    if (typeof value !== "string") return String(value);
    const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value; // no spreadsheet shall run it
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  }
  function line(values) {
    return `${Array.from(values, cell).join(",")}\r\n`;
  }
  function csv(table) {
    if (table.matrices) return pairs(table);
    const columns = table.columns.map(([, column]) => unpacked(column));
    const rows = Math.max(0, ...columns.map((column) => column.length));
    const found = [line(table.columns.map(([name]) => name))];
    for (let i = 0; i < rows; i += 1) found.push(line(columns.map((column) => column[i])));
    return found.join("");
  }
  function pairs(table) {
    const positions = unpacked(table.positions);
    const matrices = table.matrices.map(([, matrix]) => unpacked(matrix));
    const found = [line(["i", "j", ...table.matrices.map(([name]) => name)])];
    for (let i = 0; i < positions.length; i += 1) {
      for (let j = i + 1; j < positions.length; j += 1) {
        const values = matrices.map((matrix) => Number(matrix[i][j].toPrecision(6)));
        found.push(line([positions[i], positions[j], ...values]));
      }
    }
    return found.join("");
  }
  function save(text, name) {
    const address = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
    const link = Object.assign(document.createElement("a"), { href: address, download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  }
  function savePicture(id) {
    const place = places.find((one) => one.dataset.figure === id);
    draw(place);
    const size = { width: place.clientWidth, height: place.clientHeight };
    Plotly.downloadImage(place, { format: "svg", filename: store.figures[id].file, ...size });
  }

  // -- the page ------------------------------------------------------------------------------
  const places = [...document.querySelectorAll("[data-figure]")];
  const seen = new IntersectionObserver(
    (entries) => entries.filter((entry) => entry.isIntersecting && shown(entry.target)).forEach((entry) => draw(entry.target)),
    { rootMargin: "600px" },
  );
  const button = document.getElementById("theme");
  let chosen = null;

  function setTheme() {
    const dark = !printing && (chosen === null ? prefersDark.matches : chosen === "dark");
    root.dataset.theme = dark ? "dark" : "light";
    button.textContent = dark ? "Light" : "Dark";
    redraw();
  }
  function drawAll() {
    places.filter((place) => place.dataset.state === "waiting").forEach(draw);
  }
  function shown(place) {
    return place.closest("details:not([open])") === null;
  }
  function unfold(element) {
    for (let one = element; one; one = one.parentElement) {
      if (one.tagName === "DETAILS") one.open = true;
    }
  }
  function unfoldTarget() { // a link may lead into a part that is folded
    const target = document.getElementById(decodeURIComponent(window.location.hash.slice(1)));
    if (!target || shown(target)) return;
    unfold(target);
    target.scrollIntoView();
  }
  function unfoldAll() {
    for (const one of document.querySelectorAll("details:not([open])")) {
      one.open = true;
      unfolded.push(one);
    }
  }
  function drawWhenIdle() {
    const waiting = places.filter((place) => place.dataset.state === "waiting");
    const next = waiting.find((place) => shown(place) && (!solid(place) || live.length < MOST_LIVE));
    if (!next) return;
    draw(next);
    idle(drawWhenIdle);
  }
  function idle(task) { // on a busy machine idleness may never come: half a second is long enough
    if (window.requestIdleCallback) window.requestIdleCallback(task, { timeout: 500 });
    else setTimeout(task, 50);
  }
  function print(now) {
    if (printing === now) return;
    printing = now;
    if (now) unfoldAll();
    else unfolded.splice(0).forEach((one) => { one.open = false; });
    setTheme();
    if (now) drawAll();
  }

  setTheme();
  for (const control of document.querySelectorAll("button")) control.hidden = false;
  button.addEventListener("click", () => {
    chosen = root.dataset.theme === "dark" ? "light" : "dark";
    setTheme();
  });
  prefersDark.addEventListener("change", setTheme);
  narrow.addEventListener("change", redraw);
  window.addEventListener("beforeprint", () => print(true));
  window.addEventListener("afterprint", () => print(false));
  document.addEventListener("click", (event) => {
    const { csv: data, picture } = event.target.closest("button")?.dataset ?? {};
    if (data) save(csv(store.figures[data].table), `${store.figures[data].file}.csv`);
    if (picture) savePicture(picture);
  });
  window.addEventListener("hashchange", unfoldTarget);
  for (const more of document.querySelectorAll("details.more")) {
    more.addEventListener("toggle", () => idle(drawWhenIdle));
  }
  places.forEach((place) => seen.observe(place));
  if (new URLSearchParams(window.location.search).has("all")) {
    document.querySelectorAll("details.more").forEach((more) => { more.open = true; });
    drawAll();
  }
  unfoldTarget();
  window.addEventListener("load", () => idle(drawWhenIdle));
})();

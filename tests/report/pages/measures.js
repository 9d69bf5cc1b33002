// What a test measures of a page, put into it before its own scripts run.
"use strict";
window.measures = {
  // How many colours a picture has, and what share of it is not its commonest one.
  ink: async (data) => {
    const image = new Image();
    image.src = "data:image/png;base64," + data;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.width, image.height];
    const pen = canvas.getContext("2d", { willReadFrequently: true });
    pen.drawImage(image, 0, 0);
    const pixels = new Uint32Array(pen.getImageData(0, 0, image.width, image.height).data.buffer);
    const counts = new Map();
    for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) || 0) + 1);
    return [counts.size, 1 - Math.max(...counts.values()) / pixels.length];
  },
  // Every text that is seen, with its contrast to what is behind it (WCAG 2, relative luminance).
  contrasts: () => {
    const parse = (text) => (text.match(/[\d.]+/g) || []).map(Number);
    const linear = (c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
    const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
    const over = (top, below, alpha) => [0, 1, 2].map((i) => alpha * top[i] + (1 - alpha) * below[i]);
    const behind = (element) => {
      for (let one = element; one; one = one.parentElement) {
        const colour = parse(getComputedStyle(one).backgroundColor);
        if (colour.length === 3 || colour[3] > 0.99) return colour.slice(0, 3);
      }
      return [255, 255, 255];
    };
    const opacity = (element) => {
      let found = 1;
      for (let one = element; one; one = one.parentElement) {
        found *= Number(getComputedStyle(one).opacity);
      }
      return found;
    };
    const found = [];
    for (const element of document.querySelectorAll("body *")) {
      const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
      const box = element.getBoundingClientRect();
      if (!own || /SCRIPT|STYLE/.test(element.tagName) || box.width < 2 || box.height < 2) continue;
      const style = getComputedStyle(element);
      if (style.visibility === "hidden") continue;
      const svg = element instanceof SVGElement;
      const colour = parse(svg ? style.fill : style.color);
      const alpha = (colour[3] ?? 1) * opacity(element) * (svg ? Number(style.fillOpacity) : 1);
      if (alpha < 0.05) continue;
      const paper = behind(element);
      const [a, b] = [light(over(colour, paper, alpha)), light(paper)];
      const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      found.push([ratio, element.textContent.trim().slice(0, 40)]);
    }
    return found;
  },
  // Texts of figures that leave their figure on either side.
  outside: () => [...document.querySelectorAll(".plot")].flatMap((plot) => {
    const frame = plot.getBoundingClientRect();
    return [...plot.querySelectorAll("text")].filter((text) => {
      const box = text.getBoundingClientRect();
      return box.width > 0 && (box.left < frame.left - 1 || box.right > frame.right + 1);
    }).map((text) => `${plot.dataset.figure}: ${text.textContent}`);
  }),
  // Names of panels and axes, and legends, that lie upon one another.
  overlaps: () => [...document.querySelectorAll(".plot")].flatMap((plot) => {
    const named = ".annotation-text, .xtitle, .x2title, .x3title, .legendtext, .xtick text";
    const boxes = [...plot.querySelectorAll(named)]
      .map((text) => [text.textContent, text.getBoundingClientRect()])
      .filter(([, box]) => box.width > 0);
    const found = [];
    boxes.forEach(([one, a], i) => boxes.slice(i + 1).forEach(([two, b]) => {
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (across > 2 && down > 3) found.push(`${plot.dataset.figure}: ${one} | ${two}`);
    }));
    return found;
  }),
};

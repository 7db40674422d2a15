"use strict";
(() => {
  const holder = document.getElementById("scrub-data");
  if (!holder) return;
  const data = JSON.parse(holder.textContent);
  const svg = document.getElementById("scrub");
  const slider = document.getElementById("scrub-time");
  const label = document.getElementById("scrub-label");
  const button = document.getElementById("scrub-play");
  const [x0, x1, y0, y1] = data.reach_m;
  const width = 1080, height = 520, edge = 30;
  const scale = Math.min((width - 2 * edge) / (y1 - y0), (height - 2 * edge) / (x1 - x0));
  // the car looks up: x goes up, y to the left
  const px = (y) => width / 2 - (y - (y0 + y1) / 2) * scale;
  const py = (x) => height / 2 - (x - (x0 + x1) / 2) * scale;
  const name = "http://www.w3.org/2000/svg";
  const make = (tag, attributes) => {
    const element = document.createElementNS(name, tag);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    return element;
  };
  const marks = [
    (x, y) => `M${x} ${y - 5}l5 9h-10z`,
    (x, y) => `M${x - 4} ${y - 4}h8v8h-8z`,
    (x, y) => `M${x} ${y - 5}l5 5-5 5-5-5z`,
  ];
  const grid = make("g", {});
  for (let x = Math.ceil(x0 / 5) * 5; x <= x1; x += 5) {
    grid.append(make("path", { d: `M${edge} ${py(x)}H${width - edge}`, stroke: "#e5e7eb" }));
    const text = make("text", { x: edge, y: py(x) - 3, "font-size": 11, fill: "#57606a" });
    text.textContent = `${x} m`;
    grid.append(text);
  }
  const car = make("path", {
    d: `M${px(0)} ${py(0) - 12}l7 20h-14z`, fill: "none", stroke: "#1b1f24", "stroke-width": 2,
  });
  const layer = make("g", {});
  svg.append(grid, car, layer);
  const show = (frame) => {
    layer.replaceChildren();
    data.frames[frame].forEach((cones, track) => {
      for (const [x, y, kind] of cones) {
        const color = data.classes[kind] || data.classes[4];
        if (track === 0) {
          layer.append(make("circle", {
            cx: px(y), cy: py(x), r: 7, fill: "none", stroke: color, "stroke-width": 2,
          }));
        } else {
          layer.append(make("path", {
            d: marks[(track - 1) % marks.length](px(y), py(x)),
            fill: data.series[(track - 1) % data.series.length],
            stroke: color, "stroke-width": 1.2, opacity: 0.85,
          }));
        }
      }
    });
    label.textContent = `${data.times_s[frame].toFixed(2)} s`;
    slider.value = frame;
  };
  slider.max = data.frames.length - 1;
  slider.addEventListener("input", () => show(Number(slider.value)));
  let timer = null;
  button.addEventListener("click", () => {
    if (timer !== null) {
      clearInterval(timer);
      timer = null;
      button.textContent = "Play";
      return;
    }
    button.textContent = "Pause";
    timer = setInterval(() => show((Number(slider.value) + 1) % data.frames.length), 120);
  });
  show(Math.floor(data.frames.length / 3));
})();

"use strict";
(() => {
  const root = document.documentElement;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const theme = document.getElementById("theme");
  const show = (isDark) => { root.dataset.theme = isDark ? "dark" : "light"; };
  show(dark.matches);
  dark.addEventListener("change", (event) => show(event.matches));
  theme.hidden = false;
  theme.addEventListener("click", () => show(root.dataset.theme !== "dark"));

  const svg = document.getElementById("tree");
  const panel = document.getElementById("node");
  const trail = document.getElementById("trail");
  const nodes = JSON.parse(document.getElementById("nodes").textContent);
  const marks = new Map([...svg.querySelectorAll("[data-step]")].map((mark) => [mark.dataset.step, mark]));
  let pinned = panel.dataset.first;

  const add = (tag, text, css) => {
    const element = document.createElement(tag);
    element.textContent = text;
    if (css) element.className = css;
    panel.append(element);
  };
  const centre = (mark) => {
    const box = mark.getBBox();
    return [box.x + box.width / 2, box.y + box.height / 2];
  };
  // Draws the way back to the reference, and rings the mark.
  const follow = (step) => {
    let path = "";
    for (let at = step, n = 0; nodes[at] && nodes[at].parents.length && n < 2000; n += 1) {
      const up = String(nodes[at].parents[0]);
      if (!marks.has(up)) break;
      const [x1, y1] = centre(marks.get(at));
      const [x2, y2] = centre(marks.get(up));
      path += `M${x1} ${y1}L${x2} ${y2}`;
      at = up;
    }
    trail.setAttribute("d", path);
    marks.forEach((mark, key) => mark.classList.toggle("on", key === step));
  };
  const describe = (step) => {
    const node = nodes[step];
    panel.replaceChildren();
    if (!node) return;
    const from = node.parents.length ? ` of ${node.parents.join(" and ")}` : "";
    add("b", `step ${step}`);
    add("span", `${node.move}${from}`);
    add("span", node.status.replaceAll("_", " "), "status");
    if (node.speedup) add("b", node.speedup);
    if (node.recipe) add("code", node.recipe);
    if (node.intent) add("p", node.intent);
    if (node.message) add("p", node.message, "failed");
    if (node.diagnosis) add("p", node.diagnosis, "diagnosis");
  };
  const select = (step) => { describe(step); follow(step); };
  svg.addEventListener("mouseover", (event) => { if (event.target.dataset.step) select(event.target.dataset.step); });
  svg.addEventListener("mouseleave", () => { describe(pinned); trail.setAttribute("d", ""); });
  svg.addEventListener("click", (event) => { if (event.target.dataset.step) { pinned = event.target.dataset.step; select(pinned); } });
  describe(pinned);

  const whole = svg.viewBox.baseVal;
  const full = [whole.x, whole.y, whole.width, whole.height];
  const set = (x, y, width, height) => svg.setAttribute("viewBox", `${x} ${y} ${width} ${height}`);
  const zoom = (factor, cx, cy) => {
    const view = svg.viewBox.baseVal;
    const width = Math.min(Math.max(view.width * factor, 60), full[2] * 1.5);
    const ratio = width / view.width;
    set(cx - (cx - view.x) * ratio, cy - (cy - view.y) * ratio, width, view.height * ratio);
  };
  const toView = (event) => {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    return [point.x, point.y];
  };
  document.querySelector(".tools").hidden = false;
  document.querySelectorAll("[data-zoom]").forEach((button) => button.addEventListener("click", () => {
    const factor = Number(button.dataset.zoom);
    const view = svg.viewBox.baseVal;
    if (factor) zoom(factor, view.x + view.width / 2, view.y + view.height / 2); else set(...full);
  }));
  svg.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return; // plain scrolling stays the page's
    event.preventDefault();
    zoom(Math.exp(event.deltaY * 0.004), ...toView(event));
  }, { passive: false });
  let drag = null;
  svg.addEventListener("pointerdown", (event) => { drag = toView(event); });
  svg.addEventListener("pointermove", (event) => {
    if (!drag || !event.buttons) { drag = null; return; }
    const [x, y] = toView(event);
    const view = svg.viewBox.baseVal;
    set(view.x + drag[0] - x, view.y + drag[1] - y, view.width, view.height);
  });
})();

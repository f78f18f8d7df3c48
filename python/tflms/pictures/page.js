// SPDX-License-Identifier: Apache-2.0
//
// Hover and zoom of the report. Reads the plan from the page itself and asks for nothing else. The
// address may end in #from-to, such as #100-250, to open at these operations.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const at = data.layout;
  const count = data.count;
  const svg = document.getElementById("step");
  const tip = document.getElementById("tip");
  const whole = document.getElementById("whole");
  const get = (id) => document.getElementById(id);

  const sums = (deltas) => {
    let sum = 0;
    return deltas.map((delta) => (sum += delta));
  };
  const curves = {};
  for (const key of ["running", "waiting", "unswapped", "host"]) curves[key] = sums(data[key]);
  const nameOf = (code) => code.split("/").map((part) => data.parts[parseInt(part, 36)]).join("/");
  const opName = (op) => (op < 0 ? "" : nameOf(data.names[op]));

  const bytes = (size) => {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = 0;
    while (Math.abs(size) >= 1024 && unit < 4) {
      size /= 1024;
      unit += 1;
    }
    return unit === 0 ? size + " B" : size.toFixed(size >= 100 ? 0 : 1) + " " + units[unit];
  };

  let from = 0;
  let to = count;
  const scale = () => (at.right - at.left) / (to - from);
  const xOf = (op) => at.left + (op - from) * scale();
  const opAt = (x) => from + (x - at.left) / scale();

  // The largest value in each column of what is seen, as `envelope` of the Python side does it.
  const pathOf = (values, top, bottom, largest) => {
    const first = Math.floor(from);
    const last = Math.min(count, Math.ceil(to));
    const columns = Math.min(last - first, at.columns);
    let path = "";
    for (let k = 0; k < columns; k += 1) {
      const begin = first + Math.floor((k * (last - first)) / columns);
      const end = first + Math.floor(((k + 1) * (last - first)) / columns);
      let value = 0;
      for (let i = begin; i < end; i += 1) value = Math.max(value, values[i]);
      const y = (bottom - ((bottom - top) * Math.min(value, largest)) / largest).toFixed(1);
      const x = xOf(begin).toFixed(1);
      path += path ? "H" + x + "V" + y : "M" + x + " " + y;
    }
    return path + "H" + xOf(last).toFixed(1);
  };

  const drawCurve = (id, values, top, bottom, largest, floor) => {
    const path = pathOf(values, top, bottom, largest);
    const base = bottom - ((bottom - top) * Math.min(floor, largest)) / largest;
    get(id + "-line").setAttribute("d", path);
    get(id + "-area").setAttribute("d", path + "V" + base.toFixed(1) + "H" + xOf(Math.floor(from)).toFixed(1) + "Z");
  };

  const place = (rect, begin, end, isLeft) => {
    let x = xOf(begin);
    let width = xOf(end) - x;
    if (isLeft !== undefined && width > 0 && width < 2) {
      x = isLeft ? x : x + width - 2;
      width = 2;
    }
    rect.setAttribute("x", x.toFixed(1));
    rect.setAttribute("width", Math.max(0, width).toFixed(1));
  };

  const shorten = (name, limit) => {
    if (name.length <= limit) return name;
    let tail = name.slice(name.length - Math.max(1, limit - 1));
    const slash = tail.indexOf("/");
    if (slash >= 0 && slash < Math.floor(tail.length / 3)) tail = tail.slice(slash);
    return "\u2026" + tail;
  };

  const drawBar = (group) => {
    const swap = data.swaps[group.dataset.swap];
    const [away, out, back] = group.children;
    place(away, swap[6], swap[9]);
    place(out, swap[6], swap[7], true);
    place(back, swap[8], swap[9], false);
    const text = group.children[3];
    if (!text) return;
    // The label stands in the middle of what is seen of the bar.
    const left = Math.max(at.left, xOf(swap[7]));
    const right = Math.min(at.right, xOf(swap[8]));
    const name = nameOf(swap[0]);
    const size = ", " + bytes(swap[1]);
    const room = Math.floor((right - left - 8) / at.char) - size.length;
    text.setAttribute("x", ((left + right) / 2).toFixed(1));
    text.textContent = room < Math.min(10, name.length) ? "" : shorten(name, room) + size;
  };

  const make = (parent, kind, attributes, text) => {
    const node = document.createElementNS(svg.namespaceURI, kind);
    for (const key of Object.keys(attributes)) node.setAttribute(key, attributes[key]);
    if (text !== undefined) node.textContent = text;
    parent.appendChild(node);
  };

  const drawTicks = () => {
    const group = get("ticks");
    group.textContent = "";
    const least = (to - from) / 10;
    const power = Math.pow(10, Math.floor(Math.log10(least)));
    const step = Math.max(1, [1, 2, 5, 10].map((m) => m * power).find((s) => s >= least * (1 - 1e-9)));
    for (const bottom of [at.device_bottom, at.host_bottom, at.bars_bottom]) {
      make(group, "path", { class: "base", d: "M" + at.left + " " + bottom + "H" + at.right });
      for (let op = Math.ceil(from / step) * step; op <= to; op += step) {
        const x = xOf(op).toFixed(1);
        make(group, "path", { class: "base", d: "M" + x + " " + bottom + "v4" });
        const place = { class: "axis", x: x, y: bottom + 17, "text-anchor": "middle" };
        make(group, "text", place, op.toLocaleString("en-US"));
      }
    }
  };

  const draw = () => {
    const device = [at.device_top, at.device_bottom, at.device_largest, data.persistent];
    drawCurve("before", curves.unswapped, ...device);
    drawCurve("after", curves.running, ...device);
    drawCurve("host", curves.host, at.host_top, at.host_bottom, at.host_largest, 0);
    for (const group of get("bars").children) drawBar(group);
    for (const mark of svg.querySelectorAll(".mark")) {
      mark.style.display = mark.dataset.at < from || mark.dataset.at > to ? "none" : "";
      const y = mark.getAttribute("transform").replace(")", "").split(" ")[1];
      mark.setAttribute("transform", "translate(" + xOf(Number(mark.dataset.at)).toFixed(1) + " " + y + ")");
    }
    drawTicks();
    whole.disabled = from === 0 && to === count;
    get("closer").disabled = to - from <= 4;
    get("wider").disabled = whole.disabled;
    get("seen").textContent = whole.disabled
      ? ""
      : ", operations " + Math.floor(from).toLocaleString("en-US") + " to " + Math.ceil(to).toLocaleString("en-US");
  };

  const zoom = (begin, end) => {
    const width = Math.min(count, Math.max(end - begin, Math.min(4, count)));
    from = Math.min(Math.max(0, (begin + end - width) / 2), count - width);
    to = from + width;
    draw();
  };
  const zoomBy = (factor) => {
    const middle = (from + to) / 2;
    zoom(middle - ((to - from) * factor) / 2, middle + ((to - from) * factor) / 2);
  };

  const opText = (op) =>
    "operation " + op.toLocaleString("en-US") + "\n" + opName(op) +
    "\nwith tflms " + bytes(curves.running[op]) + " (" + bytes(curves.waiting[op]) + " while it waits)" +
    "\nwithout swaps " + bytes(curves.unswapped[op]) +
    "\non the host " + bytes(curves.host[op]);

  const swapText = (swap) => {
    const line = (word, op) => (op < 0 ? "" : "\n" + word + " " + op.toLocaleString("en-US") + ": " + opName(op));
    return nameOf(swap[0]) + "\n" + bytes(swap[1]) +
      (swap[10] ? "" : ", on the host already: leaves without a copy") +
      line("leaves after", swap[2]) + line("waited for by", swap[3]) +
      line("starts back after", swap[4]) + line("back for", swap[5]);
  };

  const svgX = (event) => {
    const box = svg.getBoundingClientRect();
    return ((event.clientX - box.left) * at.width) / box.width;
  };

  const showTip = (event, text) => {
    tip.textContent = text;
    tip.style.display = "block";
    const left = event.clientX + 16 + tip.offsetWidth > innerWidth ? event.clientX - 16 - tip.offsetWidth : event.clientX + 16;
    const top = event.clientY + 16 + tip.offsetHeight > innerHeight ? event.clientY - 16 - tip.offsetHeight : event.clientY + 16;
    tip.style.left = Math.max(0, left) + "px";
    tip.style.top = Math.max(0, top) + "px";
  };

  let chosen = null;
  let dragFrom = null;
  const choose = (group) => {
    if (chosen) chosen.classList.remove("chosen");
    chosen = group;
    if (chosen) chosen.classList.add("chosen");
  };
  const hide = () => {
    tip.style.display = "none";
    get("cross").setAttribute("x1", -9);
    get("cross").setAttribute("x2", -9);
    choose(null);
  };
  const brush = (begin, end) => {
    get("brush").setAttribute("x", Math.min(begin, end));
    get("brush").setAttribute("width", Math.abs(end - begin));
  };

  svg.addEventListener("mousemove", (event) => {
    const x = svgX(event);
    if (dragFrom !== null) brush(dragFrom, Math.min(Math.max(x, at.left), at.right));
    if (x < at.left || x > at.right) {
      hide();
      return;
    }
    get("cross").setAttribute("x1", x);
    get("cross").setAttribute("x2", x);
    const group = event.target.closest ? event.target.closest(".bar") : null;
    choose(group);
    const op = Math.min(count - 1, Math.max(0, Math.floor(opAt(x))));
    showTip(event, group ? swapText(data.swaps[group.dataset.swap]) : opText(op));
  });
  svg.addEventListener("mouseleave", hide);
  svg.addEventListener("mousedown", (event) => {
    const x = svgX(event);
    if (event.button === 0 && x >= at.left && x <= at.right) dragFrom = x;
  });
  addEventListener("mouseup", (event) => {
    if (dragFrom === null) return;
    const x = Math.min(Math.max(svgX(event), at.left), at.right);
    const ends = [Math.min(dragFrom, x), Math.max(dragFrom, x)];
    dragFrom = null;
    brush(-9, -9);
    if (ends[1] - ends[0] > 6) zoom(opAt(ends[0]), opAt(ends[1]));
  });
  svg.addEventListener("dblclick", () => zoom(0, count));
  whole.addEventListener("click", () => zoom(0, count));
  get("closer").addEventListener("click", () => zoomBy(0.5));
  get("wider").addEventListener("click", () => zoomBy(2));

  document.body.classList.remove("no-script");
  const wanted = /^#(\d+)-(\d+)$/.exec(location.hash);
  if (wanted) zoom(Number(wanted[1]), Number(wanted[2]));
  else draw();
})();

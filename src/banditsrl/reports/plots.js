"use strict";
// Draws the plots of a report as SVG: lines with bands over the steps, and maps of chosen
// candidates. Colours come from classes, so that light and dark need no redraw; sizes come from the
// page, so that text is never scaled.
const plots = (() => {
  const NS = "http://www.w3.org/2000/svg";
  const EDGE = { left: 56, right: 14, top: 10, bottom: 42 };
  const GAP = 22;
  const DASHES = {
    solid: "none", dash: "6 4", dot: "2 3", dashdot: "6 3 2 3", longdash: "10 4", longdashdot: "10 3 2 3",
  };
  let clips = 0;

  function make(name, attributes = {}, text = "") {
    const made = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text) made.textContent = text;
    return made;
  }

  const formatPercent = (v) => `${(100 * v).toLocaleString("en-GB", { maximumSignificantDigits: 3 })}%`;
  const formatValue = (v) => v.toLocaleString("en-GB", { maximumSignificantDigits: 4 });
  const formatTick = (v) => (v >= 1e5 || (v > 0 && v < 1e-3)
    ? v.toLocaleString("en-GB", { notation: v < 1 ? "scientific" : "compact", maximumSignificantDigits: 3 })
    : v.toLocaleString("en-GB", { maximumSignificantDigits: 3 }));

  function chooseTicks(low, high, count) {
    const rough = (high - low) / count || 1;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((k) => k * power).find((s) => s >= rough * (1 - 1e-9));
    const ticks = [];
    for (let k = Math.ceil(low / step - 1e-9) || 0; k * step <= high * (1 + 1e-9); k++) ticks.push(k * step);
    return ticks;
  }

  // Powers of ten, with 2 and 5 between them where the range is short.
  function chooseLogTicks(low, high, count) {
    const decades = Math.log10(high / low);
    const every = Math.max(1, Math.ceil(decades / count));
    const factors = decades < 2.5 ? [1, 2, 5] : [1];
    const ticks = [];
    for (let k = Math.floor(Math.log10(low)); k <= Math.log10(high); k += every) {
      ticks.push(...factors.map((f) => f * 10 ** k));
    }
    return ticks.filter((t) => t >= low * (1 - 1e-9) && t <= high * (1 + 1e-9));
  }

  function makeScale(low, high, from, to, log) {
    const bend = log ? Math.log10 : (v) => v;
    const first = bend(low), span = bend(high) - first || 1;
    const scale = (v) => from + ((bend(Math.max(v, low)) - first) / span) * (to - from);
    scale.ticks = (count) => (log ? chooseLogTicks : chooseTicks)(low, high, count);
    return scale;
  }

  function buildPath(points) {
    return points.map(([x, y], k) => `${k ? "L" : "M"}${x.toFixed(1)},${y.toFixed(1)}`).join("");
  }

  // The room above the lines is for the names of promised times.
  function findRange(lines, pane, view, room) {
    const all = lines.flatMap((line) => line.y.map((v, k) => v + (line.margin?.[k] ?? 0)));
    const seeds = view.seeds ? lines.flatMap((line) => (line.seeds ?? []).flatMap((group) => group.ys.flat())) : [];
    const high = pane.high ?? all.concat(seeds).reduce((a, b) => Math.max(a, b), 0);
    if (!(pane.regret && view.logY)) return [0, (high || 1) * (1.03 + room)];
    const positive = lines.flatMap((line) => line.y).filter((v) => v > 0);
    const low = positive.reduce((a, b) => Math.min(a, b), high || 1);
    return [Math.max(low, (high || 1) / 1e4) / 1.1, (high || 1) * (1.2 + 10 * room)];
  }

  function drawFrame(svg, box, x, y, pane) {
    const format = pane.percent ? formatPercent : formatTick;
    for (const tick of y.ticks(box.height < 130 ? 3 : 5)) {
      svg.append(make("line", { class: "rule", x1: box.left, x2: box.right, y1: y(tick), y2: y(tick) }));
      svg.append(make("text", { x: box.left - 6, y: y(tick) + 4, "text-anchor": "end" }, format(tick)));
    }
    const middle = box.top + box.height / 2;
    svg.append(make("text", {
      class: "title", x: 12, y: middle, "text-anchor": "middle", transform: `rotate(-90 12 ${middle})`,
    }, pane.label));
  }

  function drawSteps(svg, box, x, label) {
    const room = (box.right - box.left) / 64;
    let free = -Infinity;  // where the label before ends; a label that would touch it is left out
    for (const tick of x.ticks(Math.max(room, 2))) {
      svg.append(make("line", { class: "rule", x1: x(tick), x2: x(tick), y1: box.top, y2: box.bottom }));
      const half = 3.6 * formatTick(tick).length;
      if (x(tick) - half < free) continue;
      free = x(tick) + half + 8;
      svg.append(make("text", { x: x(tick), y: box.bottom + 16, "text-anchor": "middle" }, formatTick(tick)));
    }
    svg.append(make("text", {
      class: "title", x: (box.left + box.right) / 2, y: box.bottom + 34, "text-anchor": "middle",
    }, label));
  }

  function drawLine(svg, line, x, y, view) {
    const hue = `c${line.colour}`, known = line.x.map((s, k) => k).filter((k) => line.y[k] !== null);
    if (line.margin && !view.seeds) {
      const up = known.map((k) => [x(line.x[k]), y(line.y[k] + (line.margin[k] ?? 0))]);
      const down = known.map((k) => [x(line.x[k]), y(Math.max(line.y[k] - (line.margin[k] ?? 0), 0))]);
      svg.append(make("path", { class: `band ${hue}`, d: `${buildPath(up.concat(down.reverse()))}Z` }));
    }
    for (const { x: steps, ys } of view.seeds ? line.seeds ?? [] : []) {
      for (const values of ys) {
        svg.append(make("path", { class: `seed ${hue}`, d: buildPath(steps.map((s, k) => [x(s), y(values[k])])) }));
      }
    }
    svg.append(make("path", {
      class: `line ${hue}`, d: buildPath(known.map((k) => [x(line.x[k]), y(line.y[k])])),
      "stroke-dasharray": DASHES[line.dash],
    }));
  }

  // A measured event is a dot on its curve, a promised one a line, or an arrow beyond the last step.
  function drawMark(svg, mark, line, box, x, y, row) {
    const hue = `c${line.colour}`;
    const group = make("g", { class: `mark ${hue} ${mark.kind}` });
    group.append(make("title", {}, mark.text));
    if (mark.kind === "measured") {
      const k = line.x.findIndex((s) => s >= mark.step);
      group.append(make("circle", { cx: x(mark.step), cy: y(line.y[k < 0 ? line.y.length - 1 : k]), r: 5 }));
    } else {
      const beyond = mark.step > line.x[line.x.length - 1], at = beyond ? box.right : x(mark.step);
      if (!beyond) group.append(make("line", { x1: at, x2: at, y1: box.top, y2: box.bottom }));
      group.append(make("text", {
        x: at - 4, y: box.top + 12 + 15 * row, "text-anchor": "end",
      }, beyond ? `${mark.label} →` : mark.label));
    }
    svg.append(group);
  }

  function drawLines(place, plot, view) {
    const width = place.clientWidth, height = place.clientHeight;
    const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
    const shown = plot.lines.filter((line) => !view.hidden.has(line.name));
    const first = plot.lines.reduce((a, line) => Math.min(a, line.x[0]), plot.end);
    const x = makeScale(view.logX ? Math.max(first, 1) : 0, plot.end, EDGE.left, width - EDGE.right, view.logX);
    const room = (height - EDGE.top - EDGE.bottom - GAP * (plot.panes.length - 1)) / (plot.panes.length > 1 ? 1.6 : 1);
    let top = EDGE.top;
    const clip = `clip-${clips++}`;
    plot.panes.forEach((pane, p) => {
      const box = { left: EDGE.left, right: width - EDGE.right, top, height: p ? room * 0.6 : room };
      box.bottom = top + box.height;
      const here = shown.filter((line) => line.pane === p);
      const named = new Map(here.map((line) => [line.name, line]));
      const marks = p ? [] : plot.marks.filter((mark) => named.has(mark.name));
      const promised = marks.filter((mark) => mark.kind === "promised");
      const y = makeScale(...findRange(here, pane, view, (18 * promised.length) / box.height), box.bottom, box.top, pane.regret && view.logY);
      drawFrame(svg, box, x, y, pane);
      if (p === plot.panes.length - 1) drawSteps(svg, { ...box, top: EDGE.top }, x, view.logX ? "step (log scale)" : "step");
      const inside = make("g", { "clip-path": `url(#${clip})` });
      here.forEach((line) => drawLine(inside, line, x, y, view));
      svg.append(inside);
      marks.forEach((mark) => drawMark(svg, mark, named.get(mark.name), box, x, y, promised.indexOf(mark)));
      top = box.bottom + GAP;
    });
    const frame = make("clipPath", { id: clip });
    frame.append(make("rect", { x: EDGE.left, y: 0, width: Math.max(width - EDGE.left - EDGE.right, 0) + 2, height }));
    svg.append(frame);
    place.replaceChildren(svg);
    addCursor(place, svg, (step) => describeLines(plot, shown, step), (at) => findStep(plot, shown, x, at), x, height);
  }

  function findStep(plot, lines, x, at) {
    const steps = lines.flatMap((line) => line.x);
    return steps.reduce((a, b) => (Math.abs(x(b) - at) < Math.abs(x(a) - at) ? b : a), plot.end);
  }

  function describeLines(plot, lines, step) {
    const rows = lines.filter((line) => step <= line.x[line.x.length - 1]).map((line) => {
      const found = line.x.findIndex((s) => s >= step);
      const value = line.y[found], margin = line.margin?.[found];
      const { percent, label } = plot.panes[line.pane];
      const text = percent ? `${formatPercent(value)} ${label}` : `${formatValue(value)}${margin == null ? "" : ` ± ${formatValue(margin)}`}`;
      return { pane: line.pane, value, hue: `c${line.colour}`, text: `${line.name}: ${text}` };
    }).sort((a, b) => a.pane - b.pane || b.value - a.value);
    const what = plot.panes[0].regret ? "regret at" : "at";
    const words = [...new Set(lines.map((line) => line.words))].join(" or ");
    return [{ text: `${what} step ${step.toLocaleString("en-GB")}, ${words}` }, ...rows];
  }

  function drawMap(place, plot) {
    const width = place.clientWidth, height = place.clientHeight, n = plot.rows.length;
    const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
    const longest = plot.rows.reduce((a, name) => Math.max(a, name.length), 0);
    const left = Math.min(16 + 7 * longest, width * 0.42), end = plot.x[plot.x.length - 1];
    const box = { left, right: width - EDGE.right, top: 6, bottom: height - EDGE.bottom };
    const x = makeScale(plot.x[0], end, box.left, box.right, true), tall = (box.bottom - box.top) / n;
    drawSteps(svg, box, x, "step (log scale)");
    const most = Math.floor((left - 14) / 7);
    plot.rows.forEach((name, r) => {
      const top = box.top + r * tall;
      const label = name.length > most ? `${name.slice(0, most - 1)}…` : name;
      if (tall >= 11) svg.append(make("text", { x: left - 6, y: top + tall / 2 + 4, "text-anchor": "end" }, label));
      plot.shares[r].forEach((share, k) => {
        const cell = { class: "cell", x: x(plot.x[k]), y: top + 1, width: x(plot.x[k + 1]) - x(plot.x[k]) + 0.3, height: Math.max(tall - 2, 1) };
        const made = make("rect", cell);
        made.style.setProperty("--share", `${100 * share}%`);
        svg.append(made);
      });
    });
    place.replaceChildren(svg);
    const find = (at) => plot.x.slice(1).reduce((a, b) => (Math.abs(x(b) - at) < Math.abs(x(a) - at) ? b : a), end);
    addCursor(place, svg, (step) => describeChoices(plot, step), find, x, height);
  }

  function describeChoices(plot, step) {
    const k = plot.x.indexOf(step) - 1;
    const used = plot.rows.map((name, r) => ({ name, share: plot.shares[r][k] })).filter(({ share }) => share > 0);
    used.sort((a, b) => b.share - a.share);
    return [{ text: `at step ${step.toLocaleString("en-GB")}, ${plot.words}` },
      ...used.map(({ name, share }) => ({ text: `${name}: ${formatPercent(share)}` }))];
  }

  function addCursor(place, svg, describe, find, x, height) {
    const cursor = make("line", { class: "cursor", y1: EDGE.top, y2: height - EDGE.bottom });
    const tip = document.createElement("div");
    tip.className = "tip";
    svg.append(cursor);
    place.append(tip);
    const hide = () => { cursor.style.visibility = tip.style.visibility = "hidden"; };
    const show = (event) => {
      const at = event.clientX - place.getBoundingClientRect().left, step = find(at), where = x(step);
      cursor.setAttribute("x1", where);
      cursor.setAttribute("x2", where);
      tip.replaceChildren(...describe(step).map(buildRow));
      const beside = where + 8 + tip.offsetWidth > place.clientWidth ? where - 8 - tip.offsetWidth : where + 8;
      tip.style.left = `${Math.max(0, beside)}px`;
      cursor.style.visibility = tip.style.visibility = "visible";
    };
    svg.addEventListener("pointermove", show);
    svg.addEventListener("pointerdown", show);
    svg.addEventListener("pointerleave", hide);
  }

  function buildRow({ text, hue }) {
    const row = document.createElement("div");
    if (hue) {
      const swatch = document.createElement("i");
      swatch.className = `swatch ${hue}`;
      row.append(swatch, " ");
    }
    row.append(text);
    return row;
  }

  // Replaces what a place shows; the view says which axes are logarithmic, whether single seeds are
  // shown, and which algorithms are hidden.
  function draw(place, plot, view) {
    if (!place.clientWidth) return;  // not laid out yet, or in a closed part of the page
    if (plot.kind === "map") drawMap(place, plot);
    else drawLines(place, plot, view);
  }

  return { draw };
})();

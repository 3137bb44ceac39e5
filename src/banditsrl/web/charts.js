"use strict";
// Draws lines, bands and stacked areas over time as SVG. Colours come from classes, so that light
// and dark need no redraw; sizes come from the page, so that text is never scaled.
const charts = (() => {
  const NS = "http://www.w3.org/2000/svg";
  const EDGE = { left: 46, right: 10, top: 10, bottom: 24 };

  function make(name, attributes = {}, text = "") {
    const made = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text) made.textContent = text;
    return made;
  }

  // Round numbers that divide a range into about `count` steps.
  function chooseTicks(low, high, count) {
    const rough = (high - low) / count || 1;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((k) => k * power).find((s) => s >= rough);
    const ticks = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k++) ticks.push(k * step);
    return ticks;
  }

  // As many of them as can be told apart when they are written down.
  function chooseLabels(low, high, format) {
    for (let count = 5; count > 1; count--) {
      const labels = chooseTicks(low, high, count).map((tick) => [tick, format(tick)]);
      if (new Set(labels.map(([, text]) => text)).size === labels.length) return labels;
    }
    return [low, high].map((tick) => [tick, String(+tick.toPrecision(6))]);
  }

  function formatDate(seconds) {
    const date = new Date(seconds * 1000);
    const day = date.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
    return `${day} ${date.toLocaleTimeString("en-GB")}`;
  }

  function formatTime(seconds, span) {
    const date = new Date(seconds * 1000);
    const clock = date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
    if (span < 86400) return clock;
    const day = date.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
    return span < 3 * 86400 ? `${day} ${clock}` : day;
  }

  function chooseTimes(low, high, count) {
    const span = high - low;
    const steps = [60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];
    const step = steps.find((s) => span / s <= count) ?? 86400 * Math.ceil(span / 86400 / count);
    const shift = new Date(low * 1000).getTimezoneOffset() * 60;
    const ticks = [];
    for (let t = Math.ceil((low - shift) / step) * step + shift; t <= high; t += step) ticks.push(t);
    return ticks;
  }

  function buildPath(points) {
    return points.map(([x, y], k) => `${k ? "L" : "M"}${x.toFixed(1)},${y.toFixed(1)}`).join("");
  }

  function findRange({ series, range }) {
    if (range) return range;
    const values = series.flatMap((s) => s.values).filter((v) => v !== null);
    const low = Math.min(...values), high = Math.max(...values);
    const ends = series.flatMap((s) => (s.low ?? []).concat(s.high ?? [])).filter((v) => v !== null);
    const spread = high > low ? high - low : Math.max(0, ...ends.map((v) => Math.abs(v - high)));
    const room = Math.max(spread, 0.01 * Math.max(Math.abs(high), 1e-6));
    const least = Math.max(Math.min(low, ...ends), low - room);  // one wide interval must not
    const most = Math.min(Math.max(high, ...ends), high + room);  // flatten the rest
    return most - least >= room ? [least, most] : [low - room, high + room];  // ticks must differ
  }

  // Replaces what a place shows. A chart has times, series of {name, colour, values, low, high},
  // and may have marks of {time, kind}, a range, and areas that are stacked.
  function draw(place, chart) {
    const width = place.clientWidth, height = place.clientHeight;
    const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": chart.label });
    if (!chart.series.some((s) => s.values.some((v) => v !== null))) {
      svg.append(make("text", { x: width / 2, y: height / 2, "text-anchor": "middle", class: "empty" }, "No data yet"));
      place.replaceChildren(svg);
      return;
    }
    const first = chart.times[0], last = Math.max(chart.end, first + 1);
    const [low, high] = findRange(chart);
    const x = (t) => EDGE.left + ((t - first) / (last - first)) * (width - EDGE.left - EDGE.right);
    const y = (v) => height - EDGE.bottom - ((Math.min(Math.max(v, low), high) - low) / (high - low)) * (height - EDGE.top - EDGE.bottom);
    drawFrame(svg, { width, height, x, y, first, last, low, high, format: chart.format });
    (chart.stacked ? drawAreas : drawLines)(svg, chart, x, y);
    for (const mark of chart.marks ?? []) {
      const at = x(Math.min(Math.max(mark.time, first), last));
      svg.append(make("line", { class: `mark ${mark.kind}`, x1: at, x2: at, y1: EDGE.top, y2: height - EDGE.bottom }));
    }
    place.replaceChildren(svg);
    addCursor(place, svg, chart, x, height);
  }

  function drawFrame(svg, { width, height, x, y, first, last, low, high, format }) {
    for (const [tick, text] of chooseLabels(low, high, format)) {
      svg.append(make("line", { class: "rule", x1: EDGE.left, x2: width - EDGE.right, y1: y(tick), y2: y(tick) }));
      svg.append(make("text", { x: EDGE.left - 6, y: y(tick) + 4, "text-anchor": "end" }, text));
    }
    for (const tick of chooseTimes(first, last, Math.max(width / 110, 2))) {
      const at = x(tick);
      if (at < EDGE.left + 14 || at > width - 18) continue;
      svg.append(make("text", { x: at, y: height - 6, "text-anchor": "middle" }, formatTime(tick, last - first)));
    }
  }

  function drawLines(svg, { times, series }, x, y) {
    for (const { colour, values, low, high } of series) {
      const known = times.map((t, k) => k).filter((k) => values[k] !== null);
      if (low && high) {
        const there = known.filter((k) => low[k] !== null);
        const up = there.map((k) => [x(times[k]), y(high[k])]);
        const down = there.map((k) => [x(times[k]), y(low[k])]).reverse();
        if (there.length > 1) svg.append(make("path", { class: `band ${colour}`, d: `${buildPath(up.concat(down))}Z` }));
      }
      const points = known.map((k) => [x(times[k]), y(values[k])]);
      if (points.length === 1) svg.append(make("circle", { class: `dot ${colour}`, cx: points[0][0], cy: points[0][1], r: 3 }));
      else svg.append(make("path", { class: `line ${colour}`, d: buildPath(points) }));
    }
  }

  function drawAreas(svg, { times, series, end }, x, y) {
    const there = times.map((t, k) => k).filter((k) => series[0].values[k] !== null);
    const last = there[there.length - 1];  // this interval has a width too
    const ends = there.map((k) => times[k]).concat(last + 1 < times.length ? times[last + 1] : Math.max(end, times[0] + 1));
    let base = ends.map(() => 0);
    for (const { colour, values: all } of series) {
      const values = there.map((k) => all[k]);
      const top = base.map((b, k) => b + values[Math.min(k, values.length - 1)]);
      const up = ends.map((t, k) => [x(t), y(top[k])]);
      const down = ends.map((t, k) => [x(t), y(base[k])]).reverse();
      svg.append(make("path", { class: `area ${colour}`, d: `${buildPath(up.concat(down))}Z` }));
      base = top;
    }
  }

  function addCursor(place, svg, chart, x, height) {
    const cursor = make("line", { class: "cursor", y1: EDGE.top, y2: height - EDGE.bottom });
    const tip = document.createElement("div");
    tip.className = "tip";
    svg.append(cursor);
    place.append(tip);
    const hide = () => { cursor.style.visibility = tip.style.visibility = "hidden"; };
    const show = (event) => {
      const at = event.clientX - place.getBoundingClientRect().left;
      const gaps = chart.times.map((t) => Math.abs(x(t) - at));
      const k = gaps.indexOf(Math.min(...gaps));
      const where = x(chart.times[k]);
      cursor.setAttribute("x1", where);
      cursor.setAttribute("x2", where);
      tip.replaceChildren(...describe(chart, k));
      tip.style.left = `${Math.max(0, Math.min(where + 8, place.clientWidth - tip.offsetWidth))}px`;
      cursor.style.visibility = tip.style.visibility = "visible";
    };
    svg.addEventListener("pointermove", show);
    svg.addEventListener("pointerdown", show);
    svg.addEventListener("pointerleave", hide);
  }

  function describe(chart, k) {
    const lines = [formatDate(chart.times[k])];
    for (const { name, values, low, high } of chart.series) {
      if (values[k] === null || values[k] === undefined) continue;
      const interval = low?.[k] == null ? "" : ` (${chart.format(low[k])} to ${chart.format(high[k])})`;
      lines.push(`${name}: ${chart.format(values[k])}${interval}`);
    }
    return lines.map((text) => {
      const line = document.createElement("div");
      line.textContent = text;
      return line;
    });
  }

  function buildLegend(series) {
    const legend = document.createElement("div");
    legend.className = "legend";
    for (const { name, colour } of series) {
      const entry = document.createElement("span");
      const swatch = document.createElement("i");
      swatch.className = `swatch ${colour}`;
      entry.append(swatch, name);
      legend.append(entry);
    }
    return legend;
  }

  return { draw, buildLegend, formatDate };
})();

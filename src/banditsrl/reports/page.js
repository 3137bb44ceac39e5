"use strict";
// Draws the plots in the colours of the page, redraws them when the colours change, and lets the
// legend hide and show algorithms.
(() => {
  const plots = JSON.parse(document.getElementById("plots").textContent);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const touch = window.matchMedia("(pointer: coarse)");
  const hidden = new Set();
  const value = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  function addOpacity(hex, opacity) {
    const [r, g, b] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
    return `rgba(${r},${g},${b},${opacity})`;
  }

  function addColours(trace) {
    const { role, colour, name } = trace.meta;
    const copy = { ...trace, showlegend: false };
    if (role === "map") {
      copy.colorscale = [[0, value("--low")], [1, value("--high")]];
      return copy;
    }
    const hue = value(`--c${colour}`);
    copy.visible = !hidden.has(name);
    if (role === "band") copy.fillcolor = addOpacity(hue, dark.matches ? 0.25 : 0.16);
    copy.line = { ...trace.line, color: hue };
    return copy;
  }

  function addFrame(layout) {
    const axis = {
      gridcolor: value("--grid"), linecolor: value("--line"), zeroline: false, automargin: true,
      fixedrange: touch.matches, tickfont: { size: 12 },
    };
    const made = {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", hovermode: "closest",
      font: { family: getComputedStyle(document.body).fontFamily, size: 13, color: value("--soft") },
      margin: { l: 52, r: 14, t: 10, b: 44 }, dragmode: touch.matches ? false : "zoom",
      hoverlabel: {
        bgcolor: value("--paper"), bordercolor: value("--soft"), align: "left", namelength: -1,
        font: { color: value("--ink"), size: 13 },
      },
    };
    for (const [key, own] of Object.entries(layout)) {
      made[key] = { ...axis, ...own, title: { standoff: 8, font: { size: 13 }, ...own.title } };
    }
    return made;
  }

  const config = { responsive: true, displaylogo: false, displayModeBar: false };
  const places = [...document.querySelectorAll("[data-plot]")];

  function draw(place) {
    const { traces, layout } = plots[place.dataset.plot];
    return Plotly.react(place, traces.map(addColours), addFrame(layout), config);
  }

  // Draws one plot per turn of the event loop, so that the page can be scrolled from the start.
  async function drawAll() {
    document.documentElement.dataset.drawn = "no";
    for (const place of places) {
      await draw(place);
      await new Promise((resolve) => setTimeout(resolve));
    }
    document.documentElement.dataset.drawn = "yes";
  }

  for (const button of document.querySelectorAll(".legend button")) {
    button.addEventListener("click", () => {
      const { name } = button.dataset;
      const shown = hidden.delete(name) || !hidden.add(name);
      button.setAttribute("aria-pressed", String(shown));
      drawAll();
    });
  }
  dark.addEventListener("change", drawAll);
  drawAll();
})();

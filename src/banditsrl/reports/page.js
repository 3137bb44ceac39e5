"use strict";
// Draws every plot of the page, and lets the legend and the switches change what the plots show.
(() => {
  const described = JSON.parse(document.getElementById("plots").textContent);
  const places = [...document.querySelectorAll("[data-plot]")];
  const view = { logX: false, logY: false, seeds: false, hidden: new Set() };

  const draw = (place) => plots.draw(place, described[place.dataset.plot], view);

  function drawAll() {
    places.forEach(draw);
    document.documentElement.dataset.drawn = "yes";
  }

  for (const button of document.querySelectorAll("[data-name]")) {
    button.addEventListener("click", () => {
      const { name } = button.dataset;
      const shown = view.hidden.delete(name) || !view.hidden.add(name);
      button.setAttribute("aria-pressed", String(shown));
      drawAll();
    });
  }
  for (const button of document.querySelectorAll("[data-switch]")) {
    button.addEventListener("click", () => {
      const which = button.dataset.switch;
      view[which] = !view[which];
      button.setAttribute("aria-pressed", String(view[which]));
      drawAll();
    });
  }
  for (const details of document.querySelectorAll("details")) {
    details.addEventListener("toggle", () => details.querySelectorAll("[data-plot]").forEach(draw));
  }
  const lines = Object.values(described).flatMap((plot) => plot.lines ?? []);
  document.querySelector("[data-switch=seeds]")?.toggleAttribute("hidden", !lines.some((line) => line.seeds));
  let width = 0;
  new ResizeObserver(() => {
    if (document.body.clientWidth === width) return;  // opening a list changes the height only
    width = document.body.clientWidth;
    drawAll();
  }).observe(document.body);
  window.addEventListener("beforeprint", drawAll);
})();

"use strict";
// Asks the service for what it knows and shows it: every few seconds while the page is visible.
(() => {
  const EVERY = 3000;  // milliseconds between two requests
  const TOKEN = "banditsrl-token";
  const LISTED = 4;  // items of a list that are shown
  const GUARDED = document.documentElement.dataset.tokens === "yes";
  const place = (id) => document.getElementById(id);
  const percent = (share) => `${(100 * share).toFixed(share && share < 0.1 ? 1 : 0)}%`;
  const count = (n) => Number(n).toLocaleString("en-GB");
  const hue = (k) => `c${k % 7}${k % 14 < 7 ? "" : " again"}`;  // the eighth action is a paler first
  const clock = (seconds) => (seconds === null ? "" : charts.formatDate(seconds));
  let loop = new URLSearchParams(location.search).get("loop");
  let drawn = null;

  function number(value) {
    if (value === null || value === undefined) return "–";
    const size = Math.abs(value);
    return size !== 0 && (size < 0.001 || size >= 1e6) ? value.toExponential(1) : String(+value.toPrecision(3));
  }

  // What a policy says about a model may be a number, a yes or no, a word, or a list of those.
  function say(value) {
    if (value === null || value === undefined) return "–";
    if (typeof value === "boolean") return value ? "yes" : "no";
    if (typeof value === "number") return number(value);
    if (typeof value !== "object") return String(value);
    const items = Array.isArray(value) ? value.map(say) : Object.entries(value).map(([name, one]) => `${name} ${say(one)}`);
    const rest = items.length > LISTED ? [`… (${items.length} in all)`] : [];
    return `[${[...items.slice(0, LISTED), ...rest].join(", ")}]`;
  }

  function element(name, text = "", kind = "") {
    const made = document.createElement(name);
    made.textContent = text;
    if (kind) made.className = kind;
    return made;
  }

  class Refused extends Error {}
  class Denied extends Refused {}

  async function ask(path, query = {}) {
    const wanted = new URLSearchParams(loop === null ? query : { ...query, loop });
    const token = sessionStorage.getItem(TOKEN);
    if (GUARDED && !token) throw new Denied("");  // a request without one would only be refused
    const headers = token ? { Authorization: `Bearer ${token}` } : {};
    let answer, document;
    try {
      answer = await fetch(`${path}?${wanted}`, { headers, cache: "no-store" });
      document = await answer.json();
    } catch {
      throw new Refused("The service cannot be reached; the page tries again.");
    }
    if (answer.ok) return document;
    if (answer.status === 401 || answer.status === 403) throw new Denied(document.error.message);
    throw new Refused(document.error.message);
  }

  // A fault in one part must neither hide the others nor pass for a service that is away.
  function drawAll(parts) {
    const faults = [];
    for (const part of parts) {
      try {
        part();
      } catch (error) {
        faults.push(`This part of the page could not be drawn: ${part.name} (${error.message}).`);
      }
    }
    return faults;
  }

  function tell(problem) {
    place("trouble").hidden = problem === null;
    place("trouble").textContent = problem ?? "";
  }

  function askForToken(reason) {
    place("access").hidden = false;
    place("denied").textContent = sessionStorage.getItem(TOKEN) ? reason : "";
  }

  function showTiles(status, bins, trust) {
    const busy = bins.filter((bin) => bin.decisions > 0);
    const latest = busy.filter((bin) => bin.rewards > 0).slice(-1)[0];
    const now = busy.slice(-1)[0];
    const tiles = [
      ["decisions", count(trust.counts.decisions)],
      ["reward, latest interval", latest ? number(latest.mean) : "–"],
      ["certified, latest interval", now ? percent(now.certified) : "–"],
      ["waiting for a reward", count(status.waiting)],
      ["rounds learned", count(status.rounds)],
      ["model", `${status.model}${status.training ? ", training" : ""}`],
      ["changes noticed", count(trust.n_alarms)],
    ];
    place("tiles").replaceChildren(...tiles.map(([name, value]) => {
      const tile = element("div");
      tile.append(element("dt", name), element("dd", value));
      return tile;
    }));
    place("title").textContent = status.loop;
    document.title = `${status.loop} – banditsrl`;
    place("lead").textContent = `Mode ${status.mode}; log position ${count(status.position)}, learned through ${count(status.learned_position)}.`;
  }

  function showTrust(trust) {
    const box = place("trust");
    box.hidden = false;
    const unwatched = trust.level === 1;  // the policy makes no audits
    const unproved = trust.n_audits === 0 && trust.counts.certified > 0;
    const kind = trust.withdrawn || unproved ? " open" : trust.informative ? " done" : "";
    box.className = `status${kind}`;
    box.dataset.withdrawn = String(trust.withdrawn);
    box.textContent = trust.sentence;
    place("worth-sentence").textContent = trust.withdrawn
      ? "Certificates are withdrawn, so every decision explores as it needs to."
      : unwatched
        ? "This loop makes no audits, so nothing is known about the loss of certified decisions."
        : "Certified decisions are audited at random; the bound is what these audits have shown.";
    const rows = [
      ["Largest loss per certified decision", trust.informative ? number(trust.bound) : "not known yet"],
      ["The bound fails with probability at most", unwatched ? "–" : number(trust.level)],
      ["Certified decisions behind it", count(trust.n_certified)],
      ["Audited decisions behind it", count(trust.n_audits)],
      ["Estimated reward that audits gave up", number(trust.cost)],
    ];
    place("worth-rows").replaceChildren(...rows.map(([name, value]) => {
      const row = element("tr");
      row.append(element("th", name), element("td", value));
      return row;
    }));
  }

  function buildCharts(bins) {
    const times = bins.map((bin) => bin.time);
    const last = bins.slice(-1)[0];
    const end = last ? last.time + last.seconds : 0;
    const marks = bins.flatMap((bin) => [
      ...(bin.versions.length ? [{ time: bin.time, kind: "version" }] : []),
      ...bin.alarms.map((time) => ({ time, kind: "alarm" })),
    ]);
    // Where nobody asked for a decision there are no shares, and only late rewards.
    const pick = (key) => bins.map((bin) => (bin.decisions === 0 ? null : bin[key]));
    const edge = (sign) => bins.map((bin) => (bin.decisions === 0 || bin.margin === null ? null : bin.mean + sign * bin.margin));
    const names = [...new Set(bins.flatMap((bin) => Object.keys(bin.actions)))].sort();
    const shares = ["certified", "explored", "audited"];
    return {
      reward: {
        label: "Reward over time", times, end, marks, format: number,
        series: [{ name: "reward", colour: "c0", values: pick("mean"), low: edge(-1), high: edge(1) }],
      },
      certainty: {
        label: "Shares of certified, explored and audited decisions over time", times, end, marks,
        format: percent, range: [0, 1],
        series: shares.map((name, k) => ({ name, colour: `c${[2, 1, 3][k]}`, values: pick(name) })),
      },
      actions: {
        label: "Share of each action over time", times, end, marks: marks.filter((m) => m.kind === "alarm"),
        format: percent, range: [0, 1], stacked: true,
        series: names.map((name, k) => ({ name, colour: hue(k), values: bins.map((bin) => (bin.decisions === 0 ? null : bin.actions[name] ?? 0)) })),
      },
    };
  }

  function drawCharts(built) {
    drawn = built;
    for (const box of document.querySelectorAll("[data-chart]")) {
      const chart = built[box.dataset.chart];
      charts.draw(box, chart);
      if (chart.series.length < (chart.stacked ? 1 : 2)) continue;  // an area has a name, a line a title
      const old = box.parentElement.querySelector(".legend");
      if (old) old.replaceWith(charts.buildLegend(chart.series));
      else box.after(charts.buildLegend(chart.series));
    }
  }

  function showModels(models) {
    place("model-rows").replaceChildren(...[...models].reverse().map((model) => {
      const row = element("tr");
      const found = Object.entries(model.evaluation).map(([name, value]) => `${name.replaceAll("_", " ")} ${say(value)}`);
      row.append(
        element("th", `${model.version}${model.current ? " (decides)" : ""}`),
        element("td", clock(model.time)), element("td", count(model.rounds), "number"),
        element("td", count(model.published_at), "number"), element("td", found.join(", ")),
      );
      return row;
    }));
  }

  function describeKind(decision) {
    if (decision.audit) return "audit";
    if (decision.certificate.certified) return "certified";
    return decision.explored ? "explored" : "best prediction";
  }

  function showDecisions(decisions) {
    place("decision-rows").replaceChildren(...decisions.map(({ decision, outcome }) => {
      const row = element("tr"), name = element("th"), button = element("button", decision.id, "plain");
      button.type = "button";
      button.addEventListener("click", () => explain(decision));
      name.append(button);
      row.append(
        name, element("td", clock(decision.time)), element("td", decision.action),
        element("td", percent(decision.probability), "number"), element("td", describeKind(decision)),
        element("td", outcome.value === null ? outcome.status : number(outcome.value), "number"),
      );
      return row;
    }));
  }

  async function explain(decision) {
    try {
      const found = await ask(`v1/explain/${encodeURIComponent(decision.id)}`);
      place("explained").textContent = `Why ${decision.action}? Decision ${decision.id}`;
      place("sentences").replaceChildren(...found.sentences.map((text) => element("li", text)));
      const names = Object.keys(decision.pmf).sort((a, b) => decision.pmf[b] - decision.pmf[a]);
      place("law").replaceChildren(...names.map((name) => buildLawRow(name, decision, found)));
      place("context").textContent = `Context: ${JSON.stringify(decision.context)}`;
      place("explanation").hidden = false;
      place("explanation").focus({ preventScroll: true });
      place("explanation").scrollIntoView({ block: "nearest" });
    } catch (error) {
      tell(error.message);
    }
  }

  function buildLawRow(name, decision, found) {
    const row = element("tr"), bar = element("td"), meter = element("meter");
    meter.value = decision.pmf[name];
    meter.setAttribute("aria-label", `probability of ${name}`);
    bar.append(meter);
    const role = name === decision.action ? " (played)" : name === found.second ? " (second)" : "";
    row.append(
      element("th", `${name}${role}`), element("td", percent(decision.pmf[name]), "number"),
      element("td", number(found.predicted[name]), "number"), bar,
    );
    return row;
  }

  function showLoops(loops) {
    place("choice").hidden = loops.length < 2;
    const names = loops.map((status) => status.loop);
    if (loop === null && names.length > 1) loop = names[0];
    place("loops").replaceChildren(...names.map((name) => {
      const option = element("option", name);
      option.selected = name === loop;
      return option;
    }));
  }

  async function refresh() {
    const bins = document.documentElement.clientWidth < 560 ? 60 : 120;
    if (place("loops").children.length === 0) showLoops((await ask("v1/loops")).loops);
    const [status, trust, history, models, latest] = await Promise.all([
      ask("v1/status"), ask("v1/trust"), ask("v1/history", { bins }), ask("v1/models"),
      ask("v1/decisions", { last: 20 }),
    ]);
    const past = history.bins.filter((bin) => bin.decisions > 0); // late rewards alone say little
    const parts = {
      tiles: () => showTiles(status, past, trust),
      trust: () => showTrust(trust),
      charts: () => drawCharts(buildCharts(past)),
      models: () => showModels(models.models),
      decisions: () => showDecisions(latest.decisions),
    };
    const trouble = [status.trouble, ...drawAll(Object.values(parts))].filter(Boolean);
    tell(trouble.length ? trouble.join(" ") : null);
    place("access").hidden = true;
    document.documentElement.dataset.drawn = "yes";
  }

  let timer = null;
  async function repeat() {
    clearTimeout(timer);
    let wait = true;
    try {
      if (!document.hidden) await refresh();
    } catch (error) {
      if (error instanceof Denied) {
        askForToken(error.message);
        wait = false;  // until the reader gives a token
      } else {
        tell(error instanceof Refused ? error.message : `The page could not be drawn: ${error.message}.`);
      }
    }
    if (wait) timer = setTimeout(repeat, EVERY);
  }

  place("access").addEventListener("submit", (event) => {
    event.preventDefault();
    sessionStorage.setItem(TOKEN, place("token").value.trim());
    place("token").value = "";
    repeat();
  });
  place("loops").addEventListener("change", (event) => {
    loop = event.target.value;
    place("explanation").hidden = true;
    repeat();
  });
  document.addEventListener("visibilitychange", () => { if (!document.hidden) repeat(); });
  window.addEventListener("resize", () => { if (drawn) drawCharts(drawn); });
  repeat();
})();

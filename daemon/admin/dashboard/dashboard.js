"use strict";

const REFRESH_MS = 5000;
const REFRESHES_PER_LIST = 12;  // Of what the daemon has to go through all entries for.
const POINTS = 60;  // Of a chart over time.
const REASONS = 8;
// What an artifact's page shows; LLVM IR and assembly are for the command line.
const SECTIONS = "groups,plan,graph";

const element = (id) => document.getElementById(id);
const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const charts = new Map();
let seconds = 86400;
let refreshes = 0;

async function fetchJson(path) {
  const reply = await fetch(path);
  if (!reply.ok) throw new Error(`${path} answers ${reply.status}`);
  return reply.json();
}

// ---- Numbers as people read them ---------------------------------------------------------------

function bytesText(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  for (; bytes >= 1024 && unit + 1 < units.length; ++unit) bytes /= 1024;
  return `${bytes.toFixed(unit ? 1 : 0)} ${units[unit]}`;
}

function secondsText(s) {
  if (s < 1) return `${Math.round(s * 1000)} ms`;
  if (s < 120) return `${s.toFixed(1)} s`;
  if (s < 7200) return `${Math.round(s / 60)} min`;
  return `${(s / 3600).toFixed(1)} h`;
}

function timeText(unix_s) {
  const options = seconds > 86400 ? {month: "short", day: "numeric", hour: "2-digit"} : {hour: "2-digit", minute: "2-digit"};
  return new Date(unix_s * 1000).toLocaleString([], options);
}

const shareText = (part, whole) => (whole > 0 ? `${(100 * part / whole).toFixed(1)} %` : "-");

// ---- Charts and tables ---------------------------------------------------------------------------

function palette() {
  return [style("--warm"), style("--soft"), "#4d8a86", "#c9a13b", "#7c6a9c", "#8a9a4d", "#b0637a", "#5b7fb0"];
}

// A chart is made once; then its data change.
function draw(id, type, labels, series, options) {
  const colors = palette();
  const datasets = series.map(({name, values}, place) => ({
    label: name, data: values, spanGaps: true, pointRadius: 0, borderWidth: 2, tension: 0.2,
    borderColor: type === "doughnut" ? style("--card") : colors[place],
    backgroundColor: type === "doughnut" ? colors : colors[place]}));
  Chart.defaults.color = style("--soft");
  Chart.defaults.borderColor = style("--line");
  if (!charts.has(id)) {
    charts.set(id, new Chart(element(id), {
      type, data: {labels, datasets},
      options: {animation: false, maintainAspectRatio: false, interaction: {mode: "index", intersect: false}, ...options}}));
    return;
  }
  const chart = charts.get(id);
  chart.data = {labels, datasets};
  chart.update();
}

function fill(id, rows) {
  const body = element(id).tBodies[0];
  body.replaceChildren(...rows.map((cells) => {
    const row = document.createElement("tr");
    for (const cell of cells) row.insertCell().append(cell);
    return row;
  }));
}

function artifactLink(entry) {
  const link = document.createElement("a");
  link.href = `#${entry.namespace}/${entry.key}`;
  link.textContent = entry.key.slice(0, 12);
  return link;
}

// ---- What is shown -------------------------------------------------------------------------------

function showNumbers(status) {
  const stats = status.stats;
  const lookups = stats.hits.total + stats.misses.total;
  element("daemon").textContent = `${status.version}, ${status.compiler_epoch}, up ${secondsText(status.uptime_s)}`;
  element("hit-rate").textContent = shareText(stats.hits.total, lookups);
  element("saved").textContent = secondsText(stats.seconds_saved);
  element("compiles").textContent = stats.compiles;
  element("warm-starts").textContent = stats.captures.hits;
  element("queue").textContent = `${status.queue.running}, ${status.queue.waiting}`;
  element("stored").textContent = bytesText(stats.bytes.stored);
}

function showReasons(stats) {
  const reasons = Object.entries(stats.misses.reasons).sort((a, b) => b[1] - a[1]).slice(0, REASONS);
  draw("reasons-chart", "bar", reasons.map(([name]) => name), [{name: "misses", values: reasons.map(([, count]) => count)}],
       {indexAxis: "y", plugins: {legend: {display: false}}, scales: {x: {ticks: {precision: 0}}}});
}

function showKinds(stats) {
  const kinds = Object.entries(stats.bytes.by_kind).filter(([, bytes]) => bytes > 0);
  draw("kinds-chart", "doughnut", kinds.map(([kind]) => kind), [{name: "bytes", values: kinds.map(([, bytes]) => bytes)}], {
    plugins: {legend: {position: "right"},
              tooltip: {callbacks: {label: (item) => `${item.label}: ${bytesText(item.raw)}`}}}});
}

function showHistory(rows) {
  const times = rows.map((row) => timeText(row.end));
  const share = (row) => (row.hits + row.misses > 0 ? 100 * row.hits / (row.hits + row.misses) : null);
  draw("hit-rate-chart", "line", times, [{name: "hits, %", values: rows.map(share)}],
       {plugins: {legend: {display: false}}, scales: {x: {ticks: {maxTicksLimit: 6}}, y: {min: 0, max: 100}}});
  draw("saved-chart", "bar", times, [
    {name: "saved, s", values: rows.map((row) => row.seconds_saved)},
    {name: "spent, s", values: rows.map((row) => row.compile_seconds)}],
       {scales: {x: {ticks: {maxTicksLimit: 6}}, y: {beginAtZero: true}}});
}

async function showEntries() {
  const {slowest, models} = await fetchJson("/dashboard/entries.json");
  fill("slowest", slowest.map((entry) => [
    entry.label, artifactLink(entry), secondsText(entry.compile_seconds), String(entry.hits)]));
  fill("models", models.map((model) => [
    model.label, String(model.hits), String(model.graphs), secondsText(model.seconds_saved)]));
}

async function showArtifact() {
  const [ns, key] = decodeURIComponent(location.hash.slice(1)).split("/");
  element("artifact").hidden = !key;
  if (!key) return;
  element("artifact-key").textContent = key.slice(0, 16);
  element("artifact-state").textContent = "It is compiled again to be looked at ...";
  element("artifact-sections").replaceChildren();
  try {
    const path = `/dashboard/inspect.json?namespace=${encodeURIComponent(ns)}&key=${key}&sections=${SECTIONS}`;
    const {sections} = await fetchJson(path);
    element("artifact-state").textContent = "";
    for (const section of sections) {
      const heading = document.createElement("h3");
      heading.textContent = section.name;
      const text = document.createElement("pre");
      text.textContent = section.text;
      element("artifact-sections").append(heading, text);
    }
  } catch (error) {
    element("artifact-state").textContent = error.message;
  }
}

async function refresh() {
  try {
    const [status, history] = await Promise.all([
      fetchJson(`/status?since=${seconds}`),
      fetchJson(`/dashboard/history.json?since=${seconds}&rows=${POINTS}`)]);
    showNumbers(status);
    showReasons(status.stats);
    showKinds(status.stats);
    showHistory(history.rows);
    if (refreshes++ % REFRESHES_PER_LIST === 0) await showEntries();
    element("trouble").hidden = true;
    document.body.dataset.refreshes = refreshes;
  } catch (error) {
    element("trouble").textContent = `The daemon does not answer: ${error.message}`;
    element("trouble").hidden = false;
  }
}

element("windows").addEventListener("click", ({target}) => {
  if (!target.dataset.seconds) return;
  seconds = Number(target.dataset.seconds);
  for (const button of element("windows").children) button.setAttribute("aria-pressed", String(button === target));
  refresh();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const chart of charts.values()) chart.destroy();
  charts.clear();
  refresh();
});
addEventListener("hashchange", showArtifact);
refresh();
showArtifact();
setInterval(refresh, REFRESH_MS);

/**
 * Draws docs/img/demo.svg from a real run of the demo: a terminal (tmux) runs it in a small project, and its screen is drawn as text
 * as soon as one sub-agent has ended while another is still at work. Run it again when the screen looks different: `npm run picture`.
 */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const COLUMNS = 160;
const ROWS = 40;
const WAIT_MS = 60_000;
const LINE = 20;
const CHARACTER = 8.43;
const MARGIN = 16;
const COLOURS = {
  31: "#ff7b72",
  32: "#7ee787",
  33: "#e3b341",
  34: "#79c0ff",
  35: "#d2a8ff",
  36: "#76e3ea",
  90: "#8b949e",
};

/** What the terminal has been told last; it holds beyond the end of a line. */
let style = {};
const root = fileURLToPath(new URL("..", import.meta.url));
const home = realpathSync(mkdtempSync(path.join(tmpdir(), "retinue-picture-")));
const project = path.join(home, "lantern");
const socket = `retinue-picture-${process.pid}`;
try {
  mkdirSync(project);
  for (const name of ["README.md", "package.json"]) cpSync(path.join(root, name), path.join(project, name));
  cpSync(path.join(root, "examples"), path.join(project, "src"), { recursive: true });
  const screen = await capture();
  const lines = withoutMachine(screen).filter((line) => !line.includes("past its end of life"));
  const target = path.join(root, "docs/img/demo.svg");
  writeFileSync(target, draw(["$ retinue demo", ...trimmed(lines)]));
  console.log(`${path.relative(root, target)}: ${trimmed(lines).length + 1} lines`);
} finally {
  tmux("kill-server");
  rmSync(home, { recursive: true, force: true, maxRetries: 10 });
}

async function capture() {
  const env = { ...process.env, HOME: home, RETINUE_HOME: path.join(home, ".retinue"), TERM: "xterm-256color" };
  const words = [process.execPath, path.join(root, "bin/retinue.js"), "demo"];
  const size = ["-x", String(COLUMNS), "-y", String(ROWS)];
  tmux(
    "-f",
    "/dev/null",
    "new-session",
    "-d",
    ...size,
    "-c",
    project,
    ...Object.entries(modelFree(env)).flatMap(([name, value]) => ["-e", `${name}=${value}`]),
    ...words,
  );
  const end = Date.now() + WAIT_MS;
  while (Date.now() < end) {
    const screen = tmux("capture-pane", "-p", "-e");
    if (/─ .*✓/.test(screen) && /─ .*●/.test(screen)) return screen.split("\n");
    await delay(50);
  }
  throw new Error("the demo never had one agent that had ended beside one at work");
}

function tmux(...args) {
  const { stdout, error } = spawnSync("tmux", ["-L", socket, ...args], { encoding: "utf8" });
  if (error) throw new Error(`this needs tmux: ${error.message}`);
  return stdout;
}

/** The picture shows the offline model, whatever is configured here. */
function modelFree(env) {
  return Object.fromEntries(Object.entries(env).filter(([name]) => /^(HOME|PATH|TERM|LANG|RETINUE_HOME)$/.test(name)));
}

function withoutMachine(lines) {
  return lines.map((line) => line.replaceAll(home, "~"));
}

function trimmed(lines) {
  const last = lines.findLastIndex((line) => line.trim() !== "");
  return lines.slice(0, last + 1);
}

function draw(lines) {
  const longest = Math.max(...lines.map((line) => plain(line).length));
  const width = Math.round(longest * CHARACTER + 2 * MARGIN);
  const height = lines.length * LINE + 2 * MARGIN;
  const rows = lines.map((line, at) => `<text x="${MARGIN}" y="${MARGIN + at * LINE + 15}">${spans(line)}</text>`);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="A terminal: retinue demo draws a tree of a main agent and three sub-agents at work">`,
    `<rect width="100%" height="100%" rx="10" fill="#0d1117"/>`,
    `<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14" fill="#e6edf3" xml:space="preserve">`,
    ...rows,
    "</g>",
    "</svg>",
    "",
  ].join("\n");
}

/** One span for each stretch of the same colour and weight. */
function spans(line) {
  const [first, ...rest] = line.split(`${String.fromCharCode(27)}[`);
  const begun = span(first, style);
  const shown = rest.map((part) => {
    const [, codes = "", text = ""] = /^([\d;]*)m(.*)$/s.exec(part) ?? [];
    for (const code of codes.split(";").map(Number)) style = after(style, code);
    return span(text, style);
  });
  return [begun, ...shown].join("");
}

function plain(line) {
  return line.replaceAll(new RegExp(`${String.fromCharCode(27)}\\[[\\d;]*m`, "g"), "");
}

function span(text, as) {
  return text === "" ? "" : `<tspan${attributes(as)}>${escaped(text)}</tspan>`;
}

function after(now, code) {
  if (code === 0) return {};
  if (code === 1) return { ...now, bold: true };
  if (code === 2) return { ...now, dim: true };
  if (code === 22) return { ...now, bold: false, dim: false };
  if (code === 39) return { ...now, colour: undefined };
  return code in COLOURS ? { ...now, colour: COLOURS[code] } : now;
}

function attributes({ colour, bold, dim }) {
  const fill = colour ?? (dim ? "#8b949e" : undefined);
  return `${fill ? ` fill="${fill}"` : ""}${bold ? ' font-weight="bold"' : ""}`;
}

function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

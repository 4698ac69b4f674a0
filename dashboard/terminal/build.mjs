// Builds static/vendor/xterm/terminal.js: one ES module, minified, with the licences of what is inside.
// Run by a developer: npm ci && npm run build. The result is committed; users of Bivouac need no Node.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const target = join(here, "../../static/vendor/xterm");
const LIMIT = 160 * 1024;

const result = await build({
  absWorkingDir: here,
  entryPoints: ["src/terminal.js"],
  bundle: true,
  format: "esm",
  target: ["chrome123", "firefox120", "safari17.5"],
  minify: true,
  legalComments: "none",
  metafile: true,
  write: false,
});

const names = Object.keys(result.metafile.inputs)
  .filter((path) => path.startsWith("node_modules/"))
  .map((path) => path.split("/").slice(1, path.startsWith("node_modules/@") ? 3 : 2).join("/"));
const packages = [...new Set(names)].sort().map((name) => {
  const folder = join(here, "node_modules", name);
  const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  return { name, version, license, text: readFileSync(join(folder, "LICENSE"), "utf8").trim() };
});

const code = result.outputFiles[0].contents;
const packed = gzipSync(code, { level: 9 }).length;
if (packed > LIMIT) throw new Error(`the bundle is ${packed} bytes compressed, more than ${LIMIT}`);

mkdirSync(target, { recursive: true });
writeFileSync(join(target, "terminal.js"), code);
writeFileSync(
  join(target, "LICENSES.txt"),
  packages.map(({ name, version, license, text }) => `${name} ${version} (${license})\n\n${text}\n`).join("\n----\n\n"),
);
const style = readFileSync(join(here, "node_modules/@xterm/xterm/css/xterm.css"));
writeFileSync(join(target, "xterm.css"), style);
const digest = (content) => createHash("sha256").update(content).digest("hex");
const manifest = {
  name: "xterm",
  built_from: "dashboard/terminal",
  packages: packages.map(({ name, version, license }) => ({ name, version, license })),
  files: { "terminal.js": { sha256: digest(code) }, "xterm.css": { sha256: digest(style) } },
};
writeFileSync(join(target, "manifest.json"), `${JSON.stringify(manifest, null, 2)}\n`);
console.log(`terminal.js: ${code.length} bytes, ${packed} compressed, ${packages.length} packages`);

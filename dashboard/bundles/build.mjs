// Builds static/vendor/codemirror and static/vendor/xterm: an ES module each, minified, with the licences of what is
// inside. Run by a developer: npm ci && npm run build. The results are committed; users of Bivouac need no Node.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const LIMIT = 160 * 1024;

async function bundled(entry) {
  const result = await build({
    absWorkingDir: here,
    entryPoints: [entry],
    bundle: true,
    format: "esm",
    target: ["chrome123", "firefox120", "safari17.5"],
    minify: true,
    legalComments: "none",
    metafile: true,
    write: false,
  });
  return { code: result.outputFiles[0].contents, packages: packagesOf(Object.keys(result.metafile.inputs)) };
}

function packagesOf(inputs) {
  const names = inputs
    .filter((path) => path.startsWith("node_modules/"))
    .map((path) => path.split("/").slice(1, path.startsWith("node_modules/@") ? 3 : 2).join("/"));
  return [...new Set(names)].sort().map((name) => {
    const folder = join(here, "node_modules", name);
    const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    return { name, version, license, text: readFileSync(join(folder, "LICENSE"), "utf8").trim() };
  });
}

// Writes the module built from `entry` as `module`, and `copies` (file names to paths below node_modules) beside it.
async function publish(name, { entry, module, copies = {} }) {
  const { code, packages } = await bundled(entry);
  const packed = gzipSync(code, { level: 9 }).length;
  if (packed > LIMIT) throw new Error(`${module} is ${packed} bytes compressed, more than ${LIMIT}`);

  const files = { [module]: code };
  for (const [file, path] of Object.entries(copies)) files[file] = readFileSync(join(here, "node_modules", path));
  const target = join(here, "../../static/vendor", name);
  mkdirSync(target, { recursive: true });
  for (const [file, content] of Object.entries(files)) writeFileSync(join(target, file), content);
  writeFileSync(
    join(target, "LICENSES.txt"),
    packages.map(({ name, version, license, text }) => `${name} ${version} (${license})\n\n${text}\n`).join("\n----\n\n"),
  );
  const digest = (content) => ({ sha256: createHash("sha256").update(content).digest("hex") });
  const manifest = {
    name,
    built_from: `dashboard/bundles/${dirname(entry)}`,
    packages: packages.map(({ name, version, license }) => ({ name, version, license })),
    files: Object.fromEntries(Object.entries(files).map(([file, content]) => [file, digest(content)])),
  };
  writeFileSync(join(target, "manifest.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  console.log(`${module}: ${code.length} bytes, ${packed} compressed, ${packages.length} packages`);
}

await publish("codemirror", { entry: "editor/editor.js", module: "editor.js" });
await publish("xterm", {
  entry: "terminal/terminal.js",
  module: "terminal.js",
  copies: { "xterm.css": "@xterm/xterm/css/xterm.css" },
});

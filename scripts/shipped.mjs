/**
 * What goes out beside the code of a release: what a tarball may contain, the licences of others, the notes, the bill
 * of materials and the checksums.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

/** Everything that a package may contain. Sources, tests and maps match none of these. */
const CONTENTS = [
  /^(package\.json|README\.md|LICENSE|THIRD-PARTY-NOTICES\.md)$/,
  /^dist\/(?!.*\.test\.)[\w./-]+\.c?js$/,
  /^types\/(?!.*\.test\.)[\w./-]+\.d\.ts$/,
  /^bin\/(retinue\.js|load\.js|package\.json)$/,
  /^grammars\/(bash\.wasm|LICENSE|README\.md)$/,
];
const ALWAYS = ["package.json", "README.md", "LICENSE"];

export function checkContents(tarball, files) {
  const foreign = files.filter((file) => !CONTENTS.some((pattern) => pattern.test(file)));
  if (foreign.length > 0) throw new Error(`${tarball} must not contain ${foreign.join(", ")}`);
  const missing = ALWAYS.filter((file) => !files.includes(file));
  if (missing.length > 0) throw new Error(`${tarball} lacks ${missing.join(", ")}`);
}

/** The section of this version in CHANGELOG.md, or the one that is not released yet. */
export function releaseNotes(root, version) {
  const sections = readFileSync(path.join(root, "CHANGELOG.md"), "utf8").split(/^## /m);
  const isNamed = (name) => (section) => section.startsWith(`[${name}]`) || section.startsWith(name);
  const section = sections.find(isNamed(version)) ?? sections.find(isNamed("Unreleased"));
  if (!section) throw new Error(`CHANGELOG.md has no section for ${version}`);
  const [, ...lines] = section.split("\n");
  const said = lines.filter((line) => !line.startsWith("Will be ")); // What is not released yet says so; these are the notes of a release.
  return `# Retinue ${version}\n\n${said.join("\n").trim()}\n`;
}

/**
 * Every package that an installation brings, and every one whose code is inside the bundle, as CycloneDX. npm resolves them from a
 * manifest that names both, without downloading them. `ours` are the manifests of this release that the package builds on: no registry has them.
 */
export function billOfMaterials(manifest, { inside, staging, ours }) {
  const folder = path.join(staging, "materials", manifest.name);
  mkdirSync(folder, { recursive: true });
  const used = ours.filter(({ name }) => name in { ...manifest.dependencies, ...manifest.peerDependencies });
  const all = Object.assign({}, ...used.map((other) => other.dependencies), manifest.dependencies, inside);
  const isForeign = ([name]) => !ours.some((other) => other.name === name);
  const { name, version, license, description } = manifest;
  const dependencies = Object.fromEntries(Object.entries(all).filter(isForeign));
  writeFileSync(
    path.join(folder, "package.json"),
    JSON.stringify({ name, version, license, description, dependencies }),
  );
  npm(folder, ["install", "--package-lock-only", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"]);
  const bill = JSON.parse(npm(folder, ["sbom", "--sbom-format", "cyclonedx", "--package-lock-only"]));
  bill.metadata.component.name = name; // npm takes the name of the folder.
  bill.components.unshift(...used.map(componentOf));
  for (const component of bill.components)
    if (inside[component.name] === component.version)
      component.properties = [...(component.properties ?? []), { name: "retinue:bundled", value: "true" }];
  return withoutAddresses(bill);
}

function componentOf({ name, version, license, description }) {
  const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
  return {
    "bom-ref": `${name}@${version}`,
    type: "library",
    name,
    version,
    description,
    purl,
    licenses: [{ license: { id: license } }],
  };
}

/** Where npm found a package is an address of the machine that made the release. */
function withoutAddresses(bill) {
  for (const { externalReferences } of bill.components) {
    const at = externalReferences?.findIndex(({ type }) => type === "distribution") ?? -1;
    if (at >= 0) externalReferences.splice(at, 1);
  }
  return bill;
}

/** The licences of the packages that these files belong to, and the versions of those packages. */
export function noticesOf(inputs) {
  const folders = inputs.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []);
  const versions = {};
  const notices = [...new Set(folders)].map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8"));
    versions[name] = version;
    const text = readdirSync(folder).find((file) => /^licen[cs]e/i.test(file));
    return `## ${name} ${version} (${license})\n\n${text ? readFileSync(path.join(folder, text), "utf8").trim() : ""}\n`;
  });
  return { text: ["# Packages whose code is part of this one\n", ...notices.sort()].join("\n"), versions };
}

/** In the form that `sha256sum --check` reads. */
export function writeChecksums(out) {
  const lines = readdirSync(out)
    .sort()
    .map(
      (file) =>
        `${createHash("sha256")
          .update(readFileSync(path.join(out, file)))
          .digest("hex")}  ${file}\n`,
    );
  writeFileSync(path.join(out, "SHA256SUMS"), lines.join(""));
}

function npm(cwd, args) {
  const { status, stdout, stderr } = spawnSync("npm", args, { cwd, encoding: "utf8" });
  if (status !== 0) throw new Error(`npm ${args.join(" ")} failed:\n${stdout}${stderr}`);
  return stdout;
}

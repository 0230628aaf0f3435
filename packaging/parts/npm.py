"""npm packages: one with the program for each platform, and one that starts the right one."""

import json

from .release import NAME, tar_gz

# What npm calls each processor.
PROCESSORS = {"x86_64": "x64", "aarch64": "arm64"}

LAUNCHER = """\
#!/usr/bin/env node
// Starts the program of the package for this platform, and ends as it ends.
const { spawn } = require("node:child_process");

const name = `%(name)s-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/bin/maestro`);
} catch {
  console.error(`error: no Maestro for ${process.platform} ${process.arch}: the package ${name} is not installed`);
  console.error(
    process.platform === "linux"
      ? "hint: install without `--omit=optional`, or build it: cargo install --path crates/cli"
      : process.platform === "win32"
        ? "hint: install it inside WSL2"
        : "hint: build it: cargo install --path crates/cli",
  );
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// The terminal sends Ctrl-C to both; the program decides what it means.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP", "SIGQUIT"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`error: cannot start ${program}: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
"""


def package(release, name, more, files, executable):
    about = {"name": name, "version": release.version, "description": release.summary, "license": release.license} | more
    files = {"package.json": (json.dumps(about, indent=2) + "\n").encode(), "README.md": release.readme} | release.texts | files
    packed = tar_gz({f"package/{path}": text for path, text in files.items()}, {f"package/{path}" for path in executable})
    return {f"{name}-{release.version}.tgz": packed}


def platform_name(processor):
    return f"{NAME}-linux-{PROCESSORS[processor]}"


def platform_package(release, program):
    processor = program.about.machine
    more = {"os": ["linux"], "cpu": [PROCESSORS[processor]], "preferUnplugged": True}
    if program.about.glibc:
        more["libc"] = ["glibc"]
    files = {"bin/maestro": program.content, "maestro.cdx.json": release.sbom} | release.shared()
    return package(release, platform_name(processor), more, files, {"bin/maestro"})


def main_package(release):
    more = {
        "bin": {"maestro": "bin/maestro.js"},
        "man": sorted(f"man/man1/{name}" for name in release.man),
        "engines": {"node": ">=18"},
        "optionalDependencies": {platform_name(processor): release.version for processor in PROCESSORS},
    }
    files = {"bin/maestro.js": (LAUNCHER % {"name": NAME}).encode()} | release.shared()
    return package(release, NAME, more, files, {"bin/maestro.js"})

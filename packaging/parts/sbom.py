"""A CycloneDX list of everything that may be compiled into the program, for any system, from Cargo.lock."""

import json
import os
import pathlib
import tomllib


def document(root):
    locked = {f"{entry['name']} {entry['version']}": entry for entry in tomllib.loads((root / "Cargo.lock").read_text())["package"]}
    manifests = workspace(root)
    own = next(key for key in locked if key.startswith("maestro "))
    edges, queue = {}, [own]
    while queue:
        key = queue.pop()
        if key not in edges:
            edges[key] = dependencies(locked, manifests, key)
            queue += edges[key]
    license = tomllib.loads((root / "Cargo.toml").read_text())["workspace"]["package"]["license"]
    components = [component(locked[key], license) for key in sorted(edges) if key != own]
    components.append(encoder())
    content = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "maestro", "version": locked[own]["version"], "bom-ref": own}},
        "components": components,
        "dependencies": [{"ref": key, "dependsOn": sorted(edges[key])} for key in sorted(edges)],
    }
    return (json.dumps(content, indent=1) + "\n").encode()


def workspace(root):
    """The manifests of the workspace's crates, by name."""
    folders = tomllib.loads((root / "Cargo.toml").read_text())["workspace"]["members"]
    manifests = [tomllib.loads((root / folder / "Cargo.toml").read_text()) for folder in folders]
    return {manifest["package"]["name"]: manifest for manifest in manifests}


def dependencies(locked, manifests, key):
    """What a package is compiled with. Cargo.lock has dependencies for tests too, but only for the workspace's own crates."""
    names = locked[key].get("dependencies", [])
    own = manifests.get(locked[key]["name"])
    if own is not None:
        tables = [own, *own.get("target", {}).values()]
        used = {name for table in tables for kind in ("dependencies", "build-dependencies") for name in table.get(kind, {})}
        names = [name for name in names if name.split(" ")[0] in used]
    return [full_name(locked, name) for name in names]


def full_name(locked, name):
    """`name version`; Cargo.lock leaves the version out where there is one only."""
    words = name.split(" ")
    if len(words) > 1:
        return " ".join(words[:2])
    return next(key for key in locked if key.split(" ")[0] == words[0])


def component(entry, own_license):
    name, version = entry["name"], entry["version"]
    found = {"type": "library", "name": name, "version": version, "bom-ref": f"{name} {version}"}
    if "checksum" in entry:
        found["purl"] = f"pkg:cargo/{name}@{version}"
        found["hashes"] = [{"alg": "SHA-256", "content": entry["checksum"]}]
    license = license_of(name, version) if "checksum" in entry else own_license
    if license:
        found["licenses"] = [{"expression": license.replace("/", " OR ")}]
    return found


def license_of(name, version):
    """As the crate's own manifest says, where cargo has unpacked it."""
    home = pathlib.Path(os.environ.get("CARGO_HOME", pathlib.Path.home() / ".cargo"))
    for path in sorted(home.glob(f"registry/src/*/{name}-{version}/Cargo.toml")):
        return tomllib.loads(path.read_text())["package"].get("license")
    return None


def encoder():
    """The weights of the built-in text encoder; NOTICE says where they come from."""
    return {
        "type": "machine-learning-model",
        "name": "maestro-encoder-weights",
        "bom-ref": "maestro-encoder-weights",
        "description": "Trained from sentence-transformers/all-MiniLM-L6-v2",
        "licenses": [{"expression": "Apache-2.0"}],
    }

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Prints what this package is made of, as SPDX 2.3 in JSON.

The Swift packages are those that SwiftPM resolved, with their relations (`swift package
show-dependencies`); with --binary FILE the Debian packages of the libraries that FILE is linked with and
the Swift whose runtime is inside, else those of the libraries that Package.swift asks pkg-config for. The
time is the commit's, so that one tree gives one document.
"""

import argparse
import datetime
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def output(*command):
    """The output of a command; its failure ends the script."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    if done.returncode:
        sys.exit(f"sbom: {' '.join(command)} failed")
    return done.stdout


def stamp(word):
    return output(ROOT / "scripts/stamp.sh", word).strip()


def identifier(*parts):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", "-".join(parts))


def package(kind, name, version, location="NOASSERTION", licence="NOASSERTION", purl=None, info=None):
    entry = {
        "SPDXID": identifier(kind, name),
        "name": name,
        "versionInfo": version,
        "downloadLocation": location,
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": licence,
        "copyrightText": "NOASSERTION",
    }
    if info:
        entry["sourceInfo"] = info
    if purl:
        entry["externalRefs"] = [{
            "referenceCategory": "PACKAGE-MANAGER",
            "referenceType": "purl",
            "referenceLocator": purl,
        }]
    return entry


def licence_of(folder):
    """The licence of a checkout; NOASSERTION when its text is neither of the two that Swift packages use."""
    for path in sorted(folder.glob("LICENSE*")):
        head = path.read_text(errors="replace")[:2000]
        if re.search(r"Apache License\s+Version 2\.0", head):
            return "Apache-2.0"
        if "Permission is hereby granted, free of charge" in head:
            return "MIT"
    return "NOASSERTION"


def swift_packages(resolved, checkouts):
    for pin in json.loads(resolved.read_text())["pins"]:
        state = pin["state"]
        url = pin["location"].removesuffix(".git")
        version = state.get("version") or state["revision"]
        yield package(
            "swift", pin["identity"], version,
            location=f"git+{url}.git@{state['revision']}",
            licence=licence_of(checkouts / url.rsplit("/", 1)[-1]),
            purl=f"pkg:swift/{url.removeprefix('https://')}@{version}")


def debian_package(path):
    """The Debian package that a file of this system belongs to, or None."""
    for spelling in {path, path.removeprefix("/usr"), "/usr" + path}:
        found = subprocess.run(
            ["dpkg-query", "-S", spelling], capture_output=True, text=True)
        if found.returncode == 0:
            name = found.stdout.split(":")[0]
            query = "${Version} ${Architecture} ${source:Package} ${source:Version}\n"
            version, arch, source, source_version = output(
                "dpkg-query", "-W", f"-f={query}", name).splitlines()[0].split()
            return package(
                "debian", name, version, purl=f"pkg:deb/debian/{name}@{version}?arch={arch}",
                info=f"built from the Debian source package {source} {source_version}")
    return None


def linked_libraries(binary):
    return [line.split()[2] for line in output("ldd", binary).splitlines() if "=> /" in line]


def manifest_libraries():
    for name in re.findall(r'pkgConfig: "([^"]+)"', (ROOT / "Package.swift").read_text()):
        folder = output("pkg-config", "--variable=pcfiledir", name).strip()
        yield f"{folder}/{name}.pc"


def relations(tree):
    """Each (package, dependency) of the tree that SwiftPM prints, by identity."""
    for child in tree["dependencies"]:
        yield tree["identity"], child["identity"]
        yield from relations(child)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dependencies", type=pathlib.Path, required=True,
                        help="what `swift package show-dependencies --format json` printed")
    parser.add_argument("--resolved", type=pathlib.Path, default=ROOT / "Package.resolved")
    parser.add_argument("--checkouts", type=pathlib.Path, default=ROOT / ".build/checkouts")
    parser.add_argument("--binary", type=pathlib.Path)
    parser.add_argument("--swift", default="swift", help="the swift that linked --binary")
    options = parser.parse_args()

    version, commit, time = stamp("version"), stamp("commit"), int(stamp("time"))
    name = options.binary.name if options.binary else "udp-fanout"
    root = package("product", name, version, licence="Apache-2.0", info=f"git commit {commit}")
    packages = {entry["SPDXID"]: entry for entry in swift_packages(
        options.resolved, options.checkouts)}
    links = []
    tree = json.loads(options.dependencies.read_text())
    for parent, child in sorted(set(relations(tree))):
        start = root["SPDXID"] if parent == tree["identity"] else identifier("swift", parent)
        links.append((start, "DEPENDS_ON", identifier("swift", child)))
    paths = linked_libraries(options.binary) if options.binary else manifest_libraries()
    for path in paths:
        entry = debian_package(path)
        if entry is None:
            sys.exit(f"sbom: {path} is of no Debian package")
        if entry["SPDXID"] not in packages:
            packages[entry["SPDXID"]] = entry
            links.append(
                (root["SPDXID"], "DYNAMIC_LINK", entry["SPDXID"]) if options.binary
                else (entry["SPDXID"], "BUILD_DEPENDENCY_OF", root["SPDXID"]))
    if options.binary:
        found = re.search(r"Swift version (\S+)", output(options.swift, "--version"))
        entry = package(
            "toolchain", "swift", found[1] if found else "NOASSERTION", licence="Apache-2.0",
            location="https://www.swift.org/install/")
        packages[entry["SPDXID"]] = entry
        links.append((root["SPDXID"], "STATIC_LINK", entry["SPDXID"]))

    created = datetime.datetime.fromtimestamp(time, datetime.timezone.utc)
    json.dump({
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"{name}-{version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/{name}-{version}-{commit}",
        "creationInfo": {
            "created": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": ["Tool: sbom.py"],
        },
        "documentDescribes": [root["SPDXID"]],
        "packages": [root] + sorted(packages.values(), key=lambda entry: entry["SPDXID"]),
        "relationships": [
            {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
             "relatedSpdxElement": root["SPDXID"]},
        ] + [
            {"spdxElementId": start, "relationshipType": kind, "relatedSpdxElement": end}
            for start, kind, end in sorted(links)
        ],
    }, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()

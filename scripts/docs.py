#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs.py PRODUCTS FOLDER   writes the documentation as static files that any web server can serve below any path.

The pages are docs, its references and decisions, and every file that they link to; the order of docs/README.md is that
of the navigation. The Swift API of ReusePortLB is in api/, made by docc from the module in PRODUCTS. A link without a
target, and a warning of docc, is an error.
"""
import glob
import html
import html.parser
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parent.parent
api = "api/documentation/reuseportlb/"


def run(*command, **options):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, **options).stdout


# ---- the Swift API


def swift_api(products, folder):
    swift = os.environ.get("SWIFT", "swift")
    info = json.loads(run(swift, "-print-target-info"))
    tools = pathlib.Path(info["paths"]["runtimeResourcePath"]).parent.parent / "bin"
    maps = glob.glob(f"{products}/C*.build/module.modulemap") + glob.glob(f"{root}/Sources/C*/module.modulemap")
    flags = [f"-fmodule-map-file={path}" for path in maps + [f"{root}/bpf/include/module.modulemap"]]
    with tempfile.TemporaryDirectory() as graphs:
        run(tools / "swift-symbolgraph-extract", "-module-name", "ReusePortLB", "-target",
            info["target"]["unversionedTriple"], "-I", f"{products}/Modules", "-minimum-access-level", "public",
            "-skip-synthesized-members", "-output-dir", graphs, *(word for flag in flags for word in ("-Xcc", flag)))
        run(tools / "docc", "convert", root / "Sources/ReusePortLB/ReusePortLB.docc", "--additional-symbol-graph-dir",
            graphs, "--fallback-display-name", "ReusePortLB", "--fallback-bundle-identifier", "ReusePortLB",
            "--transform-for-static-hosting", "--warnings-as-errors", "--output-path", folder)
    # docc knows one base path; these pages find it by their own place.
    for page in folder.rglob("index.html"):
        up = os.path.relpath(folder, page.parent) + "/"
        text = page.read_text().replace('baseUrl = "/"', f'baseUrl = new URL("{up}", location).pathname')
        text = re.sub(r'(href|src)="/', rf'\1="{up}', text)
        back = f'<p style="margin: 0.5rem 1rem"><a href="{up}../index.html">udp-fanout: documentation</a></p>'
        page.write_text(text.replace('<div id="app">', back + '<div id="app">'))


# ---- the pages


def place(path):
    """Where a file of the tree is in the result: docs at the top, the rest in project/."""
    path = path.removeprefix("docs/") if path.startswith("docs/") else f"project/{path}"
    if (root / "docs" / path).is_dir() or (root / path.removeprefix("project/")).is_dir():
        return f"{path}/index.html"
    return "index.html" if path == "README.md" else re.sub(r"\.md$", ".html", path)


def anchor(heading):
    """GitHub's anchor of a heading."""
    text = html.unescape(re.sub("<.*?>", "", heading)).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


class Page:
    """A page of Markdown, or the list of the files in a folder."""

    def __init__(self, path):
        self.path, self.links = path, []
        source = root / path
        if source.is_dir():
            files = sorted(file for file in source.iterdir() if file.is_file())
            markdown = f"# {source.name.capitalize()}\n\n" + "".join(
                f"- [{Page.title_of(file)}]({path.split('/')[-1]}/{file.name})\n" for file in files)
        else:
            markdown = source.read_text()
        text = run("cmark-gfm", "--unsafe", "-e", "table", "-e", "autolink", input=markdown)
        text = re.sub(r"<!--.*?-->\n?", "", text, flags=re.S)
        text = re.sub(r"<h(\d)>(.*?)</h\1>", self.heading, text)
        self.body = re.sub(r'(href|src)="(?!https?:|mailto:|#)([^"#]*)', self.link, text)
        self.title = html.unescape(re.sub("<.*?>", "", re.search(r"<h1.*?>(.*?)</h1>", text)[1]))

    @staticmethod
    def title_of(file):
        found = re.search(r"^# (.*)", file.read_text(), re.M) if file.suffix == ".md" else None
        return found[1].replace("`", "") if found else file.name

    @staticmethod
    def heading(match):
        return f'<h{match[1]} id="{anchor(match[2])}">{match[2]}</h{match[1]}>'

    def link(self, match):
        target = os.path.normpath(os.path.join(os.path.dirname(self.path), match[2]))
        if not (root / target).exists():
            sys.exit(f"{self.path}: no such file: {match[2]}")
        self.links.append(target)
        return f'{match[1]}="{relative(place(target), place(self.path))}'


def relative(target, page):
    return os.path.relpath(target, os.path.dirname(page) or ".") + ("/" if target.endswith("/") else "")


def collected():
    """Every page and file, by its path: those of docs, and what they link to."""
    found = {}
    todo = ["docs/README.md", "README.md", "docs/decisions"] + sorted(
        str(path.relative_to(root)) for folder in ("docs", "docs/reference", "docs/decisions")
        for path in (root / folder).glob("*.md"))
    while todo:
        path = todo.pop(0)
        if path in found:
            continue
        found[path] = Page(path) if path.endswith(".md") or (root / path).is_dir() else None
        todo += found[path].links if found[path] else []
    return found


def navigation(found, page):
    """The pages in the order of docs/README.md, then the references and decisions."""
    index = found["docs/README.md"]
    pages = {path: one.title for path, one in found.items() if path.endswith(".md")}
    first = ["docs/README.md", "README.md"]
    groups = {"Guides": first + [path for path in dict.fromkeys(index.links + list(pages))
                                 if path in pages and path not in first and re.match("docs/[^/]*$", path)],
              "Reference": [path for path in pages if path.startswith("docs/reference/")],
              "Decisions": [path for path in pages if path.startswith("docs/decisions/")],
              "Project": [path for path in pages if not path.startswith("docs/") and path not in first]}
    here = place(page)
    text = ""
    for group, paths in groups.items():
        entries = [(place(path), pages[path]) for path in paths]
        if group == "Reference":
            entries.append((api, "The Swift API"))
        items = "".join(
            f'<li><a href="{relative(target, here)}"{" aria-current=page" if target == here else ""}>'
            f"{html.escape(title)}</a></li>\n" for target, title in entries)
        text += f"<strong>{group}</strong>\n<ul>\n{items}</ul>\n"
    return text


def write_pages(folder):
    found = collected()
    for path, page in found.items():
        target = folder / place(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        if page is None:
            shutil.copyfile(root / path, target)
            continue
        style = relative("docs.css", place(path))
        target.write_text(
            f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{html.escape(page.title)}</title>\n'
            f'<meta name="viewport" content="width=device-width">\n<link rel="stylesheet" href="{style}">\n'
            f"<nav>\n{navigation(found, path)}</nav>\n<main>\n{page.body}</main>\n</html>\n")
    shutil.copyfile(root / "scripts/docs.css", folder / "docs.css")


# ---- the check


class Links(html.parser.HTMLParser):
    """The links and anchors of a page."""

    def __init__(self, text):
        super().__init__()
        self.targets, self.anchors = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id":
                self.anchors.add(value)
            elif name in ("href", "src") and not re.match("https?:|mailto:|data:", value):
                self.targets.append(value)


def broken(folder):
    """Links to no file or anchor, in the pages and in what docc's scripts read."""
    pages = {page: Links(page.read_text()) for page in folder.rglob("*.html")}
    for page, links in pages.items():
        for link in links.targets:
            path, _, fragment = link.partition("#")
            target = pathlib.Path(os.path.normpath(page.parent / path)) if path else page
            target = target / "index.html" if target.is_dir() else target
            if not target.exists() or (fragment and fragment not in pages[target].anchors):
                yield f"{page.relative_to(folder)}: {link}"
    for data in folder.glob("api/data/documentation/**/*.json"):
        for url in re.findall(r'"url":"(\\/.*?)"', data.read_text()):
            path = url.replace("\\/", "/").partition("#")[0]
            if not (folder / f"api{path}").exists():
                yield f"{data.relative_to(folder)}: {url}"


if __name__ == "__main__":
    products, output = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).absolute()
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir(parents=True)
    write_pages(output)
    swift_api(products, output / "api")
    trouble = list(broken(output))
    for line in trouble:
        print(f"broken link: {line}", file=sys.stderr)
    print(f"{output}: {sum(1 for _ in output.rglob('*.html'))} pages")
    sys.exit(1 if trouble else 0)

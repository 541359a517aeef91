#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""reference.py [--check] PRODUCTS   writes every file that is generated from the sources; PRODUCTS is the folder of the
executables. --check writes nothing, but lists the files that differ and exits 1.

docs/reference and the chart's schema come from the daemon's catalogs, the command lines from the executables' help, and
the C API from its header. The manual pages have the same text and end with docs/man/NAME.md.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import textwrap

root = pathlib.Path(__file__).resolve().parent.parent
header = "Sources/CReusePortLB/include/reuseport_lb.h"
licence = "<!-- SPDX-License-Identifier: Apache-2.0 -->\n"


def read(path):
    return (root / path).read_text()


def run(*command):
    environment = {**os.environ, "COLUMNS": "80"}
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, env=environment).stdout


def fill(text, rest="", width=116):
    """A paragraph in lines that do not break code; `rest` indents all but the first."""
    whole = re.sub("`[^`]*`", lambda match: match[0].replace(" ", "\0"), text)
    lines = textwrap.fill(whole, width, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False)
    return lines.replace("\0", " ") + "\n"


def tail(name):
    """The hand-written end of a manual page."""
    text = read(f"docs/man/{name}.md").removeprefix(licence).lstrip()
    return re.sub(r"^include (.*)$", lambda match: re.sub(r"^(/\*.*?\*/\n)+", "", read(match[1]), flags=re.S)
                  .replace("\t", "    ").strip(), text, flags=re.M)


def values_schema(configuration):
    """The Helm chart's schema, with the configuration's in it."""
    values = json.loads(read("packaging/kubernetes/chart/values.schema.json"))
    parts = configuration.pop("$defs")
    for word in "$schema", "title":
        del configuration[word]
    values["properties"]["config"] = {"$ref": "#/$defs/configuration"}
    values["$defs"] = {"configuration": configuration, **parts}
    return json.dumps(values, indent=2) + "\n"


# ---- command lines


def prose(text):
    """A discussion: its paragraphs, and indented lines as code."""
    result = ""
    for block in filter(None, text.strip("\n").split("\n\n")):
        code = block.startswith("  ")
        result += (f"```\n{textwrap.dedent(block)}\n```\n" if code else fill(block)) + "\n"
    return result


def argument(entry):
    """An argument or option as an item of a list."""
    text = entry.get("abstract", "")
    value = entry["valueName"].upper() if entry["kind"] != "flag" else ""
    names = [("-" if name["kind"] == "short" else "--") + name["name"] for name in entry.get("names", [])]
    # Spellings of sbulb, which the parser does not know, begin the text.
    if spelled := re.match(r"(-\w+): (.)", text):
        names, text = [spelled[1], names[0]], spelled[2].upper() + text[spelled.end():]
    names.sort(key=lambda name: name.startswith("--"))
    if entry["isRepeating"]:
        value += " ..."
    default = entry.get("defaultValue")
    if stated := re.search(r" \(default: (.*)\)$", text):
        text, default = text[:stated.start()], stated[1]
    text = " ".join([text, entry.get("discussion", ""), f"Default: {default}." if default else ""])
    shown = ", ".join(f"`{name}`" for name in names[:-1] + [" ".join(names[-1:] + [value]).strip()])
    return fill(f"- {shown}: {' '.join(text.split())}", "  ")


def usage(program, words):
    text = re.search(r"^USAGE: (.*?)\n\n", run(program, *words, "--help"), re.S | re.M)[1]
    text = text.replace("<subcommand>", "[COMMAND] [ARGUMENTS]")
    text = re.sub(r"\[[^\]]*\]", lambda match: match[0].replace(" ", "\0"), text)
    lines = re.sub(r"<(.*?)>", lambda match: match[1].upper(), text).split("\n")
    return "```\n" + "".join(fill(line.strip(), "    ", 76) for line in lines) + "```\n\n"


def command(program, entry, words, title):
    """The section of a command, and those of its subcommands."""
    text = f"### {title}\n\n" if words else "## Description\n\n"
    if words:
        text += usage(program, words) + fill(entry["abstract"]) + "\n"
    text += prose(entry.get("discussion", ""))
    arguments = [argument(one) for one in entry.get("arguments", [])
                 if one["shouldDisplay"] and one["valueName"] not in ("help", "version")]
    if arguments and not words:
        text += "## Options\n\n"
    text += "".join(arguments) + ("\n" if arguments else "")
    inner = [one for one in entry.get("subcommands", []) if one["commandName"] != "help"]
    if inner and not words:
        text += "## Commands\n\n"
    for one in inner:
        own = words + [one["commandName"]]
        text += command(program, one, own, " ".join(own))
    return text


def tool(products, name):
    """A command line: its one line, and its page below that."""
    program = f"{products}/{name}"
    entry = json.loads(run(program, "--experimental-dump-help"))["command"]
    page = "## Synopsis\n\n" + usage(program, []) + command(program, entry, [], name) + tail(name)
    return entry["abstract"], page


def cli_page(tools):
    text = licence + "<!-- `make reference` writes this page from the help of the executables. -->\n"
    text += "# Command lines\n\nEvery command, argument, option and default of the three executables. Each has the "
    text += "options `--help` and `--version`.\n"
    for name, (abstract, page) in tools.items():
        page = re.sub(r"^### (.*)$", rf"### `{name} \1`", page.replace("## Description\n\n", ""), flags=re.M)
        page = re.sub(r"^## (Synopsis|Options|Commands)\n\n", "", page, flags=re.M)
        page = re.sub(r"^## See also\n.*", "", page, flags=re.M | re.S)
        page = re.sub(r"^## (.*)$", lambda match: f"### {match[1]} of {name}", page, flags=re.M)
        text += f"\n## {name}\n\n{abstract}\n\n{page.strip()}\n"
    return text


# ---- the C API


def declarations():
    """The comment and the declaration of each item of the header, in order; the first comment has no declaration."""
    text = read(header).split("*/\n", 1)[1]
    items = [(re.match(r"/\*\n(.*?)\*/", text, re.S)[1], "")]
    body = text[text.index('extern "C" {\n#endif\n'):text.rindex("#ifdef __cplusplus")]
    for match in re.finditer(r"^/\*(.*?)\*/\n([a-z#][^\n]*\n(?:[\t}][^\n]*\n)*)", body, re.S | re.M):
        code = re.sub(r"^ {8}(?=\S| \*)", "    ", match[2].expandtabs(8), flags=re.M)
        items.append((match[1], code.rstrip()))
    return items


def described(comment):
    """A comment as Markdown: parameters and errors become lists."""
    lines = [re.sub(r"^ \* ?", "", line).rstrip() for line in comment.strip("\n").split("\n")]
    text = ""
    for block in "\n".join(lines).strip("\n").split("\n\n"):
        if block.startswith("    "):
            text += f"```c\n{textwrap.dedent(block)}\n```\n\n"
        elif block[0] in "@-":
            text += "Errors:\n\n" if block[0] == "-" else ""
            for match in re.finditer(r"^[@]?(\w+|-E\w+(?:, -E\w+)*)  +(.*(?:\n .*)*)", block, re.M):
                names = ", ".join(f"`{name.strip('-')}`" for name in match[1].split(", "))
                text += fill(f"- {names}: {' '.join(match[2].split())}", "  ")
            text += "\n"
        else:
            text += fill(" ".join(block.split())) + "\n"
    return text


def c_page():
    """The names of the functions, their declarations, and the page."""
    (top, _), *items = declarations()
    abstract, introduction = top.strip().removeprefix("* reuseport_lb.h: ").split("\n", 1)
    parts = {"Constants and types": "", "Functions": ""}
    names, prototypes = [], []
    for comment, code in items:
        function = re.match(r"(?:int|void|const char) \*?(rplb_\w+)\(", code)
        if function:
            names.append(function[1])
            prototypes.append(code)
        name = function or re.match(r"(?:#define |struct |enum |typedef void \(\*)(\w+)", code)
        part = "Functions" if function else "Constants and types"
        parts[part] += f"### {name[1]}\n\n```c\n{code}\n```\n\n{described(comment)}"
    page = described(introduction) + "".join(f"## {title}\n\n{text}" for title, text in parts.items())
    return abstract, names, prototypes, page + tail("reuseport_lb")


def c_markdown(page):
    text = licence + f"<!-- `make reference` writes this page from {header}. -->\n# The C API\n\n"
    text += "```sh\ncc -o collector collector.c $(pkg-config --cflags --libs reuseportlb)\n```\n\n"
    return text + "`#include <reuseport_lb.h>`; [c-library.md](../c-library.md) installs the library.\n\n" + page


# ---- manual pages


def roff(markdown):
    """Markdown of the kind above as the source of a manual page (man(7))."""

    def literal(text):
        return text.replace("\\", "\\e").replace("-", "\\-")

    def guarded(text):
        return re.sub(r"^(?=[.'])", r"\\&", text, flags=re.M)

    def inline(text):
        parts = " ".join(text.split()).split("`")
        for index, part in enumerate(parts):
            if index % 2:
                parts[index] = f"\\fB{literal(part)}\\fR"
                continue
            part = re.sub(r"(?<!\w)--?(?=\w)", lambda match: literal(match[0]), part.replace("\\", "\\e"))
            part = re.sub(r"(?<!\w)\*(\w+)\*", r"\\fI\1\\fR", part)
            parts[index] = re.sub(r"\b([a-z_.]+)\((\d)\)", r"\\fB\1\\fR(\2)", part)
        return guarded(fill("".join(parts)))

    result, follows_heading = "", True
    for block in blocks(markdown):
        if block.startswith("```"):
            code = block.split("\n", 1)[1].rsplit("\n", 1)[0]
            result += ("" if follows_heading else ".PP\n") + ".in +4n\n.nf\n" + guarded(literal(code)) + "\n.fi\n.in\n"
        elif block.startswith("## "):
            result += f".SH {block[3:].upper()}\n"
        elif block.startswith("### "):
            result += f".SS {literal(block[4:])}\n"
        elif block.startswith("- "):
            for item in re.split(r"^- ", block, flags=re.M)[1:]:
                head, _, text = item.partition("`: ")
                result += ".TP\n" + inline(head + "`") + inline(text)
        else:
            result += ("" if follows_heading else ".PP\n") + inline(block)
        follows_heading = block.startswith("#")
    return result


def blocks(markdown):
    """Its blocks; a fenced one keeps its empty lines."""
    parts = re.split(r"^(```\w*\n.*?^```)$", markdown, flags=re.S | re.M)
    for index, part in enumerate(parts):
        yield from [part] if index % 2 else filter(None, (block.strip() for block in part.split("\n\n")))


def manual(title, section, source, kind, names, abstract, page):
    text = '.\\" SPDX-License-Identifier: Apache-2.0\n'
    text += f'.\\" `make reference` writes this page; its end is docs/man/{title}.md.\n'
    text += f'.TH {title.upper()} {section} "" "{source}" "{kind}"\n.SH NAME\n'
    abstract = abstract[0].lower() + abstract[1:].rstrip(".")
    return text + fill(f"{names} \\- {abstract}".replace("udp-", "udp\\-")) + roff(page)


def generated(products):
    """The text of each file, by its path."""
    daemon = f"{products}/udp-fanout"
    schema = run(daemon, "schema")
    files = {
        "docs/reference/config.schema.json": schema,
        "docs/reference/configuration.md": run(daemon, "reference", "configuration"),
        "docs/reference/metrics.md": run(daemon, "reference", "metrics"),
        "packaging/kubernetes/chart/values.schema.json": values_schema(json.loads(schema)),
    }
    sources = {"udp-fanout": "udp-fanout", "collector": "ReusePortLB", "publisher": "ReusePortLB"}
    tools = {name: tool(products, name) for name in sources}
    files["docs/reference/cli.md"] = cli_page(tools)
    for name, (abstract, page) in tools.items():
        files[f"docs/man/{name}.1"] = manual(name, 1, sources[name], "User Commands", name, abstract, page)
    abstract, names, prototypes, page = c_page()
    files["docs/reference/c-api.md"] = c_markdown(page)
    synopsis = "## Synopsis\n\n```c\n#include <reuseport_lb.h>\n\n" + "\n".join(prototypes) + "\n```\n\n"
    synopsis += "Compile and link with `pkg-config --cflags --libs reuseportlb`.\n\n## Description\n\n"
    files["docs/man/reuseport_lb.3"] = manual("reuseport_lb", 3, "reuseportlb", "C library",
                                              ", ".join(["reuseport_lb"] + names), abstract, synopsis + page)
    return files


if __name__ == "__main__":
    check = sys.argv[1:2] == ["--check"]
    differ = []
    for path, text in generated(os.path.abspath(sys.argv[-1])).items():
        if not (root / path).exists() or read(path) != text:
            differ.append(path)
            if not check:
                (root / path).write_text(text)
    for path in differ:
        print(f"{path}: differs from its source; run make reference" if check else f"{path}: rewritten")
    sys.exit(1 if check and differ else 0)

#!/usr/bin/env python3
"""Checks what the guides point to, without a network: links.py TOP

Of every Markdown file: linked files and pictures are in the tree, anchors are headings of the file
they point into, an address elsewhere is well formed, and a path in `code` that begins with a folder
of the tree exists. Every file in docs/ can be reached from README.md: a reached text links to it or
names its path.
"""
import pathlib
import posixpath
import re
import sys
import urllib.parse

import tools

FENCE = re.compile(r"^ {0,3}(```+|~~~+).*?^ {0,3}\1[ \t]*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)")
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\[\]]*\])*\]\(\s*<?([^)\s>]*)>?(?:\s+\"[^\"]*\")?\s*\)")
DEFINED = re.compile(r"^ {0,3}\[[^\]]+\]:\s*<?(\S+?)>?(?:\s|$)", re.MULTILINE)
HTML = re.compile(r"<(?:a|img)\s[^>]*?(?:href|src)=[\"']([^\"']*)[\"']", re.IGNORECASE)
ANCHOR = re.compile(r"<a\s[^>]*?(?:id|name)=[\"']([^\"']*)[\"']", re.IGNORECASE)
HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$", re.MULTILINE)
FOLDERS = ("docs", "sim", "topology", "model", "traces", "tests")
NAMED = re.compile(rf"(?:{'|'.join(FOLDERS)})(?:/[\w.-]+)+/?")


def blank(match):
    """As many lines, and nothing on them: places stay right."""
    return "\n" * match[0].count("\n")


def slug(heading):
    """The anchor that GitHub gives to a heading: what is neither letter, digit, '-' nor '_' goes,
    a space becomes '-'."""
    words = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    words = "".join(c for c in words.strip().lower() if c.isalnum() or c in "-_ ")
    return words.replace(" ", "-")


def anchors(text):
    """All of a Markdown file; a heading that comes again gets a number."""
    text = FENCE.sub(blank, text)
    found, seen = set(ANCHOR.findall(text)), {}
    for heading in HEADING.findall(text):
        name = slug(heading)
        found.add(f"{name}-{seen[name]}" if name in seen else name)
        seen[name] = seen.get(name, 0) + 1
    return found


def targets(text):
    """(line, target) of each link and picture that is not shown as code."""
    text = CODE.sub(lambda m: "`" * len(m[0]), FENCE.sub(blank, text))
    for pattern in (LINK, DEFINED, HTML):
        for match in pattern.finditer(text):
            yield text.count("\n", 0, match.start(1)) + 1, match[1]


def paths_in_code(text):
    """(line, path) of what is written as code and is nothing but a path into the tree."""
    text = FENCE.sub(blank, text)
    for match in CODE.finditer(text):
        if NAMED.fullmatch(match[2]):
            yield text.count("\n", 0, match.start()) + 1, match[2]


class Tree:
    """The texts of the Markdown files by path, and the paths of all files and folders."""

    def __init__(self, texts, paths):
        self.texts = texts
        self.files = set(paths)
        self.folders = {parent.as_posix() for path in paths
                        for parent in pathlib.PurePosixPath(path).parents}

    def resolve(self, guide, target):
        """The path that a link means, from the root; of a folder, what reports and traces show."""
        path = urllib.parse.unquote(target.partition("#")[0])
        if path == "":
            return guide
        path = posixpath.normpath(posixpath.join(posixpath.dirname(guide), path))
        page = posixpath.join(path, "README.md")
        return page if page in self.files else path

    def complaint(self, guide, target):
        """What is wrong with a link, or nothing."""
        parts = urllib.parse.urlsplit(target)
        if parts.scheme in ("http", "https"):
            host = parts.hostname or ""
            return "" if re.fullmatch(r"([\w-]+\.)+[a-z]+", host) else "no host of that form"
        if parts.scheme:
            return "" if parts.scheme == "mailto" else f"scheme {parts.scheme} is not for a guide"
        path, anchor = self.resolve(guide, target), urllib.parse.unquote(parts.fragment)
        if path not in self.files and path not in self.folders:
            return "no such file"
        if anchor == "":
            return ""
        if path not in self.texts:
            return "an anchor needs a Markdown file"
        return "" if anchor in anchors(self.texts[path]) else "no such heading"

    def broken(self):
        for guide, text in sorted(self.texts.items()):
            for line, target in targets(text):
                why = self.complaint(guide, target)
                if why:
                    yield f"{guide}:{line}: link to {target}: {why}"
            for line, path in paths_in_code(text):
                if path.rstrip("/") not in self.files | self.folders:
                    yield f"{guide}:{line}: `{path}` is named: no such file"

    def named_in(self, guide, text, docs):
        """Files of docs/ that a reached text leads to."""
        linked = {self.resolve(guide, target) for _, target in targets(text)}
        for path in docs:
            beside = posixpath.relpath(path, posixpath.dirname(guide) or ".")
            words = "|".join(re.escape(word) for word in {path, beside})
            if path in linked or re.search(rf"(?<![\w./-])(?:\./)?(?:{words})(?![\w-])", text):
                yield path


def orphans(tree, docs, start="README.md"):
    """Files of docs/ that no chain of texts leads to. docs: path -> text, or "" of what is none."""
    reached, left = set(), [(start, tree.texts[start])]
    while left:
        guide, text = left.pop()
        for path in set(tree.named_in(guide, text, docs)) - reached:
            reached.add(path)
            left.append((path, docs[path]))
    return sorted(set(docs) - reached)


def text_of(path):
    """What a file says, or nothing if it is no text."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""


def main():
    root = pathlib.Path(sys.argv[1])
    names = [path.as_posix() for path in tools.tree(root, "")]
    texts = {name: text_of(root / name) for name in names if name.endswith(".md")}
    docs = {name: text_of(root / name) for name in names if name.startswith("docs/")}
    tree = Tree(texts, names)
    found = list(tree.broken())
    found += [f"{path}: nothing that README.md leads to names it" for path in orphans(tree, docs)]
    links = sum(1 for text in texts.values() for _ in targets(text))
    return tools.verdict(found, [], f"{links} links of {len(texts)} guides hold; {len(docs)} files "
                         "in docs/ are reached")


if __name__ == "__main__":
    sys.exit(main())

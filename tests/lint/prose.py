#!/usr/bin/env python3
"""Measures the sentences of the pages and finds words that they avoid: prose.py TOP

Of each page in PAGES: no word of WORDS, half of the sentences have at most 16 words, and none has
more than 40. Code, tables, comments and what a link points to are left out; a table is searched for
words. A sentence ends at a full stop, a list item at its end. The texts of the C and JavaScript
sources and of their pages have none of these words either: help, messages, reports.

What is written by hand has at most ALL words, and a page no more than its row of SIZES: what has a
letter or digit, in sentences and tables. Code blocks and what programs write do not count.
`prose.py TOP --words` prints the words of each page.
"""
import fnmatch
import pathlib
import re
import statistics
import sys

import tools

# Pages written by these rules. A page that is rewritten joins them.
PAGES = ["README.md", "docs/README.md", "docs/glossary.md", "docs/faq.md",
         "docs/course/README.md", "docs/course/before-you-start.md", "docs/course/teaching.md",
         *(f"docs/course/{name}.md" for name in (
             "1-bubbles", "2-memory", "3-tensor", "4-zero", "5-recomputation", "6-zero-bubble",
             "7-experts", "8-stragglers", "9-messages", "tensor")),
         "docs/examples/README.md",
         *(f"docs/guides/{name}.md" for name in (
             "calibration", "classroom", "clusters", "compare", "deadlocks", "diff", "exchange",
             "explain", "fleet", "hybrid", "import", "install", "library", "offload", "plan", "python",
             "report", "tensor", "traces", "traces-sql", "uncertainty", "your-own-job")),
         *(f"docs/internals/{name}.md" for name in (
             "accuracy", "architecture", "model", "packaging", "papers", "performance",
             "robustness", "style", "testing")),
         "docs/reference/formats.md", "docs/reference/versions.md", "docs/CHANGELOG.md"]
MEDIAN, LONGEST = 16, 40
# Words by hand, in all and of the pages that a pattern names: the first that does.
ALL = 60000
SIZES = [("README.md", 800), ("docs/guides/*.md", 1000), ("docs/course/[1-9]*.md", 800),
         ("docs/internals/accuracy.md", 4000), ("docs/internals/model.md", 14000)]
# By a program; a log that only grows; an article with a limit of its own.
LEFT_UNCOUNTED = {"docs/reference/keys.md", "docs/CHANGELOG.md", "docs/paper/paper.md"}
# What is avoided, and what to write instead.
WORDS = {
    r"tells?|told": "reports, prints, shows; warns",
    r"stacks?|habits?": "framework, framework defaults",
    r"bills?|billed": "memory estimate, estimated",
    r"verdicts?": "fits / does not fit",
    r"deals?|dealt|dealing|anew": "assign, partition, repartition",
    r"foretold": "predicted",
    r"remed(?:y|ies)|would help": "fix, suggestion",
    r"products?": "matrix multiplication, GEMM",
    r"copies of the model": "data-parallel replicas",
    r"sums in switches": "in-network reduction",
    r"(?:network )?cards?": "NICs",
    r"drives?": "NVMe",
    r"rooms?|house": "modules, directories",
    r"goes on|go on|ends with": "continues, exits with",
    r"in whole \d+": "rounded up to a multiple of",
}
AVOIDED = {re.compile(rf"\b(?:{word})\b", re.I): better for word, better in WORDS.items()}
FOLDERS, SUFFIXES = {"sim", "model", "topology", "traces"}, (".c", ".h", ".js", ".html")
# Comments, to be skipped, and texts; in a page what stands between tags.
TOKEN = re.compile(r"""/\*.*?\*/|(?<!:)//[^\n]*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`""",
                   re.S)
PAGE = re.compile(r"<(script|style).*?</\1>|<!--.*?-->", re.S)
BETWEEN = re.compile(r"(?<=>)[^<]+|(?<=(?:title|label)=)\"[^\"]*\"", re.S)
PLACE = re.compile(r"\$\{[^}]*\}|%[-+.*\d]*l*[a-z]")
# Names that are promised, though they hold such a word.
KEPT = {"matrix products"}
GENERATED = re.compile(r"^<!-- (?:ledger|offload|printed): .*?^<!-- end -->$", re.M | re.S)
FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
LEFT_OUT = re.compile(r"<!--.*?-->|</?\w+[^>]*>", re.S)
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
CODE = re.compile(r"`[^`\n]+`")
ITEM = re.compile(r"^\s*(?:[-*]|\d+\.)\s+")
END = re.compile(r"(?<=[.!?])[*)\"]*\s+(?=[*\"(A-Z`\d])")


def blank(match):
    return "\n" * match[0].count("\n")


def plain(text):
    """The lines of a page as a reader reads them: a piece of code is one word."""
    for pattern in (FENCE, LEFT_OUT):
        text = pattern.sub(blank, text)
    return CODE.sub("CODE", LINK.sub(r"\1", text)).split("\n")


def sentences(lines):
    """(line, sentence) of paragraphs and list items."""
    found, part = [], []
    for number, line in enumerate([*lines, ""], 1):
        apart = not line.strip() or line[0] in "#|"
        if part and (apart or ITEM.match(line)):
            found += [(part[0], words) for words in END.split(" ".join(part[1:])) if words.strip()]
            part = []
        if not apart:
            part = [*part, ITEM.sub("", line).strip()] if part else [number, ITEM.sub("", line).strip()]
    return found


def words_of(text):
    """How many words of a page were written by hand."""
    for pattern in (GENERATED, FENCE, LEFT_OUT):
        text = pattern.sub("", text)
    return len(re.findall(r"[^\s|]*\w[^\s|]*", LINK.sub(r"\1", text)))


def sizes(words):
    """What is too long of {page: words}."""
    if sum(words.values()) > ALL:
        yield f"{sum(words.values())} words by hand, not at most {ALL}"
    for page, count in words.items():
        limit = next((most for name, most in SIZES if fnmatch.fnmatch(page, name)), count)
        if count > limit:
            yield f"{page}: {count} words by hand, not at most {limit}"


def complaints(page, text):
    lines = plain(text)
    for number, line in enumerate(lines, 1):
        for pattern, better in AVOIDED.items():
            for word in pattern.findall(line):
                yield f"{page}:{number}: \"{word}\"; write: {better}"
    lengths = []
    for number, sentence in sentences(lines):
        lengths.append(len(re.findall(r"[\w%'-]*\w[\w%'.,-]*", sentence)))
        if lengths[-1] > LONGEST:
            yield f"{page}:{number}: a sentence of {lengths[-1]} words, not at most {LONGEST}"
    if lengths and statistics.median(lengths) > MEDIAN:
        yield f"{page}: half of its sentences have more than {MEDIAN} words: " \
              f"median {statistics.median(lengths):g}"


def texts(path, source):
    """(place, text) of what a reader may see of a source: texts of two words or more."""
    if path.suffix == ".html":
        source, pattern = PAGE.sub(blank, source), BETWEEN
    else:
        pattern = TOKEN
    for found in pattern.finditer(source):
        text = PLACE.sub("", found[0].strip("\"'`"))
        if not found[0].startswith("/") and " " in text.strip() and text not in KEPT:
            yield found.start(), text


def spoken(path, source):
    for at, text in texts(path, source):
        for pattern, better in AVOIDED.items():
            for word in pattern.findall(text):
                yield f"{path}:{source.count(chr(10), 0, at) + 1}: \"{word}\"; write: {better}"


def main():
    top = pathlib.Path(sys.argv[1])
    found = [words for page in PAGES
             for words in complaints(page, (top / page).read_text(encoding="utf-8"))]
    words = {page: words_of((top / page).read_text(encoding="utf-8"))
             for page in map(str, tools.tree(top, ".md"))
             if page.startswith(("README.md", "docs/")) and page not in LEFT_UNCOUNTED}
    if "--words" in sys.argv:
        print("\n".join(f"{count:6} {page}" for page, count in sorted(words.items())))
    found += sizes(words)
    sources = [path for path in tools.tree(top, *SUFFIXES) if path.parts[0] in FOLDERS]
    found += [words for path in sources
              for words in spoken(path, (top / path).read_text(encoding="utf-8"))]
    return tools.verdict(found, [], f"{len(PAGES)} pages have short sentences and the field's words, "
                         f"{len(sources)} sources these words; {sum(words.values())} words by hand")


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Builds the web site: the docs as pages, reports of four examples, and the classroom.

usage: pages.py TRAINYARD TOP OUT

OUT is new or has a site of before. TRAINYARD has the classroom in it (-Dwasm=enabled). Needs
python3-markdown. Nothing on the site loads anything from elsewhere, and it has at most 5 MB."""
import html
import pathlib
import re
import shutil
import subprocess
import sys

import markdown

MOST_BYTES = 5e6
ALIGNED = {"tables": {"use_align_attribute": True}}  # pages forbid styles of their own
REPORTS = {"first": "LLaMA 13B on 32 A100, a first run",
           "llama-30b-256xa100": "LLaMA 30B on 256 A100",
           "llama3-8b-fsdp-8xh100": "Llama 3 8B on 8 H100 with FSDP",
           "mixtral-8x7b-64xh100": "Mixtral 8x7B on 64 H100"}
LEFT_OUT = {"CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "paper.md"}
WIDGET = r'<pre><code class="language-widget">(.*)\n</code></pre>'  # a line: what a room shows
PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src 'self'; style-src 'self'">
<title>{title} - trainyard</title>
<link rel="stylesheet" href="{root}site.css">
</head>
<body>
<nav aria-label="Site"><a href="{root}index.html">trainyard</a><a href="{root}classroom.html">Classroom</a>\
<a href="{root}course/README.html">Course</a><a href="{root}README.html">Docs</a>\
<a href="{root}benchmark.html">Benchmark</a></nav>
<main>
{body}
</main>
</body>
</html>
"""


class Site:
    def __init__(self, program, top, out):
        self.program, self.docs, self.out = program, top / "docs", out

    def target(self, page, link):
        """Where a link of a page leads on the site; None: to nothing that the site has."""
        path, _, anchor = link.partition("#")
        if re.match("[a-z]+:", link) or not path:
            return link
        there = (page.parent / path).resolve()
        if self.docs not in there.parents or there.name in LEFT_OUT or not there.is_file():
            return None
        if there.suffix == ".md":
            return re.sub(r"\.md$", ".html", path) + ("#" + anchor if anchor else "")
        if there.suffix not in (".svg", ".png", ".yaml", ".json", ".slots", ".log", ".txt"):
            return None
        copy = self.out / there.relative_to(self.docs)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(there, copy)
        return link

    def links(self, page, body):
        def of(match):
            start, link, inner = match.groups()
            target = self.target(page, html.unescape(link))
            return inner if target is None else f'<a {start}href="{html.escape(target)}">{inner}</a>'

        def picture(match):
            target = self.target(page, html.unescape(match[1]))
            if target is None:
                raise SystemExit(f"{page}: the picture {match[1]} is not there")
            return f'src="{html.escape(target)}"'
        body = re.sub(r'<a ([^>]*)href="([^"]*)">(.*?)</a>', of, body, flags=re.S)
        return re.sub(r'src="([^"]*)"', picture, body)

    def body(self, page, text):
        text = text.replace("<details>", '<details markdown="1">')
        made = markdown.markdown(text, extension_configs=ALIGNED, extensions=[
            "tables", "fenced_code", "toc", "md_in_html", "sane_lists"])
        up = "../" * (len(page.relative_to(self.docs).parts) - 1)
        return re.sub(WIDGET, lambda m: f'<p><a href="{up}classroom.html#{m[1].replace("%", "%25")}">'
                      "Change it in the classroom</a></p>", self.links(page, made))

    def write(self, name, title, body):
        path = self.out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        root = "../" * (len(pathlib.PurePath(name).parts) - 1)
        path.write_text(PAGE.format(title=html.escape(title), root=root, body=body), encoding="utf-8")

    def pages(self):
        for page in sorted(self.docs.rglob("*.md")):
            if page.name in LEFT_OUT or "site" in page.parts:
                continue
            text = page.read_text(encoding="utf-8")
            title = re.search("^# (.*)", text, re.M)[1]
            self.write(page.relative_to(self.docs).with_suffix(".html"), title, self.body(page, text))

    def run(self, *words):
        done = subprocess.run([self.program, *map(str, words)], capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):  # 1: an example that does not fit
            raise SystemExit(done.stderr.strip())

    def front(self):
        """The landing page: what README.md says first, and where to go."""
        readme = (self.docs.parent / "README.md").read_text(encoding="utf-8")
        lead = readme.partition("## Start")[0].replace("docs/", "")
        accuracy = re.search(r"^## Accuracy.*?(?=^## )", readme, re.M | re.S)[0].replace("docs/", "")
        reports = "".join(f"- [{title}](report-{name}.html)\n" for name, title in REPORTS.items())
        text = (lead + "## Try it\n\n- [Classroom](classroom.html): change a schedule or a layout and watch "
                "the step, in this browser\n- [Course](course/README.html): why pipelines have bubbles, and "
                "what every schedule does about it\n- [Install](guides/install.html): a package, a single "
                f"file, a Python wheel\n\n## Reports of four examples\n\n{reports}\n{accuracy}")
        page = self.docs / "README.md"
        body = markdown.markdown(text, extension_configs=ALIGNED, extensions=["tables", "sane_lists"])
        body = re.sub(r'href="([^":#]+)\.md', r'href="\1.html', body)
        for picture in re.findall(r'src="([^"]*)"', body):
            self.target(page, picture)
        self.write("index.html", "Simulate the training of large language models", body)

    def everything(self):
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir(parents=True)
        shutil.copyfile(self.docs / "site/site.css", self.out / "site.css")
        self.pages()
        self.front()
        for name in REPORTS:
            self.run("report", self.docs / f"examples/{name}.yaml", "-o", self.out / f"report-{name}.html")
        self.run("classroom", "-o", self.out / "classroom.html")

    def missing(self):
        """Links of pages to what the site does not have."""
        for path in self.out.rglob("*.html"):
            text = path.read_text(encoding="utf-8") if "report-" not in path.name else ""
            for link in re.findall(r'(?:href|src)="([^"#]+)(?:#[^"]*)?"', text.partition("<script")[0]):
                if not re.match("[a-z]+:", link) and not (path.parent / html.unescape(link)).exists():
                    yield f"{path.relative_to(self.out)}: {link}"


def main():
    program, top, out = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
    site = Site(program, top, out)
    site.everything()
    lost = list(site.missing())
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    if lost or size > MOST_BYTES:
        raise SystemExit("\n".join(lost) or f"the site has {size / 1e6:.1f} MB, of {MOST_BYTES / 1e6:.0f}")
    print(f"{out}: {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()

"""Pages: tables of Markdown, put between the marks of pages that people write.

    <!-- ledger: NAME -->
    ... replaced ...
    <!-- end -->"""
import re

MARK = re.compile(r"(<!-- ledger: ([^>]+?) -->\n)(.*?)(<!-- end -->)", re.S)


def cell(value, form="{}"):
    return "-" if value is None else form.format(value)


def percent(value, signed=False):
    return cell(value, "{:+.1f} %" if signed else "{:.1f} %")


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(str(c) for c in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def folded(title, text):
    """Shown when the reader opens it."""
    return f"<details><summary>{title}</summary>\n\n{text}\n</details>\n"


def shown(text):
    """The blocks of a page as they stand."""
    return {m.group(2): m.group(3) for m in MARK.finditer(text)}


def fill(texts, blocks):
    """The pages with every block in its places. A mark without block, or a block without mark, is
    an error: nothing measured may go missing."""
    marks = {m.group(2) for text in texts for m in MARK.finditer(text)}
    if marks != set(blocks):
        odd = sorted(marks ^ set(blocks))
        raise RuntimeError(f"the pages and the ledger do not have the same blocks: {odd}")
    return [MARK.sub(lambda m: f"{m.group(1)}{blocks[m.group(2)]}{m.group(4)}", text)
            for text in texts]

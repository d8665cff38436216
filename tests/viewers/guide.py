#!/usr/bin/env python3
"""The queries of docs/guides/traces-sql.md give the answers printed below them, on traces of both formats.

usage: guide.py TRAINYARD [--update]    skipped where there is no trace processor (see viewers.py)
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import viewers  # noqa: E402

DOCS = HERE.parents[1] / "docs"
RUN = [str(DOCS / "examples/llama-30b-256xa100.yaml"), "-q", "-o", "/dev/null", "--ranks",
       "one-per-stage", "--detail", "op"]
BLOCK = re.compile(r"```sql\n(.*?);\n```\n(?:\n```text\n(.*?)```\n)?", re.DOTALL)


def table(sql, rows):
    """The answer in columns: texts left, numbers right. A column is named by its `as`."""
    select = re.sub(r"\([^()]*\)", "", re.sub(r"\([^()]*\)", "", sql.split("\nfrom shown")[0]))
    names = re.findall(r"\bas (\w+)(?=,|\n|$)", select)
    lines = [names] + [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines)]
    right = [not isinstance(cell, str) for cell in rows[0]]
    return "".join("  ".join(cell.rjust(w) if r else cell.ljust(w) for cell, w, r in
                             zip(line, widths, right)).rstrip() + "\n" for line in lines)


def answers(queries, binary, assets):
    with tempfile.TemporaryDirectory() as folder:
        files = [pathlib.Path(folder, name) for name in ("a.json", "a.pftrace")]
        subprocess.run([binary, "run"] + RUN + ["--trace", f"chrome:{files[0]}", "--trace",
                                                f"perfetto:{files[1]}"], check=True)
        asked = json.dumps(dict(enumerate(queries)))
        for path in files:
            yield path.suffix, viewers.node("perfetto_sql.js", assets, path, input=asked)


def main():
    assets, why = viewers.find(viewers.PROCESSOR), viewers.missing(viewers.perfetto)
    if why is not None:
        return viewers.needs.told_of_all(why)
    guide = DOCS / "guides/traces-sql.md"
    text = guide.read_text(encoding="utf-8")
    blocks = BLOCK.findall(text)
    queries = [sql for sql, _ in blocks]
    failed = 0
    print(f"1..{2 * (len(blocks) - 1)}")
    for suffix, got in answers(queries, str(pathlib.Path(sys.argv[1]).resolve()), assets):
        fresh = [table(sql, got[str(i)]) if got[str(i)] else "" for i, sql in enumerate(queries)]
        if "--update" in sys.argv:
            shown = iter(fresh)
            text = BLOCK.sub(lambda m: f"```sql\n{m[1]};\n```\n" + (
                f"\n```text\n{answer}```\n" if (answer := next(shown)) else ""), text)
            guide.write_text(text, encoding="utf-8")
            blocks = BLOCK.findall(text)
        for (sql, printed), now in list(zip(blocks, fresh))[1:]:
            good = printed == now
            failed += not good
            print(f"{'ok' if good else 'not ok'} - {suffix} {sql.splitlines()[0]}")
            if not good:
                print("# " + now.replace("\n", "\n# "))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""The lessons of docs/course as a script: const LESSONS = [{title, text}].

    lessons.py OUTPUT.js LESSON.md..."""
import json
import pathlib
import sys


def main():
    output, *lessons = (pathlib.Path(word) for word in sys.argv[1:])
    texts = [path.read_text(encoding="utf-8") for path in lessons]
    rows = [{"title": text.split("\n", 1)[0].lstrip("# "), "text": text} for text in texts]
    output.write_text(f"const LESSONS = {json.dumps(rows)};\n", encoding="ascii")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""The lessons of docs/course as a script: const LESSONS = [{title, text}].

    lessons.py OUTPUT.js LESSON.md...

A page folds the hint and the answer of an exercise away; here they are lines of its block."""
import json
import pathlib
import re
import sys

EXERCISE = re.compile(r"""^\*\*\d\.\*\* (.+)

<details><summary>Hint</summary>

(.+)

</details>

<details><summary>Answer</summary>

```exercise
((?:.+\n)+)```

(.+)

</details>$""", re.M)


def gathered(text):
    """A lesson whose exercises are blocks of "key: value", without comments."""
    text = re.sub(r"\n?<!--.*?-->\n", "", text, flags=re.S)
    return EXERCISE.sub(
        lambda m: f"```exercise\nquestion: {m[1]}\nhint: {m[2]}\n{m[3]}worked: {m[4]}\n```", text)


def main():
    output, *lessons = (pathlib.Path(word) for word in sys.argv[1:])
    texts = [gathered(path.read_text(encoding="utf-8")) for path in lessons]
    rows = [{"title": text.split("\n", 1)[0].lstrip("# "), "text": text} for text in texts]
    output.write_text(f"const LESSONS = {json.dumps(rows)};\n", encoding="ascii")


if __name__ == "__main__":
    main()

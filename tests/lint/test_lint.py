#!/usr/bin/env python3
"""The checks of this folder find what they are there for: test_lint.py"""
import collections
import contextlib
import io
import json
import os
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

import complexity
import extending
import ideas
import layers
import links
import modules
import figures
import prose
import sizes
import tools  # finds needs
import needs

GUIDE = """# A  guide to `--stats json`: what's in it
See [the other](docs/other.md#second-2), [below](#a--guide-to---stats-json-whats-in-it) and
![a picture](docs/a.png). `[not a link](nowhere.md)`, docs/b.txt.

```
[neither](nowhere.md)
# no heading
```
"""
OTHER = "# Second\n# Second\n## [Second](x.md) 2\n[up](../README.md) [site](https://a.example/x?y#z)\n"
FILES = ["README.md", "docs/other.md", "docs/a.png", "docs/b.txt", "docs/x.md"]


def tree(**texts):
    """Two guides and what they point to; texts replace theirs."""
    return links.Tree({"README.md": texts.get("readme", GUIDE), "docs/other.md":
                       texts.get("other", OTHER), "docs/x.md": ""}, FILES)


class Links(unittest.TestCase):
    def test_links_that_hold_are_not_blamed(self):
        self.assertEqual(list(tree().broken()), [])

    def test_headings_get_the_anchors_of_github(self):
        self.assertEqual(links.slug("`--trace svg:PATH`, `schedule --format svg`"),
                         "--trace-svgpath-schedule---format-svg")
        self.assertEqual(links.anchors("# A b\n# A b\n```\n# c\n```\n<a id=\"d\"></a>\n"),
                         {"a-b", "a-b-1", "d"})

    def test_what_is_not_there_is_told_with_its_line(self):
        text = ("\n[a](docs/c.md) ![b](b.png) [c](#nothing) [d](docs/other.md#third)\n"
                "[e](http://x) [f](ftp://a.example) [g](docs/b.txt#x) `docs/none.txt`\n[h]: no.md\n")
        found = list(tree(readme=text).broken())
        self.assertEqual([line.split(": ", 1)[0] for line in found],
                         ["README.md:2"] * 4 + ["README.md:3"] * 3 + ["README.md:4", "README.md:3"],
                         found)

    def test_a_file_that_nothing_leads_to_is_told(self):
        docs = {"docs/other.md": OTHER, "docs/a.png": "", "docs/b.txt": "", "docs/x.md": ""}
        self.assertEqual(links.orphans(tree(), docs), [])
        docs["docs/lost-b.txt"] = ""
        self.assertEqual(links.orphans(tree(), docs), ["docs/lost-b.txt"])


class Prose(unittest.TestCase):
    def test_words_to_avoid_are_found_outside_of_code(self):
        text = "# A\nIt is told.\n\n```\nit is told\n```\n`told` or [a card](told.md).\n"
        self.assertEqual([found.split("; ")[0] for found in prose.complaints("a.md", text)],
                         ['a.md:2: "told"', 'a.md:7: "card"'])

    def test_long_sentences_are_found(self):
        text = "Short. " + "Word " * 40 + "word.\nShort.\n\n- item\n- " + "word " * 40 + "\n"
        self.assertEqual(list(prose.complaints("a.md", text)),
                         ["a.md:1: a sentence of 41 words, not at most 40"])

    def test_the_median_counts(self):
        text = "Word " * 16 + "word.\n"
        self.assertEqual(len(list(prose.complaints("a.md", text))), 1)
        self.assertEqual(list(prose.complaints("a.md", text[5:])), [])

    def test_texts_of_sources_have_the_words_too(self):
        source = '/* is told */\nf("It is told: %u", "told");\n'
        found = 'a.c:2: "told"; write: reports, prints, shows; warns'
        self.assertEqual(list(prose.spoken(pathlib.Path("a.c"), source)), [found])
        page = '<p class="told">One</p>\n<p title="What is told">Two <b>is told</b></p>\n'
        self.assertEqual([words.split("; ")[0] for words in prose.spoken(pathlib.Path("a.html"), page)],
                         ['a.html:2: "told"'] * 2)
        script = "// it's told\nput(`Who ${told} it`, 'is told');\n"
        self.assertEqual([words.split("; ")[0] for words in prose.spoken(pathlib.Path("a.js"), script)],
                         ['a.js:2: "told"'])

    def test_words_by_hand_are_counted_and_limited(self):
        text = ("One [two](three.md) `four five`. <!-- six --> | 7 | - |\n```\n$ eight\n```\n"
                "<!-- ledger: nine -->\n| ten |\n<!-- end -->\n")
        self.assertEqual(prose.words_of(text), 5)
        self.assertEqual(list(prose.sizes({"README.md": 800, "docs/guides/a.md": 1000})), [])
        self.assertEqual(list(prose.sizes({"docs/guides/a.md": 1001})),
                         ["docs/guides/a.md: 1001 words by hand, not at most 1000"])
        self.assertEqual(list(prose.sizes({"a.md": 30000, "b.md": 30001})),
                         ["60001 words by hand, not at most 60000"])


class Figures(unittest.TestCase):
    TEXT = "A step takes 1.25 s, 40 % of it idle.\n\n| 7.77 s |\n\n```\nstep 2.50 s\n```\n\nThat is 2.50 s.\n"

    def complaints(self, comment):
        return list(figures.complaints("a.md", self.TEXT + comment, lambda _: {"a": [1.0, 0.254]}))

    def test_a_number_of_a_sentence_is_known(self):
        self.assertEqual(self.complaints(""), [
            "a.md:1: 1.25 s is in no block of the page; say in a comment where it is from"])
        self.assertEqual(self.complaints("<!-- given: 1.25 -->\n"), [])

    def test_a_figure_is_what_its_command_prints(self):
        self.assertEqual(self.complaints("<!-- figure: 1.25 s = a[0]+a[1] of trainyard run x -->\n"), [])
        self.assertEqual(self.complaints("<!-- figure: 1.25 s = a[0] of trainyard run x -->\n"),
                         ["a.md: 1.25 is 1.00 now: a[0] of trainyard run x"])

    def test_a_comment_is_about_a_sentence(self):
        self.assertEqual(self.complaints("<!-- given: 1.25, 9.99 -->\n"),
                         ["a.md: 9.99 is in no sentence; remove it from the comment"])


class Layers(unittest.TestCase):
    def violations(self, files):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text, encoding="utf-8")
            return list(layers.violations(root))

    def test_includes_that_point_upward_are_told(self):
        self.assertEqual(self.violations({"sim/core/program/a.c": '#include "sim/base/err.h"\n'}), [])
        self.assertEqual(self.violations({"sim/core/program/a.c": '\n#include "topology/a.h"\n'}),
                         ["sim/core/program/a.c:2: sim/core/program may not include topology/a.h"])

    def test_a_folder_without_a_layer_is_told(self):
        self.assertEqual(self.violations({"sim/new/a.c": ""}),
                         ["sim/new/a.c: no layer is stated for sim/new"])

    def test_the_own_header_comes_first(self):
        self.assertEqual(self.violations({"model/a.h": "", "model/a.c":
                                          '#include <math.h>\n\n#include "model/a.h"\n'}),
                         ["model/a.c:1: its own header, model/a.h, comes first"])

        self.assertEqual(self.violations({"model/a.h": "", "model/a_internal.h":
                                          '#include "model/a.h"\n', "model/a.c":
                                          '#include "model/a_internal.h"\n'}), [])

    def test_headers_that_include_each_other_are_told(self):
        self.assertEqual(self.violations({"model/a.h": '#include "model/b.h"\n', "model/b.h":
                                          '#include "model/c.h"\n', "model/c.h":
                                          '#include "model/b.h"\n'}),
                         ["headers include each other: model/b.h, model/c.h, model/b.h"])


    def test_an_internal_header_of_another_folder_is_told(self):
        self.assertEqual(self.violations({"model/a_internal.h": "", "model/block/a.c":
                                          '#include "model/a_internal.h"\n'}),
                         ["model/block/a.c:1: model/a_internal.h is internal to model"])


class Modules(unittest.TestCase):
    def judge(self, defined, used):
        return list(modules.judge({name: (path, "T") for name, path in defined.items()},
                                  collections.defaultdict(set, used), {"ty_run"}))

    def test_a_listing_is_read(self):
        listing = "b/a.o: ty_a T 0 12\nb/a.o: ty_b U         \nb/a.o: ty_c r 0 8\nb/a.o: free U\n"
        self.assertEqual(modules.symbols(listing, {"b/a.o": "sim/base/a.c"}),
                         ({"ty_a": ("sim/base/a.c", "T")}, {"ty_b": {"sim/base/a.c"}}))

    def test_a_call_downward_passes_and_one_upward_does_not(self):
        defined = {"ty_a": "sim/base/a.c", "ty_b": "model/b.c"}
        self.assertEqual(self.judge(defined, {"ty_a": {"model/b.c"}}), [])
        self.assertEqual(self.judge(defined, {"ty_b": {"sim/base/a.c"}}),
                         ["sim/base/a.c: sim/base may not use ty_b of model/b.c"])

    def test_programs_use_what_the_public_header_declares(self):
        defined = {"ty_run": "sim/run/run.c", "ty_other": "sim/run/run.c"}
        used = {name: {"sim/cli/a.c"} for name in defined}
        self.assertEqual(self.judge(defined, used),
                         ["sim/cli/a.c: sim/cli may not use ty_other of sim/run/run.c"])

    def test_modules_that_use_each_other_are_told(self):
        defined = {"ty_a": "model/a.c", "ty_b": "model/block/b.c"}
        told = self.judge(defined, {"ty_a": {"model/block/b.c"}, "ty_b": {"model/a.c"}})
        self.assertEqual(told[-1], "modules use each other: model, model/block, model")

    def test_functions_with_one_other_caller_are_counted(self):
        defined = {name: ("sim/base/a.c", "T") for name in ("ty_a", "ty_b", "ty_c")}
        used = collections.defaultdict(set, {"ty_a": {"sim/base/a.c", "model/b.c"},
                                             "ty_b": {"model/b.c", "model/c.c"}})
        self.assertEqual(modules.single(defined, used), (1, 3))


@unittest.skipUnless(tools.present(["pmccabe"]), "pmccabe not found")
class Complexity(unittest.TestCase):
    def complaints(self, text):
        return list(complexity.judge("a.c", text, complexity.functions("a.c", text)))

    def test_a_function_at_the_limit_passes_and_one_above_does_not(self):
        decisions = ["    if (x) {\n    }"] * (complexity.COMPLEXITY - 1)
        body = "int f(int x)\n{{\n{}\n    return x;\n}}\n"
        self.assertEqual(self.complaints(body.format("\n".join(decisions))), [])
        decisions.append("    x = x && 1;")
        self.assertEqual(self.complaints(body.format("\n".join(decisions))),
                         [f"a.c:1: f has complexity {complexity.COMPLEXITY + 1}, "
                          f"limit {complexity.COMPLEXITY}"])

    def test_tests_and_all_branches_of_conditions_are_read(self):
        text = "TEST(a)\n{\n}\n#ifdef A\nint b(void)\n{\n}\n#else\nint b(void)\n{\n}\n#endif\n"
        self.assertEqual(self.complaints(text), [])
        self.assertEqual([row[3] for row in complexity.functions("a.c", text)], ["a", "b", "b"])

    def test_a_function_that_was_not_read_is_told(self):
        self.assertEqual(list(complexity.judge("a.c", "int f(void)\n{\n}\n", [])),
                         ["a.c: pmccabe sees 0 functions of 1"])


class Extending(unittest.TestCase):
    TABLES = {
        "model/schedule/schedule.h": '    X(a_b, "a-b")\n', "topology/collectives/coll.h":
        '    WORD(c, "c", "words")\n', "traces/out/writer.h": "    X(d) \\\n",
        "topology/gpu_presets.c": '    {.name = "e",\n', "topology/cluster_presets.c":
        '    {.name = "f",\n', "model/arch_presets.c": '    {"g", "G"},\n',
    }

    def told(self, texts):
        return [line.split(",")[0] for line in extending.violations({**self.TABLES, **texts})]

    def test_a_file_and_a_row_are_enough(self):
        own = {"a.c": 'x ty_sched_a_b = {.name = "a-b"', "c.c": 'x ty_coll_c = {.name = "c"',
               "d.c": 'x ty_trace_d = {.name = "d"', "other.c": '"c", "d", tree_c, "a-b-c", e'}
        self.assertEqual(self.told(own), [])

    def test_a_name_anywhere_else_is_told(self):
        for text, name in (('is(s, "a-b")', "a-b"), ("&ty_sched_a_b", "a-b"), ("ty_coll_c.cost", "c"),
                           ("ty_trace_d.name", "d"), ('"e"', "e"), ('"f"', "f"), ('"g"', "g")):
            self.assertEqual(self.told({"x.c": text}), [f"x.c: names {name}"], text)

    def test_a_table_without_rows_is_told(self):
        self.assertEqual(self.told({"traces/out/writer.h": ""}),
                         ["traces/out/writer.h: no row of a trace format"])


class Ideas(unittest.TestCase):
    def told(self, text, path="topology/a.c"):
        return [line.split(": ", 1)[1] for line in ideas.nameless(pathlib.PurePosixPath(path), text)]

    def test_a_head_that_names_its_idea_passes(self):
        for text in ("/* a.c - how ranks meet. */\n", "/* a.c - one forward, one backward.\n *\n * See b.h. */",
                     "/* a.c - how ranks of\n * stages meet; see b.h. */"):
            self.assertEqual(self.told(text), [], text)
        self.assertEqual(ideas.idea("a.c", "/* a.c - how ranks of\n * stages meet; see b.h. */"),
                         "how ranks of stages meet")

    def test_a_head_without_an_idea_is_told(self):
        wrong = "begins with no comment `a.c - its idea.`"
        for text in ("int x;", "/* b.c - how ranks meet. */", "/* How ranks meet. */", ""):
            self.assertEqual(self.told(text), [wrong], text)
        self.assertEqual(self.told("/* a.c - see a.h. */"), ["'see a.h' names no idea"])
        self.assertEqual(self.told("/* a.c - see a.h. Rows come first. */"), ["'see a.h' names no idea"])
        self.assertEqual(self.told("/* a.c - the rest. */"), ["'the rest' names no idea"])

    def test_a_folder_without_a_row_is_told(self):
        self.assertEqual(ideas.unlisted({"a", "b", "c/d"}, "| `a` | x |\n| `e`, `b` | `c/d` |\n"),
                         ["docs/internals/architecture.md: no row for c/d"])


class Sizes(unittest.TestCase):
    def test_a_function_is_as_long_as_its_body(self):
        lines = ["static int f(int x,", "             int y)", "{", *78 * ["    x++;"], "}", "int a;",
                 "TEST(t)", "{", "}"]
        self.assertEqual(list(sizes.functions(lines)), [("f", 3, 80), ("TEST", 85, 2)])


class Verdict(unittest.TestCase):
    def status(self, full, findings=()):
        with unittest.mock.patch.dict(os.environ, {"TRAINYARD_CI_FULL": full}), \
                unittest.mock.patch("builtins.print"):
            return tools.verdict(list(findings), ["pmccabe"], "")

    def test_a_missing_tool_skips_and_fails_where_all_must_run(self):
        self.assertEqual(self.status(""), needs.SKIPPED)
        self.assertEqual(self.status("1"), 1)

    def test_findings_fail_whatever_is_missing(self):
        self.assertEqual(self.status("", ["a.c:1: wrong"]), 1)


class Files(unittest.TestCase):
    def test_without_git_the_same_files_belong_to_the_tree(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name in ("a.c", "docs/step.json", "step.json", "build-x/b.c", "docs/build/c.c",
                         "docs/build.md", "sim/__pycache__/d.c", ".git/HEAD", ".ci/run"):
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text("")
            (root / ".gitignore").write_text("build*/\n/step.json\n__pycache__/\n")
            with unittest.mock.patch.dict(os.environ, {"PATH": folder}):
                self.assertEqual([str(path) for path in tools.tree(root, "")],
                                 [".ci/run", ".gitignore", "a.c", "docs/build.md", "docs/step.json"])

    def test_so_it_is_with_this_tree(self):
        root = pathlib.Path(__file__).resolve().parents[2]
        told = tools.tree(root, "")
        with unittest.mock.patch.object(tools, "tracked", return_value=None):
            self.assertEqual(tools.tree(root, ""), told)


class Needs(unittest.TestCase):
    def told(self, full, network=False):
        """(printed, whether it fails) of a test that lacks something."""
        with unittest.mock.patch.dict(os.environ, {"TRAINYARD_CI_FULL": full}), \
                contextlib.redirect_stdout(io.StringIO()) as out:
            fails = needs.told(3, "draws", needs.Missing("ink", "ink-pen", network))
        return out.getvalue(), fails

    def test_what_is_missing_is_skipped_or_fails(self):
        skipped = "ok 3 - draws # SKIP ink is not installed (Debian: ink-pen)\n"
        self.assertEqual(self.told("0"), (skipped, False))
        self.assertEqual(self.told("1", network=True), (skipped, False))
        self.assertEqual(self.told("1"), ("not ok 3 - draws: ink is not installed "
                                          "(Debian: ink-pen)\n", True))

    def test_without_pseudo_terminals_there_is_no_terminal(self):
        with unittest.mock.patch.object(os, "openpty", side_effect=FileNotFoundError):
            self.assertRaisesRegex(needs.Missing, "^a terminal cannot be had", needs.terminal)

    def test_no_interpreter_has_a_module_that_does_not_exist(self):
        with unittest.mock.patch.dict(needs.MODULES, {"no_such_module": "python3-none"}):
            self.assertRaisesRegex(needs.Missing, "python3-none", needs.python, "no_such_module")
        self.assertEqual(needs.python("json"), sys.executable)

    def test_logs_of_meson_tell_what_was_skipped(self):
        rows = [{"name": "trainyard:cli / a", "result": "OK", "stdout": "ok 1 - b # SKIP no c\n"},
                {"name": "trainyard:cli / d", "result": "OK", "stdout": "ok 1 - e\n"},
                {"name": "f", "result": "SKIP", "stdout": "g is not installed\n"}]
        with tempfile.NamedTemporaryFile("w") as log:
            log.write("".join(json.dumps(row) + "\n" for row in rows))
            log.flush()
            self.assertEqual(list(needs.skipped(log.name)),
                             [("a", "no c"), ("f", "g is not installed")])


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""`trainyard list schema`: has every key, takes every example, and refuses what the program refuses.

The second and third need PyYAML and jsonschema: the program goes on in an interpreter that has them,
if there is one; they are skipped without (tests/common/needs.py).
"""
import contextlib
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "common"))
import needs  # noqa: E402

BINARY, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
MODULES = ("yaml", "jsonschema")
EXAMPLE = """
cluster: {preset: dgx-a100-80g, nodes: 1}
model: {preset: llama-7b}
layout: {global_batch: 64}
"""
MISTAKES = ["cluster: {node: 2}", "cluster: {nodes: two}", "cluster: {preset: dgx-a100}",
            "model: {attention: flash4}", "layout: {zero: 4}", "cluster: {nic_bandwidth: 200}",
            "schedule: {name: 2f2b}", "clusters: {nodes: 2}", "jobs: [{steps: 2}]",
            "output: {svg: {width: 170 mm, height: 20 mm}}", "layout: {order: [tensor, tensor]}",
            "jobs: [{name: a, cluster: {nodes: 2}}]"]
RIGHT = ["cluster: {reserve: auto}", "cluster: {reserve: 3 GiB}", "run: {jitter: 0.03}",
         "run: {jitter: 3 %}", "run: {jitter: none}", "layout: {nodes: 0-3}",
         "layout: {nodes: [0-3, 6]}", "cluster: {collectives: ring}",
         "cluster: {collectives: {algorithm: ring, measured: [a.log]}}", "jobs: none",
         "output: {svg: {width: 170 mm}, trace: ['chrome:a.json']}",
         "jobs: [{name: a, layout: {tensor: 2}, steps: auto}]",
         "framework: {overlap_grad_reduce: true, reshard_after_forward: no-pipeline}"]


def listed(what):
    return subprocess.run([BINARY, "list", what], check=True, capture_output=True,
                          text=True).stdout


def has(schema, dotted):
    """Whether a key of `list keys` can be written."""
    section, *path = dotted.split(".")
    if section == "jobs":
        properties = schema["properties"]["jobs"]["anyOf"][1]["items"]["properties"]
        return not path or path[0] in properties
    here = schema["definitions"][section]
    for name in path:
        inner = [form for form in here.get("anyOf", [here]) if name in form.get("properties", {})]
        if not inner:
            return False
        here = inner[0]["properties"][name]
    return True


def every_key_is_there(schema):
    keys = [line.split()[0] for line in listed("keys").splitlines()]
    missing = [key for key in keys if not has(schema, key)]
    assert len(keys) > 150 and not missing, missing
    assert not has(schema, "cluster.node") and not has(schema, "cluster.collectives.x")


def checker(schema):
    needs.python(*MODULES)
    import jsonschema
    import yaml
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    return lambda text: [e.message for e in validator.iter_errors(yaml.safe_load(text))]


def examples_are_valid(schema):
    errors = checker(schema)
    files = sorted((SOURCE / "docs/examples").rglob("*.yaml"))
    assert len(files) > 15
    for path in files:
        assert not errors(path.read_text(encoding="utf-8")), path


def mistakes_are_not_and_other_forms_are(schema):
    errors = checker(schema)
    assert not errors(EXAMPLE)
    for text in RIGHT:
        assert not errors(text), (text, errors(text))
    for text in MISTAKES:
        assert errors(text), text


def change_interpreter():
    """To one that has the modules, which Debian's packages give to Debian's alone."""
    with contextlib.suppress(needs.Missing):
        python = needs.python(*MODULES)
        if python != sys.executable:
            os.execv(python, [python, *sys.argv])


def main():
    change_interpreter()
    schema = json.loads(listed("schema"))
    tests = [every_key_is_there, examples_are_valid, mistakes_are_not_and_other_forms_are]
    print(f"1..{len(tests)}")
    failed = 0
    for number, test in enumerate(tests, 1):
        name = test.__name__.replace("_", " ")
        try:
            test(schema)
            print(f"ok {number} - {name}")
        except needs.Missing as why:
            failed += needs.told(number, name, why)
        except AssertionError as why:
            failed += 1
            print(f"not ok {number} - {name}\n# {why}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

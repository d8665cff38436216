"""`trainyard compare`: what a log measured beside what is simulated of the same job.

A row is a run file with a section `measured`, or a log, which is imported first. Where both differ,
plausible changes are tried out: each is one setting over the run file, at a few strengths, and those
that bring the simulated step closest to the measured one are told. A change that closes a gap is a
suspicion, not a finding: several may, and the true cause may be another one.
"""
import csv
import ctypes
import html
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from . import _library as c
from ._source import Settings, Source, settings

TOLD = 3        # changes that are told of a row
CLOSER = 0.8    # a change counts where it leaves at most this share of the gap
WITHIN = 0.01   # of a gap that is no gap: nothing is tried


class Change(NamedTuple):
    """A change that would make a step slower or faster, in words with its strength; `key` is
    multiplied by each factor, or becomes each of the texts."""
    words: str
    key: str
    slower: Tuple[Any, ...] = ()
    faster: Tuple[Any, ...] = ()
    where: Callable[[Dict[str, str]], bool] = lambda values: True


def _several_nodes(values: Dict[str, str]) -> bool:
    return values.get("cluster.nodes", "1") != "1"


def _grouped(values: Dict[str, str]) -> bool:
    return values.get("layout.tensor", "1") != "1"


def _is(key: str, *texts: str) -> Callable[[Dict[str, str]], bool]:
    return lambda values: values.get(key) in texts


CHANGES = (
    Change("NICs at {}", "cluster.nic_efficiency", (0.8, 0.6, 0.4, 0.25), (1.15,), _several_nodes),
    Change("NVLink at {}", "cluster.nvlink_efficiency", (0.8, 0.6, 0.4), (1.15,), _grouped),
    Change("all computation at {} of its time (clocks, power limit)", "cluster.derate",
           (1.05, 1.1, 1.2, 1.35), (0.95, 0.9, 0.8)),
    Change("host-bound launches, {} for a kernel at least", "framework.layer_floor", (2.0, 4.0), (0.5,)),
    Change("host time of a pass times {}", "framework.pass_overhead", (3.0, 10.0), (0.3,)),
    Change("gradients not overlapped", "framework.overlap_grad_reduce", ("false",), ("true",)),
    Change("parameters not gathered beside computation", "framework.overlap_param_gather", ("false",),
           ("true",)),
    Change("full recomputation", "layout.recompute", ("full",), (),
           _is("layout.recompute", "none", "selective")),
    Change("no recomputation", "layout.recompute", (), ("none",)),
    Change("attention without a flash kernel", "model.attention", ("fused-softmax",), (),
           _is("model.attention", "flash1", "flash2", "flash3")),
    Change("a flash kernel for attention", "model.attention", (), ("flash2",),
           _is("model.attention", "unfused", "fused-softmax")),
    Change("compute times scattered by {}", "run.jitter", ("3 %", "8 %")),
    Change("uneven experts ({})", "run.routing", ("zipf:0.3", "zipf:0.6"), (),
           lambda values: values.get("model.experts", "0") != "0"),
)


# ---- a run ----

class Simulated(NamedTuple):
    report: Dict[str, Any]
    values: Dict[str, str]  # every key as it counts


def _values(config: Any) -> Dict[str, str]:
    """The lines "section.key   value   # origin" of check --show-config."""
    text = c.call_text(c.lib.ty_config_show, config)
    found = re.findall(r"^([a-z]+\.[\w.]+) +(.*?) +# [^#\n]*$", text, re.M)
    return {key: value.strip() for key, value in found}


def simulate(path: str, sets: Settings = None, overlays: Sequence[str] = (),
             uncertain: bool = False) -> Simulated:
    """A run without the columns of its tasks, which need numpy."""
    given, stop = Source(path, sets, overlays), c.Stop()
    config = c.Owned(c.lib.ty_config_free)
    c.call(c.lib.ty_config_read, ctypes.byref(config.pointer), ctypes.byref(given.c))
    values = _values(config.pointer)
    run = c.Owned(c.lib.ty_run_free, after=config)
    c.call(c.lib.ty_run_new, ctypes.byref(run.pointer), config.pointer)
    options = c.ExecuteOptions(stop=stop.pointer)
    stop.watch(c.call, c.lib.ty_run_execute, run.pointer, ctypes.byref(options))
    if uncertain:
        stop.watch(c.call, c.lib.ty_run_uncertain, run.pointer, ctypes.byref(given.c))
    report = json.loads(c.call_text(c.lib.ty_run_report, run.pointer, b"json"))
    return Simulated(report, values)


# ---- values of a run file as numbers ----

_UNITS = {"": 1.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "%": 1e-2, "B": 1.0, "kB": 1e3,
          "MB": 1e6, "GB": 1e9, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40,
          "FLOP/s": 1.0, "GFLOP/s": 1e9, "TFLOP/s": 1e12, "PFLOP/s": 1e15}


def quantity(text: str) -> Optional[float]:
    """ "51.2 GiB" in bytes, "3 %" as 0.03; None: there is no number."""
    found = re.fullmatch(r"([\d.,]+(?:[eE][+-]?\d+)?) ?(%|[A-Za-z/]*)", text.strip())
    if not found or found[2] not in _UNITS:
        return None
    return float(found[1].replace(",", "")) * _UNITS[found[2]]


def listed(text: str) -> List[Tuple[str, float]]:
    """ "[0 51.2 GiB, 8 47.9 GiB]" as pairs."""
    pairs = (item.strip().partition(" ") for item in text.strip("[]").split(",") if item.strip())
    found = [(name, quantity(value)) for name, _, value in pairs]
    return [(name, value) for name, value in found if value is not None]


# ---- timers of frameworks, as parts of a simulated step ----

PARTS = {
    "forward-compute": ("compute_forward",), "backward-compute": ("compute_backward", "recompute"),
    "forward": ("compute_forward", "exposed_tensor"), "optimizer": ("optimizer",),
    "all-grads-sync": ("exposed_data",), "grads-all-reduce": ("exposed_data",),
}


def _part(name: str, report: Dict[str, Any]) -> Optional[float]:
    parts = report["breakdown"]
    if name == "forward-backward":
        return float(report["step_time_s"] - parts["optimizer"] - parts["exposed_data"])
    return sum(parts[part] for part in PARTS[name]) if name in PARTS else None


# ---- a row ----

def _stage_of(rank: int, values: Dict[str, str], stages: int) -> int:
    """With pipeline ranks the slowest to vary, as by default; else the fullest stage is meant."""
    gpus = 1
    for degree in ("tensor", "context", "pipeline", "data"):
        text = values.get("layout." + degree, "1")
        gpus *= int(text) if text.isdigit() else 1
    return rank * stages // gpus if stages and rank < gpus else 0


def memory(run: Simulated) -> Dict[str, Any]:
    """Bytes of the fullest rank that the log has, and of the fullest stage."""
    peaks = run.report["memory"]["peak_bytes"]
    of = "memory" if listed(run.values.get("measured.memory", "[]")) else "reserved"
    ranks = listed(run.values.get("measured." + of, "[]"))
    usual = "pipeline]" in run.values.get("layout.order", "pipeline]")
    rows = [{"rank": int(rank), "measured_bytes": size,
             "simulated_bytes": peaks[_stage_of(int(rank), run.values, len(peaks))]
             if usual else max(peaks)} for rank, size in ranks if rank.isdigit()]
    return {"peak_memory_bytes": max(peaks), "memory_of": of if ranks else None,
            "measured_memory_bytes": max((size for _, size in ranks), default=None), "ranks": rows}


def row(name: str, run: Simulated) -> Dict[str, Any]:
    report, values = run.report, run.values
    simulated, measured = report["step_time_s"], quantity(values.get("measured.step_time", ""))
    band = report.get("uncertainty", {}).get("step_time_s")
    peak = report["model_tflops_per_gpu"] * 1e12 / report["mfu"] if report.get("mfu") else None
    printed = quantity(values.get("measured.mfu", ""))
    flops = quantity(values.get("measured.model_flops", ""))
    own = printed or (flops / peak if flops and peak else None)
    ratio = measured / simulated if measured else None
    found = {
        "file": name, "simulated_s": simulated, "measured_s": measured,
        "error": simulated / measured - 1 if measured else None,
        "band_s": band, "inside_band": band[0] <= measured <= band[1] if band and measured else None,
        "steps": int(values.get("measured.steps", "0") or 0),
        "measured_p10_s": quantity(values.get("measured.step_time_p10", "")),
        "measured_p90_s": quantity(values.get("measured.step_time_p90", "")),
        "tokens_per_s": report["tokens_per_s"],
        "measured_tokens_per_s": report["tokens_per_s"] / ratio if ratio else None,
        "mfu": report["mfu"], "measured_mfu": report["mfu"] / ratio if ratio else None,
        "writer": values.get("measured.writer", "").strip('"') or None,
        "source": values.get("measured.source", "").strip('"') or None,
        "mfu_framework": report["mfu_framework"] if own else None, "measured_mfu_framework": own,
        **memory(run),
        "timers": [{"name": timer, "measured_s": seconds, "simulated_s": _part(timer, report)}
                   for timer, seconds in listed(values.get("measured.timers", "[]"))],
        "explained_by": None,  # nothing was tried
    }
    return found


# ---- what would explain the difference ----

def _texts(change: Change, levels: Sequence[Any], values: Dict[str, str]) -> List[Tuple[str, str]]:
    """Values of the key, and each in words."""
    now = values.get(change.key, "")
    if levels and isinstance(levels[0], str):
        return [(text, text) for text in levels if text != now]
    number = re.match(r"([\d.]+) ?(.*)$", now)
    if not number or not float(number[1]):
        return []
    found = []
    for factor in levels:
        value = float(number[1]) * factor
        if number[2] == "%" and value > 100:
            continue
        text = f"{value:.4g}{' ' * bool(number[2])}{number[2]}"
        words = (f"{100 * factor:.0f} %" if "efficiency" in change.key or "derate" in change.key
                 else text if "floor" in change.key else f"{factor:g}")
        found.append((text, words))
    return found


def explain(path: str, found: Dict[str, Any], run: Simulated, sets: List[str],
            overlays: Sequence[str]) -> List[Dict[str, Any]]:
    """Changes that leave the least error, the best level of each."""
    measured, gap = found["measured_s"], found["error"]
    if not measured or abs(gap) <= WITHIN:
        return []
    best: List[Dict[str, Any]] = []
    for change in CHANGES:
        levels = change.slower if gap < 0 else change.faster
        tried = []
        for text, words in _texts(change, levels, run.values) if change.where(run.values) else ():
            setting = f"{change.key}={text}"
            try:
                step = simulate(path, [*sets, setting], overlays).report["step_time_s"]
            except c.Error:
                continue
            tried.append({"what": change.words.format(words), "set": setting,
                          "error": step / measured - 1})
        best += sorted(tried, key=lambda one: abs(one["error"]))[:1]
    best.sort(key=lambda one: abs(one["error"]))
    return [one for one in best if abs(one["error"]) <= CLOSER * abs(gap)][:TOLD]


# ---- several ----

def rows(paths: Sequence[str], sets: Settings = None, overlays: Sequence[str] = (),
         tries: bool = True, **imported: Any) -> List[Dict[str, Any]]:
    """A row of each run file or log. Raises Error and Refused."""
    from .importing import logs
    given, found = settings(sets), []
    with tempfile.TemporaryDirectory() as folder:
        for i, path in enumerate(paths):
            source = path
            if not path.endswith((".yaml", ".yml")) and path != "-":
                text, _ = logs.read_job([path], **imported)
                source = f"{folder}/{i}.yaml"
                with open(source, "w", encoding="utf-8") as file:
                    file.write(text)
            run = simulate(source, given, overlays, uncertain=True)
            one = row(path, run)
            if tries:
                one["explained_by"] = explain(source, one, run, given, overlays)
            found.append(one)
    return found


# ---- told ----

def _time(seconds: Optional[float]) -> str:
    if seconds is None:
        return "not known"
    return f"{seconds:.4g} s" if seconds >= 1 else f"{1e3 * seconds:.4g} ms"


def _share(value: Optional[float]) -> str:
    return "not known" if value is None else f"{100 * value:.2f} %"


def _size(value: Optional[float]) -> str:
    return "not known" if value is None else f"{value / 2**30:.1f} GiB"


def _count(value: Optional[float]) -> str:
    return "not known" if value is None else f"{value:,.0f}"


def _off(simulated: Optional[float], measured: Optional[float]) -> str:
    return f"{100 * (simulated / measured - 1):+.1f} %" if simulated and measured else ""


def lines(one: Dict[str, Any]) -> List[Tuple[str, str, str, str]]:
    """Name, simulated, measured, difference."""
    writer = one["writer"] or "the framework"
    pairs = [("step time", "simulated_s", "measured_s", _time),
             ("tokens/s", "tokens_per_s", "measured_tokens_per_s", _count),
             ("MFU", "mfu", "measured_mfu", _share),
             (f"MFU as {writer} counts", "mfu_framework", "measured_mfu_framework", _share),
             ({"memory": "memory allocated at most", "reserved": "memory reserved at most"}.get(
                 one["memory_of"], "memory of the fullest GPU"), "peak_memory_bytes",
              "measured_memory_bytes", _size)]
    found = [(name, form(one[a]), form(one[b]), _off(one[a], one[b])) for name, a, b, form in pairs]
    found += [(timer["name"], _time(timer["simulated_s"]), _time(timer["measured_s"]),
               _off(timer["simulated_s"], timer["measured_s"])) for timer in one["timers"]]
    return found


def _verdict(one: Dict[str, Any]) -> List[str]:
    told = []
    if one["measured_s"] is None:
        return ["no measured.step_time: nothing to compare with; trainyard import log writes one"]
    if one["band_s"]:
        low, high = map(_time, one["band_s"])
        told.append(f"the measured step is {'inside' if one['inside_band'] else 'outside'} the 90 % "
                    f"band, {low} to {high}")
    if one["explained_by"]:
        told.append("fixes that close the gap, each alone, and the gap that remains")
        told += [f"  {change['what']:52} {100 * change['error']:+.1f} %   --set "
                 f"'{change['set']}'" for change in one["explained_by"]]
    elif one["explained_by"] is not None and abs(one["error"]) > WITHIN:
        told.append("fixes that close the gap: none; no single change tried does")
    return told


def table(found: Sequence[Dict[str, Any]]) -> str:
    """For reading: a block for each row, and a line each of several."""
    out = []
    for one in found:
        out.append(f"{one['file']}" + (f", measured: {one['steps']} steps of {one['writer']}, "
                                       f"{one['source']}" if one["writer"] else ""))
        out.append(f"  {'':28} {'simulated':>14} {'measured':>14} {'difference':>12}")
        out += [f"  {name:28} {a:>14} {b:>14} {off:>12}".rstrip() for name, a, b, off in lines(one)]
        out += ["  " + text for text in _verdict(one)] + [""]
    if len(found) > 1:
        width = max(len(one["file"]) for one in found)
        out.append(f"{'file':{width}} {'simulated':>12} {'measured':>12} {'error':>9}  in band")
        for one in found:
            inside = {True: "yes", False: "no", None: "not known"}[one["inside_band"]]
            out.append(f"{one['file']:{width}} {_time(one['simulated_s']):>12} "
                       f"{_time(one['measured_s']):>12} "
                       f"{_off(one['simulated_s'], one['measured_s']) or 'not known':>9}  {inside}")
        errors = [abs(one["error"]) for one in found if one["error"] is not None]
        if errors:
            out.append(f"mean error {100 * sum(errors) / len(errors):.1f} % of {len(errors)}")
    return "\n".join(out).rstrip() + "\n"


_STYLE = ("body{font:15px/1.5 system-ui,sans-serif;max-width:60em;margin:2em auto;padding:0 1em;"
          "color:#222;background:#fff}table{border-collapse:collapse;margin:.5em 0}"
          "td,th{padding:.2em 1em;text-align:right;border-bottom:1px solid #ddd}"
          "td:first-child,th:first-child{text-align:left}rect.b{fill:#cfe3f7}rect.m{fill:#c0392b}"
          "rect.s{fill:#2c6fbb}")


def _bar(one: Dict[str, Any]) -> str:
    """The band, the simulated step in blue and the measured one in red, on one axis from zero."""
    marks = [one["simulated_s"], one["measured_s"] or 0, *(one["band_s"] or ())]
    scale = 600 / (1.05 * max(marks))
    band = [scale * x for x in one["band_s"] or (0, 0)]
    return (f'<svg width="600" height="36" role="img" aria-label="simulated and measured step">'
            f'<rect class="b" x="{band[0]:.1f}" y="4" width="{band[1] - band[0]:.1f}" height="28"/>'
            f'<rect class="s" x="{scale * one["simulated_s"]:.1f}" y="2" width="2" height="32"/>'
            f'<rect class="m" x="{scale * (one["measured_s"] or 0):.1f}" y="2" width="2" height="32"/>'
            "</svg>")


def page(found: Sequence[Dict[str, Any]]) -> str:
    """One file for a browser, which needs no network."""
    out = ['<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>trainyard compare</title>',
           f"<style>{_STYLE}</style><h1>Simulated beside measured</h1>"]
    for one in found:
        out.append(f"<h2>{html.escape(one['file'])}</h2>{_bar(one)}<table><tr><th><th>simulated"
                   "<th>measured<th>difference</tr>")
        out += ["<tr>" + "".join(f"<td>{html.escape(cell)}" for cell in line) + "</tr>"
                for line in lines(one)]
        out.append("</table>" + "".join(f"<p>{html.escape(text.strip())}</p>"
                                        for text in _verdict(one)))
    return "\n".join(out) + "\n</html>\n"


def as_json(found: Sequence[Dict[str, Any]]) -> str:
    return json.dumps({"rows": list(found)}, indent=2) + "\n"


# ---- calibrate ----

NOT_COLUMNS = ("measured.", "output.", "uncertainty.", "fleet.", "model.preset", "model.name",
               "model.huggingface", "run.steps")


def calibrate_rows(paths: Sequence[str], overlays: Sequence[str] = ()) -> str:
    """A table of run files that were measured: a column for each key that one of them sets, and for
    all of the model, which need not have the same preset."""
    every: List[Dict[str, str]] = []
    columns: Dict[str, None] = {}
    for path in paths:
        given, config = Source(path, None, overlays), c.Owned(c.lib.ty_config_free)
        c.call(c.lib.ty_config_read, ctypes.byref(config.pointer), ctypes.byref(given.c))
        text = c.call_text(c.lib.ty_config_show, config.pointer)
        values = _values(config.pointer)
        if quantity(values.get("measured.step_time", "")) is None:
            raise c.Error(f"{path}: no measured.step_time; write it, or import the log again with "
                          "trainyard import log", 3)
        every.append(values)
        for key, origin in re.findall(r"^([a-z]+\.[\w.]+) .*# ([^#\n]*)$", text, re.M):
            said = origin != "default" if key.startswith("model.") else origin.startswith(path + ":")
            if said and not key.startswith(NOT_COLUMNS):
                columns[key] = None
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(["step_s", "group", *columns])
    groups: Dict[Tuple[str, ...], str] = {}
    for path, values in zip(paths, every):
        model = tuple(value for key, value in values.items() if key.startswith("model."))
        cells = [values.get(key, "") for key in columns]
        table.writerow([quantity(values["measured.step_time"]),
                        groups.setdefault(model, os.path.basename(path)),
                        *("" if cell == "-" else cell for cell in cells)])
    return out.getvalue()


def calibrate(paths: List[str], options: List[str]) -> int:
    """Calls `trainyard calibrate` with such a table; returns its exit status."""
    overlays = [options[i + 1] for i, word in enumerate(options[:-1]) if word == "--with"]
    overlays += [word[7:] for word in options if word.startswith("--with=")]
    with tempfile.TemporaryDirectory() as folder:
        rows_path = f"{folder}/measured.csv"
        with open(rows_path, "w", encoding="utf-8") as file:
            file.write(calibrate_rows(paths, overlays))
        if not any(word.startswith("--group") for word in options):
            options = [*options, "--group", "group"]
        program = os.environ.get("TRAINYARD", "trainyard")
        return subprocess.run([program, "calibrate", paths[0], "--rows", rows_path, "--measured",
                               "step_s", *options], check=False).returncode


# ---- the command ----

USAGE = """usage: trainyard compare FILE... [--set KEY=VALUE]... [--with OVERLAY]... [--stats table|json]
                         [--json] [--no-tries] [--gpus N] [--cluster PRESET] [-o PATH]

Simulated beside measured: FILE is a run file with a section `measured`, as `trainyard import log`
writes it, or a log. -o PAGE.html is a page for a browser; any other PATH holds the table or JSON.
"""


def _parsed(words: Sequence[str]) -> Tuple[List[str], Dict[str, List[str]]]:
    """The files, and what options say."""
    valued = {"--set": "set", "--with": "with", "--stats": "stats", "-o": "output",
              "--output": "output", "--gpus": "gpus", "--cluster": "cluster"}
    files: List[str] = []
    found: Dict[str, List[str]] = {}
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=") if word[:2] == "--" else (word, "", "")
        if name in valued:
            found.setdefault(valued[name], []).append(value if equals else next(rest, ""))
        elif word in ("--json", "--no-tries", "--quiet", "-q"):
            found.setdefault(word.lstrip("-"), []).append("yes")
        elif word[:1] == "-" and word != "-":
            raise c.Error(f"trainyard compare: unknown option {word}\n{USAGE}", 2)
        else:
            files.append(word)
    return files, found


def _checked(files: Sequence[str], given: Dict[str, List[str]]) -> str:
    """The form of what is told; raises Error where the words cannot be."""
    form = "json" if "json" in given else given.get("stats", ["table"])[-1]
    if not files:
        raise c.Error(f"trainyard compare: FILE is missing\n{USAGE}", 2)
    if form not in ("table", "json"):
        raise c.Error(f"trainyard compare: --stats {form}: unknown; write table or json", 2)
    if not given.get("gpus", ["0"])[-1].isdigit():
        raise c.Error(f"trainyard compare: --gpus {given['gpus'][-1]}: no whole number; write one, "
                      "such as 64", 2)
    if given.get("output", [""])[-1] in files:
        raise c.Error(f"trainyard compare: -o {given['output'][-1]} would overwrite what is read; "
                      "name another file", 2)
    return form


def main() -> int:
    """The exit status: 1 where a measured step lies outside its band."""
    words = sys.argv[1:]
    import signal
    from .importing.command import say, write
    from .importing.facts import Refused
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if set(words) & {"--help", "-h"}:
        print(USAGE, end="")
        return 0
    try:
        if words and words[0].startswith("--calibrate="):
            n = int(words[0].partition("=")[2])
            return calibrate(words[-n:], words[1:-n])
        files, given = _parsed(words)
        form = _checked(files, given)
        found = rows(files, given.get("set"), given.get("with", []), "no-tries" not in given,
                     gpus=int(given.get("gpus", ["0"])[-1]),
                     cluster=given.get("cluster", [None])[-1])  # type: ignore[list-item]
        output = given.get("output", ["-"])[-1]
        write(page(found) if output.endswith(".html") else as_json(found) if form == "json" else
              table(found), output)
        return 1 if any(one["inside_band"] is False for one in found) else 0
    except (c.Error, Refused) as why:
        say(f"{why}\n")
        return why.status
    except KeyboardInterrupt:
        return 130

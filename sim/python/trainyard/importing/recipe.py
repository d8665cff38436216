"""The settings of a recipe in Python, read and never run: keyword arguments and their defaults,
`tensor_parallelism: int = 4`, and flat assignments, `cfg.model.num_layers = 32`.

What is no literal is in doubt, as is what stands below an if; doubt is refused where the word counts,
and the YAML that a run writes (run_config.yaml) has it all.
"""
import ast
import re
from typing import Dict, List, NamedTuple, Optional

from .facts import File, From, Place, join
from .flags import Flags, Value

MODEL = "model name"  # the word for what a recipe calls its model
DUMPED = "write the YAML that a run dumps (run_config.yaml) and import that"
ADAPTERS = ("LoRA", "CanonicalLoRA", "DoRA", "default_peft_config")
BRANCHES = (ast.If, ast.For, ast.While, ast.Try, ast.AsyncFor)


class Event(NamedTuple):
    """Something to be read, in the order of the file: "name" of a model or class, "word" of a keyword
    or default, "assign" of an assignment, "def"."""
    line: int
    column: int
    kind: str
    name: str
    value: Optional[ast.expr]
    function: str
    branch: bool


def dotted(node: ast.AST) -> str:
    """ "cfg.model.layers"; "": it is no name."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = dotted(node.value)
        return f"{base}.{node.attr}" if base else ""
    return ""


class Collector(ast.NodeVisitor):
    """Events of a tree."""

    def __init__(self) -> None:
        self.events: List[Event] = []
        self.function, self.branch = "", False

    def add(self, node: ast.AST, kind: str, name: str, value: Optional[ast.expr] = None) -> None:
        self.events.append(Event(node.lineno, node.col_offset, kind, name, value,  # type: ignore
                                 self.function, self.branch))

    def visit(self, node: ast.AST) -> None:
        before = self.branch
        self.branch = before or isinstance(node, BRANCHES)
        super().visit(node)
        self.branch = before

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        outer = self.function, self.branch
        for decorator in node.decorator_list:
            self.visit(decorator)
        self.function = node.name
        self.add(node, "def", node.name)
        every = node.args.posonlyargs + node.args.args
        defaults = list(zip(every[len(every) - len(node.args.defaults):], node.args.defaults))
        defaults += [(arg, default) for arg, default in
                     zip(node.args.kwonlyargs, node.args.kw_defaults) if default]
        for arg, default in defaults:
            self.add(arg, "default" if arg.annotation else "word", arg.arg, default)
        self.visit(node.args)
        for child in ([node.returns] if node.returns else []) + list(node.body):
            self.visit(child)
        self.function, self.branch = outer

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg:
            self.add(node, "word", node.arg, node.value)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        """LoRA(dim=16), run.Config(LoRA, dim=16), default_peft_config("lora", dim=16): words of
        peft."""
        names = [dotted(made).rpartition(".")[2] for made in (node.func, *node.args[:1])]
        kind = next((name for name in names if name in ADAPTERS), "")
        if not kind:
            self.generic_visit(node)
            return
        scheme = node.args[0] if kind == ADAPTERS[-1] and node.args else ast.Constant(kind)
        self.add(node, "word", "peft.peft_scheme", scheme)
        for keyword in node.keywords:
            if keyword.arg:
                self.add(keyword, "word", "peft." + keyword.arg, keyword.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        name = dotted(node.targets[0])
        if name:
            self.add(node, "assign", name, node.value)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str) and "/" in node.value:
            self.add(node, "name", node.value)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self.named(node) or self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        self.named(node)

    def visit_alias(self, node: ast.alias) -> None:
        for name in (node.name, node.asname or ""):
            if "Config" in name:
                self.add(node, "name", name)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        if "Config" in node.name:
            self.add(node, "name", node.name)
        self.generic_visit(node)

    def named(self, node: ast.AST) -> bool:
        name = dotted(node)
        if "Config" in name:
            self.add(node, "name", name)
        return bool(name)


class Recipe:
    def __init__(self, words: Flags, file: File) -> None:
        self.words, self.file, self.facts = words, file, words.facts
        self.constants: Dict[str, str] = {}
        self.only = ""  # the one function that is read; "": all but those left out

    def source(self, event: Event) -> From:
        return From(event.name, Place(self.file, event.line, self.column(event) + 1))

    def column(self, event: Event) -> int:
        line = self.file.lines()[event.line - 1].encode()
        return len(line[:event.column].decode("utf-8", "replace"))

    def segment(self, node: ast.expr) -> str:
        return ast.get_source_segment(self.file.text, node) or ""

    # ---- values ----

    def literal(self, node: ast.AST) -> Optional[str]:
        """One literal, or a name that stands for one; None: it is code."""
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                return node.value
            if node.value is None or isinstance(node.value, bool):
                return str(node.value)
            return self.segment(node).replace("_", "") if isinstance(
                node.value, (int, float)) else None
        return self.constants.get(dotted(node))

    def product(self, node: ast.AST) -> Optional[float]:
        """Of whole numbers, 8 * 512."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            left, right = self.product(node.left), self.product(node.right)
            return None if left is None or right is None else left * right
        try:
            return float(self.literal(node) or "")
        except (ValueError, OverflowError):
            return None

    def value(self, node: ast.expr) -> Optional[str]:
        """ "bf16_mixed()" is called as it is named."""
        if isinstance(node, ast.Call) and not node.args and not node.keywords:
            return dotted(node.func) or None
        if (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
                and isinstance(node.operand, ast.Constant)):
            number = self.literal(node.operand)
            return None if number is None else "-" + number
        if isinstance(node, ast.BinOp):
            product = self.product(node)
            return None if product is None else f"{product:.15g}"
        return self.literal(node)

    # ---- words ----

    def add(self, event: Event, word: str) -> None:
        node = event.value
        assert node is not None
        value = self.value(node)
        if value == "None":
            self.facts.tell_idle(self.source(event))
            return
        if value is None and isinstance(node, ast.Call) and dotted(node.func) and "." not in word:
            return  # an argument that is an object: its own arguments are read
        flag = self.words.put(word, self.source(event), doubt=f"it stands below an if or a loop; "
                              f"{DUMPED}" if event.branch else "")
        if value is None and isinstance(node, ast.List):
            items = [self.literal(item) for item in node.elts]
            flag.values += [Value(item) for item in items if item is not None]
        elif value is None:
            first = re.match(r"[\w.]+|.?", self.segment(node), re.S)
            flag.values.append(Value(first[0] if first else "", f"it is code; {DUMPED}"))
        else:
            self.words.value(value)

    def assign(self, event: Event) -> None:
        """ "cfg.model.x = 4" is the word model.x; "x = 4" a name for 4."""
        name, node = event.name, event.value
        assert node is not None
        if "." in name:
            self.add(event, name.partition(".")[2])
            return
        if event.branch:
            return
        value = self.value(node)
        if value is not None:
            self.constants[name] = value
        made = dotted(node.func) if isinstance(node, ast.Call) else ""
        if name in ("cfg", "config", "recipe") and made and made != "ConfigContainer" and (
                not made.startswith("run.")):
            at = event._replace(name=made, line=node.lineno, column=node.col_offset)
            self.facts.remark(self.source(at), "what this function sets is not known here; for all "
                                               f"of it, {DUMPED}")

    def name_model(self, event: Event) -> None:
        self.words.put(MODEL, self.source(event), event.name)

    def name_world(self, event: Event) -> None:
        """ "..._1024gpu_h100_..." """
        for found in re.finditer("_([0-9]{1,8})gpu", event.name):
            self.facts.gpus, self.facts.gpus_from = int(found[1]), self.source(event)
        self.facts.notice_gpu(event.name, self.source(event))

    # ---- functions ----

    def left_out(self, function: str) -> bool:
        if not function:
            return False
        return (function != self.only if self.only else
                "finetune" in function or "performance" in function)

    def choose(self, functions: List[str]) -> bool:
        """Of several recipes one has to be named; False: refused."""
        recipes = [name for name in functions if "gpu" in name and re.search("config|recipe", name)]
        self.only = self.facts.env.get("RECIPE", "")
        if self.only and self.only not in functions:
            self.facts.refuse(From(self.file.path), f"no function {self.only} in it; there are "
                                                    f"{join(recipes[:8])}")
            return False
        if not self.only and len(recipes) > 1:
            more = ", ..." if len(recipes) > 8 else ""
            self.facts.refuse(From(self.file.path), f"{len(recipes)} recipes are in it "
                              f"({join(recipes[:8])}{more}); say which with --env RECIPE=NAME")
            return False
        self.only = self.only or "".join(recipes)
        return True

    def read(self, events: List[Event]) -> None:
        functions = [event for event in events if event.kind == "def"]
        if not self.choose([event.name for event in functions]):
            return
        kept = [event for event in events if not self.left_out(event.function)]
        for event in kept:
            if event.kind == "def":
                self.name_world(event)
            elif event.kind == "name":
                self.name_model(event)
            elif event.kind == "assign":
                self.assign(event)
            else:
                self.add(event, event.name)
                value = self.value(event.value) if event.value else None
                if event.kind == "default" and value is not None:
                    self.constants[event.name] = value
        for event in kept:  # when nothing else names the model
            if event.kind == "def":
                self.name_model(event)


def read_recipe(words: Flags, file: File) -> None:
    """The settings of a file as words."""
    collector = Collector()
    try:
        collector.visit(ast.parse(file.text))
    except SyntaxError as why:
        at = Place(file, why.lineno or 0, why.offset or 0)
        words.facts.refuse(From("" if at.line else file.path, at), f"no Python: {why.msg}")
    except (ValueError, RecursionError, MemoryError):
        words.facts.refuse(From(file.path), "no Python that can be read: it is too deep")
    else:
        Recipe(words, file).read(sorted(collector.events, key=lambda event: event[:2]))

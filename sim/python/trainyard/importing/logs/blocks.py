"""Blocks of configuration as settings: JSON, and what Python prints of dictionaries and dataclasses."""
import ast
import json
import re
from typing import Any, Dict, List, Optional, Tuple

from ..facts import File
from .stream import Block

# <Mode.REDUCE_SCATTER: 2>, <package.Engine object at 0x7f>: the name is what counts
_OBJECT = re.compile(r"<(?:class ')?([\w.]+)(?:'|: [^<>]*| object at 0x[0-9a-f]+)?>")


def plain(node: ast.AST) -> Any:
    """Values of literals; a call is its keyword arguments, or its only argument, or its name."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Dict):
        return {str(plain(key)): plain(value) for key, value in zip(node.keys, node.values) if key}
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        return [plain(item) for item in node.elts]
    if isinstance(node, ast.Call):
        if node.keywords:
            return {word.arg: plain(word.value) for word in node.keywords if word.arg}
        return plain(node.args[0]) if node.args else plain(node.func)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = plain(node.operand)
        return -value if isinstance(value, (int, float)) else None
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None


def parse(text: str) -> Optional[Dict[str, Any]]:
    """Of JSON, of a dictionary or a dataclass as Python prints it; None: it is none of these."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        try:
            tree = ast.parse(_OBJECT.sub(lambda of: repr(of[1].rpartition(".")[2]), text), mode="eval")
            found = plain(tree.body)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
    return found if isinstance(found, dict) else None


def literal(text: str) -> Any:
    """A list or a dictionary that Python prints; any other text stays."""
    if text[:1] not in ("[", "{", "("):
        return None if text == "None" else text
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text


def settings(found: Dict[str, Any], line_of: Dict[str, int], first: int = 1) -> Tuple[List[str],
                                                                                   List[int]]:
    """Lines of YAML, a key each, and the lines of the log that they come from."""
    lines: List[str] = []
    numbers: List[int] = []

    def add(values: Dict[str, Any], indent: str, number: int) -> None:
        for key, value in values.items():
            at = line_of.get(key, number)
            nested = isinstance(value, dict) and value
            shown = "" if nested else value if isinstance(value, str) and re.fullmatch(
                r"[\w.+-]+", value) else json.dumps(value, default=str)
            lines.append(f"{indent}{json.dumps(key)}: {shown}")
            numbers.append(at)
            if nested:
                add(value, indent + "  ", at)
    add(found, "", first)
    return lines, numbers


def settings_file(block: Block, found: Dict[str, Any]) -> File:
    """The settings of a block as a file in YAML, with the lines of the log."""
    line_of: Dict[str, int] = {}
    for text, number in zip(block.lines, block.numbers):
        for key in re.findall(r"(\w+)['\"]?\s*[=:]", text):
            line_of.setdefault(key, number)
    lines, numbers = settings(found, line_of, block.first.number)
    return File(block.first.file, "\n".join(lines), numbers)

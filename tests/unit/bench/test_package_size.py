"""Lines of code are counted as the command says: no blanks, comments, docstrings and strings below constants."""

from __future__ import annotations

from benchmarks.package_size import counted, measured

MODULE = '''"""A module."""

LIMIT = 3  # a comment beside code
"""A string below a constant."""
_text = """two
lines"""


def first(value):
    """A function.

    With two paragraphs.
    """
    # a comment
    return isinstance(value, int)
'''


def test_lines_of_code_are_without_prose() -> None:
    assert counted(MODULE) == {
        "modules": 1,
        "lines of code": 5,
        "functions": 1,
        "classes": 0,
        "isinstance": 1,
        "constants": 1,
    }


def test_packages_are_the_folders_below_isoviz() -> None:
    files = {"a.py": b"x = 1", "b/c/d.py": b"y = 2", "b/text.toml": b"z = 3"}
    packages, wheel = measured({f"isoviz/{name}": text for name, text in files.items()})
    assert {name: each["modules"] for name, each in packages.items()} == {"isoviz itself": 1, "b": 1}
    assert wheel > 0

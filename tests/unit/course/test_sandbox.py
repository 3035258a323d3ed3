"""Functions in a process of their own: whatever one does, there is an answer in time, and the next is not disturbed."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from isoviz.course import functions
from isoviz.course.functions import Cases, Returned, Sandbox, Source, one_sandbox
from isoviz.launch.guardian import born, descendants

CASES = [[1], [2], [3]]
SHORT = 0.4
FORKS = os.geteuid() == 0
"""Whether a function may begin processes and threads: the system's limit holds for everybody but root."""
PIPES = """import os
pipes = []
for each in os.listdir('/proc/self/fd'):
    if os.path.exists(f'/proc/self/fd/{each}') and os.readlink(f'/proc/self/fd/{each}').startswith('pipe:'):
        pipes.append(int(each))
"""
WORDS = {"i": 0, "j": 0, "answer": 0}  # for what is said of a right answer to 1.1


def source(body: str) -> Source:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return Source(f"def f(data):\n{lines}\n", "f")


@pytest.fixture(scope="module")
def shared() -> Iterator[Sandbox]:
    with Sandbox() as sandbox:
        yield sandbox


def run(body: str, cases: Any = CASES, seconds: float = 5.0) -> list[Returned]:
    with Sandbox() as sandbox:
        return sandbox.run(source(body), cases, seconds)


def problems(found: list[Returned]) -> list[str]:
    return [each.problem for each in found]


def test_values_come_back_in_the_order_of_the_cases() -> None:
    assert [each.value for each in run("print(data)\nreturn data * 2")] == [2, 4, 6]


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("while True: pass", "endless"),
        ("import signal; signal.pause()", "endless"),
        ("import sys; sys.exit(0)", "raised"),
        ("raise KeyboardInterrupt", "raised"),
        ("import os; os._exit(0)", "ended"),
        ("import os; os._exit(3)", "ended"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "ended"),
        ("return f(data)", "raised"),
        ("return bytearray(1 << 40)", "raised"),
        ("return input()", "raised"),
        (PIPES + "for each in pipes: os.write(each, b'no such thing\\n' * 10)\nreturn 1", "ended"),
        (PIPES + 'for each in pipes: os.write(each, b\'1], [2, "said", {"returned": 1}\\n\' * 3)\nreturn 1', "ended"),
        (PIPES + "for each in pipes: os.close(each)\nreturn 1", "ended"),
        ("import os, signal; os.kill(os.getppid(), signal.SIGKILL); signal.pause()", "ended"),
        ("import os, signal; os.kill(os.getppid(), signal.SIGSTOP); signal.pause()", "endless"),
        ("return data.no_such_thing", "raised"),
        ("return undefined", "raised"),
    ],
)
def test_what_goes_wrong_has_its_name_and_the_next_function_runs(body: str, problem: str, shared: Sandbox) -> None:
    assert problems(shared.run(source(body), CASES, SHORT)) == [problem] * 3
    assert [each.value for each in shared.run(source("return data + 1"), CASES)] == [2, 3, 4]


def test_a_process_that_ends_well_too_early_has_no_answer_for_the_rest() -> None:
    found = run("import os\nif data == 2: os._exit(0)\nreturn data")
    assert problems(found) == ["", "ended", "ended"] and found[0].value == 1


@pytest.mark.parametrize(
    "error",
    [
        "class E(Exception):\n    def __str__(self): raise RuntimeError\nraise E",
        "class E(BaseException):\n    def __str__(self): return 'x' * 10**6\nraise E",
        "raise ExceptionGroup('some', [ValueError(1)])",
        "raise Exception('\\ud800')",
        "raise SyntaxError('no', ('file', 1, 1, None))",
    ],
)
def test_strange_errors_are_told(error: str, shared: Sandbox) -> None:
    found = shared.run(source(error), CASES)
    assert problems(found) == ["raised"] * 3
    assert len(str(found[0].words)) < 1000


def test_the_line_of_the_error_is_the_learners_own() -> None:
    with Sandbox() as sandbox:
        found = sandbox.run(Source("def f(data):\n    a = 1\n    return a / 0\n", "f", "cell", 41), CASES)
    assert "line 43" in str(found[0].words["raised"])


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return object()", "object"),
        ("return f", "function"),
        ("return {1: 2}", "dict"),
        ("return float('nan')", "nan"),
        ("return 10 ** 5000", "huge"),
        ("return 'x' * 10**8", "long text"),
        ("return [0] * 10**6", "list"),
        ("return ['x' * 9_000] * 1_000", "huge value"),
        ("a = []\na.append(a)\nreturn a", "list"),
        ("class I(int): pass\nreturn I(3)", "I"),
    ],
)
def test_what_is_no_plain_value_is_told_as_its_type(body: str, said: str, shared: Sandbox) -> None:
    found = shared.run(source(body), CASES)
    assert problems(found) == [""] * 3 and said in str(found[0].value)


def test_spoiling_the_data_spoils_no_other_case() -> None:
    found = run("seen = len(data)\ndata.clear()\nreturn seen", [[[1, 2]], [[1, 2]], [[1, 2]]])
    assert [each.value for each in found] == [2, 2, 2]


def test_what_a_function_changes_elsewhere_is_not_there_for_the_next() -> None:
    with Sandbox() as sandbox:
        sandbox.run(source("import math, builtins\nmath.pi = 3\nbuiltins.len = None\nreturn 0"), CASES)
        found = sandbox.run(source("import math\nreturn [math.pi > 3, len([])]"), CASES)
    assert found[0].value == [True, 0]


def test_a_thread_left_behind_holds_nothing_up() -> None:
    body = "import threading\nthreading.Thread(target=threading.Event().wait).start()\nreturn data"
    found = run(body)
    assert [each.value for each in found] == [1, 2, 3] if FORKS else problems(found) == ["raised"] * 3


def test_a_process_left_behind_neither_holds_up_nor_answers_for_another() -> None:
    """The copy that `fork` makes answers as well, later and in a session of its own."""
    body = "import os, threading\n"
    body += "if data == 3 and os.fork() == 0:\n    os.setsid()\n    threading.Event().wait(0.3)\n    return 99\nreturn data"
    with Sandbox() as sandbox:
        assert [each.value for each in sandbox.run(source(body), CASES)] == [1, 2, 3 if FORKS else None]
        found = sandbox.run(source("import threading\nthreading.Event().wait(0.2)\nreturn -data"), CASES)
    assert [each.value for each in found] == [-1, -2, -3]


LEFT_BEHIND = (
    PIPES
    + """import threading
def shout(file):
    os.setsid()
    with open(file, "a") as left: left.write(f"{os.getpid()} ")
    data = b'{"returned": 99}\\n[2, "said", {"returned": 99}]\\n[2, "done", ""]\\n' * 10
    while True:
        for each in pipes:
            try: os.write(each, data)
            except OSError: pass
        threading.Event().wait(0.001)
"""
)


@pytest.mark.parametrize("ending", ["return data", "signal.pause()", "os._exit(0)", "os.kill(os.getpid(), 9)"])
def test_what_a_function_leaves_behind_neither_harms_nor_helps_the_next(ending: str, tmp_path: Path) -> None:
    """Processes in sessions of their own shout answers for the next function; however theirs ends, they end with it."""
    file = tmp_path / "left"
    body = f"{LEFT_BEHIND}import signal\nfor _ in range(3):\n    if os.fork() == 0: shout({str(file)!r})\n{ending}"
    with Sandbox() as sandbox:
        first = sandbox.run(source(body), CASES[:1], SHORT)
        left = [*map(int, file.read_text().split())] if file.exists() else []
        assert not any(born(each) for each in left) and first[0].value in (1, 99, None)
        assert bool(left) == FORKS or ending == "return data"
        for number, problem in ((1, ""), (0, "raised")):
            found = sandbox.run(source(f"import threading\nthreading.Event().wait(0.05)\nreturn data / {number}"), CASES)
            assert problems(found) == [problem] * 3 and 99 not in [each.value for each in found]


def test_nothing_of_a_function_runs_on_where_the_kernel_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def interrupted(timeout: float) -> tuple[str, Any]:
        word, value = told(timeout)
        if word == "said":
            seen.extend(descendants(sandbox._process.pid))  # type: ignore[union-attr]
            raise KeyboardInterrupt
        return word, value

    body = "import os, signal\nif data == 2: signal.pause()\nif os.fork() == 0:\n    os.setsid()\n    signal.pause()\nreturn 1"
    sandbox = Sandbox()
    told = sandbox._told
    monkeypatch.setattr(sandbox, "_told", interrupted)
    with pytest.raises(KeyboardInterrupt), sandbox:
        sandbox.run(source(body), CASES)
    assert len(seen) == 1 + FORKS and not any(born(each) for each in seen)


def test_a_function_begins_in_an_empty_folder_that_is_removed() -> None:
    body = "import os\nseen = os.listdir()\nopen(f'{data}', 'w').close()\nreturn [os.getcwd(), seen]"
    with Sandbox() as sandbox:
        found = [sandbox.run(source(body), CASES[:1])[0].value for _ in range(2)]
    assert [seen for _, seen in found] == [[], []]
    assert not any(Path(folder).exists() or Path(folder) == Path.cwd() for folder, _ in found)


def test_what_a_function_multiplies_needs_no_threads() -> None:
    found = run("import numpy\none = numpy.ones((300, 300))\nreturn [float((one @ one).sum()), threads()]".replace(
        "threads()", "len(__import__('os').listdir('/proc/self/task'))"), CASES[:1])  # fmt: skip
    assert found[0].value == [300.0**3, 1]


def test_a_function_without_end_in_memory_ends() -> None:
    found = run("import sys\nsys.setrecursionlimit(10**9)\nreturn [f(data)]", seconds=SHORT)
    assert set(problems(found)) <= {"raised", "ended", "endless"} and "" not in problems(found)


def test_a_function_that_ends_the_process_of_all_ends_it_for_itself() -> None:
    with Sandbox() as sandbox:
        sandbox.run(source("import os, signal\nos.kill(os.getppid(), signal.SIGKILL)"), CASES, SHORT)
        assert [each.value for each in sandbox.run(source("return data + 1"), CASES)] == [2, 3, 4]


def test_functions_run_from_several_threads_at_once() -> None:
    found: dict[int, list[Any]] = {}

    def use(number: int) -> None:
        found[number] = [each.value for each in run(f"return data + {number}")]

    threads = [threading.Thread(target=use, args=(number,)) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == {number: [number + 1, number + 2, number + 3] for number in range(4)}


ALONE = "It is judged alone: what it needs, modules too, has to stand inside it."


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("raise KeyError", "Your function raised KeyError in its line 2. It was called with 7."),
        ("raise ValueError('too {small}')", "Your function raised ValueError in its line 2: too {small}. It was called with 7."),
        ("raise ValueError('why?')", "Your function raised ValueError in its line 2: why? It was called with 7."),
        ("return np.sum(data)", f"raised NameError in its line 2: name 'np' is not defined. It was called with 7. {ALONE}"),
        ("import no_such", f"ModuleNotFoundError in its line 2: No module named 'no_such'. It was called with 7. {ALONE}"),
        (
            "pass",
            "Your function returned None; return two finite numbers, (TP in bytes per second, price). It was called",
        ),
        ("return 'x'", "Your function returned something else than two finite numbers"),
        ("import os; os._exit(0)", "Your function ended the process that it ran in"),
    ],
)
def test_what_is_said_of_a_function_that_returns_no_answer(
    body: str, told: str, shared: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(functions, "_sandbox", lambda: nullcontext(shared))
    cases = Cases("3.2", lambda _: [[7]], lambda _: 0, lambda v: v if type(v) is int else None, lambda *_: True, {}, str)
    verdict = cases.judge(source(body), {})
    assert told in verdict.says and verdict.says.endswith(".") and (ALONE in verdict.says) == (ALONE in told)


def test_one_sandbox_serves_all_functions_in_its_block() -> None:
    servers = []
    cases = Cases("1.1", lambda _: [[1]], lambda _: 0, lambda v: v, lambda one, _: not servers.append(one), {}, str)
    right = Source("def f(data):\n    import os\n    return os.getppid()\n", "f")
    with one_sandbox():
        for _ in range(2):
            cases.judge(right, WORDS)
    assert len(servers) == 2 and len(set(servers)) == 1

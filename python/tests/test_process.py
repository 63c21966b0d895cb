"""Tests what concerns the whole process: Ctrl-C, threads, memory and doctests."""

import doctest
import gc
import importlib
import math
import os
import pkgutil
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import nlsqfit as nf
import pytest
from nlsqfit._library import live_handles

X = np.linspace(0, 4, 40)


@pytest.mark.parametrize(
    "module", [m.name for m in pkgutil.iter_modules(nf.__path__) if m.name.startswith("_")]
)
def test_the_examples_in_the_docstrings(module):
    found = doctest.testmod(
        importlib.import_module("nlsqfit." + module), optionflags=doctest.NORMALIZE_WHITESPACE
    )
    assert found.failed == 0


def test_ten_threads_fit_at_once():
    def work(k):
        y = (k + 1) * np.exp(-0.1 * (k + 1) * X)
        return [nf.curve_fit(lambda x, a, b: a * np.exp(-b * x), X, y)[0] for _ in range(20)]

    with ThreadPoolExecutor(10) as pool:
        for k, answers in enumerate(pool.map(work, range(10))):
            assert np.allclose(answers, [k + 1, 0.1 * (k + 1)])


def _resident():
    """Return the memory of this process in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("exp, calls", [(np.exp, 2000), (math.exp, 500)], ids=["recorded", "called"])
def test_no_handle_and_no_memory_is_left_behind(exp, calls):
    x = X[:10]
    y = 2 * np.exp(-x)

    def many(count):
        for _ in range(count):
            if exp is np.exp:
                nf.curve_fit(lambda x, a, b: a * exp(-b * x), x, y)
            else:
                nf.curve_fit(lambda x, a, b: np.array([a * exp(-b * s) for s in x]), x, y)

    gc.collect()
    gc.disable()  # so that objects are freed at once, and cycles of references are found
    try:
        many(300)
        handles, before = live_handles(), _resident()
        many(calls)
        assert live_handles() <= handles + 2
    finally:
        gc.enable()
    assert _resident() - before < 1e6


INTERRUPTED = """
    import threading, time, os, signal, sys
    import numpy as np, nlsqfit as nf
    x = np.linspace(0, 50, 500_000)
    y = np.sin(x) + np.random.default_rng(0).normal(size=x.size)
    {model}
    nf.curve_fit(f, x[:1000], y[:1000], p0=[1.0, 1.0])
    sent = []
    def interrupt():
        time.sleep(0.3)
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=interrupt, daemon=True).start()
    try:
        while True:
            {call}
    except KeyboardInterrupt:
        print(time.perf_counter() - sent[0])
        sys.stdout.flush()
        os._exit(0)
"""


@pytest.mark.parametrize(
    "model, call",
    [
        ("f = lambda x, a, b: a * np.sin(b * x)", 'nf.fit("sine + gaussian + exp", x, y, starts=50)'),
        (
            "f = lambda x, a, b: float(a) * np.sin(b * x)",
            "nf.curve_fit(f, x[:20000], y[:20000], p0=[3.0, 0.9])",
        ),
    ],
)
def test_ctrl_c_comes_back_at_once(model, call):
    script = textwrap.dedent(INTERRUPTED).format(model=model, call=call)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 2.0  # it is 0.2 s if no other work fills the machine


def test_the_interpreter_runs_while_the_library_works():
    x = np.linspace(0, 50, 200_000)
    y = np.sin(x) + 0.1 * np.random.default_rng(0).normal(size=x.size)
    ticks = []
    with ThreadPoolExecutor(1) as pool:
        job = pool.submit(lambda: nf.fit("a*sin(b*x+c)", x, y, p0={"b": 1.0}, starts=3).success)
        while not job.done():
            ticks.append(time.perf_counter())
            time.sleep(0.001)
        assert job.result()
    assert len(ticks) > 1


def test_work_has_ended_when_ctrl_c_comes_back():
    script = """
        import os, signal, threading
        import numpy as np, nlsqfit as nf
        x = np.linspace(0, 20, 100)
        N = np.random.default_rng(1).normal(size=(4000, 100))
        for delay in (0.02, 0.05, 0.1, 0.2):
            timer = threading.Timer(delay, lambda: os.kill(os.getpid(), signal.SIGINT))
            try:  # on a busy machine the signal comes before start() has returned
                timer.start()
                while True:
                    nf.fit_many("a*sin(w*x+p)+c", x, N, p0=[1, 1, 1, 1])
            except KeyboardInterrupt:
                pass
        print("ended")
    """
    for _ in range(3):  # the process crashed at its end where work went on
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=120
        )
        assert (done.returncode, done.stdout) == (0, "ended\n"), done.stderr

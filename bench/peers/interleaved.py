"""Systems measured in turn: in each round every system runs once, in a shuffled order, so that whatever disturbs the machine
disturbs all of them. A system is a callable that returns the seconds of one inference."""
import random
import statistics
import subprocess
import time


def timed(run):
    """run() as a system."""
    def system():
        start = time.perf_counter()
        run()
        return time.perf_counter() - start
    return system


class OnDemand:
    """A process that does a piece of work for each line `run` that it is sent, and answers with its nanoseconds."""

    def __init__(self, command, environment=None):
        self.child = subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)

    def answer(self, request):
        self.child.stdin.write(f"{request}\n")
        self.child.stdin.flush()
        line = self.child.stdout.readline()
        if not line:
            raise SystemExit(f"{' '.join(map(str, self.child.args))}: ended with {self.child.wait()}")
        return float(line)

    def __call__(self):
        return self.answer("run") * 1e-9

    def close(self):
        self.child.stdin.close()
        self.child.wait()


class Hone(OnDemand):
    """`hone bench --on-demand`: the work is one inference."""

    def __init__(self, program, model, inputs, folder, threads, flags=(), writes=True):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        given = []
        if inputs:
            import numpy as np  # only where it is needed: bench/against.py gives no inputs
        for name, value in inputs.items():
            np.save(folder / f"in_{name}.npy", value)
            given.append(f"{name}={folder / f'in_{name}.npy'}")
        super().__init__([program, "bench", model, "--on-demand", "--threads", threads,
                          *(["--output-dir", folder] if writes else []), *flags, *(["--input", *given] if given else [])])

    def output(self, name):
        import numpy as np
        return np.load(self.folder / (name.replace("/", "_") + ".npy"))


def rounds(systems, count, warmup=3, pause=0.0):
    """Seconds of every system in each of `count` rounds. `pause` lets threads that spin after their work go to sleep."""
    times = {name: [] for name in systems}
    for _ in range(warmup):
        for run in systems.values():
            run()
    order = list(systems)
    for _ in range(count):
        random.shuffle(order)
        for name in order:
            time.sleep(pause)
            times[name].append(systems[name]())
    return times


def interval(values):
    """Median with the distribution-free 95 % interval of order statistics."""
    v, n = sorted(values), len(values)
    half = 0.98 * n ** 0.5
    return statistics.median(v), v[max(0, int(n / 2 - half))], v[min(n - 1, int(n / 2 + half))]


def ratio(times, mine, other):
    """Median and interval of the ratio of two systems over the rounds."""
    return interval([a / b for a, b in zip(times[mine], times[other])])

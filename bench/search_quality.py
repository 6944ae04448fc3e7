"""What hone's samplers find beside Optuna's: studies of some trials with each of many seeds, and the probability that one of
hone is better than one of Optuna (ties half), with the lower end of its one-sided 95 % interval.

--record puts the table into bench/results.md.

usage: search_quality.py BENCH_SEARCH [--record] [SEEDS [PROBLEM ...]]
(build/release/bench/bench_search; 400 seeds; Python of build/venv)
"""
import math
import multiprocessing
import os
import statistics
import subprocess
import sys
import warnings

warnings.filterwarnings("ignore")

# Name: parameters, trials, range (none: six categories), objectives, sampler; as bench/search.cc has them.
PROBLEMS = {
    "sphere": (5, 50, (-5, 5), 1, "tpe"),
    "rosenbrock": (4, 60, (-2, 2), 1, "tpe"),
    "categorical": (8, 60, None, 1, "tpe"),
    "zdt1": (5, 60, (0, 1), 2, "tpe"),
    "zdt1 nsga2": (5, 200, (0, 1), 2, "nsga2"),
}


def values_of(name, x):
    if name == "sphere":
        return (sum((v - 1) ** 2 for v in x),)
    if name == "rosenbrock":
        return (sum(100 * (b - a * a) ** 2 + (1 - a) ** 2 for a, b in zip(x, x[1:])),)
    if name == "categorical":
        return (sum((5 * c + 3 * i + 1) % 7 / 7 + (0.5 if c * x[(i + 1) % len(x)] % 3 == 1 else 0) for i, c in enumerate(x)),)
    g = 1 + 9 * sum(x[1:]) / (len(x) - 1)
    return x[0], g * (1 - math.sqrt(x[0] / g))


def found_by_optuna(arguments):
    import optuna
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    name, seed = arguments
    count, trials, bounds, objectives, sampler = PROBLEMS[name]
    made = {"tpe": lambda: optuna.samplers.TPESampler(seed=seed),
            "nsga2": lambda: optuna.samplers.NSGAIISampler(population_size=20, seed=seed)}[sampler]()
    study = optuna.create_study(directions=["minimize"] * objectives, sampler=made)

    def objective(trial):
        x = [trial.suggest_float(f"x{i}", *bounds) if bounds else trial.suggest_categorical(f"x{i}", [0, 1, 2, 3, 4, 5])
             for i in range(count)]
        return values_of(name, x)

    study.optimize(objective, n_trials=trials)
    if objectives == 1:
        return study.best_value
    area, height = 0.0, 11.0
    for first, second in sorted(tuple(t.values) for t in study.best_trials):
        if first < 1.1 and second < height:
            area += (1.1 - first) * (height - second)
            height = second
    return -area


def compared(ours, theirs):
    """P(ours < theirs) + P(equal) / 2 over all pairs, and its standard error (DeLong's)."""
    def share(value, others, less):
        return sum(1.0 if (value < o) == less and value != o else 0.5 if value == o else 0.0 for o in others) / len(others)
    a = [share(v, theirs, True) for v in ours]
    b = [share(v, ours, False) for v in theirs]
    return statistics.mean(a), math.sqrt(statistics.variance(a) / len(a) + statistics.variance(b) / len(b))


if __name__ == "__main__":
    import optuna
    bench, *words = [a for a in sys.argv[1:] if a != "--record"]
    seeds = int(words[0]) if words else 400
    rows = []
    with multiprocessing.Pool(os.cpu_count()) as pool:
        for name in words[1:] or PROBLEMS:
            theirs = pool.map(found_by_optuna, [(name, seed) for seed in range(seeds)], chunksize=4)
            lines = subprocess.run([bench, "quality", name, str(seeds)], check=True, capture_output=True, text=True).stdout
            ours = [float(line) for line in lines.split()]
            assert len(ours) == seeds, len(ours)
            p, error = compared(ours, theirs)
            rows.append([name, PROBLEMS[name][1], f"{statistics.median(ours):.4g}", f"{statistics.median(theirs):.4g}", f"{p:.3f}",
                         f"{p - 1.645 * error:.3f}"])
            print(*rows[-1], sep=" | ", flush=True)
    if "--record" in sys.argv:
        sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers"))
        from results import table, write_section
        write_section("Search: what samplers find", f"`bench/search_quality.py build/release/bench/bench_search --record {seeds}` beside "
                      f"Optuna {optuna.__version__}: {seeds} studies of each, the best value (of two objectives minus the area that the "
                      "front dominates below (1.1, 11)), and the probability that one of hone is better, ties half.\n\n"
                      + table(["problem", "trials", "hone, median", "Optuna, median", "P(hone better)", "at least (95 %)"], rows))

"""Studies that hone and Optuna share, both ways: Optuna makes one and hone goes on with it, and the other way round, in
SQLite and in a journal. Prints what was checked; ends with an AssertionError where something is not as it should be.

usage: optuna_interop.py STUDY_WORKER
(build/*/bench/study_worker STORAGE STUDY TRIALS SAMPLER works on a study of x: float, n: int, c: category)
"""
import os
import subprocess
import sys
import tempfile
import warnings

import optuna
from optuna.trial import TrialState

warnings.filterwarnings("ignore")
optuna.logging.set_verbosity(optuna.logging.ERROR)
worker = sys.argv[1]


def hone(storage, study, trials, sampler="tpe"):
    subprocess.run([worker, storage, study, str(trials), sampler], check=True)


def objective(trial):
    x = trial.suggest_float("x", 1e-5, 0.1, log=True)
    n = trial.suggest_int("n", 1, 10)
    c = trial.suggest_categorical("c", ["a", None, True, 1.5])
    trial.report(n, 0)
    trial.report(float("nan"), 1)
    trial.set_user_attr("who", {"name": "optuna", "é": [1, 2.5, None]})
    return x * 10 + abs(n - 4) + (0 if c == "a" else 1)


def open_storage(kind, folder, name):
    path = os.path.join(folder, name)
    if kind == "sqlite":
        return f"sqlite:///{path}.db", f"{path}.db"
    backend = optuna.storages.journal.JournalFileBackend(path + ".log")
    return optuna.storages.JournalStorage(backend), path + ".log"


def check(study, total):
    trials = study.get_trials()
    assert [t.number for t in trials] == list(range(total)), [t.number for t in trials]
    assert all(t.state == TrialState.COMPLETE for t in trials), [t.state for t in trials]
    for t in trials:
        assert set(t.params) == {"x", "n", "c"}, t.params
        assert t.distributions["x"] == optuna.distributions.FloatDistribution(1e-5, 0.1, log=True)
        assert t.distributions["c"].choices == ("a", None, True, 1.5)
        expected = t.params["x"] * 10 + abs(t.params["n"] - 4) + (0 if t.params["c"] == "a" else 1)
        assert abs(t.value - expected) < 1e-12
        assert t.intermediate_values[0] == t.params["n"] and t.intermediate_values[1] != t.intermediate_values[1]
        assert t.user_attrs["who"]["é"] == [1, 2.5, None]
        assert t.datetime_start <= t.datetime_complete
    assert {t.user_attrs["who"]["name"] for t in trials} == {"optuna", "hone"}


with tempfile.TemporaryDirectory() as folder:
    for kind in ("sqlite", "journal"):
        url, path = open_storage(kind, folder, "theirs")
        study = optuna.create_study(storage=url, study_name="s")
        study.optimize(objective, n_trials=15)
        study.enqueue_trial({"x": 0.05, "n": 4, "c": None})
        hone(path, "s", 15)
        enqueued = study.trials[15]
        assert enqueued.params == {"x": 0.05, "n": 4, "c": None} and enqueued.user_attrs["who"]["name"] == "hone"
        study.optimize(objective, n_trials=5)
        hone(path, "s", 5)
        check(optuna.load_study(storage=open_storage(kind, folder, "theirs")[0], study_name="s"), 40)

        _, path = open_storage(kind, folder, "ours")
        if kind == "journal":
            os.path.exists(path) and os.remove(path)
        hone(path, "s", 15)
        study = optuna.load_study(storage=open_storage(kind, folder, "ours")[0], study_name="s")
        study.optimize(objective, n_trials=15)
        study.enqueue_trial({"x": 0.05})
        hone(path, "s", 5)
        check(study, 35)
        print(f"Optuna {optuna.__version__}, {kind}: made there and gone on with here, and the other way round; best "
              f"{study.best_value:.6f}")

        # Both at once: numbers stay unique.
        both = [subprocess.Popen([worker, path, "s", "30", "random"]) for _ in range(2)]
        study.optimize(objective, n_trials=20)
        assert all(p.wait() == 0 for p in both)
        check(optuna.load_study(storage=open_storage(kind, folder, "ours")[0], study_name="s"), 115)
        print(f"Optuna {optuna.__version__}, {kind}: three workers at once, 80 trials, each number once")

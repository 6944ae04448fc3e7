"""Writes what Optuna computes, for tests/study/tpe_golden_test.cc: log densities of its Parzen estimators on fixed
histories, and which trials of a study it takes for good ones.

usage: optuna_golden.py FILE.json        (Optuna 4.9 and 5 give a file each)
"""
import json
import sys
import warnings

import numpy as np
import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution, distribution_to_json
from optuna.samplers._tpe import sampler as tpe
from optuna.samplers._tpe.parzen_estimator import _ParzenEstimator, _ParzenEstimatorParameters
from optuna.trial import TrialState, create_trial

warnings.filterwarnings("ignore")
optuna.logging.set_verbosity(optuna.logging.ERROR)
MAJOR = int(optuna.__version__.split(".")[0])
rng = np.random.RandomState(20240)

# Equal observations get bumps of unlike width by their place in a sort. NumPy's default one orders them as the CPU's
# vector instructions have it; here they stay in the order in which they came.
numpy_argsort = np.argsort
np.argsort = lambda a, *args, **options: numpy_argsort(a, *args, **{"kind": "stable", **options})

DISTRIBUTIONS = {
    "float": FloatDistribution(0, 1),
    "float wide": FloatDistribution(-1e6, 1e6),
    "float log": FloatDistribution(1e-5, 0.1, log=True),
    "float step": FloatDistribution(0, 1, step=0.05),
    "int": IntDistribution(2, 16, step=2),
    "int many": IntDistribution(-1000, 1000),
    "int log": IntDistribution(1, 64, log=True),
    "category": CategoricalDistribution(["a", "b", "c"]),
    "category many": CategoricalDistribution(list(range(13))),
}


def draw(distribution, n):
    if isinstance(distribution, CategoricalDistribution):
        return rng.randint(len(distribution.choices), size=n).astype(float)
    if distribution.log:
        x = np.exp(rng.uniform(np.log(distribution.low), np.log(distribution.high), size=n))
    else:
        # Some in one place: bumps as narrow as they get, and points far out in their tails.
        x = np.where(rng.rand(n) < 0.5, distribution.low + 0.01 * (distribution.high - distribution.low) * rng.rand(n),
                     rng.uniform(distribution.low, distribution.high, size=n))
    if isinstance(distribution, IntDistribution) or distribution.step is not None:
        step = distribution.step or 1
        x = distribution.low + np.round((x - distribution.low) / step) * step
    return np.clip(x, distribution.low, distribution.high)


def estimator(observations, space, multivariate, weights):
    options = dict(prior_weight=1.0, consider_magic_clip=True, consider_endpoints=False, weights=tpe.default_weights,
                   multivariate=multivariate)
    names = _ParzenEstimatorParameters._fields
    if "consider_prior" in names:
        options["consider_prior"] = True
    if "categorical_distance_func" in names:
        options["categorical_distance_func"] = {}
    return _ParzenEstimator(observations, space, _ParzenEstimatorParameters(**options), weights)


def densities():
    cases = []
    spaces = [[name] for name in DISTRIBUTIONS] + [list(DISTRIBUTIONS), ["float", "int log", "category"]]
    for names in spaces:
        for n in (0, 1, 2, 5, 30, 200):
            for multivariate in (False, True):
                space = {name: DISTRIBUTIONS[name] for name in names}
                observations = {name: draw(d, n) for name, d in space.items()}
                points = {name: draw(d, 6) for name, d in space.items()}
                weights = rng.rand(n) + 0.01 if n == 5 else None
                result = estimator(observations, space, multivariate, None if weights is None else weights.copy())
                cases.append({
                    "multivariate": multivariate,
                    "space": [distribution_to_json(d) for d in space.values()],
                    "observations": [v.tolist() for v in observations.values()],
                    "weights": None if weights is None else weights.tolist(),
                    "points": [v.tolist() for v in points.values()],
                    "log_pdf": result.log_pdf(points).tolist(),
                })
    return cases


def splits():
    cases = []
    for directions, constrained in ((["minimize"], False), (["maximize"], True), (["minimize", "maximize"], False),
                                    (["minimize"] * 3, True)):
        study = optuna.create_study(directions=directions)
        rows = []
        for i in range(60):
            shares = [0.6, 0.3, 0.1] if len(directions) == 1 else [0.9, 0, 0.1]
            state = (TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL)[rng.choice(3, p=shares)]
            values = np.round(rng.rand(len(directions)) * 8, 1).tolist() if state == TrialState.COMPLETE else None
            reports = {s: float(np.round(rng.rand() * 4, 1)) for s in range(rng.randint(4))} if len(directions) == 1 else {}
            constraints = np.round(rng.rand(2) - 0.7, 2).tolist() if constrained else None
            study.add_trial(create_trial(
                state=state, values=values, intermediate_values=reports,
                system_attrs={"constraints": constraints} if constrained else {}))
            rows.append({"state": state.name, "values": values, "reports": sorted(reports.items()),
                         "constraints": constraints})
        trials = study.get_trials(states=(TrialState.COMPLETE, TrialState.PRUNED))
        expected = {}
        for n_below in (1, 3, 6, 25, 45, 55):
            arguments = (study, trials, n_below) + ((constrained,) if MAJOR < 5 else ())
            expected[n_below] = [t.number for t in tpe._split_trials(*arguments)[0]]
        cases.append({"directions": directions, "trials": rows, "below": expected})
    return cases


with open(sys.argv[1], "w") as out:
    json.dump({"optuna": optuna.__version__, "densities": densities(), "splits": splits()}, out)
    out.write("\n")

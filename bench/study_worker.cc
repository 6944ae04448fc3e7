// study_worker STORAGE STUDY TRIALS SAMPLER [HEARTBEAT]: works on a study of three parameters, for
// bench/peers/optuna_interop.py; with signs of life so many seconds apart.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "base/error.h"
#include "study/samplers/make_sampler.h"
#include "study/study.h"

int main(int argc, char** argv) {
  using namespace hone;
  if (argc != 5 && argc != 6) {
    fmt::print(stderr, "usage: study_worker STORAGE STUDY TRIALS SAMPLER [HEARTBEAT]\n");
    return 2;
  }
  try {
    Study study(open_storage(argv[1]), {.name = argv[2], .heartbeat_seconds = argc == 6 ? std::atof(argv[5]) : 0},
                make_sampler(argv[4], 0));
    study.optimize(
        [](LiveTrial& trial) {
          const double x = trial.suggest_real("x", 1e-5, 0.1, 0, true);
          const auto n = static_cast<double>(trial.suggest_integer("n", 1, 10));
          const Json c = trial.suggest_category("c", {"a", nullptr, true, 1.5});
          trial.report(n, 0);
          trial.report(NAN, 1);
          trial.set_user_attribute("who", {{"name", "hone"}, {"\u00e9", {1, 2.5, nullptr}}});
          return std::vector{x * 10 + std::abs(n - 4) + (c == "a" ? 0 : 1)};
        },
        {.trials = std::atoll(argv[3])});
  } catch (const Error& e) {
    fmt::print(stderr, "study_worker: {}\n", e.what());
    return 1;
  }
  return 0;
}

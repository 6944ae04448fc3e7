// Each optimizer against its formula in plain doubles, step by step, interpreted and compiled; and that one parameter's
// update is one kernel.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "base/philox.h"
#include "runtime/session.h"
#include "tests/support/bound.h"
#include "tests/support/error_of.h"
#include "tests/support/normal_tensor.h"
#include "train/registry.h"

namespace hone::test {
namespace {

constexpr int64_t kRows = 3, kColumns = 5;
constexpr int kSteps = 6;

// One parameter of the reference, and what is kept of it by name.
struct Reference {
  std::vector<double> w;
  std::map<std::string, std::vector<double>> state;
  std::vector<double>& of(const char* name, size_t size) {
    std::vector<double>& values = state[name];
    values.resize(size);
    return values;
  }
};
struct Numbers {
  double rate, decay;
  int64_t rows, columns;
};
using Formula = std::function<void(Reference&, const std::vector<double>& g, int step, const Numbers&)>;
using Set = std::vector<std::pair<std::string, std::string>>;

const OptimizerDef& optimizer(const std::string& name) {
  for (const OptimizerDef* def : train::all())
    if (name == def->name) return *def;
  throw Bug("no optimizer " + name);
}

std::any options_of(const OptimizerDef& def, const Set& set) {
  std::any options = def.options->defaults();
  for (const auto& [name, value] : set) def.options->set(options, name, {value});
  return options;
}

Graph graph_of(const OptimizerDef& def, const std::any& options, double decay, const Tensor& w) {
  Graph graph;
  const auto f32 = [](Shape shape) { return TensorType{.dtype = DType::f32, .shape = std::move(shape)}; };
  const ValueId parameter = graph.add_parameter("w", w), g = graph.add_input("g", f32(to_shape(w.shape()))),
                rate = graph.add_input("rate", f32({})), step = graph.add_input("step", f32({}));
  const Trained trained[] = {{parameter, g}};
  GroupStep group(graph, rate, step, decay, trained);
  def.step(group, options);
  return graph;
}

void set_zero_state(const Graph& graph, Context& context) {
  for (ValueId input : graph.inputs())
    if (const Value& value = graph.value(input); value.role == InputRole::state)
      context.set_state(value.label, Tensor(value.type.dtype, constant_shape(value.type.shape)));
}

// Each step rounds w once, and the change that it computes comes from at most 80 roundings (a power has 4 ulp), so
// after t steps |error| <= t eps |w| + 80 eps sum |change|: errors of the state reach w through changes alone.
void expect_follows(const std::string& name, const Set& set, double decay, double rate, const Formula& formula,
                    bool matrix = true) {
  const OptimizerDef& def = optimizer(name);
  const std::vector<int64_t> shape = matrix ? std::vector<int64_t>{kRows, kColumns} : std::vector<int64_t>{kColumns};
  for (int level : {0, 2}) {
    SCOPED_TRACE(name + " at level " + std::to_string(level));
    Philox random(7);
    const Tensor w = normal_tensor(random, shape, 1);
    const Graph graph = graph_of(def, options_of(def, set), decay, w);
    SessionOptions options;
    options.optimise = level;
    Session session(graph, options);
    Context context;
    set_zero_state(graph, context);
    Reference reference{.w = w.to_doubles(), .state = {}};
    std::vector<double> changes(reference.w.size());
    for (int step = 1; step <= kSteps; ++step) {
      const Tensor g = normal_tensor(random, shape, 0.1f);
      const auto rate32 = static_cast<float>(rate);
      session.run(context, {{"g", g}, {"rate", Tensor::scalar(rate32)}, {"step", Tensor::scalar(float(step))}});
      const std::vector<double> before = reference.w;
      formula(reference, g.to_doubles(), step, {rate32, decay, matrix ? kRows : 1, kColumns});
      const std::vector<double> is = session.parameter("w").to_doubles();
      for (size_t i = 0; i < is.size(); ++i) {
        changes[i] += std::abs(reference.w[i] - before[i]);
        const double bound = step * kEpsF32 * std::abs(reference.w[i]) + 80 * kEpsF32 * changes[i];
        EXPECT_NEAR(is[i], reference.w[i], bound) << "element " << i << " of step " << step;
        EXPECT_LT(bound, changes[i] / 100) << "a bound that proves nothing";
      }
    }
  }
}

TEST(Optimizers, SgdFollowsTheGradient) {
  expect_follows("sgd", {}, 0.01, 0.1, [](Reference& r, const std::vector<double>& g, int, const Numbers& n) {
    for (size_t i = 0; i < g.size(); ++i) r.w[i] -= n.rate * (g[i] + n.decay * r.w[i]);
  });
}

TEST(Optimizers, SgdHasMomentumNesterovsFormAndDecoupledDecay) {
  for (bool nesterov : {false, true})
    expect_follows("sgd", {{"momentum", "0.9"}, {"nesterov", nesterov ? "true" : "false"}, {"decoupled", "true"}}, 0.01,
                   0.1, [nesterov](Reference& r, const std::vector<double>& g, int, const Numbers& n) {
                     std::vector<double>& m = r.of("m", g.size());
                     for (size_t i = 0; i < g.size(); ++i) {
                       m[i] = 0.9 * m[i] + g[i];
                       const double direction = nesterov ? g[i] + 0.9 * m[i] : m[i];
                       r.w[i] = r.w[i] * (1 - n.rate * n.decay) - n.rate * direction;
                     }
                   });
}

Formula adam(bool decoupled) {
  return [decoupled](Reference& r, const std::vector<double>& given, int step, const Numbers& n) {
    constexpr double kBeta1 = 0.9, kBeta2 = 0.999, kEpsilon = 1e-8;
    std::vector<double>&m = r.of("m", given.size()), &v = r.of("v", given.size());
    for (size_t i = 0; i < given.size(); ++i) {
      const double g = given[i] + (decoupled ? 0 : n.decay * r.w[i]);
      m[i] = kBeta1 * m[i] + (1 - kBeta1) * g;
      v[i] = kBeta2 * v[i] + (1 - kBeta2) * g * g;
      const double mean = m[i] / (1 - std::pow(kBeta1, step)), square = v[i] / (1 - std::pow(kBeta2, step));
      r.w[i] = r.w[i] * (decoupled ? 1 - n.rate * n.decay : 1) - n.rate * mean / (std::sqrt(square) + kEpsilon);
    }
  };
}

TEST(Optimizers, AdamAndAdamWDifferInTheirDecay) {
  expect_follows("adam", {}, 0.01, 1e-2, adam(false));
  expect_follows("adamw", {}, 0.01, 1e-2, adam(true));
}

TEST(Optimizers, LionStepsAlongTheSign) {
  expect_follows("lion", {}, 0.01, 1e-2, [](Reference& r, const std::vector<double>& g, int, const Numbers& n) {
    std::vector<double>& m = r.of("m", g.size());
    for (size_t i = 0; i < g.size(); ++i) {
      const double mean = 0.9 * m[i] + 0.1 * g[i];
      r.w[i] = r.w[i] * (1 - n.rate * n.decay) - n.rate * (mean > 0 ? 1 : mean < 0 ? -1 : 0);
      m[i] = 0.99 * m[i] + 0.01 * g[i];
    }
  });
}

double root_mean_square(const std::vector<double>& x) {
  double sum = 0;
  for (double v : x) sum += v * v;
  return std::sqrt(sum / static_cast<double>(x.size()));
}

void adafactor(Reference& r, const std::vector<double>& g, int step, const Numbers& n) {
  constexpr double kSmallest = 1e-3, kEpsilon = std::numeric_limits<float>::epsilon();
  const double share = std::pow(step, -0.8), rate = std::min(n.rate, 1 / std::sqrt(step));
  const auto rows_count = static_cast<size_t>(n.rows), columns_count = static_cast<size_t>(n.columns);
  std::vector<double> estimate(g.size());
  if (n.rows > 1) {
    std::vector<double>&rows = r.of("rows", rows_count), &columns = r.of("columns", columns_count);
    std::vector<double> of_rows(rows_count), of_columns(columns_count);
    for (size_t i = 0; i < g.size(); ++i) {
      of_rows[i / columns_count] += g[i] * g[i] / static_cast<double>(n.columns);
      of_columns[i % columns_count] += g[i] * g[i] / static_cast<double>(n.rows);
    }
    double mean = 0;
    for (size_t i = 0; i < rows_count; ++i) {
      rows[i] += share * (of_rows[i] - rows[i]);
      mean += rows[i] / static_cast<double>(n.rows);
    }
    for (size_t j = 0; j < columns_count; ++j) columns[j] += share * (of_columns[j] - columns[j]);
    for (size_t i = 0; i < g.size(); ++i)
      estimate[i] = rows[i / columns_count] * columns[i % columns_count] / std::max(mean, kEpsilon);
  } else {
    std::vector<double>& squares = r.of("square", g.size());
    for (size_t i = 0; i < g.size(); ++i) estimate[i] = squares[i] += share * (g[i] * g[i] - squares[i]);
  }
  std::vector<double> direction(g.size());
  for (size_t i = 0; i < g.size(); ++i) direction[i] = g[i] / std::sqrt(std::max(estimate[i], kEpsilon * kEpsilon));
  const double scaled = rate * std::max(root_mean_square(r.w), kSmallest) / std::max(1.0, root_mean_square(direction));
  for (size_t i = 0; i < g.size(); ++i) r.w[i] = r.w[i] * (1 - n.rate * n.decay) - scaled * direction[i];
}

TEST(Optimizers, AdafactorKeepsRowsAndColumnsOfMatricesAndAllOfVectors) {
  expect_follows("adafactor", {}, 0.01, 1e-2, adafactor);
  expect_follows("adafactor", {}, 0.01, 1e-2, adafactor, false);
}

// Lion's mean is no part of its step, so it is a kernel of its own.
TEST(Optimizers, AnUpdateOfOneParameterIsOneKernel) {
  Philox random(1);
  const Tensor w = normal_tensor(random, {64, 48}, 1);
  for (const char* name : {"sgd", "adam", "adamw", "lion"}) {
    const OptimizerDef& def = optimizer(name);
    SCOPED_TRACE(name);
    const Graph graph = graph_of(def, def.options->defaults(), 0.01, w);
    Session session(graph, {});
    Context context;
    set_zero_state(graph, context);
    RunProfile profile;
    session.run(context, {{"g", w}, {"rate", Tensor::scalar(1e-3f)}, {"step", Tensor::scalar(1.0f)}}, &profile);
    const auto of_elements = std::ranges::count_if(profile.steps, [](const auto& step) { return step.bytes > 1000; });
    EXPECT_EQ(of_elements, std::string(name) == "lion" ? 2 : 1);
  }
}

TEST(Optimizers, RefuseNumbersThatMakeNoSense) {
  const Tensor w(DType::f32, {2});
  const auto refused = [&](const char* name, const char* option, const char* value) {
    const OptimizerDef& def = optimizer(name);
    return error_of([&] { graph_of(def, options_of(def, {{option, value}}), 0, w); });
  };
  EXPECT_EQ(refused("sgd", "momentum", "1"), "option momentum of sgd is 1; accepted: 0 to below 1");
  EXPECT_EQ(refused("sgd", "nesterov", "true"), "option nesterov of sgd needs a momentum above 0");
  EXPECT_EQ(refused("adam", "beta2", "-0.1"), "option beta of adam is -0.1; accepted: 0 to below 1");
  EXPECT_EQ(refused("lion", "beta1", "1.5"), "option beta of lion is 1.5; accepted: 0 to below 1");
  EXPECT_EQ(refused("adafactor", "limit", "0"), "an option of adafactor is 0; epsilon, smallest and limit are above 0");
  EXPECT_NE(refused("adamw", "beta3", "0.5"), "");
}

}  // namespace
}  // namespace hone::test

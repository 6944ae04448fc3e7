// The same steps by one process and by several: this program once more, as ranks, each with its share of a batch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "io/safetensors.h"
#include "mpi/ranks.h"
#include "ops/calls/batch_norm.h"
#include "ops/calls/conv.h"
#include "ops/calls/linear.h"
#include "ops/calls/reshape.h"
#include "ops/calls/transcendental.h"
#include "tests/io/temporary_folder.h"
#include "tests/support/bound.h"
#include "tests/support/mpirun.h"
#include "tests/support/normal_tensor.h"
#include "tests/support/run_program.h"
#include "train/loop/checkpoint.h"
#include "train/loop/trainer.h"
#include "train/registry.h"

// Open MPI takes two of its own locks in either order as its ranks meet; ThreadSanitizer asks the program what to leave
// out.
extern "C" const char* __tsan_default_suppressions() { return "deadlock:mca_btl_tcp.so\n"; }

namespace hone::test {
namespace {

constexpr const char* kResult = "HONE_TEST_RANKS_RESULT";  // where rank 0 leaves its tensors
constexpr const char* kCase = "HONE_TEST_RANKS_CASE";

// A batch's steps, from the name of a case: rows, and whether the network has a batch norm.
struct Case {
  int64_t rows = 0;
  bool normed = false;
  int steps = 1;
};
Case case_of(const std::string& name) {
  if (name == "plain") return {.rows = 24};
  if (name == "normed") return {.rows = 24, .normed = true};
  if (name == "uneven") return {.rows = 10, .normed = true};
  return {.rows = 3, .normed = true, .steps = 3};  // fewer than ranks
}

// x[B,3,6,6] → conv, perhaps a norm → tanh → linear: "logits" [B,4].
Graph network(bool normed) {
  Graph g;
  const ValueId x = g.add_input("x", {.dtype = DType::f32, .shape = {Dim::symbol("B"), 3, 6, 6}});
  ValueId v = ops::conv(g, {.x = x, .w = g.add_constant("conv.weight", normal_tensor(1, {8, 3, 3, 3}, 0.2f))});
  const auto vector = [&](const char* name, std::vector<float> values) {
    return g.add_constant(name, Tensor::of<float>({8}, values));
  };
  if (normed)
    v = ops::batch_norm(g, {.x = v,
                            .scale = vector("norm.weight", {1, 2, 1, 1, 0.5f, 1, 1, 1}),
                            .bias = vector("norm.bias", {0, 0, 1, 0, 0, 0, -1, 0}),
                            .mean = vector("norm.running_mean", std::vector<float>(8, 0)),
                            .variance = vector("norm.running_var", std::vector<float>(8, 1))});
  v = ops::reshape(g, {.x = ops::tanh(g, {v}), .shape = Shape{Dim::symbol("B"), 128}});
  g.add_output(ops::linear(g, {.x = v, .w = g.add_constant("last.weight", normal_tensor(3, {4, 128}, 0.1f))}),
               "logits");
  return g;
}

NamedTensors batch_of(const Case& c, int64_t begin, int64_t end, uint64_t seed) {
  const std::vector<float> all = normal_tensor(seed, {c.rows, 3, 6, 6}).to_floats();
  std::vector<int64_t> labels;
  for (int64_t row = begin; row < end; ++row) labels.push_back((row * 7 + static_cast<int64_t>(seed)) % 4);
  return {{"x", Tensor::of<float>({end - begin, 3, 6, 6},
                                  std::vector<float>(all.begin() + begin * 108, all.begin() + end * 108))},
          {"labels", Tensor::of<int64_t>({end - begin}, labels)}};
}

constexpr double kRate = 0.5, kNorm = 0.05;

std::map<std::string, Tensor> trained(const Case& c, const Ranks* ranks) {
  TrainGraphOptions options;
  for (const OptimizerDef* def : train::all())
    if (std::string_view(def->name) == "sgd")
      options.optimizer = def, options.optimizer_options = def->options->defaults();
  options.clip_norm = kNorm;
  options.dropout = 0.25;
  options.ranks = ranks ? ranks->size() : 1;
  Trainer trainer(make_train_graphs(canonicalise_for_training(network(c.normed)), options), {}, ranks);
  const int64_t share = ranks ? (c.rows + ranks->size() - 1) / ranks->size() : c.rows,
                begin = std::min(c.rows, share * (ranks ? ranks->rank() : 0)), end = std::min(c.rows, begin + share);
  std::map<std::string, Tensor> tensors;
  for (int s = 0; s < c.steps; ++s) {
    const NamedTensors part = batch_of(c, begin, end, static_cast<uint64_t>(s) + 5);
    const Trainer::Step done = trainer.step(std::span(&part, 1), kRate, false, begin);
    tensors["loss"] = Tensor::scalar(static_cast<float>(done.loss));
    tensors["norm"] = Tensor::scalar(static_cast<float>(*done.norm));
  }
  tensors.merge(trainer.tensors());
  return tensors;
}

// What ranks run.
TEST(RanksBeside, TrainTheirShare) {
  const char* result = std::getenv(kResult);
  if (!result) GTEST_SKIP() << "is run by mpirun";
  const std::unique_ptr<Ranks> ranks = Ranks::join();
  ASSERT_TRUE(ranks);
  const std::map<std::string, Tensor> tensors = trained(case_of(std::getenv(kCase)), ranks.get());
  std::string bits;
  for (const auto& [name, tensor] : tensors)
    bits.append(reinterpret_cast<const char*>(tensor.data().address()), tensor.data().size());
  for (const std::string& other : ranks->gather(bits)) EXPECT_TRUE(other == bits);  // all ranks have the same
  std::vector<NamedTensor> written;
  for (const auto& [name, tensor] : tensors) written.push_back({name, tensor});
  if (ranks->is_first()) write_safetensors(result, written);
  ranks->leave();
}

class RanksTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_mpirun()) GTEST_SKIP() << "package openmpi-bin is not installed";
  }
  std::map<std::string, Tensor> by_ranks(const std::string& name, int ranks) const {
    const std::string path = folder_ / "result.safetensors";
    const ProgramResult run = run_program(
        mpirun_path(),
        mpirun_arguments(ranks, std::filesystem::read_symlink("/proc/self/exe"), {"--gtest_filter=RanksBeside.*"}),
        {.environment = {{kResult, path}, {kCase, name}}});
    EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
    std::map<std::string, Tensor> tensors;
    const SafetensorsFile file(path);
    for (const SafetensorsEntry& entry : file.entries()) tensors[entry.name] = own_copy(file.tensor(entry.name));
    std::filesystem::remove(path);
    return tensors;
  }
  TemporaryFolder folder_;
};

// A clipped step is at most rate · clip_norm long, and its elements are sums of products along the network: over the
// rows, 128 or 16 places, and the batch's statistics of 16 places a row, each rounded once. The last bits of the weight
// that it is added to come on top.
void expect_same_step(const std::map<std::string, Tensor>& a, const std::map<std::string, Tensor>& b, const Case& c) {
  const double roundings = static_cast<double>(c.rows * 16 * (c.normed ? 4 : 1) + 128 + 100), step = kRate * kNorm;
  ASSERT_EQ(a.size(), b.size());
  double moved = 0;
  for (const auto& [name, tensor] : a) {
    const std::vector<double> x = tensor.to_doubles(), y = b.at(name).to_doubles();
    for (size_t i = 0; i < x.size(); ++i) {
      const double size = name.starts_with("parameter/") ? step : std::abs(x[i]);
      const double bound = c.steps * (2 * kEpsF32 * std::abs(x[i]) + 2 * roundings * kEpsF32 * size);
      EXPECT_NEAR(x[i], y[i], bound) << name << " " << i;
      if (name == "parameter/last.weight") moved = std::max(moved, step / 10 / bound);
    }
  }
  EXPECT_GT(moved, 5);  // a step of another batch would not fit
}

TEST_F(RanksTest, AnyNumberOfThemMakesTheSameStep) {
  for (const char* name : {"plain", "normed", "uneven", "few"}) {
    const Case c = case_of(name);
    const std::map<std::string, Tensor> alone = trained(c, nullptr);
    for (int ranks : {2, 4}) {
      SCOPED_TRACE(fmt::format("{} by {}", name, ranks));
      expect_same_step(alone, by_ranks(name, ranks), c);
    }
  }
}

TEST_F(RanksTest, ARunRepeatsBitForBit) {
  const std::map<std::string, Tensor> first = by_ranks("uneven", 4), second = by_ranks("uneven", 4);
  for (const auto& [name, tensor] : first) EXPECT_TRUE(tensor.same_bits(second.at(name))) << name;
}

}  // namespace
}  // namespace hone::test

// bench_dispatch: what running a step costs beside its kernel: a model of 60 softmaxes of 16 elements, one after the
// other, against a model of one.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "ir/text.h"
#include "ops/registry.h"
#include "runtime/session.h"

namespace hone {
namespace {

std::string model(int steps) {
  std::string text = "graph g {\n  %v0 : f32[1,16] = input \"x\"\n";
  for (int i = 0; i < steps; ++i) text += fmt::format("  %v{} = softmax %v{}\n", i + 1, i);
  return text + fmt::format("  return %v{} as \"y\"\n}}\n", steps);
}

double median_microseconds(Session& session, const NamedTensors& inputs) {
  std::vector<double> us;
  for (int i = 0; i < 5000; ++i) {
    const auto start = std::chrono::steady_clock::now();
    session.run(inputs);
    us.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
  }
  std::ranges::nth_element(us, us.begin() + 2500);
  return us[2500];
}

}  // namespace
}  // namespace hone

int main() {
  using namespace hone;
  const ParseContext context{.find_op = [](std::string_view name) { return ops::find(name); }};
  const NamedTensors inputs{{"x", Tensor::of<float>({1, 16}, std::vector<float>(16, 1.0f))}};
  const auto session = [&](int steps, int threads) {
    return Session(parse_graph(model(steps), context, "model"), {.threads = threads});
  };
  for (int threads : {1, 2}) {
    Session one = session(1, threads), sixty = session(60, threads);
    const double first = median_microseconds(one, inputs), all = median_microseconds(sixty, inputs);
    fmt::print("{} threads: {:.2f} us for a model of 60 steps, {:.2f} us for one of 1 step, {:.3f} us a step\n",
               threads, all, first, (all - first) / 59);
  }
}

// bench_outputs: what a run with a large output takes that is returned, and in memory of the caller's, beside a copy of
// as many bytes. One thread; the three take turns.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "bench/timing.h"
#include "ir/text.h"
#include "ops/registry.h"
#include "runtime/session.h"

namespace hone {
namespace {

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + std::ssize(values) / 2);
  return values[values.size() / 2];
}

void run(int64_t rows) {
  constexpr int64_t kWidth = 1024;
  constexpr int kRounds = 31;
  const ParseContext context{.find_op = [](std::string_view name) { return ops::find(name); }};
  Session session(parse_graph(fmt::format(R"(graph g {{
    %x : f32[N,{}] = input "x"
    %y = relu %x
    return %y as "y"
  }})",
                                          kWidth),
                              context),
                  {});
  const auto elements = static_cast<size_t>(rows * kWidth);
  const NamedTensors inputs{{"x", Tensor::of<float>({rows, kWidth}, std::vector<float>(elements, -1.0f))}};
  std::vector<float> memory(elements), copy(elements);
  const OutputViews views{{"y", OutputView::of(DType::f32, {rows, kWidth}, std::span(memory))}};
  Context context_of_runs;
  std::vector<double> returned, bound, copied;
  for (int i = 0; i < kRounds; ++i) {
    returned.push_back(1e3 * seconds_of([&] { session.run(context_of_runs, inputs); }));
    bound.push_back(1e3 * seconds_of([&] { session.run(context_of_runs, inputs, views); }));
    copied.push_back(1e3 * seconds_of([&] { std::memcpy(copy.data(), memory.data(), elements * sizeof(float)); }));
  }
  fmt::print("an output of {:.0f} MB: returned {:.2f} ms, in the caller's memory {:.2f} ms; a copy of it {:.2f} ms\n",
             static_cast<double>(elements * sizeof(float)) / 1e6, median(returned), median(bound), median(copied));
}

}  // namespace
}  // namespace hone

int main() {
  hone::run(256);
  hone::run(25 * 1024);
}

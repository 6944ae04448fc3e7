// bench_outputs: what a run with a large input and output takes that is returned, in memory of the caller's, and from
// rows to rows of wider arrays of the caller's, beside a copy of as many bytes and one to and from such rows. One
// thread; they take turns.
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
  constexpr int64_t kWidth = 1024, kPitch = kWidth + 64;
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
  std::vector<float> wide_from(static_cast<size_t>(rows * kPitch), -1.0f), wide_to(wide_from.size());
  InputView from = InputView::of(DType::f32, {rows, kWidth}, std::span(wide_from));
  OutputView to = OutputView::of(DType::f32, {rows, kWidth}, std::span(wide_to));
  from.strides = to.strides = Strides{.strides = {kPitch, 1}};
  const InputViews pitched_inputs{{"x", from}};
  const OutputViews pitched_outputs{{"y", to}};
  const Strides dense = Strides::dense(from.shape);
  const auto copy_rows = [&] {  // what dense views of a caller with wide rows take beside the run
    const auto* bytes = reinterpret_cast<std::byte*>(copy.data());
    copy_elements(from.shape, sizeof(float), from.bytes.data(), *from.strides,
                  reinterpret_cast<std::byte*>(copy.data()), dense);
    copy_elements(to.shape, sizeof(float), bytes, dense, to.bytes.data(), *to.strides);
  };
  Context context_of_runs;
  std::vector<double> returned, bound, copied, pitched, rows_copied;
  for (int i = 0; i < kRounds; ++i) {
    returned.push_back(1e3 * seconds_of([&] { session.run(context_of_runs, inputs); }));
    bound.push_back(1e3 * seconds_of([&] { session.run(context_of_runs, inputs, views); }));
    pitched.push_back(1e3 * seconds_of([&] { session.run(context_of_runs, {}, pitched_inputs, pitched_outputs); }));
    rows_copied.push_back(1e3 * seconds_of(copy_rows));
    copied.push_back(1e3 * seconds_of([&] { std::memcpy(copy.data(), memory.data(), elements * sizeof(float)); }));
  }
  fmt::print(
      "an output of {:.0f} MB: returned {:.2f} ms, in the caller's memory {:.2f} ms, with rows apart in input and "
      "output "
      "{:.2f} ms; a copy of it {:.2f} ms, of rows that lie apart in and out {:.2f} ms\n",
      static_cast<double>(elements * sizeof(float)) / 1e6, median(returned), median(bound), median(pitched),
      median(copied), median(rows_copied));
}

}  // namespace
}  // namespace hone

int main() {
  hone::run(256);
  hone::run(25 * 1024);
}

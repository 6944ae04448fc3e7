// bench_held_values: what updates in place cost. An AdamW step over 22 M parameters beside a copy of as many bytes as
// it moves (one thread and all; they take turns), and rows appended to a paged cache, one a run, beside a copy of a
// row.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/threads.h"
#include "bench/timing.h"
#include "ir/text.h"
#include "ops/registry.h"
#include "runtime/page_table.h"
#include "runtime/session.h"

namespace hone {
namespace {

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + std::ssize(values) / 2);
  return values[values.size() / 2];
}

Graph parsed(const std::string& text) {
  return parse_graph(text, {.find_op = [](std::string_view name) { return ops::find(name); },
                            .find_constant =
                                [](const std::string&, const TensorType& type) {
                                  return std::optional(Tensor(type.dtype, constant_shape(type.shape)));
                                }});
}

constexpr int64_t kParameters = 22'000'000;

// Decoupled decay, bias corrections from a count of steps.
const std::string kAdamW = fmt::format(R"(graph adamw {{
  %g : f32[{0}] = input "g"
  %w : f32[{0}] = param "w"
  %m : f32[{0}] = state "m"
  %v : f32[{0}] = state "v"
  %t : f32[] = state "t" {{0}}
  %t2 = add %t, 1.0
  %b1 : f32[] = const {{0.9}}
  %b2 : f32[] = const {{0.999}}
  %p1 = pow %b1, %t2
  %p2 = pow %b2, %t2
  %one : f32[] = const {{1}}
  %rate : f32[] = const {{0.001}}
  %c1 = sub %one, %p1
  %c2 = sub %one, %p2
  %by = div %rate, %c1
  %root2 = sqrt %c2
  %inverse = div %one, %root2
  %m1 = mul %m, 0.9
  %g1 = mul %g, 0.1
  %m2 = add %m1, %g1
  %gg = mul %g, %g
  %gg1 = mul %gg, 0.001
  %v1 = mul %v, 0.999
  %v2 = add %v1, %gg1
  %root = sqrt %v2
  %corrected = mul %root, %inverse
  %below = add %corrected, 1e-8
  %step = div %m2, %below
  %decayed = mul %w, 0.9999
  %scaled = mul %step, %by
  %w2 = sub %decayed, %scaled
  update %w = %w2
  update %m = %m2
  update %v = %v2
  update %t = %t2
  return
}})",
                                       kParameters);

void copy_on(int threads, float* to, const float* from, int64_t count) {
  auto chunk = [&](int64_t begin, int64_t end, int) {
    std::memcpy(to + begin, from + begin, static_cast<size_t>(end - begin) * sizeof(float));
  };
  parallel_chunks(count, 1 << 16, threads, chunk);
}

void adamw(int threads) {
  SessionOptions options;
  options.threads = threads;
  Session session(parsed(kAdamW), options);
  Context context;
  for (const char* name : {"m", "v"}) context.set_state(name, Tensor(DType::f32, {kParameters}));
  const NamedTensors inputs{
      {"g", Tensor::of<float>({kParameters}, std::vector<float>(static_cast<size_t>(kParameters), 0.01f))}};
  // Four arrays are read and three written: a copy that moves as many bytes has 3.5 of them.
  constexpr int64_t kCopied = kParameters * 7 / 2;
  std::vector<float> from(static_cast<size_t>(kCopied), 1), to(static_cast<size_t>(kCopied));
  std::vector<double> steps, copies, ratios;
  session.run(context, inputs);
  for (int i = 0; i < 15; ++i) {
    steps.push_back(1e3 * seconds_of([&] { session.run(context, inputs); }));
    copies.push_back(1e3 * seconds_of([&] { copy_on(threads, to.data(), from.data(), kCopied); }));
    ratios.push_back(copies.back() / steps.back());
  }
  fmt::print(
      "AdamW over {} M parameters, {} threads: {:.1f} ms a step; a copy of as many bytes {:.1f} ms: {:.2f} of its "
      "bandwidth\n",
      kParameters / 1'000'000, threads, median(steps), median(copies), median(ratios));
}

void appends(int64_t width) {
  constexpr int kRows = 1000;
  SessionOptions options;
  options.threads = 1;
  Session session(parsed(fmt::format(R"(graph cache {{
    %rows : f32[B,S,{0}] = input "rows"
    %kv : f32[P,16,{0}] = state "kv"
    %table : i64[B,T] = state "table"
    %lengths : i64[B] = state "lengths"
    %kv2 = cache_append %kv, %rows, %table, %lengths
    %one : i64[] = const {{1}}
    %lengths2 = add %lengths, %one
    update %kv = %kv2
    update %lengths = %lengths2
    return
  }})",
                                     width)),
                  options);
  Context context;
  PageTable pages(session.graph(), context, {.pages = {"kv"}}, 1);
  const NamedTensors inputs{{"rows", Tensor(DType::f32, {1, 1, width})}};
  pages.reserve(1);
  session.run(context, inputs);
  const int compiled = session.statistics().kernels_compiled + session.statistics().kernels_cached;
  std::vector<double> runs, copies;
  std::vector<float> to(static_cast<size_t>(width * 16));
  double all = 0;
  for (int i = 0; i < kRows; ++i) {
    const double reserving = seconds_of([&] { pages.reserve(1); });
    runs.push_back(1e6 * seconds_of([&] { session.run(context, inputs); }));
    all += 1e6 * reserving + runs.back();
    copies.push_back(1e6 * seconds_of([&] {
                       std::memcpy(to.data() + i % 16 * width, inputs.at("rows").as<float>().data(),
                                   static_cast<size_t>(width) * sizeof(float));
                     }));
  }
  const int after = session.statistics().kernels_compiled + session.statistics().kernels_cached;
  fmt::print(
      "{} appends of a row of {} floats: {:.2f} us a run, {:.2f} us with growth on average; a copy of a row {:.2f} "
      "us; {} kernels made\n",
      kRows, width, median(runs), all / kRows, median(copies), after - compiled);
}

}  // namespace
}  // namespace hone

int main() {
  for (int threads : {1, hone::hardware_threads()}) hone::adamw(threads);
  for (int64_t width : {64, 1024}) hone::appends(width);
}

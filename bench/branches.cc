// bench_branches: a network of small layers in a branch of `if`, whose condition sizes, an input or values tell, beside
// the same network without it. One thread; they take turns. JSON: the ratios of the medians.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/philox.h"
#include "bench/timing.h"
#include "ir/text.h"
#include "ops/registry.h"
#include "runtime/session.h"

namespace hone {
namespace {

constexpr int64_t kWidth = 256, kLayers = 8;
constexpr int kRounds = 2001;

Graph parsed(const std::string& text) {
  const ParseContext context{
      .find_op = [](std::string_view name) { return ops::find(name); },
      .find_constant = [](const std::string&, const TensorType& type) -> std::optional<Tensor> {
        Philox random(1);
        std::vector<float> values(static_cast<size_t>(element_count(constant_shape(type.shape))));
        for (float& value : values) value = 0.05f * random.normal();
        return Tensor::from_floats(type.dtype, constant_shape(type.shape), values);
      }};
  return parse_graph(text, context);
}

std::string layers(const std::string& indent) {
  std::string text;
  for (int64_t i = 0; i < kLayers; ++i)
    text +=
        fmt::format("{0}%w{1} : f32[{2},{2}] = const \"w{1}\"\n{0}%l{1} = linear %{3}, %w{1}\n{0}%r{1} = relu %l{1}\n",
                    indent, i, kWidth, i == 0 ? "x" : fmt::format("r{}", i - 1));
  return text;
}

std::string within_if(const std::string& condition) {
  return fmt::format(R"(graph g {{
  %x : f32[B,{0}] = input "x"
  %flag : i64[] = input "flag"
{1}
  %y = if %c, %x, %x {{then_captures=1}} do
    graph yes {{
      %x : f32[B,{0}] = input "x"
{2}      return %r{3} as "0"
    }}
    graph no {{
      %x : f32[B,{0}] = input "x"
      return %x as "0"
    }}
  return %y as "y"
}})",
                     kWidth, condition, layers("      "), kLayers - 1);
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + std::ssize(values) / 2);
  return values[values.size() / 2];
}

void run() {
  const std::string plain = fmt::format(
      "graph g {{\n  %x : f32[B,{0}] = input \"x\"\n  %flag : i64[] = input \"flag\"\n{1}  return %r{2} as \"y\"\n}}",
      kWidth, layers("  "), kLayers - 1);
  const std::pair<const char*, std::string> forms[] = {
      {"without", plain},
      {"by_sizes", within_if("  %s = shape_of %x\n  %zero : i64[] = const {0}\n  %rows = gather %s, %zero {axis=0}\n"
                             "  %one : i64[] = const {1}\n  %c = equal %rows, %one")},
      {"by_input", within_if("  %one : i64[] = const {1}\n  %c = equal %flag, %one")},
      {"by_values", within_if("  %sum = reduce_sum %x {axes=[0,1], keepdims=0}\n  %limit : f32[] = const {0}\n"
                              "  %c = less %limit, %sum")}};
  const NamedTensors inputs{{"x", Tensor::of<float>({1, kWidth}, std::vector<float>(kWidth, 1))},
                            {"flag", Tensor::scalar<int64_t>(1)}};
  std::vector<Session> sessions;
  for (const auto& [name, text] : forms) sessions.emplace_back(parsed(text), SessionOptions());
  std::vector<std::vector<double>> times(sessions.size());
  for (int i = 0; i < kRounds; ++i)
    for (size_t s = 0; s < sessions.size(); ++s) {
      const double seconds = seconds_of([&] { sessions[s].run(inputs); });
      if (i > 0) times[s].push_back(1e6 * seconds);
    }
  std::vector<std::string> members{fmt::format("\"without_us\": {:.2f}", median(times[0]))};
  for (size_t s = 1; s < sessions.size(); ++s)
    members.push_back(fmt::format("\"{}\": {:.3f}", forms[s].first, median(times[s]) / median(times[0])));
  fmt::print("{{{}}}\n", fmt::join(members, ", "));
}

}  // namespace
}  // namespace hone

int main() { hone::run(); }

#include "jobs/onnx_test.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "base/atomic_file.h"
#include "base/json.h"
#include "base/stop.h"
#include "base/text.h"
#include "io/onnx/import_model.h"
#include "io/onnx/tensor_file.h"

namespace hone {
namespace {

namespace fs = std::filesystem;
using Result = OnnxCase::Result;

struct Tolerance {
  double relative, absolute;
};

Tolerance tolerance_of(const fs::path& folder, const OnnxTestOptions& options) {
  Tolerance tolerance{options.relative, options.absolute};
  const fs::path file = folder / "data.json";
  if (!fs::exists(file)) return tolerance;
  const Json json = parse_json(read_file(file.string()), file.string());
  if (json.contains("rtol") && json["rtol"].is_number()) tolerance.relative = json["rtol"].get<double>();
  if (json.contains("atol") && json["atol"].is_number()) tolerance.absolute = json["atol"].get<double>();
  return tolerance;
}

std::string difference(const Tensor& got, const Tensor& want, const Tolerance& tolerance);

std::string container_difference(const Tensor& got, const Tensor& want, const Tolerance& tolerance) {
  if (got.items().size() != want.items().size())
    return fmt::format("holds {} items, expected {}", got.items().size(), want.items().size());
  for (size_t i = 0; i < want.items().size(); ++i)
    if (std::string why = difference(got.items()[i], want.items()[i], tolerance); !why.empty())
      return fmt::format("item {} {}", i, why);
  return "";
}

// What the expected values themselves leave open beside the tolerances: of floats of 16 bits, two units in the last
// place (theirs, rounded after every operation, and ours, rounded less often, are each within one of what is right), at
// most 2 * 2^-7 of a bf16 and 2 * 2^-10 of an f16; and where a sum cancels, the last place of the largest.
Tolerance with_precision(Tolerance tolerance, DType dtype, const std::vector<double>& want) {
  double largest = 0;
  for (double value : want)
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  if (dtype == DType::bf16) tolerance.relative = std::max(tolerance.relative, 0x1p-6);
  if (dtype == DType::f16) tolerance.relative = std::max(tolerance.relative, 0x1p-9);
  if (dtype == DType::f32) tolerance.absolute = std::max(tolerance.absolute, largest * 0x1p-23);
  return tolerance;
}

// Why `got` is not `want`; empty when it is. Integers, booleans and strings must be equal.
std::string difference(const Tensor& got, const Tensor& want, const Tolerance& given) {
  if (got.container() != want.container() || got.dtype() != want.dtype() || got.shape() != want.shape())
    return fmt::format("is {}, expected {}", to_string(got.type()), to_string(want.type()));
  if (want.container() != Container::none) return container_difference(got, want, given);
  if (!is_float(want.dtype())) return got.same_bits(want) ? "" : "has other elements than expected";
  const std::vector<double> a = got.to_doubles(), b = want.to_doubles();
  const Tolerance tolerance = with_precision(given, want.dtype(), b);
  for (size_t i = 0; i < b.size(); ++i) {
    const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
    if (!same && !(std::fabs(a[i] - b[i]) <= tolerance.absolute + tolerance.relative * std::fabs(b[i])))
      return fmt::format("has {} at element {}, expected {}", a[i], i, b[i]);
  }
  return "";
}

std::string operators_of(const Graph& graph) {
  std::set<std::string> names;
  for (NodeId n : graph.nodes()) names.insert(graph.node(n).op->name);
  return fmt::format("{}", fmt::join(names, " "));
}

// What ran how. The steps of a profile that are "interpreted" are those without machine code.
std::string execution_of(const SessionOptions& options, const RunProfile& profile) {
  if (!options.compiles()) return "interpreted";
  const auto interpreted = std::count_if(profile.steps.begin(), profile.steps.end(),
                                         [](const StepProfile& step) { return step.kind == "interpreted"; });
  if (interpreted == 0) return "compiled";
  return interpreted == static_cast<std::ptrdiff_t>(profile.steps.size()) ? "interpreted" : "partly compiled";
}

std::vector<fs::path> data_sets(const fs::path& folder) {
  std::vector<fs::path> sets;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.is_directory() && entry.path().filename().string().starts_with("test_data_set_"))
      sets.push_back(entry.path());
  std::sort(sets.begin(), sets.end());
  return sets;
}

// The generator of the standard's cases writes bfloat16 as the 16-bit integers that numpy held it in.
Tensor as_declared(Tensor value, DType dtype) {
  if (value.dtype() != DType::u16 || dtype != DType::bf16 || value.container() != Container::none) return value;
  return Tensor(DType::bf16, value.shape(), value.data());
}

Tensor read_value(const fs::path& file, const TensorType& type) {
  return as_declared(read_tensor_file(file.string(), type), type.dtype);
}

// Cases of the standard that contradict their own model.
const char* known_fault(const std::string& name) {
  if (name == "test_adam_multiple") return "its results were computed with epsilon 0.01, its node says the default";
  return nullptr;
}

NamedTensors read_inputs(const fs::path& set, const Graph& graph) {
  NamedTensors inputs;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const Value& input = graph.value(graph.inputs()[i]);
    inputs.emplace(input.label, read_value(set / fmt::format("input_{}.pb", i), input.type));
  }
  return inputs;
}

// The data must be what the model declares; where it is not, there is nothing to be right about.
std::string misfit(const Graph& graph, const NamedTensors& inputs) {
  for (ValueId v : graph.inputs()) {
    const Value& input = graph.value(v);
    const TensorType given = inputs.at(input.label).type();
    if (!may_be_same(given, input.type))
      return fmt::format("its data for input \"{}\" is {}, its model declares {}", input.label, to_string(given),
                         to_string(input.type));
  }
  return "";
}

void run_data_set(const fs::path& set, const Graph& graph, Session& session, const Tolerance& tolerance,
                  const SessionOptions& options, OnnxCase& result) {
  RunProfile profile;
  const NamedTensors inputs = read_inputs(set, graph);
  if (const std::string why = misfit(graph, inputs); !why.empty()) {
    result.result = Result::skipped;
    result.reason = why;
    return;
  }
  const std::vector<Tensor> outputs = session.run(inputs, &profile);
  result.execution = execution_of(options, profile);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const fs::path file = set / fmt::format("output_{}.pb", i);
    const Tensor want = read_value(file, outputs[i].type());
    const std::string why = difference(outputs[i], want, tolerance);
    if (why.empty()) continue;
    result.result = Result::wrong;
    result.reason = fmt::format("{}: output \"{}\" {}", set.filename().string(), graph.outputs()[i].label, why);
    return;
  }
}

bool is_random(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [&](NodeId n) {
    return std::ranges::any_of(graph.node(n).op->attributes,
                               [](const AttributeSpec& spec) { return std::string_view(spec.name) == "seed"; });
  });
}

void run_case(const fs::path& folder, const OnnxTestOptions& options, OnnxCase& result) {
  const std::string model = (folder / "model.onnx").string();
  const OnnxImport import = import_onnx(model);
  if (!import.unsupported.empty()) {
    std::set<std::string> operators;
    for (const UnsupportedNode& node : import.unsupported) operators.insert(node.op_type);
    result.result = Result::unsupported;
    result.operators = fmt::format("{}", fmt::join(operators, " "));
    result.reason = import.unsupported[0].reason;
    return;
  }
  result.operators = operators_of(import.graph);
  const std::vector<fs::path> sets = data_sets(folder);
  const char* fault = known_fault(result.name);
  if (sets.empty() || fault || is_random(import.graph)) {
    result.result = Result::skipped;
    result.reason = sets.empty() ? "there is no data to run it on" : fault ? fault : "its results are random";
    return;
  }
  result.result = Result::pass;
  Session session(import.graph, options.session);
  for (const fs::path& set : sets) {
    run_data_set(set, import.graph, session, tolerance_of(folder, options), options.session, result);
    if (result.result != Result::pass) return;
  }
}

}  // namespace

const char* to_string(Result result) {
  constexpr const char* kNames[] = {"pass", "wrong", "unsupported", "skipped"};
  return kNames[static_cast<size_t>(result)];
}

std::vector<std::string> find_onnx_cases(const std::vector<std::string>& paths) {
  std::set<std::string> found;
  for (const std::string& path : paths) {
    if (!fs::is_directory(path))
      fail("{}: not a folder; give folders with model.onnx and test_data_set_0 in them", path);
    std::set<std::string> here;
    if (fs::exists(fs::path(path) / "model.onnx")) here.insert(fs::path(path).lexically_normal().string());
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path))
      if (entry.path().filename() == "model.onnx") here.insert(entry.path().parent_path().lexically_normal().string());
    if (here.empty()) fail("{}: there is no model.onnx in it or below it", path);
    found.merge(here);
  }
  return {found.begin(), found.end()};
}

OnnxCase run_onnx_case(const std::string& path, const OnnxTestOptions& options) {
  OnnxCase result{.path = path, .name = fs::path(path).filename().string()};
  try {
    run_case(path, options, result);
  } catch (const Stopped&) {
    throw;
  } catch (const Error& error) {  // refused, when it is opened or as it runs
    result.result = Result::unsupported;
    result.reason = error.what();
  } catch (const std::exception& error) {  // a fault of this program
    result.result = Result::wrong;
    result.reason = error.what();
  }
  return result;
}

OnnxTestResult run_onnx_tests(const std::vector<std::string>& paths, const OnnxTestOptions& options,
                              const TaskContext& context) {
  const std::vector<std::string> folders = find_onnx_cases(paths);
  OnnxTestResult total;
  for (const std::string& folder : folders) {
    context.tell(fmt::format("case {} of {}: {}", total.cases.size() + 1, folders.size(), folder));
    total.cases.push_back(run_onnx_case(folder, options));
    switch (total.cases.back().result) {
      case Result::pass:
        ++total.pass;
        break;
      case Result::wrong:
        ++total.wrong;
        break;
      case Result::unsupported:
        ++total.unsupported;
        break;
      case Result::skipped:
        ++total.skipped;
        break;
    }
  }
  return total;
}

}  // namespace hone

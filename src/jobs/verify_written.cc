#include "jobs/verify_written.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/cache_folder.h"
#include "base/error.h"
#include "base/mapped_file.h"
#include "base/small_float.h"
#include "base/text.h"
#include "base/threads.h"
#include "io/artefact.h"
#include "ir/bodies.h"
#include "ir/flops.h"
#include "ir/held_values.h"
#include "ir/text.h"
#include "jobs/default_inputs.h"
#include "passes/pipelines.h"
#include "runtime/session.h"

namespace hone {
namespace {

// --- constants -------------------------------------------------------------------------------------------------------

[[noreturn]] void differs(const std::string& path, const std::string& what) {
  fail("{}: was opened again, and {}. Nothing was written; please report this, with the model and the command", path,
       what);
}

// Of graphs of the same text: constants of the same names stand in both.
int64_t same_constants(const std::string& path, const Graph& written, const Graph& read) {
  int64_t count = 0;
  for (ValueId id : written.constants()) {
    const Value& value = written.value(id);
    const Tensor* other = read.constant(read.find_value(value.name));
    if (!other || other->type() != value.type || !other->same_bits(*value.constant))
      differs(path, fmt::format("constant \"{}\" has other bits", value.label.empty() ? value.name : value.label));
    for (const Tensor* tensor : {other, &*value.constant})  // both files in memory would be the model twice
      for (const Buffer* plane : tensor->buffers())
        if (plane->is_mapped()) drop_pages(plane->bytes());
    ++count;
  }
  for (NodeId id : written.nodes()) {
    const std::vector<Graph>& bodies = written.node(id).subgraphs;
    if (bodies.empty()) continue;
    const std::vector<Graph>& others =
        read.node(read.producer(read.find_value(written.value(written.result(id)).name))).subgraphs;
    for (size_t i = 0; i < bodies.size(); ++i) count += same_constants(path, bodies[i], others.at(i));
  }
  return count;
}

// A number that the order of the values does not change: writers of ONNX store some weights transposed.
uint64_t unordered_hash(const Tensor& tensor) {
  uint64_t sum = 0;
  for (float value : tensor.to_floats()) {
    uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    uint64_t mixed = (bits + 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
    mixed = (mixed ^ (mixed >> 31)) * 0x94d049bb133111ebull;
    sum += mixed ^ (mixed >> 29);
  }
  return sum;
}

bool decode_alike(const Tensor& a, const Tensor& b) {
  if (!a.is_packed() && !b.is_packed() && a.type() == b.type() && a.same_bits(b)) return true;
  if (a.elements() != b.elements() || a.dtype() == DType::string || b.dtype() == DType::string) return false;
  return unordered_hash(a) == unordered_hash(b);
}

// Codes whose scales stand beside them, which recognise_packed has no format for.
bool are_codes(const Tensor& tensor) {
  return !tensor.is_packed() && (is_integer(tensor.dtype()) || small_float(tensor.dtype()));
}

struct Compared {
  int64_t same = 0, not_there = 0;
};

// Constants under another name, or computed by nodes of their own, are left to the run.
Compared same_decoded_constants(const std::string& path, const Graph& written, const Graph& read) {
  std::map<std::string, const Tensor*> there;
  for_each_graph(read, [&](const Graph& each) {
    for (ValueId id : each.constants())
      if (!each.value(id).label.empty()) there.emplace(each.value(id).label, each.constant(id));
  });
  Compared compared;
  std::map<std::string, int> seen;
  for_each_graph(written, [&](const Graph& each) {
    for (ValueId id : each.constants()) {
      const std::string& label = each.value(id).label;
      if (label.empty()) continue;
      const auto found = seen[label]++ == 0 ? there.find(label) : there.end();  // a second of that name got another
      if (found == there.end() || found->second->elements() != each.constant(id)->elements() ||
          (each.constant(id)->is_packed() && are_codes(*found->second)))
        ++compared.not_there;
      else if (!decode_alike(*each.constant(id), *found->second))
        differs(path, fmt::format("constant \"{}\" decodes to other bits", label));
      else ++compared.same;
    }
  });
  return compared;
}

// --- a run -----------------------------------------------------------------------------------------------------------

constexpr int64_t kTokens = 8;            // of a sequence whose length is free: enough for every weight to take part
constexpr double kMostFlops = 2e10;       // a second or so of generated code
constexpr double kMostInterpreted = 2e9;  // a second or two of the reference
constexpr int64_t kMostWeights = 2'000'000'000;  // bytes; laying them out for kernels takes a second or two

double flops_of(const Graph& graph) {
  double flops = 0;
  for (NodeId id : graph.nodes()) flops += node_flops(graph, id);
  return flops;
}

using Outputs = std::vector<Tensor>;

Outputs run_once(const Graph& graph, const NamedTensors& inputs, int optimise) {
  SessionOptions options{.optimise = optimise, .threads = hardware_threads(), .cache_folder = default_cache_folder()};
  return Session(graph, std::move(options)).run(inputs);
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// What the graph in memory gives on made-up inputs; or why it was not run.
struct Trial {
  NamedTensors inputs;
  Outputs outputs;
  double flops = 0;
  std::string not_run;
};

Trial tried(const Graph& graph) {
  Trial trial;
  try {
    const Bindings bindings = bind_symbols(graph, {.dims = {}, .usual_sequence = kTokens});
    trial.inputs = default_inputs(graph, bindings, 1);
    const Graph shaped = specialise(graph, bindings);
    trial.flops = flops_of(shaped);
    double in_bodies = 0;
    for_each_graph(shaped, [&](const Graph& each) { in_bodies += flops_of(each); });
    in_bodies -= trial.flops;
    if (trial.flops > kMostFlops || in_bodies > kMostInterpreted)
      trial.not_run = fmt::format("a run takes {:.0f} GFLOP", 1e-9 * (trial.flops + in_bodies));
    else if (const int64_t bytes = sizes(graph).weight_bytes; bytes > kMostWeights)
      trial.not_run = fmt::format("its weights take {}", human_bytes(static_cast<double>(bytes)));
    else trial.outputs = run_once(graph, trial.inputs, 2);
  } catch (const Error& error) {
    trial.not_run = first_line(error.what());
  }
  return trial;
}

// Of sequences and optionals: that it is one, of that element type.
bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.container() == Container::none) return a.same_bits(b);
  return a.container() == b.container() && a.dtype() == b.dtype();
}

// The largest difference and the largest magnitude; NaN and infinities must stand in the same places, else infinite.
struct Gap {
  double difference = 0, largest = 0;
};

Gap gap(const Tensor& a, const Tensor& b) {
  if (a.container() != Container::none || a.dtype() == DType::string) return {};
  if (a.shape() != b.shape()) return {INFINITY, 0};
  const std::vector<double> x = a.to_doubles(), y = b.to_doubles();
  Gap found;
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::isfinite(x[i])) found.largest = std::max(found.largest, std::abs(x[i]));
    if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
    const double difference = std::abs(x[i] - y[i]);
    found.difference = std::max(found.difference, std::isfinite(difference) ? difference : INFINITY);
  }
  return found;
}

// What rounding explains at the least: sums in another order, an output that is stored in fewer bits, a step of one
// that is rounded to integers.
double least_bound(const Tensor& output, double largest) {
  constexpr double kRelative = 1e-5;
  const DType dtype = output.dtype();
  if (is_integer(dtype)) return 1;
  const double unit = dtype == DType::f16 ? 0x1p-9 : dtype == DType::bf16 ? 0x1p-6 : kRelative;  // two last bits
  return std::max(unit * largest, 1e-30);
}

// Runs the reopened graph on the same inputs; says how it went.
std::string same_run(const std::string& path, const Graph& read, const Trial& trial) {
  if (!trial.not_run.empty()) return "not run: " + trial.not_run;
  Outputs outputs;
  try {
    outputs = run_once(read, trial.inputs, 2);
  } catch (const Error& error) {
    differs(path, fmt::format("does not run: {}", error.what()));
  }
  for (size_t i = 0; i < trial.outputs.size(); ++i)
    if (i >= outputs.size() || !same_bits(trial.outputs[i], outputs[i]))
      differs(path, fmt::format("output \"{}\" has other bits", read.outputs()[i].label));
  return "a short run gives the same bits";
}

std::string close_run(const std::string& path, const Graph& written, const Graph& read, const Trial& trial) {
  constexpr double kSpread = 4;
  if (!trial.not_run.empty()) return "not run: " + trial.not_run;
  Outputs outputs, reference;
  try {
    outputs = run_once(read, trial.inputs, 2);
  } catch (const Error& error) {
    differs(path, fmt::format("does not run: {}", error.what()));
  }
  if (outputs.size() != trial.outputs.size()) differs(path, fmt::format("has {} outputs", outputs.size()));
  double worst = 0, allowed = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Gap found = gap(trial.outputs[i], outputs[i]);
    const double scale = std::max(found.largest, 1e-30);
    double bound = least_bound(outputs[i], found.largest);
    if (found.difference > bound) {
      const auto apart = [&](const std::string& why) {
        return fmt::format(
            "outputs differ by {:.1e} of the largest; the reference, which would tell how much rounding explains, was "
            "not run: {}",
            found.difference / scale, why);
      };
      if (trial.flops > kMostInterpreted) return apart(fmt::format("{:.0f} GFLOP", 1e-9 * trial.flops));
      try {
        if (reference.empty()) reference = run_once(written, trial.inputs, 1);
      } catch (const Error& error) {
        return apart(first_line(error.what()));
      }
      bound = std::max(bound, kSpread * gap(trial.outputs[i], reference[i]).difference);
    }
    if (found.difference > bound)
      differs(path, fmt::format("output \"{}\" differs by {:.3g}; at most {:.3g} is explained by rounding",
                                written.outputs()[i].label, found.difference, bound));
    worst = std::max(worst, found.difference / scale), allowed = std::max(allowed, bound / scale);
  }
  if (worst == 0) return "a short run gives the same bits";
  return fmt::format("a short run differs by {:.1e} of the largest output (allowed: {:.1e})", worst, allowed);
}

std::string verify_exact(const std::string& path, const Graph& written, const std::map<std::string, std::string>& files,
                         const ReopenedModel& read) {
  const Graph stored = as_stored(written, path), again = as_stored(read.graph, path);
  constexpr PrintOptions kNamesOnly{.max_inline_elements = 0};
  if (print(stored, kNamesOnly) != print(again, kNamesOnly)) differs(path, "its graph is another");
  if (read.files != files) differs(path, "the files that ride along are others");
  const int64_t constants = same_constants(path, stored, again);
  return fmt::format("opened again: {} constants with the same bits; {}", constants,
                     same_run(path, read.graph, tried(written)));
}

std::string verify_numbers(const std::string& path, const Graph& written, const ReopenedModel& read) {
  const Compared constants = same_decoded_constants(path, written, run_pass(read.graph, "recognise_packed"));
  Graph in_f32 = with_state_as_arguments(written);  // ONNX has no word for the compute type
  in_f32.metadata.erase("compute");
  const std::string others =
      constants.not_there > 0 ? fmt::format(", {} stored in another form", constants.not_there) : "";
  const std::string run =
      read.not_run.empty() ? close_run(path, in_f32, read.graph, tried(in_f32)) : "not run: " + read.not_run;
  return fmt::format("opened again: {} constants decode to the same bits{}; {}", constants.same, others, run);
}

}  // namespace

std::string verify_written(const ExporterDef& exporter, const std::string& path, const Graph& written,
                           const std::map<std::string, std::string>& files) {
  const ReopenedModel read = reopen(exporter, path);
  if (!exporter.is_exact) return verify_numbers(path, written, read);
  std::map<std::string, std::string> carried = files;
  std::erase_if(carried, [&](const auto& file) { return !exporter.carries(file.first); });
  return verify_exact(path, written, carried, read);
}

}  // namespace hone

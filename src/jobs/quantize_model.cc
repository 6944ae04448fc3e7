#include "jobs/quantize_model.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "base/threads.h"
#include "io/toml.h"
#include "ir/bodies.h"
#include "ir/unbacked.h"
#include "jobs/calibration_sources.h"
#include "jobs/compiled_packer.h"
#include "jobs/default_inputs.h"
#include "measure/quality.h"
#include "passes/compress/nonfinite.h"
#include "passes/weight_matrix.h"

namespace hone {
namespace {

void check_batch(const std::string& text) {
  if (text.starts_with('-') || text == "0") fail("option calib-batch: expected a number above 0, found \"{}\"", text);
}

constexpr OptionField<Calibration> kCalibrationFields[] = {
    {.name = "calib",
     .doc = "calibration data: .txt with a text a line, .npz with arrays named like the inputs, or .npy",
     .member = &Calibration::file,
     .traits = {.file = OptionFile::reads}},
    {"calib-batch", "samples of the calibration data that run at once", &Calibration::batch, check_batch},
};

CalibrationSources sources_on(const Model& model, const Calibration& calibration) {
  if (calibration.file.empty()) return {};
  return calibration_sources(
      std::make_shared<CalibrationData>(read_calibration(model, calibration.file, calibration.batch)),
      calibration.session);
}

// The constant of that name as it was rounded: in `exact`, what the passes before rounding left of the model's own.
QuantizedTensor compared(const QuantizeChoice& choice, const Graph& original, const Graph& exact, const Graph& packed,
                         const Packer& packer) {
  const auto constant = [&](const Graph& graph) -> const Tensor& {
    const PlacedConstant found = find_labelled(graph, choice.name);
    CHECK(found.graph, "constant {} is gone after quantization", choice.name);
    return found.tensor();
  };
  const Tensor &source = constant(original), &after = constant(packed);
  QuantizedTensor tensor{
      .choice = choice, .elements = source.elements(), .bytes_before = source.bytes(), .bytes_after = after.bytes()};
  if (choice.before == choice.after) return tensor;
  Tensor before = constant(exact);
  if (before.shape() != after.shape()) before = weight_matrix(before).value();
  const std::vector<float> values = before.to_floats();
  tensor.sqnr_db = compare(values, packer.unpack(after).to_floats()).sqnr_db;
  if (!is_fake_only(*choice.format))
    packer.pack(*choice.format, before.is_packed() ? packer.unpack(before) : before, &tensor.counts);
  const NonfiniteCounts own = count_nonfinite(source.to_floats());
  tensor.counts.nan = own.nan, tensor.counts.inf = own.inf;
  return tensor;
}

// Of a key of the file: "smooth_quant.alpha" is alpha, where the pass has that option and accepts the values.
std::string option_name(const std::string& key, const std::vector<std::string>& values) {
  const std::string table = key.substr(0, key.find('.'));
  PassOptions passes = options_of_passes({});
  const auto is_ours = [&](const OptionTable* options) { return options->pass == table; };
  if (table == key || !std::ranges::any_of(passes.given(), is_ours)) return key;
  const std::string name = key.substr(table.size() + 1);
  if (table != "quantize") passes.set(key, values);
  return name;
}

double bits_of(const std::optional<Format>& format, const TensorType& type, const std::vector<int64_t>& shape) {
  if (!format || is_fake_only(*format)) return 8.0 * static_cast<double>(size_bytes(type.dtype) * element_count(shape));
  if (const std::optional<DType> plain = dtype_of_plain_format(*format))
    return 8.0 * static_cast<double>(size_bytes(*plain) * element_count(shape));
  return 8.0 * static_cast<double>(plane_bytes(*format, shape).total());
}

// The choices of the graph and of the bodies in it, one after the other.
void gather_choices(const Graph& graph, QuantizationPlan& plan, std::vector<QuantizeChoice>& constants,
                    QuantizedModel& result) {
  std::ranges::move(plan.constants, std::back_inserter(constants));
  for (QuantizeChoice& choice : plan.activations) {
    result.activation_shapes.push_back(graph.type(choice.value).shape);
    result.activations.push_back(std::move(choice));
  }
  for (BodyPlan& inner : plan.bodies)
    gather_choices(graph.node(inner.node).subgraphs[inner.body], inner.plan, constants, result);
}

// Values that several layers read in one format count once. Those whose size depends on data are left out. Throws Error
// where sizes that the model takes are not guessed.
std::optional<InputBits> counted_input_bits(const Graph& graph, const std::vector<QuantizeChoice>& activations) {
  const Bindings bindings = bind_symbols(graph, ShapeOptions());
  std::set<std::pair<ValueId, std::string>> seen;
  double elements = 0, before = 0, after = 0;
  bool is_rounded = false;
  for (const QuantizeChoice& choice : activations)
    for (const Graph::Use& use : choice.uses) {
      const ValueId operand = graph.operand(use.node, use.operand), value = unrounded(graph, operand);
      const TensorType& type = graph.type(value);
      if (!type.ranked || depends_on_data(type.shape) || !seen.emplace(value, choice.after).second) continue;
      const std::vector<int64_t> shape = evaluate(type.shape, bindings);
      std::optional<Format> format = choice.format;
      if (!format && operand != value) format = parse_format(choice.before);  // stays as it was rounded already
      elements += static_cast<double>(element_count(shape));
      before += bits_of({}, type, shape), after += bits_of(format, type, shape);
      is_rounded = is_rounded || format;
    }
  if (!is_rounded || elements == 0) return std::nullopt;
  std::string shapes;
  for (const auto& [symbol, value] : bindings)
    shapes += fmt::format("{}{}={}", shapes.empty() ? "" : " ", symbol, value);
  return InputBits{before / elements, after / elements, shapes};
}

std::optional<InputBits> input_bits(const Graph& graph, const std::vector<QuantizeChoice>& activations) {
  try {
    return counted_input_bits(graph, activations);
  } catch (const Error&) {  // a figure of the report that there is none of; the model is written all the same
    return std::nullopt;
  }
}

}  // namespace

std::span<const OptionField<Calibration>> calibration_fields() { return kCalibrationFields; }

QuantizedModel quantize_model(const Model& model, const QuantizeOptions& options, std::optional<Compute> compute,
                              const Calibration& calibration) {
  const std::shared_ptr<const Packer> packer = compiled_packer();
  const Graph original = with_unique_labels(canonicalise(model.graph));
  QuantizationPlan plan = plan_quantization(original, options);
  Graph exact = original;
  bool is_rounded = false;
  const auto keep_exact = [&](const PassDef& pass, const Graph& graph, double) {
    is_rounded = is_rounded || std::string_view(pass.name) == "quantize";
    if (!is_rounded) exact = graph;
  };
  const CalibrationSources sources = sources_on(model, calibration);
  QuantizedModel result{
      .graph = quantize(
          original, options, sources.statistics,
          {.disabled = {}, .verify = false, .after = keep_exact, .packer = packer.get(), .ranges = sources.ranges})};
  result.input_bits = input_bits(original, plan.activations);
  std::vector<QuantizeChoice> constants;
  gather_choices(original, plan, constants, result);
  for (const QuantizeChoice& choice : constants)
    result.tensors.push_back(compared(choice, original, exact, result.graph, *packer));
  result.before = sizes(original), result.after = sizes(result.graph);
  result.on_nonfinite = options.on_nonfinite;
  if (compute) result.graph.metadata["compute"] = to_string(*compute);
  return result;
}

void read_quantize_config(const std::string& path, QuantizeOptions& options, Calibration& calibration,
                          PlanNotes* notes) {
  PlanNotes plan;
  for (const auto& [key, values] : read_toml_options(path)) {
    std::string name;
    try {
      name = option_name(key, values);
      if (std::ranges::count(option_names(calibration_fields()), name))
        set_option(calibration_fields(), calibration, name, values);
      else if (std::ranges::count(option_names(plan_fields()), name)) set_option(plan_fields(), plan, name, values);
      else set_option(quantize_fields(), options, name, values);
    } catch (const Error& e) {
      fail("{}: {}", path, e.what());
    }
    if (name == "calib") calibration.file = std::filesystem::path(path).parent_path() / calibration.file;
  }
  if (notes) *notes = plan;
}

std::string quantize_config(const std::string& path, const QuantizeOptions& options, const Calibration& calibration) {
  std::string text = options_toml(quantize_fields(), options);
  if (!calibrates(options)) return text;
  Calibration named = calibration;
  const std::filesystem::path file = std::filesystem::absolute(calibration.file).lexically_normal();
  const std::filesystem::path folder = std::filesystem::absolute(path).lexically_normal().parent_path();
  const std::filesystem::path below = file.lexically_relative(folder);
  named.file = below.empty() || *below.begin() == ".." ? file : below;
  return options_toml(calibration_fields(), named) + text;
}

}  // namespace hone

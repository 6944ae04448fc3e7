#include "jobs/squeeze.h"

#include <algorithm>
#include <cmath>

#include "base/hash.h"
#include "io/tokenizer_files.h"
#include "jobs/agreement_view.h"
#include "jobs/bench_view.h"
#include "jobs/probe.h"
#include "jobs/quantize_model.h"
#include "jobs/sample_texts.h"
#include "jobs/text_inputs.h"
#include "report/graph_drawing.h"

namespace hone {
namespace {

constexpr uint64_t kMadeUpRuns = 16;  // when there are neither texts nor given inputs

bool reads_texts(const Model& model) {
  if (!has_tokenizer(model.files)) return false;
  for (ValueId v : model.graph.arguments()) {
    const std::string& label = model.graph.value(v).label;
    if (label != "input_ids" && label != "attention_mask" && label != "token_type_ids") return false;
  }
  return true;
}

// What the outputs are compared on, and how to call it.
struct Examples {
  std::vector<NamedTensors> inputs;
  std::string description;
};

Examples examples_for(const SqueezeOptions& options, const Model& model) {
  if (!options.given.empty()) {
    if (!options.texts.empty()) fail("inputs and texts were both given; give one of them");
    return {{options.given}, "the given inputs"};
  }
  if (reads_texts(model)) {
    const std::vector<std::string> texts = options.texts.empty() ? sample_texts() : options.texts;
    const Tokenizer tokenizer = tokenizer_of(model);
    Examples examples{{}, fmt::format("{} {} texts", texts.size(), options.texts.empty() ? "built-in" : "given")};
    for (const std::string& text : texts) examples.inputs.push_back(text_inputs(model, tokenizer, {text}));
    return examples;
  }
  if (!options.texts.empty()) fail("{}: takes no texts, or has no tokenizer; give --input name=x.npy", model.path);
  const Bindings bindings = bind_symbols(model.graph, options.shapes);
  Examples examples{{}, fmt::format("{} made-up inputs (seeds from {})", kMadeUpRuns, options.seed)};
  for (uint64_t i = 0; i < kMadeUpRuns; ++i)
    examples.inputs.push_back(default_inputs(model.graph, bindings, options.seed + i));
  return examples;
}

BarChart sqnr_bars(const std::vector<QuantizedTensor>& tensors) {
  BarChart chart{
      .key = "sqnr", .title = "Signal to quantization noise per tensor", .value = {"SQNR", "dB"}, .bars = {}};
  for (const QuantizedTensor& t : tensors)
    if (t.sqnr_db && std::isfinite(*t.sqnr_db)) chart.bars.push_back({t.choice.name, *t.sqnr_db, t.choice.after});
  return chart;
}

// How outputs agree is said once, over all examples: the comparison's one run would be a second number for it.
void leave_out_agreement(Record& record) {
  for (Section& section : record.sections)
    for (Block& block : section.blocks)
      if (auto* table = std::get_if<Table>(&block); table && table->key == "comparison")
        for (const char* key : {"cosine", "max_abs_error", "top1"}) {
          const auto found = std::ranges::find(table->columns, std::string(key), &Column::key);
          if (found == table->columns.end()) continue;
          const auto column = found - table->columns.begin();
          table->columns.erase(found);
          for (std::vector<Cell>& row : table->rows) row.erase(row.begin() + column);
        }
}

// That the quantized graph loses no more than was allowed, in a sentence; Error when it does.
std::optional<std::string> held_to_drop(const SqueezeOptions& options, const Model& model, Session& original,
                                        const Graph& quantized) {
  if (!options.max_drop) return std::nullopt;
  if (!options.evaluation.given()) fail("a drop of at most {}: of what? Give --data", to_string(*options.max_drop));
  const EvaluationData data = read_evaluation_data(options.evaluation.data);
  const Evaluation evaluation(model, data, options.evaluation);
  if (evaluation.metrics().empty() && !evaluation.takes_programs())
    fail("a drop of at most {}: of which metric? Give --metric", to_string(*options.max_drop));
  tell(options.progress, "what the result loses");
  Session result(quantized, options.session);
  const Figure before = evaluation.run(original, options.progress).figures[0],
               after = evaluation.run(result, options.progress).figures[0];
  const Difference difference = difference_of(before, after, options.evaluation.data.seed);
  const double lost = before.larger_is_better() ? -difference.value : difference.value;
  const std::string text = fmt::format("{} is {}, of the original {} ({})", before.title,
                                       figure_text(after.estimate.value, after.estimate.ci95, after.is_share()),
                                       figure_text(before.estimate.value, before.estimate.ci95, before.is_share()),
                                       difference_text(after.metric, difference));
  if (!(lost <= options.max_drop->of(before.estimate.value, before.is_share())))
    fail(
        "{} on {}: more is lost than --max-drop {} allows, and nothing is written. Give another format or method, or "
        "let hone allocate choose: --budget drop={}",
        text, data.title, to_string(*options.max_drop), to_string(*options.max_drop));
  return fmt::format("Within --max-drop {}: {}, on {}", to_string(*options.max_drop), text, data.title);
}

}  // namespace

Record squeeze(const SqueezeOptions& options) {
  Model model = load_model(options.model, options.inputs);
  if (options.evaluation.max_length > 0) cut_texts(model, options.evaluation.max_length);
  refuse_source_as_output(options.output, model);  // it is what the result is measured against
  const Examples examples = examples_for(options, model);
  tell(options.progress, "quantizing");
  const QuantizedModel quantized = quantize_model(model, options.quantize, options.compute, options.calibration);
  // What does not fit is refused while nothing is written yet.
  if (options.given.empty()) bind_symbols(model.graph, options.shapes);
  Session original(model.graph, options.session);
  original.run(examples.inputs[0]);
  const std::optional<std::string> kept = held_to_drop(options, model, original, quantized.graph);
  const SavedModel saved = save_model(options.output, quantized.graph, model);
  Session result(load_model(options.output).graph, options.session);
  tell(options.progress, "comparing outputs on " + examples.description);
  const Agreement agreed = agreement(original, result, examples.inputs);

  TaskContext context{.progress = options.progress};
  if (!options.program.empty())
    context.new_process = [&](ProbeOptions probe) {
      if (probe.model == options.model) probe.inputs = options.inputs;
      return probe_in_new_process(options.program, probe);
    };
  Record record = view_of(time_models(
      std::vector{load_model(options.model, options.inputs), load_model(options.output)},
      {.open = {.given = options.given, .shapes = options.shapes, .session = options.session, .seed = options.seed},
       .seconds = options.seconds,
       .evaluation = options.evaluation},
      context));
  record.command = options.command;
  leave_out_agreement(record);
  record.title = fmt::format("{} squeezed", model.name);
  record.findings.insert(record.findings.begin(), size_finding(options.output, saved, model));
  add_check(record, options.output, saved);
  for (std::string& line : findings_of(agreed, examples.description)) record.findings.push_back(std::move(line));
  for (Block& table : agreement_tables(agreed, fmt::format("Outputs on {}", examples.description)))
    record.sections[0].blocks.push_back(std::move(table));
  if (kept) record.findings.push_back(*kept);
  std::vector<Block> tensors = describe(quantized, Listed::changed);
  if (BarChart bars = sqnr_bars(quantized.tensors); !bars.bars.empty())
    tensors.insert(tensors.begin(), std::move(bars));
  record.sections.push_back({"Tensors", std::move(tensors)});
  record.sections.push_back({"Graph", {graph_drawing(quantized.graph, "The written model")}});
  record.manifest[1].role = "output";
  return record;
}

}  // namespace hone

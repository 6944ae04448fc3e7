#include "jobs/squeeze.h"

#include "io/tokenizer_files.h"
#include "jobs/sample_texts.h"
#include "jobs/text_inputs.h"

namespace hone {
namespace {

constexpr OptionField<SqueezeOptions> kDrop[] = {
    flag("max-drop",
         "Write nothing that loses more of the (first) metric on --data: 0.5% (points of a share; of other metrics a "
         "part of the original's) or 0.01 (in the metric's own numbers)",
         &SqueezeOptions::max_drop)};

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

Examples examples_for(const SqueezeModelOptions& options, const Model& model) {
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

// That the quantized graph loses no more than was allowed, in a sentence; Error when it does.
std::optional<std::string> held_to_drop(const SqueezeModelOptions& options, const Model& model, Session& original,
                                        const Graph& quantized, const TaskContext& context) {
  if (!options.max_drop) return std::nullopt;
  if (!options.evaluation.given()) fail("a drop of at most {}: of what? Give --data", to_string(*options.max_drop));
  const EvaluationData data = read_evaluation_data(options.evaluation.data);
  const Evaluation evaluation(model, data, options.evaluation);
  if (evaluation.metrics().empty() && !evaluation.takes_programs())
    fail("a drop of at most {}: of which metric? Give --metric", to_string(*options.max_drop));
  context.tell("what the result loses");
  Session result(quantized, options.session);
  const Figure before = evaluation.run(original, context.progress, &original).figures[0],
               after = evaluation.run(result, context.progress, &original).figures[0];
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

std::span<const OptionField<SqueezeOptions>> SqueezeOptions::fields() {
  static const auto all = joined_fields<SqueezeOptions>(
      QuantizeFlags::fields(), GivenFlags::fields(), TextFlags::fields(), EvaluationFlags::data_fields(),
      EvaluationFlags::fields("data-"), kDrop, ShapeFlags::fields(), RunFlags::fields(), RunFlags::trust_fields(),
      SecondsFlags::fields(), SeedFlags::fields());
  return all;
}

SqueezeModelOptions SqueezeOptions::typed() const {
  return {.quantize = quantize(),
          .calibration = calibration(),
          .compute = compute_type().value_or(Compute::bf16),
          .given = given(),
          .texts = texts(),
          .shapes = shapes(),
          .evaluation = evaluation(),
          .max_drop = max_drop.empty() ? std::nullopt : std::optional(parse_max_drop(max_drop)),
          .session = session_options(),
          .seconds = seconds,
          .seed = seed};
}

SqueezeResult squeeze(const Model& original, const std::string& output, const SqueezeModelOptions& options,
                      const TaskContext& context) {
  Model model = original;
  if (options.evaluation.max_length > 0) cut_texts(model, options.evaluation.max_length);
  refuse_source_as_output(output, model);  // it is what the result is measured against
  const Examples examples = examples_for(options, model);
  context.tell("quantizing");
  SqueezeResult result{.quantized = quantize_model(model, options.quantize, options.compute, options.calibration),
                       .examples = examples.description};
  // What does not fit is refused while nothing is written yet.
  if (options.given.empty()) bind_symbols(model.graph, options.shapes);
  Session before(model.graph, options.session);
  before.run(examples.inputs[0]);
  result.kept = held_to_drop(options, model, before, result.quantized.graph, context);
  result.saved = save_model(output, result.quantized.graph, model);
  const Model written = load_model(output);
  Session after(written.graph, options.session);
  context.tell("comparing outputs on " + examples.description);
  result.agreement = agreement(before, after, examples.inputs);
  result.timed = time_models(
      std::vector{original, written},
      {.open = {.given = options.given, .shapes = options.shapes, .session = options.session, .seed = options.seed},
       .seconds = options.seconds,
       .evaluation = options.evaluation},
      context);
  return result;
}

SqueezeResult squeeze(const Model& model, const std::string& output, const SqueezeOptions& options,
                      const TaskContext& context) {
  return squeeze(model, output, options.typed(), context);
}

}  // namespace hone

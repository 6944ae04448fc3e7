#include "jobs/train_model.h"

#include <malloc.h>

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "base/threads.h"
#include "data/batch_reader.h"
#include "data/dataset_facts.h"
#include "jobs/compiled_packer.h"
#include "jobs/data_facts.h"
#include "jobs/open_session.h"
#include "jobs/scratch_folder.h"
#include "jobs/training_choices.h"
#include "jobs/training_data.h"
#include "jobs/untrained_lines.h"
#include "measure/environment.h"
#include "measure/memory.h"
#include "ops/calls/fake_quant.h"
#include "passes/pipelines.h"
#include "train/head.h"
#include "train/initialise.h"
#include "train/lora.h"
#include "train/norm_statistics.h"
#include "train/rounded_training.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

// Bytes of what a graph is given of a batch.
int64_t argument_bytes(const Graph& graph, const Bindings& sizes) {
  int64_t bytes = 0;
  for (ValueId input : graph.arguments()) {
    const TensorType& type = graph.type(input);
    bytes += element_count(evaluate(type.shape, sizes)) * size_bytes(type.dtype);
  }
  return bytes;
}

// The graph with these values as its outputs, and the inputs that they are computed from.
Graph computing(Graph graph, std::span<const ValueId> values) {
  std::vector<Output> outputs;
  for (size_t i = 0; i < values.size(); ++i) outputs.push_back({values[i], fmt::format("value{}", i)});
  graph.set_outputs(std::move(outputs));
  graph = run_pass(std::move(graph), "remove_dead");
  const std::vector<ValueId> inputs(graph.inputs().begin(), graph.inputs().end());
  for (ValueId input : inputs)
    if (graph.use_count(input) == 0) graph.erase_input(input);
  return graph;
}

// "3 tensors (a, b, c) are".
std::string listed(std::vector<std::string> names) {
  constexpr size_t kNamed = 8;
  const size_t all = names.size();
  if (all > kNamed) names.resize(kNamed), names.push_back("…");
  return fmt::format("{} tensor{} ({}) {}", all, all == 1 ? "" : "s", fmt::join(names, ", "), all == 1 ? "is" : "are");
}

class Job {
 public:
  Job(const Model& model, const TrainModelOptions& options, const TaskContext& context)
      : options_(options), context_(context), model_(model) {}

  TrainedModel run() {
    try {
      return run_alone();
    } catch (const Error& problem) {
      if (!options_.ranks || met_) throw;
      options_.ranks->meet(problem.what(), "");
      throw;
    }
  }

 private:
  TrainedModel run_alone() {
    check_training(options_.training);
    optimizer_ = choose_optimizer(options_.training);
    result_.model_sha256 = model_.sha256();
    read_data();
    fit_model();
    const int64_t before = resident_before();
    Graph trained = train(before);
    if (!is_first()) return {};
    result_.model = as_written(std::move(trained));
    result_.resident_bytes = memory_use().peak_bytes - before;
    result_.classes = data_->needs().names;
    result_.is_rounded = !options_.training.qat.empty();
    return std::move(result_);
  }

  bool is_first() const { return !options_.ranks || options_.ranks->is_first(); }
  int ranks() const { return options_.ranks ? options_.ranks->size() : 1; }

  void say(const std::string& line) const {
    if (!line.empty()) context_.note(line);
  }

  // For the peak that is measured, beside the one that is planned: without what reading left behind.
  int64_t resident_before() const {
    for (ValueId id = 0; id < static_cast<ValueId>(fitted_.value_capacity()); ++id)
      if (const Tensor* constant = fitted_.constant(id); constant && constant->data().is_mapped())
        drop_pages(constant->data().bytes());
    ::malloc_trim(0);
    reset_peak();
    return memory_use().resident_bytes;
  }

  void read_data() {
    Dataset read = read_for(model_, options_);
    if (options_.dealt) options_.dealt(read);
    const DatasetFacts found = check_dataset(read);
    say(to_string(found));
    result_.data = options_.data;
    result_.data_sha256 = found.sha256;
    result_.data_bytes = bytes_in(options_.data);
    data_.emplace(usable_rows(std::move(read), found, options_.skip_bad), model_, options_.training);
    for (const std::string& note : data_->notes()) say(note);
    result_.data_rows = std::ssize(data_->train().rows());
    if (!data_->validation())
      say("the data have no split \"validation\": nothing is judged on the way (validation-fraction makes one)");
  }

  void fit_model() {
    const TrainingOptions& o = options_.training;
    const LabelNeeds& needs = data_->needs();
    form_ = training_form(with_running_statistics(model_.graph));
    Graph graph = std::move(form_.graph);
    if (o.from_scratch) graph = with_new_weights(std::move(graph), static_cast<uint64_t>(o.seed));
    FittedHead head = fit_head(std::move(graph), {.head = o.head,
                                                  .pooling = o.pooling,
                                                  .output = o.predictions,
                                                  .width = needs.width,
                                                  .per_word = needs.per_word,
                                                  .seed = static_cast<uint64_t>(o.seed)});
    result_.head = head.made ? head.what : "";
    fitted_ = std::move(head.graph);
    if (!o.teacher.empty()) open_teacher();
    std::vector<std::string> rules = o.rule, of_adapters;
    if (const LoraOptions lora = lora_options(o); !lora.rule.empty() || has_adapters(fitted_)) {
      if (!lora.rule.empty()) say_passed_over(unadapted_weights(fitted_), "without adapters");
      AdaptedModel adapted = adapt_for_training(std::move(fitted_), lora);
      fitted_ = std::move(adapted.graph);
      of_adapters = std::move(adapted.rules);
      say(adapted.what);
    }
    if (o.learn_scales && o.qat.empty())
      fail("learn-scales is given, and no formats: qat names them, e.g. --qat op:linear=int4.channel");
    if (!o.qat.empty()) {
      round_weights(rules);
      say_passed_over(unseen_weights(fitted_), "unrounded");
    }
    if (teacher_) {
      fitted_ = with_projections(std::move(fitted_), teacher_->graph(), static_cast<uint64_t>(o.seed));
      for (ValueId layer : fitted_.constants())
        if (is_projection(fitted_.value(layer).label) && !of_adapters.empty())
          of_adapters.insert(of_adapters.begin(), kProjectionRule);
    }
    rules.insert(rules.end(), of_adapters.begin(), of_adapters.end());
    graphs_ = make_train_graphs(
        fitted_,
        {.loss = {.loss = loss_for(o, needs),
                  .label_smoothing = o.label_smoothing,
                  .class_weights = class_weights(o.class_weights, *data_)},
         .groups = {.rules = rules, .decay = optimizer_.decay, .decay_all = o.decay_all, .untrainable = form_.others},
         .optimizer = optimizer_.def,
         .optimizer_options = optimizer_.options,
         .clip_norm = o.clip_norm,
         .clip_value = o.clip_value,
         .dropout = o.dropout,
         .dropout_layers = o.dropout_layers,
         .adapter_dropout = lora_dropout(fitted_),
         .seed = static_cast<uint64_t>(o.seed),
         .recompute = o.recompute,
         .accumulate = o.parts > 1,
         .ranks = ranks(),
         .keep_zeros = o.keep_zeros,
         .packer = packer_.get(),
         .distillation = distillation_of(o, needs),
         .sizes = [this](const Graph& evaluate) { return largest_batch(evaluate); }});
    fitted_ = without_compared_layers(std::move(fitted_));
    data_->fit(inference_graph(graphs_.evaluate));
    say(data_->fit_norms(graphs_, ranks()));
    say_sizes();
    for (const TrainedParameter& p : graphs_.parameters) result_.trained_elems += p.elements;
    say(fmt::format("{} weights in {} tensors are trained, {} tensors are frozen{}", result_.trained_elems,
                    graphs_.parameters.size(), graphs_.frozen.size(),
                    result_.head.empty() ? "" : "; new: " + result_.head));
    for (const std::string& line : untrained_lines(graphs_.others, form_.relaid)) say(line);
    say_types();
  }

  void open_teacher() {
    const TrainingOptions& o = options_.training;
    std::vector<std::string> own, others;
    for (const std::string& pair : o.distill_layers) {
      auto [student, teacher] = parse_layer_pair(pair);
      own.push_back(std::move(student));
      others.push_back(std::move(teacher));
    }
    fitted_ = with_compared_layers(std::move(fitted_), own, model_.name);
    context_.tell("opening the teacher");
    teacher_.emplace(
        TeacherOptions{.model = o.teacher, .layers = others, .predictions = o.distill_weight > 0, .output = ""}, model_,
        fitted_, predictions_label(without_compared_layers(fitted_), ""), *data_, options_.session);
    result_.notes.push_back(teacher_->what());
    say(teacher_->what());
  }

  // Scales that are learned begin from what the first batches show; their rules go to `groups`.
  void round_weights(std::vector<std::string>& groups) {
    const auto observe = [&](const Graph& graph, std::span<const ValueId> values) {
      constexpr int64_t kBatches = 8;
      const Graph watched = computing(graph, values);
      data_->fit(watched);
      std::vector<NamedTensors> batches;
      BatchReader reader(data_->train(), 1);
      while (std::ssize(batches) < kBatches) {
        const std::optional<Batch> batch = reader.next();
        if (!batch) break;
        batches.push_back(std::move(data_->parts(*batch, 1)[0]));
      }
      std::vector<ValueId> watched_values;
      for (const Output& output : watched.outputs()) watched_values.push_back(output.value);
      return collect_ranges(watched, watched_values, batches, options_.session);
    };
    const TrainingOptions& o = options_.training;
    RoundedModel rounded =
        round_for_training(std::move(fitted_), {.rules = o.qat, .learn_scales = o.learn_scales}, observe);
    fitted_ = std::move(rounded.graph);
    groups.insert(groups.end(), rounded.rules.begin(), rounded.rules.end());
    result_.notes.push_back(rounded.what);
    say(rounded.what);
  }

  Bindings largest_batch(const Graph& evaluate) {
    data_->fit(inference_graph(evaluate));
    return data_->largest(evaluate, options_.training.parts * ranks(), data_->train());
  }

  void say_passed_over(const std::vector<StoredTensor>& unseen, std::string_view how) const {
    for (const std::string& line : passed_over_lines(unseen, form_.relaid, how)) say(line);
  }

  // What happens to tensors of fewer bits that are trained.
  void say_types() {
    std::vector<std::string> rounded, wide;
    const std::vector<Relaid> at_last = rounded_at_last();
    for (const TrainedParameter& p : graphs_.parameters) {
      if (std::ranges::count(at_last, p.name, &Relaid::name)) rounded.push_back(p.name);
      if (std::ranges::count(form_.computed_in_own_type, p.name)) wide.push_back(p.name);
    }
    if (!rounded.empty())
      say(listed(rounded) + " trained in f32 and written in the type of the file, rounded to nearest");
    if (!wide.empty())
      say(listed(wide) + " trained and written in f32: the model computes in the type that the file has them in");
  }

  void say_sizes() {
    if (graphs_.sizes.empty()) return;
    std::vector<std::string> largest;
    for (const auto& [symbol, size] : graphs_.sizes) largest.push_back(fmt::format("{} = {}", symbol, size));
    result_.notes.push_back(
        fmt::format("gradients need sizes that the model leaves open: there is a step for each of the data's, the "
                    "largest with {}",
                    fmt::join(largest, ", ")));
    say(result_.notes.back());
  }

  // What the evaluation reads but for labels.
  Graph inference_graph(const Graph& evaluate) const {
    Graph graph = fitted_;
    const std::vector<ValueId> inputs(graph.inputs().begin(), graph.inputs().end());
    for (ValueId input : inputs) {
      const std::string& label = graph.value(input).label;
      const auto of_evaluation = evaluate.arguments();
      const bool is_read =
          std::ranges::any_of(of_evaluation, [&](ValueId id) { return evaluate.value(id).label == label; });
      if (!is_read && graph.use_count(input) == 0) graph.erase_input(input);
    }
    return graph;
  }

  void prepare_folder() {
    std::error_code problem;
    fs::create_directories(folder_, problem);
    if (problem) fail("{}: the folder can't be made: {}", folder_, problem.message());
    has_checkpoint_ = fs::exists(folder_ + "/last.safetensors");
    if (has_checkpoint_ && !options_.resume)
      fail("{}: holds a run already; --resume goes on with it, another --folder begins a new one", folder_);
  }

  // Of batches one is at work, BatchReader has some ahead and one more in the making. While validation has its own,
  // those of training wait.
  TrainingSizes largest_sizes(const Trainer& trainer) const {
    constexpr int64_t kHeld = 2 + BatchReader::kAhead;
    const int64_t parts = options_.training.parts;
    const Graph& evaluate = trainer.graphs().evaluate;
    const auto data_of = [&](const Bindings& sizes, const Batches& batches) {
      return kHeld * parts * argument_bytes(evaluate, sizes) + batches.making_bytes();
    };
    TrainingSizes sizes{.step = data_->largest(evaluate, parts * ranks(), data_->train())};
    sizes.step_data = data_of(sizes.step, data_->train());
    if (const Batches* judged = data_->validation(); judged && is_first()) {
      sizes.validation = data_->largest(evaluate, parts, *judged);
      sizes.validation_data = sizes.step_data + data_of(*sizes.validation, *judged);
    }
    return sizes;
  }

  // `before`: bytes of memory that the process had; what is there beside the trainer's own when it stands ready is
  // counted with the code.
  Graph train(int64_t before) {
    const auto resident = [] { return memory_use().resident_bytes; };
    int64_t beside = resident() - before;
    Trainer trainer(std::move(graphs_), options_.session, options_.ranks);
    const int64_t made = resident();
    const TrainingSizes sizes = largest_sizes(trainer);
    result_.folder = options_.folder;
    folder_ = options_.folder.empty() ? scratch_.emplace().path() : options_.folder;
    std::string decisive = decisive_options(options_.training, options_.reading);
    decisive +=
        fmt::format("data = {}\nmodel = {}\ncompute = {}\ncode = {}\n", result_.data_sha256, result_.model_sha256,
                    to_string(options_.session.compute.value_or(Compute::f32)), device_name(options_.session));
    if (teacher_) decisive += fmt::format("teacher = {}\n", teacher_->sha256());
    TrainingRun run(trainer, teacher_ ? &*teacher_ : nullptr, *data_, options_.training, optimizer_.rate, folder_,
                    result_.model_sha256, decisive, options_.ranks);
    beside += resident() - made;
    result_.planned = trainer.plan(sizes);
    result_.planned.code += std::max<int64_t>(beside, 0);
    if (teacher_)
      result_.planned.teacher =
          teacher_->plan(data_->largest_of_teacher(teacher_->graph(), options_.training.parts * ranks()));
    say(memory_line(result_.planned));
    run.validated = options_.validated;
    if (const std::vector<Relaid> rounded = rounded_at_last(); !rounded.empty())
      run.as_written = [rounded](const auto& name, const Tensor& value) {
        return rounded_as_stored(rounded, name, value);
      };
    if (is_first()) prepare_folder();
    if (has_checkpoint_) {
      run.resume();
      say(fmt::format("resumed after step {}", trainer.steps()));
    }
    if (options_.ranks) meet(run, decisive);
    result_.outcome = run.run(context_);
    auto parameters = trainer.parameters();
    std::erase_if(parameters, [](const auto& parameter) { return is_projection(parameter.first); });
    return with_trained(fitted_, parameters);
  }

  // Tensors whose type in the file is of fewer bits than they were trained in. Adapted models lie as hone has them, and
  // what was trained against rounding is rounded to its format instead.
  std::vector<Relaid> rounded_at_last() const {
    std::vector<Relaid> rounded;
    if (has_adapters(fitted_)) return rounded;
    for (const Relaid& relaid : form_.relaid) {
      const ValueId id = fitted_.find_constant(relaid.name);
      const auto is_rounding = [&](const Graph::Use& use) { return fitted_.node(use.node).op == &fake_quant_def; };
      if (relaid.type != DType::f32 && id != kNone && std::ranges::none_of(fitted_.uses(id), is_rounding))
        rounded.push_back(relaid);
    }
    return rounded;
  }

  // Sums have the same bits everywhere, and so must have what is computed of them: by the same instructions, too.
  void meet(TrainingRun& run, const std::string& decisive) {
    met_ = true;
    const std::string instructions = device_or_cpu(options_.session.device)->abilities();
    options_.ranks->meet(
        "", fmt::format("version = {}\ninstructions = {}\n{}", environment().hone_version, instructions, decisive));
    run.share_what_resumed();
    const std::string note = fmt::format("{} processes have a part of each batch", ranks());
    result_.notes.push_back(note);
    say(note);
  }

  Model as_written(Graph trained) {
    Model written = model_;
    written.graph = std::move(trained);
    data_->describe_rows(written);
    Graph& graph = written.graph;
    graph.metadata.erase("compute");  // it computes as it was judged
    if (const Compute compute = options_.session.compute.value_or(Compute::f32); compute != Compute::f32)
      graph.metadata["compute"] = to_string(compute);
    graph.metadata.erase("random_weights");
    if (!options_.training.qat.empty()) graph = packed_as_trained(std::move(graph), *packer_);
    // Adapters stand beside layers as hone has them.
    if (!has_adapters(graph)) graph = in_stored_form(std::move(graph), form_.relaid);
    return written;
  }

  const TrainModelOptions& options_;
  const TaskContext& context_;
  const Model& model_;
  ChosenOptimizer optimizer_{};
  const std::shared_ptr<const Packer> packer_ = compiled_packer();
  std::optional<ScratchFolder> scratch_;
  std::string folder_;
  bool has_checkpoint_ = false;
  bool met_ = false;  // by the other ranks
  std::optional<TrainingData> data_;
  std::optional<Teacher> teacher_;
  TrainingForm form_;  // of the model, whose graph is fitted_ then
  Graph fitted_;
  TrainGraphs graphs_;
  TrainedModel result_;
};

constexpr OptionField<TrainOptions> kOwn[] = {
    flag("data", "The data: a file or a folder", &TrainOptions::data, {.file = OptionFile::reads}),
    flag("folder", "Folder for checkpoints and logs (default: OUTPUT without its ending, and .run)",
         &TrainOptions::folder, {.value = "FOLDER"}),
    flag("resume", "Go on from the folder's last checkpoint, where there is one", &TrainOptions::resume),
    flag("skip-bad", "Leave out rows that can't be used", &TrainOptions::skip_bad)};

}  // namespace

std::span<const OptionField<TrainOptions>> TrainOptions::fields() {
  static const auto all = joined_fields<TrainOptions>(kOwn, training_fields(), DataOptions::fields(),
                                                      RunFlags::fields(), RunFlags::compute_fields());
  return all;
}

TrainModelOptions TrainOptions::typed() const {
  return {.data = data,
          .folder = folder,
          .reading = *this,
          .skip_bad = skip_bad,
          .training = *this,
          .session = session_options(),
          .resume = resume};
}

std::string run_folder(const std::string& output) { return fs::path(output).replace_extension("run").string(); }

void check_training(const TrainingOptions& options) {
  choose_optimizer(options);
  check_distillation(options);
}

TrainedModel train_model(const Model& model, const TrainModelOptions& options, const TaskContext& context) {
  require_training(options.session);
  if (options.data.empty()) fail("there is nothing to train on: data names no file");
  if (options.resume && options.folder.empty()) fail("resume is given, and no folder whose last checkpoint is meant");
  return Job(model, options, context).run();
}

TrainedModel train_model(const Model& model, const TrainOptions& options, const TaskContext& context) {
  return train_model(model, options.typed(), context);
}

SavedModel save_trained(const std::string& path, const TrainedModel& trained, const Model& original) {
  Model source = trained.model;
  source.graph = original.graph;
  return save_model(path, trained.model.graph, source, {.keep_layouts = true});
}

}  // namespace hone

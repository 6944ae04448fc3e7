// Lab 0: a model is a graph. What its inputs change about it, what a pass may take out, and adapters in place of
// fine-tuning.
#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "base/atomic_file.h"
#include "labs/recipes.h"
#include "labs/registry.h"
#include "labs/said_numbers.h"

namespace hone {
namespace {

struct GraphCase {
  const char *name, *inputs, *title;
};
constexpr GraphCase kGraphs[] = {{"ids", "input_ids", "token ids alone"},
                                 {"mask", "input_ids,attention_mask", "with a mask"},
                                 {"labels", "input_ids,attention_mask,labels", "with a mask and labels"}};

struct Adapted {
  const char *name, *title;
};
constexpr Adapted kAdapted[] = {
    {"before", "before"}, {"teacher", "full fine-tuning"}, {"lora", "LoRA"}, {"fused", "LoRA, fused"}};

std::string model_of(const LabPlaces& places, const std::string& name) {
  return name == "teacher" ? teacher_model(places) : places.made(name) + ".safetensors";
}

std::vector<std::string> reads(const LabPlaces& places) { return {places.all_reviews(), places.encoder()}; }

std::vector<LabStep> graph_steps(const LabPlaces& places) {
  std::vector<LabStep> steps;
  for (const GraphCase& graph : kGraphs) {
    const std::string name = graph.name, model = model_of(places, name), drawing = places.made(name) + ".svg";
    steps.push_back({.name = "build-" + name,
                     .what = fmt::format("the graph of {}", graph.title),
                     .words = {"build", places.recipe("config.json"), "--inputs", graph.inputs, "-o", model, "--json"},
                     .makes = {model}});
    steps.push_back({.name = "info-" + name, .what = "its nodes", .words = {"info", model, "--json"}});
    steps.push_back({.name = "draw-" + name,
                     .what = "its drawing",
                     .words = {"draw", model, "-o", drawing},
                     .makes = {drawing},
                     .prints_json = false});
  }
  return steps;
}

// A pass that takes nodes out while others read them, and one that first gives these something else to read.
std::vector<LabStep> pass_steps(const LabPlaces& places) {
  const std::string model = model_of(places, "labels");
  const std::vector<std::string> erase{"print", model, "--pass", "erase_nodes", "--pass-option", "erase_nodes.op=gelu"};
  LabStep refused{.name = "erase-used", .what = "nodes that are read", .words = erase, .must_fail = true};
  refused.words.insert(refused.words.end(), {"--pass-option", "erase_nodes.reroute=false"});
  return {refused,
          {.name = "erase-rerouted", .what = "their users read on", .words = erase, .prints_json = false},
          {.name = "print", .what = "the graph as text", .words = {"print", model}, .prints_json = false}};
}

std::vector<LabStep> adapter_steps(const LabPlaces& places) {
  const std::string lora = places.file("lora.toml"), adapted = model_of(places, "lora"),
                    fused = model_of(places, "fused");
  const std::vector<std::string> fewer = fewer_rows(places);
  std::vector<std::string> untrained = fewer_rows(places, "1");
  if (!places.quick) untrained = {"--steps", "1"};
  untrained.insert(untrained.end(), {"--rate", "0"});
  std::vector<LabStep> steps{
      train_step("before", "a new last layer, whose weights stay as drawn", places.encoder(), places.reviews(),
                 places.recipe("teacher.toml"), model_of(places, "before"), untrained),
      teacher_step(places),
      train_step("lora", "adapters learn the reviews", places.encoder(), places.reviews(), lora, adapted, fewer),
      {.name = "fused",
       .what = "the adapters go into the weights",
       .words = {"lora", "fuse", adapted, "-o", fused, "--json"},
       .makes = {fused}}};
  LabStep judge{.name = "accuracy", .what = "all on the same reviews", .words = {"evaluate"}};
  for (const Adapted& each : kAdapted) judge.words.push_back(model_of(places, each.name));
  judge.words.insert(judge.words.end(), {"--data", places.reviews(), "--split", "test", "--json"});
  steps.push_back(judge);
  return steps;
}

std::vector<LabStep> steps(const LabPlaces& places) {
  std::vector<LabStep> all = graph_steps(places);
  for (const auto& part : {pass_steps(places), adapter_steps(places)}) all.insert(all.end(), part.begin(), part.end());
  return all;
}

std::map<std::string, int64_t> ops_of(const LabResults& results, const std::string& graph) {
  std::map<std::string, int64_t> ops;
  for (const Json& row : results.rows("info-" + graph, "ops"))
    ops[name_in(row, "op")] = json_get<int64_t>(row, "nodes", "ops");
  return ops;
}

// What the graph has beyond the other, by op: "cast, mul, sub".
std::string more_ops(const std::map<std::string, int64_t>& ops, const std::map<std::string, int64_t>& than) {
  std::string text;
  for (const auto& [op, nodes] : ops) {
    const auto found = than.find(op);
    const int64_t more = nodes - (found == than.end() ? 0 : found->second);
    if (more > 0) text += fmt::format("{}{}", text.empty() ? "" : ", ", op);
  }
  return text.empty() ? "-" : text;
}

Table graph_table(const LabResults& results) {
  Table table{.key = "graphs",
              .title = "One model, three graphs",
              .columns = {{"graph", "graph"},
                          {"inputs", "inputs"},
                          {.key = "nodes", .title = "nodes", .style = {NumberFormat::integer, 0}},
                          {.key = "more", .title = "comes in, beside the row above", .prose = true},
                          {.key = "less", .title = "goes out", .prose = true}}};
  std::map<std::string, int64_t> before;
  for (const GraphCase& graph : kGraphs) {
    const auto ops = ops_of(results, graph.name);
    const Json& summary = results.of(std::string("info-") + graph.name).at("summary");
    table.rows.push_back({graph.title, graph.inputs, number(figure(summary, "nodes")),
                          before.empty() ? "-" : more_ops(ops, before), before.empty() ? "-" : more_ops(before, ops)});
    before = ops;
  }
  return table;
}

// Nodes of that op in a graph's text.
double count_nodes(const std::string& text, const std::string& op) {
  const std::string node = " = " + op + " %";
  double count = 0;
  for (size_t at = text.find(node); at != text.npos; at = text.find(node, at + 1)) ++count;
  return count;
}

Table pass_table(const LabResults& results) {
  const NumberStyle count{NumberFormat::integer, 0};
  return {
      .key = "passes",
      .title = "A pass takes out gelu",
      .columns = {{"pass", "pass"},
                  {.key = "gelu", .title = "gelu nodes left", .style = count},
                  {.key = "outcome", .title = "outcome", .prose = true}},
      .rows = {{"none", number(count_nodes(results.text("print"), "gelu")), "the graph as it is"},
               {"erase", number(count_nodes(results.text("print"), "gelu")), "refused: " + results.text("erase-used")},
               {"reroute, then erase", number(count_nodes(results.text("erase-rerouted"), "gelu")),
                "their users read the first operand; the graph passes the verifier"}}};
}

Table adapter_table(const LabResults& results, const LabPlaces& places) {
  Table table{.key = "adapters",
              .title = "Fine-tuning and adapters",
              .columns = {{"how", "how"},
                          {.key = "trained", .title = "trained weights", .style = {NumberFormat::integer, 0}},
                          {.key = "share", .title = "share of full fine-tuning", .style = {NumberFormat::percent, 2}},
                          {.key = "accuracy", .title = "accuracy", .style = {NumberFormat::percent, 2}}},
              .note = fmt::format(
                  "Full fine-tuning: {}; adapters: {}. Accuracy on held-out reviews, all on the same ones, with "
                  "the 95 % interval of a share. Reviews of one film may be on both sides of the split.",
                  training_caption_of(places, places.recipe("teacher.toml")),
                  training_caption_of(places, places.file("lora.toml")))};
  const Json& judged = results.rows("accuracy", "evaluation");
  const double all = figure(results.of("teacher").at("training"), "trained");
  for (size_t i = 0; i < std::size(kAdapted); ++i) {
    const std::string name = kAdapted[i].name;
    const bool trains = name == "teacher" || name == "lora";
    const double trained = trains ? figure(results.of(name).at("training"), "trained") : 0;
    table.rows.push_back({kAdapted[i].title, trains ? number(trained) : Cell(), trains ? number(trained / all) : Cell(),
                          measured(judged.at(i), "accuracy")});
  }
  return table;
}

LabShown show(const LabResults& results, const LabPlaces& places) {
  const Table graphs = graph_table(results), passes = pass_table(results), adapters = adapter_table(results, places);
  Section drawings{.title = "Task 1: graphs of one model", .blocks = {graphs}};
  drawings.blocks.emplace_back(Text{
      "The graphs differ where an input has work to do. A mask of ones and zeros becomes a number that each attention "
      "adds to its scores: nodes cast it, scale it and give it the axes of the scores. Where no mask is given, the "
      "graph fills one with ones itself (full), so the graph with a mask has that node less. Labels add a loss at the "
      "end. What no input asks for is not in the graph: it follows what is computed, not what the class could "
      "compute."});
  for (const GraphCase& graph : kGraphs) {
    const std::string svg = read_file(places.made(graph.name) + ".svg");
    drawings.blocks.emplace_back(Drawing{.key = fmt::format("drawing_{}", graph.name),
                                         .title = fmt::format("The graph {}", graph.title),
                                         .svg = svg.substr(std::min(svg.find("<svg"), svg.size())),
                                         .description = fmt::format("inputs: {}", graph.inputs)});
  }
  const auto nodes = [&](const GraphCase& graph) { return said(graphs, {graph.title}, "nodes"); };
  const auto of = [&](const char* how, const char* column) { return said(adapters, {how}, column); };
  return {
      .sections = {{"Task 3: adapters", {adapters}}, drawings, {"Task 2: a pass", {passes}}},
      .sentences = {
          fmt::format(
              "The graph has {} nodes from token ids alone, {} with a mask, which it then need not fill with ones "
              "itself, and {} with labels, too, which add a loss.",
              nodes(kGraphs[0]), nodes(kGraphs[1]), nodes(kGraphs[2])),
          fmt::format("Erasing the {} gelu nodes is refused while others read them; once these read the operand, {} "
                      "are left.",
                      said(passes, {"erase"}, "gelu"), said(passes, {"reroute, then erase"}, "gelu")),
          fmt::format("LoRA trains {} weights where full fine-tuning trains {}: {} of them.", of("LoRA", "trained"),
                      of("full fine-tuning", "trained"), of("LoRA", "share")),
          fmt::format("Accuracy is {} before training, {} after full fine-tuning and {} with LoRA; LoRA {} full "
                      "fine-tuning.",
                      of("before", "accuracy"), of("full fine-tuning", "accuracy"), of("LoRA", "accuracy"),
                      relation(adapters, {"LoRA"}, {"full fine-tuning"}, "accuracy")),
          fmt::format("Fused into the weights, the adapters give {}, beside the layers {}.",
                      of("LoRA, fused", "accuracy"), of("LoRA", "accuracy"))}};
}

}  // namespace

extern constinit const LabDef lab0_def{
    .name = "0", .title = "Graphs, passes and adapters", .files = "lab0", .reads = reads, .steps = steps, .show = show};

}  // namespace hone

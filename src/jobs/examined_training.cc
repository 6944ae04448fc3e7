#include "jobs/examined_training.h"

#include <fmt/ranges.h>

#include <map>
#include <set>

#include "passes/differentiate.h"
#include "train/parameters.h"
#include "train/sized_graph.h"

namespace hone {
namespace {

const NumberStyle kCount{NumberFormat::integer, 0};

// What of the graph in training form can be trained, by names, and the graph whose nodes are the obstacles.
struct TrainedGraph {
  Trainability found;
  Graph graph;
  std::set<std::string> reached;
};

TrainedGraph trained_graph(Graph graph, const std::vector<ValueId>& weights) {
  Trainability found = trainability(graph, weights);
  std::set<std::string> reached;
  for (ValueId id : found.reached) reached.insert(graph.value(id).label);
  return {std::move(found), std::move(graph), std::move(reached)};
}

// Where open sizes do not tell what a gradient is, those of a run do, as in training.
TrainedGraph trainability_of(const Graph& form, const std::vector<ValueId>& weights, const Bindings& sizes,
                             Findings& findings) {
  TrainedGraph open = trained_graph(form, weights);
  if (open.found.obstacles.empty() || sizes.empty()) return open;
  try {
    Graph sized = form;
    std::set<std::string> labels;
    for (ValueId weight : weights) {
      labels.insert(sized.value(weight).label);
      sized.make_parameter(weight);
    }
    sized = with_sizes(sized, sizes);
    std::vector<ValueId> parameters;
    for (ValueId input : sized.inputs())
      if (labels.contains(sized.value(input).label) && sized.value(input).role == InputRole::parameter)
        parameters.push_back(input);
    TrainedGraph of_sizes = trained_graph(std::move(sized), parameters);
    if (of_sizes.found.obstacles.size() >= open.found.obstacles.size()) return open;
    findings.add(Severity::note, "gradients need sizes that the model leaves open",
                 "train makes a step for each of the data's sizes");
    return of_sizes;
  } catch (const Error&) {  // sizes that were made up need not fit
    return open;
  }
}

// By op and reason.
Table untrainable_table(const TrainedGraph& trained) {
  std::map<std::pair<std::string, std::string>, int64_t> nodes;
  for (const Trainability::Obstacle& obstacle : trained.found.obstacles)
    ++nodes[{trained.graph.node(obstacle.node).op->name, obstacle.why}];
  Table table{.key = "untrainable",
              .title = "What gives no gradient",
              .columns = {{"op", "op"}, {"nodes", "nodes", "", kCount}, {"reason", "why"}}};
  for (const auto& [key, count] : nodes)
    table.rows.push_back({key.first, number(static_cast<double>(count)), key.second});
  return table;
}

// Names and shapes as the file has them.
Table parameters_table(const std::vector<StoredTensor>& parameters, const TrainingForm& form) {
  Table table{.key = "parameters",
              .title = "Parameters",
              .columns = {{"name", "name"},
                          {"shape", "shape"},
                          {"numbers", "numbers", "", kCount},
                          {"role", "read as"},
                          {"trained", "trained"}}};
  for (const std::vector<StoredTensor>* tensors : {&parameters, &form.others})
    for (const StoredTensor& tensor : *tensors) {
      const std::vector<int64_t> shape = stored_shape(form.relaid, tensor.name, tensor.shape);
      table.rows.push_back({tensor.name, fmt::format("[{}]", fmt::join(shape, ",")),
                            number(static_cast<double>(element_count(shape))),
                            tensor.role == ParameterRole::none ? Cell() : Cell(std::string(to_string(tensor.role))),
                            tensor.why_not.empty() ? std::string("yes") : "no: " + tensor.why_not});
    }
  return table;
}

// Says of each tensor why it is not trained.
void note_reached(std::vector<StoredTensor>& parameters, const TrainedGraph& trained, size_t weights,
                  Findings& findings) {
  int64_t numbers = 0, all = 0;
  for (StoredTensor& tensor : parameters) {
    if (!tensor.why_not.empty()) continue;
    all += element_count(tensor.shape);
    if (trained.reached.contains(tensor.name)) numbers += element_count(tensor.shape);
    else tensor.why_not = "no output follows smoothly from it";
  }
  const size_t reached = trained.found.reached.size();
  findings.add(reached == 0 ? Severity::problem : Severity::note,
               fmt::format("{} numbers in {} of {} parameters can be trained", numbers, reached, weights),
               reached == weights ? ""
                                  : fmt::format("no output follows smoothly from the others, of {} numbers: the table "
                                                "names them",
                                                all - numbers));
}

}  // namespace

std::vector<Table> examine_training(const TrainingForm& form, const Bindings& sizes, Findings& findings) {
  std::vector<StoredTensor> parameters = stored_tensors(form.graph);
  std::vector<ValueId> weights;
  for (const StoredTensor& tensor : parameters)
    if (tensor.why_not.empty()) weights.push_back(tensor.id);
  std::vector<Table> tables;
  if (weights.empty()) {
    const bool has_none = parameters.empty() && form.others.empty();
    findings.add(Severity::problem, "it can't be trained: it has no parameters",
                 has_none ? "its constants are integers, or without names" : "the table says why");
    if (!has_none) tables.push_back(parameters_table(parameters, form));
    return tables;
  }
  const TrainedGraph trained = trainability_of(form.graph, weights, sizes, findings);
  const size_t obstacles = trained.found.obstacles.size();
  if (obstacles > 0)
    findings.add(
        Severity::problem,
        fmt::format("{} node{} between weights and outputs give{} no gradient", obstacles, obstacles == 1 ? "" : "s",
                    obstacles == 1 ? "s" : ""),
        "the table says which, and why; freeze the weights before them, or take an output that is computed earlier");
  note_reached(parameters, trained, weights.size(), findings);
  tables.push_back(parameters_table(parameters, form));
  if (obstacles > 0) tables.push_back(untrainable_table(trained));
  return tables;
}

}  // namespace hone

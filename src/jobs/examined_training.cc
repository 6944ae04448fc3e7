#include "jobs/examined_training.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "passes/differentiate.h"
#include "train/parameters.h"
#include "train/sized_graph.h"

namespace hone {
namespace {

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
std::vector<UntrainableOp> untrainable_ops(const TrainedGraph& trained) {
  std::map<std::pair<std::string, std::string>, int64_t> nodes;
  for (const Trainability::Obstacle& obstacle : trained.found.obstacles)
    ++nodes[{trained.graph.node(obstacle.node).op->name, obstacle.why}];
  std::vector<UntrainableOp> ops;
  for (const auto& [key, count] : nodes) ops.push_back({key.first, key.second, count});
  return ops;
}

std::vector<ExaminedParameter> examined(const std::vector<StoredTensor>& parameters, const TrainingForm& form) {
  std::vector<ExaminedParameter> all;
  for (const std::vector<StoredTensor>* tensors : {&parameters, &form.others})
    for (const StoredTensor& tensor : *tensors)
      all.push_back({tensor.name, stored_shape(form.relaid, tensor.name, tensor.shape), tensor.role, tensor.why_not});
  return all;
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

ExaminedTraining examine_training(const TrainingForm& form, const Bindings& sizes, Findings& findings) {
  std::vector<StoredTensor> parameters = stored_tensors(form.graph);
  std::vector<ValueId> weights;
  for (const StoredTensor& tensor : parameters)
    if (tensor.why_not.empty()) weights.push_back(tensor.id);
  if (weights.empty()) {
    const bool has_none = parameters.empty() && form.others.empty();
    findings.add(Severity::problem, "it can't be trained: it has no parameters",
                 has_none ? "its constants are integers, or without names" : "the table says why");
    return {examined(parameters, form), {}};
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
  return {examined(parameters, form), untrainable_ops(trained)};
}

}  // namespace hone

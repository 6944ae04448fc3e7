// Times of nodes that are evaluated one by one, and of the steps of the bodies that they run.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "runtime/profile.h"

namespace hone {

// Rows of a profile, each with its mark. Steps of bodies stand before their node, as "NODE/BODY/STEP": the times of all
// iterations together. The node's own row is what is left of its time.
class TurnTimes {
 public:
  // The profile has the mark of what came before.
  explicit TurnTimes(RunProfile& profile) : profile_(profile) {}

  void add_body(const Graph& body, const RunProfile& run);
  void end_node(const Graph& graph, NodeId node, StepProfile row);
  void finish();  // the rows go to the profile

 private:
  // Runs of one body that had the same steps.
  struct Inside {
    std::string body;
    RunProfile first;
    std::vector<int64_t> ns;  // of each step, in all runs together
    int64_t runs = 0;
  };
  struct Turn {
    std::string node;
    std::vector<Inside> inside;
    StepProfile row;
  };
  Inside& like(const Graph& body, const RunProfile& run);

  RunProfile& profile_;
  std::vector<Inside> inside_;  // of the node that runs
  std::vector<Turn> turns_;
};

// Appends steps to those of the profile.
void add_steps(RunProfile& profile, const std::shared_ptr<const std::vector<StepProfile>>& steps);

}  // namespace hone

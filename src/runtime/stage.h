// A stretch of a session's graph that can be planned as soon as its inputs are there: all of it, unless sizes depend on
// data. Then the stage ends where that begins, and another follows what has found them (runtime/cut_graph.h).
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/memory_limit.h"
#include "runtime/cut_graph.h"
#include "runtime/input_conditions.h"
#include "runtime/run_pool.h"
#include "runtime/specialised.h"
#include "runtime/symbolic_graph.h"
#include "runtime/token_limits.h"

namespace hone {

// What the stages of a session share.
struct StagesShared {
  StagesShared(LowerOptions how, size_t most, const TokenLimits& of_inputs, RunPool& runs,
               std::shared_ptr<Device> device, const CompilerOptions& options, ValueId session_values,
               std::function<Graph(Graph)> passes)
      : lowering(std::move(how)),
        prepared(std::move(passes)),
        max_specialisations(most),
        limits(of_inputs),
        pool(runs),
        kernels(std::move(device), options, session_values, lowering.host.device) {}

  const LowerOptions lowering;
  const std::function<Graph(Graph)> prepared;  // by the passes of the session
  const size_t max_specialisations;
  const TokenLimits& limits;  // of the first stage's inputs
  RunPool& pool;
  SharedKernels kernels;         // of the session's graph
  int64_t bodies_prepacked = 0;  // bytes, of others
  std::mutex making;             // held by the thread that makes something, with what only that uses
  mutable std::mutex mutex;      // held for a moment by all that read or change what follows, and what stages keep
  SessionStatistics statistics;
  std::shared_ptr<const Specialised> last;  // made of the first stage

  // `take()`, and where memory is short, once more without that of workspaces that no run has now.
  template <class Take>
  auto with_room(const Take& take) {
    try {
      return take();
    } catch (const MemoryError&) {
      if (!pool.drop_idle()) throw;
    }
    return take();
  }
};

class Stage {
 public:
  // `kernels`: of its graph. `number`: how many are before it. `layouts`: of inputs and outputs that lie apart in its
  // runs.
  Stage(Graph graph, StagesShared& shared, SharedKernels& kernels, int number = 0, Layouts layouts = {});
  ~Stage();

  // `around`: sizes that were found before this stage, and strides. `own_code`: sets of sizes that get code of their
  // own.
  std::vector<Tensor> run(const NamedTensors& given, const Bindings& around, std::span<const Bindings> own_code,
                          Workspace& workspace, const RunNotes& notes);

  // What runs of these sizes use; `asked_for`: with code for these sizes alone.
  std::shared_ptr<const Specialised> specialised(const Bindings& bindings, const Workspace& workspace, bool asked_for);

 private:
  struct InputKind {
    std::string label;
    DType dtype;
    std::optional<Format> format;
    Container container;
  };
  struct Kept {
    Bindings bindings;
    std::shared_ptr<const Specialised> made;   // which runs keep that have it when it is dropped
    bool asked_for = false;                    // code for these sizes alone
    std::vector<std::vector<int64_t>> shapes;  // that inputs had which gave these bindings; empty before the first run
  };

  bool have_shapes(const NamedTensors& given, std::span<const std::vector<int64_t>> shapes) const;
  template <class Fits>
  Kept* find(const Fits& fits);
  std::shared_ptr<const Specialised> kept_for(const NamedTensors& given);
  std::shared_ptr<const Specialised> kept_for(const Bindings& bindings, bool asked_for);
  void note_shapes(const Bindings& bindings, const NamedTensors& given);
  void cut(std::set<NodeId> undecided);
  Stage& with_branches(const Bindings& bindings);
  Stage* chosen_by_inputs(const NamedTensors& given);
  Stage* chosen_by_conditions(const NamedTensors& given);
  std::shared_ptr<const Specialised> planned(const Bindings& bindings, int64_t held, bool asked_for);
  std::shared_ptr<const Specialised> make(const Bindings& bindings, int64_t held, bool asked_for);
  void note(const Specialised& made);

  // The stage with the bodies of each `if` that sizes or inputs decide in its place. It has weights of its own.
  struct Chosen;
  std::unique_ptr<Chosen> chosen(const Graph& graph);
  using AllChosen = std::map<std::string, std::unique_ptr<Chosen>>;  // by which bodies those are

  const Graph graph_;
  const bool has_branches_;
  const InputConditions conditions_;
  StagesShared& shared_;
  SharedKernels& kernels_;
  const int number_;
  Layouts layouts_;                // its outputs' go with the head, which has none of them behind a cut
  std::vector<InputKind> inputs_;  // as a NamedTensors has them: sorted by label
  // Under StagesShared::making.
  std::set<NodeId> undecided_;
  bool is_cut_ = false;
  Graph head_;
  std::optional<SymbolicGraph> open_;  // of the head, where it has symbols
  std::shared_ptr<const Tail> tail_;
  AllChosen by_sizes_;
  // Under StagesShared::mutex; made under both.
  AllChosen by_inputs_;
  std::map<std::string, Stage*> by_bytes_;  // of inputs: of those of by_inputs_, or null, as was found before
  std::list<Kept> kept_;                    // most recently used first
};

}  // namespace hone

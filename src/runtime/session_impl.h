// What stands behind a Session: the graph as prepared, what it holds, and what is made for its device.
#pragma once

#include "base/memory_limit.h"
#include "runtime/held_values.h"
#include "runtime/parameters.h"
#include "runtime/run_pool.h"
#include "runtime/session.h"
#include "runtime/session_stages.h"
#include "runtime/token_limits.h"

namespace hone {

struct Session::Impl {
  // Of the graph as given; `owner`: whose parameters these are, null: its own.
  Impl(const Graph& given, const Session* owner);

  SessionOptions options;
  Compute compute = Compute::f32;
  Graph graph;
  TokenLimits limits;
  double prepare_milliseconds = 0;
  RunPool pool;
  std::vector<Bindings> own_code;         // sizes for which the model bundles some
  std::unique_ptr<SessionStages> stages;  // null: the graph is interpreted as a whole
  std::shared_ptr<MemoryBudget> budget;   // null: the process's limit alone
  const std::shared_ptr<Parameters> parameters;
  const HeldValues held;
  std::vector<std::string> output_names;

  bool compiles() const { return options.compiles(); }
  Graph prepared(Graph given) const;

  // The runs (session_run.cc).
  std::vector<Tensor> timed_run(const NamedTensors& given, const InputViews& inputs, const OutputViews& outputs,
                                RunProfile* profile, Context* context);
  std::vector<Tensor> checked_run(const NamedTensors& given, Context* context);
  std::vector<Tensor> told_run(const NamedTensors& given, const UpdateWritten& written, Context* context);

 private:
  // What a run reads and writes of its caller's memory.
  struct Views {
    const InputViews& inputs;
    const OutputViews& outputs;
    Stage* stage;  // null: the first
    const Bindings& strides;
  };
  std::vector<Tensor> viewed_run(const NamedTensors& given, const InputViews& inputs, const OutputViews& outputs,
                                 RunProfile* profile, Context* context);
  std::vector<Tensor> run(const NamedTensors& given, const Views& views, const RunNotes& notes, Context* context);
  std::vector<Tensor> results_of(const NamedTensors& given, const Views& views, const RunNotes& notes, MadeStages* made,
                                 Workspace& workspace) const;
  std::vector<Tensor> interpret(const NamedTensors& given, const RunNotes& notes, const Workspace& workspace) const;
  void refuse_held(const NamedTensors& given, const Context* context) const;
  std::map<std::string, HeldTensor> begun_with(NamedTensors& inputs) const;
  void move_to_views(std::vector<Tensor>& results, const OutputViews& views) const;
};

}  // namespace hone

// A model made ready to run: passes applied, code generated, weights laid out, memory planned. Symbolic dimensions are
// bound by the inputs of each run. Code takes sizes as arguments, so that new ones take microseconds
// (docs/decisions/sizes-at-run-time.md); code for certain sizes alone is made by prepare(), and gives the same bits.
// Any number of threads may run one session at once: they share weights and machine code, and each run has its own
// memory (docs/decisions/concurrent-runs.md).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/device.h"
#include "ir/graph.h"
#include "passes/pipelines.h"
#include "runtime/context.h"
#include "runtime/input_view.h"
#include "runtime/output_view.h"
#include "runtime/profile.h"

namespace hone {

class Session;

struct SessionOptions {
  std::shared_ptr<Device> device;  // that runs; null: open_device("cpu"), where code is compiled
  int optimise = 2;                // 0: the graph as it is, interpreted; 1: canonical form, interpreted; 2: compiled
  bool fuse = true, no_winograd = false, no_fallback = false;  // see LowerOptions
  int threads = 1;
  std::optional<Compute> compute;           // none: as stored in the model's metadata, else f32
  std::optional<std::string> cache_folder;  // of machine code; none: no disk cache
  // Machine code in the model's file (hone compile) is run: it is a program, and can do whatever this one can.
  bool model_code = false;
  std::vector<std::string> bundled;  // that code, see CompilerOptions; its sizes are in the graph's metadata
  bool keep_objects = false;         // for Session::objects()
  PipelineOptions pipeline;
  // Parameters are those of this session, which may go first: what a run of one updates, a run of the other reads. Its
  // graph names the same, of the same types: Error.
  const Session* parameters_of = nullptr;
  size_t max_specialisations = 32;  // sets of sizes that are kept planned; least recently used ones are dropped
  size_t max_layouts = 32;          // ways to lie apart that get code; views of further ones are copied
  // Bytes of weights as laid out, arenas, scratch memory, and outputs that callers keep; beyond them is a MemoryError.
  // 0: the limit of the process alone, which holds always (base/memory_limit.h).
  int64_t memory_limit = 0;
  bool compiles() const { return optimise >= 2 && (!device || device->compiles()); }
};

std::string_view device_name(const SessionOptions& options);  // "cpu"

struct SessionStatistics {
  double prepare_milliseconds = 0;     // passes on the symbolic graph
  double specialise_milliseconds = 0;  // fusion, planning, for each new set of sizes
  double compile_milliseconds = 0;     // machine code, or its loading from the cache
  double prepack_milliseconds = 0;
  int kernels_compiled = 0, kernels_cached = 0, kernels_bundled = 0;  // see CompileStatistics
  int host_kernels = 0;                                               // of the host, beside these
  std::string cache_problem, objects_note;
  std::vector<std::string> notes() const;                             // both, where there is something to say
  int64_t prepacked_bytes = 0;                                        // weights laid out for kernels
  int64_t direct_weight_bytes = 0;                                    // constants that kernels read where they are
  int64_t arena_bytes = 0, arena_lower_bound = 0, scratch_bytes = 0;  // of the last specialisation
  int64_t output_bytes = 0;    // likewise: of outputs, and of updates that are not written over what they update
  int64_t laid_out_bytes = 0;  // likewise: of parameters and computed weights, as kernels read them
  int workspaces = 0;  // arenas with their scratch memory: as many as runs without a Context were under way at once
};

using NamedTensors = std::map<std::string, Tensor>;

// Is told, between steps, of updates whose bytes are written and which the run does not look at any more, by the names
// of what they update: they may be changed, until the next run. Some are not told of: those that are interpreted, lie
// on a device or share their memory with another output.
using UpdateWritten = std::function<void(const std::string& name, std::span<std::byte> bytes)>;

// All but construction, destruction and moving may be called by any number of threads at once.
//
// A run whose device loses its memory throws DeviceLost. The next one, and one that begins after a loss, makes anew
// what was there; statistics() then begin anew, too. Parameters and state that were there alone are lost: reading them,
// by a run or by name, is an Error that names them, until they are set.
class Session {
 public:
  Session(Graph graph, SessionOptions options);
  // Closes the session. A run may begin while it waits, and is refused; none may once it has returned.
  ~Session();
  Session(Session&&) noexcept;

  // Runs once: outputs in the graph's order, as tensors of their own. Throws Error naming the input on a missing,
  // unknown or unfitting one, Stopped when the session is closed before the last step. `profile`, when given, receives
  // the times of this run; only compiled models have steps. New shapes are specialised first, which no run of others
  // waits for. State begins anew, as `inputs` say by its name, else as the graph says, and goes when the run ends.
  std::vector<Tensor> run(const NamedTensors& inputs, RunProfile* profile = nullptr);
  // The same in the memory of `context`, by which another thread can cancel it: Stopped. Error when the context has a
  // run under way. State is the context's: the run reads it and, when it has ended, leaves its updates there, so that
  // runs of one stream go on from each other.
  std::vector<Tensor> run(Context& context, const NamedTensors& inputs, RunProfile* profile = nullptr);
  // Likewise, with some or all outputs in memory of the caller's, which the tensors that are returned for them refer
  // to: it must live as long as they do. For those whose elements lie apart there empty tensors are returned. Error
  // where it does not fit (output_view.h); what it holds after a run that ends in an Error is not defined.
  std::vector<Tensor> run(Context& context, const NamedTensors& inputs, const OutputViews& outputs,
                          RunProfile* profile = nullptr);
  // And with some or all inputs read where they lie (input_view.h). The first run in which elements lie apart in a new
  // way (other dimensions together, repeated or in another order) makes code for it; other strides are arguments.
  std::vector<Tensor> run(Context& context, const NamedTensors& inputs, const InputViews& views,
                          const OutputViews& outputs, RunProfile* profile = nullptr);

  // Tells of updates while the later ones are computed.
  std::vector<Tensor> run(Context& context, const NamedTensors& inputs, const UpdateWritten& written);

  // The same, and every result of the way is looked at: throws Error naming the first step that computes NaN or an
  // infinity, and which of its operands were finite.
  std::vector<Tensor> run_checked(const NamedTensors& inputs);
  std::vector<Tensor> run_checked(Context& context, const NamedTensors& inputs);

  // Makes a run of these sizes (symbol → value) ready ahead of it; nothing to do when that has happened. `code`: for
  // these sizes alone, which runs of them then use, or for any. Throws Error for a symbol without a value.
  enum class Code : uint8_t { any_sizes, these_sizes };
  void prepare(const Bindings& bindings, Code code = Code::these_sizes);

  // What the graph calls parameters. A run reads all of them as they were when it began; it changes those that the
  // graph updates when it has ended, all at once, and runs that do so come one after the other. Error for names that
  // there are not, and for values of another type or shape, which change nothing.
  std::vector<std::string> parameter_names() const;
  Tensor parameter(const std::string& name) const;
  int64_t parameter_version(const std::string& name) const;  // how often it was written
  void set_parameters(const NamedTensors& values);
  // Frees parameters that were laid out for kernels: the next run does that again. Until then updates are copies, since
  // what was laid out stands for the values that it was made of.
  void forget_laid_out();

  // Refuses new runs with an Error, cancels those under way and returns when they have ended.
  void close();

  // The machine code of all specialisations, for SessionOptions::bundled of another process.
  std::string objects() const;

  const Graph& graph() const;  // as prepared: after the passes
  std::vector<std::string> output_names() const;
  SessionStatistics statistics() const;
  const Device* device() const;  // that code is compiled for; null: nothing is
  Compute compute() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hone

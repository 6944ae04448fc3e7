// Sessions: a model made ready to run on a device of this machine.
#pragma once

#include <hone/model.h>

#include <optional>

namespace hone::HONE_API_INLINE api {
// begin of SessionOptions, written by generate_api
// How a model is made ready and run. A value that is not accepted is an Error.
struct SessionOptions {
  // Device that runs the model: cpu[:VARIANT], cuda[:VARIANT], reference; cpu:avx512 is --isa avx512; auto: a GPU where
  // there is one, else the CPU (default: cpu)
  std::string device;
  // Instruction set to generate code for: avx2, avx512, avx512_bf16, amx or host, then +feature or -feature, as in
  // avx2+avx_vnni, host-amx_bf16, host+amx_emulated (default: host)
  std::string isa;
  // Refuse, and list, steps that the device has no kernel for, which kernels of the host run otherwise, on copies, and
  // where there are none the interpreter
  bool no_fallback = false;
  // cpu: compiled code; cuda: code for an NVIDIA GPU; reference: slow and obvious, sums in double (cpu, cuda,
  // reference)
  std::string backend = "cpu";
  // 0: as it is, interpreted; 1: canonical form, interpreted; 2: compiled
  int64_t optimise = 2;
  // Threads to use
  int64_t threads = 1;
  // Verify the graph after every pass
  bool verify = false;
  // Folder for machine code (default: $HONE_CACHE or ~/.cache/hone)
  std::string cache;
  // Neither read nor write machine code on disk
  bool no_cache = false;
  // Give each node a kernel of its own
  bool no_fusion = false;
  // Sums of products as they are written: no Winograd convolutions, whose rounding errors are larger
  bool no_winograd = false;
  // Leave a pass out (repeatable)
  std::vector<std::string> no_pass;
  // Type that products read activations in: f32 or bf16; sums are f32 (default: as stored in the model)
  std::string compute;
  // Run the machine code that the model's file carries (hone compile): it is a program, and can do whatever hone can
  bool trust_code = false;
  // Bytes of weights as laid out, arenas, scratch memory and outputs that callers keep; beyond them is a MemoryError.
  // 0: the limit of the process alone, which holds always
  int64_t memory_limit = 0;
};
// end of SessionOptions

// What the runs of a session are called with when they are more than one: memory of their own, the handle by which
// another thread ends a run, and the state that one run leaves for the next. Any number of contexts may run at once;
// each has one run at a time, and a second one is an Error. A context may be used with several sessions, which share
// the state that they name alike, and may outlive them.
class HONE_API Context {
 public:
  Context();

  // The run under way ends before its next step and throws Cancelled; a later one works. Nothing happens when none is
  // under way. Any thread may call it.
  void cancel() noexcept;

  // State by the names that graphs give it: a KV cache, say. Throws Error while a run is under way; state() where
  // there is none of that name. A run throws Error where what was set does not fit its graph.
  void set_state(const std::string& name, const Tensor& value);
  Tensor state(const std::string& name) const;
  void clear_state();

  struct Impl;                                                 // hone's own
  const std::shared_ptr<Impl>& impl() const { return impl_; }  // hone's own

 private:
  std::shared_ptr<Impl> impl_;
};

// An input or an output of a session.
struct Port {
  std::string name;  // by which it is given and got
  std::string type;  // "f32[B,S,384]"
  DType dtype = DType::f32;
  std::vector<std::string> shape;  // dimensions: numbers and formulas of symbols
};

// What making a session, and its runs so far, took.
struct SessionStatistics {
  double prepare_ms = 0, specialise_ms = 0, compile_ms = 0,
         prepack_ms = 0;  // passes; plans; code; laying weights out
  int kernels_compiled = 0, kernels_cached = 0;
  int64_t prepacked_bytes = 0;                                   // weights as laid out for kernels
  int64_t direct_weight_bytes = 0;                               // weights that kernels read where they lie
  int64_t arena_bytes = 0, scratch_bytes = 0, output_bytes = 0;  // of the last set of sizes
  std::vector<std::string> notes;                                // what one should know, in sentences
};

// A compiled model. Sizes that the model leaves open are those of the inputs of each run. Any number of threads may
// run one session at once; each run has memory of its own. Copies are the same session.
class HONE_API Session {
 public:
  // Throws Error for options that are not accepted, and devices that are not there.
  explicit Session(const Model& model, const SessionOptions& options = {});
  explicit Session(const Graph& graph, const SessionOptions& options = {});

  std::vector<Port> inputs() const;   // that each run is given
  std::vector<Port> outputs() const;  // that each run gives

  // One run: the outputs by name, as tensors of their own. Inputs are read where they lie, with their strides, and
  // must not be written meanwhile. Throws Error that names the input for a missing, unknown or unfitting one, and for
  // graphs with state that nothing has begun.
  NamedTensors run(const NamedTensors& inputs);

  // The same in the context's memory, with its state. Throws Cancelled after Context::cancel() or close().
  NamedTensors run(Context& context, const NamedTensors& inputs);

  // Likewise, and outputs that `outputs` has are written into the memory of those tensors, with their strides; the
  // others are new. Memory of hone's that copies of a tensor share is not written: what is returned is new then, too.
  // Throws Error for a tensor that does not fit its output, that is read-only, or that overlaps an input. What such a
  // tensor holds after an exception is not defined.
  NamedTensors run(Context& context, const NamedTensors& inputs, NamedTensors outputs);

  // Makes runs of these sizes, by symbol, ready ahead of the first. Throws Error for a symbol without a value.
  void prepare(const std::map<std::string, int64_t>& sizes);

  // Parameters, which the session owns: a run reads all of them as they were when it began. Throws Error for names
  // that there are not, and for values of another type, which change nothing.
  std::vector<std::string> parameter_names() const;
  Tensor parameter(const std::string& name) const;
  void set_parameters(const NamedTensors& values);  // what lies in a caller's memory is copied

  // Refuses new runs with an Error, cancels those under way and returns when they have ended.
  void close();

  Graph graph() const;                   // as it runs: after the passes
  SessionStatistics statistics() const;  // up to now

  struct Impl;                                   // hone's own
  explicit Session(std::shared_ptr<Impl> impl);  // hone's own

 private:
  std::shared_ptr<Impl> impl_;
};

// Devices that this library has, as SessionOptions::device takes them, whether they are there or not.
struct DeviceInfo {
  std::string name, doc;
  std::string variants;  // what may stand behind a colon; empty: nothing
};
HONE_API std::vector<DeviceInfo> list_devices();

}  // namespace hone::HONE_API_INLINEapi

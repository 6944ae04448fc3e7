#include "tests/fuzz/exercise.h"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/memory_limit.h"
#include "base/stop.h"
#include "io/artefact.h"
#include "io/onnx/export_model.h"
#include "io/onnx/onnx.pb.h"
#include "jobs/default_inputs.h"
#include "jobs/scratch_folder.h"
#include "runtime/session.h"

namespace hone::fuzz {
namespace {

// Asks the work to stop after kSeconds, unless it ends before.
class TimeLimit {
 public:
  TimeLimit() : thread_([this] { wait(); }) {}
  ~TimeLimit() {
    {
      std::lock_guard lock(mutex_);
      done_ = true;
    }
    ended_.notify_one();
    thread_.join();
    request_stop(Stop::none);
  }

 private:
  void wait() {
    std::unique_lock lock(mutex_);
    if (!ended_.wait_for(lock, std::chrono::duration<double>(kSeconds), [&] { return done_; }))
      request_stop(Stop::timeout);
  }

  std::mutex mutex_;
  std::condition_variable ended_;
  bool done_ = false;
  std::thread thread_;
};

template <class Stage>
void attempt(Stage&& stage) {
  try {
    stage();
  } catch (const Error&) {
  }
}

void run(const Graph& graph, int level) {
  const Bindings bindings = bind_symbols(graph, {.batch = 2, .sequence = 3, .dims = {}});
  const NamedTensors inputs = default_inputs(graph, bindings, 1);
  SessionOptions options;
  options.optimise = level;
  options.threads = 2;
  Session(graph, options).run(inputs);
}

// What could be written opens again, unless the limit on memory forbids it.
void write_and_read(const Graph& graph) {
  const ScratchFolder folder;
  const std::string path = folder.path() + "/again.safetensors";
  save_artefact(path, graph);
  try {
    CHECK(load_artefact(path).graph.nodes().size() == graph.nodes().size());
  } catch (const Error& error) {
    CHECK(std::string_view(error.what()).find("--max-memory") != std::string_view::npos, "{}", error.what());
  }
}

}  // namespace

void exercise(const std::function<Graph()>& open) {
  set_memory_limit(kMemoryBytes);
  const TimeLimit limit;
  try {
    std::optional<Graph> graph;
    attempt([&] { graph = open(); });
    if (!graph) return;
    verify(*graph);  // what opens holds the rules of the IR
    attempt([&] { run(*graph, 0); });
    attempt([&] { run(*graph, 2); });
    attempt([&] { write_and_read(*graph); });
    attempt([&] {
      OnnxExport made;
      onnx_model(*graph, {}, made);
    });
  } catch (const Stopped&) {
  }
}

}  // namespace hone::fuzz

// Two ops for tests that must know where a run is: `gate` hands its operand on, but where the first element of that is
// negative, only once the test has opened it; `tally` counts how often it is evaluated. Both are interpreted.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>

#include "runtime/session.h"
#include "tests/passes/parse_ops.h"

namespace hone::test {

// The gate, for as long as this lives. Waits that last a minute are a failure.
class Gate {
 public:
  Gate() { current = this; }
  ~Gate() { current = nullptr; }

  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  // Returns when so many evaluations wait.
  void wait_until_held(int evaluations) {
    std::unique_lock lock(mutex_);
    wait(lock, [&] { return held_ >= evaluations; });
  }
  int passed() const {
    const std::lock_guard lock(mutex_);
    return passed_;
  }
  int tallied() const {
    const std::lock_guard lock(mutex_);
    return tallied_;
  }

  static std::vector<Tensor> pass(const EvalArgs& args) {
    if (args[0].as<float>()[0] < 0) current->hold();
    const std::lock_guard lock(current->mutex_);
    ++current->passed_;
    return {args[0]};
  }
  static std::vector<Tensor> tally(const EvalArgs& args) {
    const std::lock_guard lock(current->mutex_);
    ++current->tallied_;
    return {args[0]};
  }

 private:
  void hold() {
    std::unique_lock lock(mutex_);
    ++held_;
    changed_.notify_all();
    wait(lock, [&] { return open_; });
    --held_;
  }
  template <class Done>
  void wait(std::unique_lock<std::mutex>& lock, Done done) {
    if (!changed_.wait_for(lock, std::chrono::minutes(1), done)) throw std::runtime_error("the gate waited in vain");
  }

  static inline Gate* current = nullptr;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int held_ = 0, passed_ = 0, tallied_ = 0;
};

inline std::vector<TensorType> type_of_operand(const InferArgs& args) { return {args[0]}; }

inline constexpr OpDef gate_def{.name = "gate", .doc = "x, later", .infer = type_of_operand, .eval = Gate::pass};
inline constexpr OpDef tally_def{.name = "tally", .doc = "x", .infer = type_of_operand, .eval = Gate::tally};

inline Graph parse_gated(std::string_view text) {
  ParseContext context = op_context();
  context.find_op = [](std::string_view name) {
    return name == "gate" ? &gate_def : name == "tally" ? &tally_def : ops::find(name);
  };
  return parse_graph(text, context);
}

}  // namespace hone::test

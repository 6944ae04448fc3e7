// The parameters that a session owns: each run reads all of them as of one moment, and writes between runs change them.
#pragma once

#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "runtime/held_tensor.h"

namespace hone {

// For any number of threads at once.
class Parameters {
 public:
  explicit Parameters(const Graph& graph);  // as their initial values are

  void check_same(const Graph& graph) const;  // Error unless it names these, of their types

  bool empty() const { return held_.empty(); }
  bool has(const std::string& name) const { return held_.contains(name); }
  std::vector<std::string> names() const;

  // Error for names that there are not, values of another type or shape, and those that are lost (held_tensor.h) where
  // they are read. All but names() wait while a run has some lent to it.
  Tensor get(const std::string& name) const;
  int64_t version(const std::string& name) const;         // how often it was written
  void set(const std::map<std::string, Tensor>& values);  // all of them, or none

  void add_to(std::map<std::string, Tensor>& inputs) const;

  // For a run that changes some: until this goes it alone has the parameters.
  class Loan {
   public:
    // Adds all to `inputs`. Those of `changing` are there alone: nobody else looks at their bytes, unless they did
    // before.
    Loan(Parameters& parameters, std::map<std::string, Tensor>& inputs, std::span<const std::string> changing);
    // Those that were not set are again what they were; those that are no longer in `inputs` are lost.
    ~Loan();
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    void set(const std::string& name, HeldTensor value) noexcept;  // of `changing`

   private:
    const std::unique_lock<std::mutex> lock_;
    Parameters& parameters_;
    std::map<std::string, Tensor>& inputs_;
    const std::span<const std::string> changing_;
  };

 private:
  struct Held {
    HeldTensor held;
    TensorType type;
    int64_t version = 0;
    bool lent = false;
  };
  const Held& held(const std::string& name) const;
  void add_all_to(std::map<std::string, Tensor>& inputs) const;  // under the mutex

  mutable std::mutex mutex_;
  std::map<std::string, Held> held_;  // the names do not change
};

}  // namespace hone

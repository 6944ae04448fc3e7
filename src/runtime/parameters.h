// The parameters that a session owns: each run reads all of them as of one moment, and writes between runs change them.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace hone {

// For any number of threads at once.
class Parameters {
 public:
  explicit Parameters(const Graph& graph);  // as their initial values are

  bool empty() const { return held_.empty(); }
  bool has(const std::string& name) const { return held_.contains(name); }
  std::vector<std::string> names() const;

  // Error for names that there are not, and values of another type or shape.
  Tensor get(const std::string& name) const;
  int64_t version(const std::string& name) const;         // how often it was written
  void set(const std::map<std::string, Tensor>& values);  // all of them, or none

  void add_to(std::map<std::string, Tensor>& inputs) const;

 private:
  struct Held {
    Tensor value;
    TensorType type;
    int64_t version = 0;
  };
  const Held& held(const std::string& name) const;

  mutable std::mutex mutex_;
  std::map<std::string, Held> held_;  // the names do not change
};

}  // namespace hone

// A pass turns a graph into a graph: pure, named, individually disabled (--no-pass=), printable after (--print-after=).
#pragma once

#include <any>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "ir/packer.h"
#include "ir/statistics.h"

namespace hone {

// What a pass may look at besides the graph. Options are the pass's own struct, put in by whoever calls it; statistics
// come with passes that say they need them; without a packer constants are packed by the reference.
struct PassContext {
  std::any options;
  const Statistics* statistics = nullptr;
  const Packer* packer = nullptr;
  template <class T>
  const T& get() const {
    const T* found = std::any_cast<T>(&options);
    CHECK(found, "pass called without its options");
    return *found;
  }
};

struct PassDef {
  const char* name;
  const char* doc;
  Graph (*run)(Graph, const PassContext&);
};

}  // namespace hone

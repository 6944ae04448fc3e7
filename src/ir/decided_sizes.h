// Sizes that depended on data when a graph was made and, with what is known by now, are other formulas: what has their
// names gets those. The node that named one gives it no more, so that nothing else would.
#pragma once

#include <map>
#include <string>

#include "ir/attributes.h"

namespace hone {

class DecidedSizes {
 public:
  // Of one result, as its type was and is.
  void note(const Shape& before, const Shape& after);
  bool empty() const { return dims_.empty(); }
  Attributes substituted(const Attributes& attributes) const;

 private:
  std::map<std::string, Dim> dims_;
};

}  // namespace hone

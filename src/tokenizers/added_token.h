// A text that is one token wherever it occurs.
#pragma once

#include <cstdint>
#include <string>

namespace hone {

struct AddedToken {
  std::string text;
  int64_t id = 0;
  bool lstrip = false, rstrip = false;  // takes the white space before, after it along
  bool normalized = false;   // looked for in the normalised text (its own text normalised too), not in the raw one
  bool single_word = false;  // only where no letter, mark, number or connector stands beside it
  bool special = false;      // of the model, not of texts: may be left out of text made from ids
};

}  // namespace hone

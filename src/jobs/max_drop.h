// How much worse a figure may become: what users state instead of a number of bits.
#pragma once

#include <string>

namespace hone {

// "0.5%": points of a share, and of other metrics a part of the original's value. "0.01": in the metric's own numbers.
struct MaxDrop {
  double value = 0;
  bool percent = false;
  double of(double original, bool is_share) const;
};
MaxDrop parse_max_drop(const std::string& text);  // Error for anything else, and below 0
std::string to_string(const MaxDrop& drop);

}  // namespace hone

// Text that ends before one of some texts: what may be the begin of one is held back, however tokens part it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hone {

class StoppedText {
 public:
  // Throws Error for an empty one.
  explicit StoppedText(std::vector<std::string> stops);

  // What is known to be no part of a stop. Nothing after one was found.
  std::string add(std::string_view text);
  // What was held back, where the text ends without a stop.
  std::string finish();
  bool stopped() const { return stopped_; }

 private:
  std::vector<std::string> stops_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace hone

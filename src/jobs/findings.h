// What an examination finds, by how grave it is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hone {

enum class Severity : uint8_t { problem, unexamined, slow, note };
const char* to_string(Severity severity);

struct Finding {
  Severity severity;
  std::string what, advice;
};

class Findings {
 public:
  void add(Severity severity, std::string what, std::string advice = "");
  void leave_out(std::string what, std::string advice = "") {
    add(Severity::unexamined, std::move(what), std::move(advice));
  }
  std::vector<Finding> sorted() const;  // what is worst comes first

 private:
  std::vector<Finding> all_;
};

}  // namespace hone

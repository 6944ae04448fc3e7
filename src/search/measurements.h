// Results of measurements, remembered in a file: a run that was stopped goes on where it was, and a changed choice
// measures only what it must.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace hone {

class Measurements {
 public:
  // `path` empty: in memory only. `about` says what was measured on what (model, data, settings) and is part of every
  // key. Lines that are not whole or of another version are skipped. Throws Error when the file can't be written, or is
  // no plain file.
  explicit Measurements(std::string path = "", std::string about = "");

  // The `count` numbers that were measured under this name, or that `measure()` gives now, which are then kept. A line
  // with more or fewer counts as damaged: they are measured again.
  template <class F>
  std::vector<double> get(const std::string& name, size_t count, F&& measure) {
    if (const std::vector<double>* known = find(name, count)) return *known;
    std::vector<double> values = measure();
    CHECK(values.size() == count, "{} numbers were measured, {} expected", values.size(), count);
    put(name, values);
    return values;
  }

  int64_t recalled() const { return recalled_; }
  int64_t measured() const { return measured_; }

 private:
  std::string key(const std::string& name) const;
  const std::vector<double>* find(const std::string& name, size_t count);
  void put(const std::string& name, const std::vector<double>& values);

  std::string path_, about_;
  std::map<std::string, std::vector<double>> values_;
  int64_t recalled_ = 0, measured_ = 0;
};

}  // namespace hone

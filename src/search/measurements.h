// Results of measurements, remembered in a file: a run that was stopped goes on where it was, and a changed choice
// measures only what it must.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hone {

class Measurements {
 public:
  // `path` empty: in memory only. `about` says what was measured on what (model, data, settings) and is part of every
  // key. Lines that are not whole or of another version are skipped. Throws Error when the file can't be written.
  explicit Measurements(std::string path = "", std::string about = "");

  // What was measured under this name, or what `measure()` gives now, which is then kept.
  template <class F>
  std::vector<double> get(const std::string& name, F&& measure) {
    if (const std::vector<double>* known = find(name)) return *known;
    std::vector<double> values = measure();
    put(name, values);
    return values;
  }

  int64_t recalled() const { return recalled_; }
  int64_t measured() const { return measured_; }

 private:
  std::string key(const std::string& name) const;
  const std::vector<double>* find(const std::string& name);
  void put(const std::string& name, const std::vector<double>& values);

  std::string path_, about_;
  std::map<std::string, std::vector<double>> values_;
  int64_t recalled_ = 0, measured_ = 0;
};

}  // namespace hone

// What names of a kernel mean: registers, which a block of the text may declare anew, and variables.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "tests/support/ptx/module.h"

namespace hone::ptx {

class Scope {
 public:
  explicit Scope(Kernel& kernel) : kernel_(kernel) { enter(); }

  void enter() { levels_.emplace_back(); }
  void leave() { levels_.pop_back(); }
  bool is_outermost() const { return levels_.size() == 1; }

  void declare(std::string_view name, int bits);
  void declare_family(std::string_view prefix, int bits, uint64_t count);  // .reg .b32 %r<9>
  void declare_address(std::string_view name, uint64_t address) { addresses_[std::string(name)] = address; }

  // A register gets its place when an instruction first names it.
  std::optional<Operand> find(std::string_view name);
  int bits(Operand operand) const { return bits_[operand.id]; }  // as declared; 0: of whatever its file holds
  std::optional<uint64_t> address(std::string_view name) const;
  Operand constant(RegisterFile file, uint64_t value);
  std::optional<Operand> special(std::string_view name);  // %tid.x
  Operand sink(RegisterFile file);                        // what _ names

  static RegisterFile file_of(int bits) {
    return bits == 64 ? RegisterFile::wide : bits == 1 ? RegisterFile::predicate : RegisterFile::words;
  }

 private:
  struct Family {
    int bits;
    uint64_t count;
  };
  struct Level {
    std::map<std::string, int, std::less<>> bits;
    std::map<std::string, Family, std::less<>> families;
    std::map<std::string, Operand, std::less<>> places;
  };
  std::optional<int> bits_of(const Level& level, std::string_view name) const;
  Operand place(RegisterFile file, std::string_view name);

  Kernel& kernel_;
  std::vector<int> bits_;  // by id
  std::vector<Level> levels_;
  std::map<std::string, uint64_t, std::less<>> addresses_;
  std::map<std::pair<RegisterFile, uint64_t>, Operand> constants_;
  std::map<Special, Operand> specials_;
  std::map<RegisterFile, Operand> sinks_;
};

}  // namespace hone::ptx

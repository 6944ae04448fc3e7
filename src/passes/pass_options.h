// The options of passes. A pass's options are a struct that names the pass and, in one table, its fields:
//
//   struct SmoothQuantOptions {
//     double alpha = 0.5;
//     static constexpr const char* kPass = "smooth_quant";
//     static std::span<const OptionField<SmoothQuantOptions>> fields();
//   };
//
// A pass that takes them states them as parameters (pass.h); others may take them, too, such as what is quantized.
#pragma once

#include <any>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/any_options.h"

namespace hone {

// Options of any passes, at most one struct of each type; what is not given is as the struct has it.
class PassOptions {
 public:
  PassOptions() = default;
  template <OptionsOfPass... T>
  requires(sizeof...(T) > 0) PassOptions(T... options)
      : given_{{&option_table<T>, std::move(options)}...} {}  // NOLINT: options are some

  template <OptionsOfPass T>
  const T& get() const {
    static const T defaults;
    const std::any* options = find(option_table<T>);
    return options ? *std::any_cast<T>(options) : defaults;
  }

  // As set_option does; `name` is "smooth_quant.alpha". Throws Error for an unknown pass or option, with the nearest,
  // and for a value that is not accepted.
  void set(std::string_view name, const std::vector<std::string>& values);

  std::vector<const OptionTable*> given() const;
  std::vector<std::string> missing(const OptionTable& table) const;

 private:
  const std::any* find(const OptionTable& table) const;

  std::vector<std::pair<const OptionTable*, std::any>> given_;
};

}  // namespace hone

// Structs of options without their type: what a pass, an optimizer, a sampler or a pruner takes, by names and texts.
//
//   struct SmoothQuantOptions {
//     double alpha = 0.5;
//     static constexpr const char* kPass = "smooth_quant";  // whose they are
//     static std::span<const OptionField<SmoothQuantOptions>> fields();
//   };
#pragma once

#include <any>
#include <concepts>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/options.h"

namespace hone {

template <class T>
concept NamesItsPass = requires {
  { T::kPass } -> std::convertible_to<const char*>;
  { T::fields() } -> std::same_as<std::span<const OptionField<T>>>;
};

// In this order: a class that takes such structs would be asked whether it can be copied.
template <class T>
concept OptionsOfPass = NamesItsPass<T> && std::copyable<T>;

// What there is to know of a struct of options without its type.
struct OptionTable {
  const char* pass;
  std::vector<OptionInfo> (*fields)();
  std::any (*defaults)();
  void (*set)(std::any& options, std::string_view name, const std::vector<std::string>& values);
  std::vector<std::string> (*missing)(const std::any& options);  // names of required fields that nobody has set
};

template <OptionsOfPass T>
inline constexpr OptionTable option_table{
    .pass = T::kPass,
    .fields = [] { return describe_options(T::fields()); },
    .defaults = []() -> std::any { return T(); },
    .set =
        [](std::any& options, std::string_view name, const std::vector<std::string>& values) {
          set_option(T::fields(), std::any_cast<T&>(options), name, values);
        },
    .missing = [](const std::any& options) { return missing_options(T::fields(), std::any_cast<const T&>(options)); }};

}  // namespace hone

// A function that the definition of a class or an implementation gives or not.
#pragma once

namespace hone {

// (Whether a plain pointer to one is null is no constant to GCC's sanitizers.)
template <class Signature>
struct Given {
  Signature* call = nullptr;
  bool is_given = false;
  constexpr Given() = default;
  constexpr Given(Signature* function) : call(function), is_given(true) {}  // NOLINT: a function is a given one
};

}  // namespace hone

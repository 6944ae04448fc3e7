// Kernel plans and arguments as values. A plan says everything that is constant in the code of one kernel: a plain
// struct of the kernel's class (kernels/<class>/plan.h), which names each of its fields once (device/fields.h). What
// may change between calls (pointers, extents, strides) is in KernelArgs, described per plan.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/error.h"
#include "device/fields.h"

namespace hone {

using KernelDims = std::array<int64_t, 48>;
struct KernelArgs {
  std::array<void*, 16> pointers{};
  KernelDims dims{};
};

struct KernelDef;  // of a class (kernels/kernel.h)

// A plan of any class, by value. A device that decides more than the class's own plan says has a type of its own for
// it, with the class's as its base, which `Extends` names:
//
//   struct X86GemmPlan : GemmPlan { using Extends = GemmPlan; bool by_tiles = false; … };
class KernelPlan {
 public:
  template <HasFields Plan>
  KernelPlan(Plan plan)  // NOLINT: a plan of a class is a plan
      : def_(&Plan::kernel()),
        text_(&text_of<Plan>),
        view_(&view_of<Plan>),
        plan_(std::make_shared<const Plan>(std::move(plan))) {}

  const KernelDef& kernel() const { return *def_; }
  template <HasFields Plan>
  const Plan* as() const {  // null when it is of another type, which does not extend this one
    return static_cast<const Plan*>(view_(plan_.get(), &kTypeOf<Plan>));
  }
  template <HasFields Plan>
  const Plan& get() const {
    const Plan* plan = as<Plan>();
    CHECK(plan != nullptr, "the plan is of another type");
    return *plan;
  }
  const void* identity() const { return plan_.get(); }     // that copies share
  std::string text() const { return text_(plan_.get()); }  // the class and all fields: equal plans have equal text
  bool operator==(const KernelPlan& other) const { return def_ == other.def_ && text() == other.text(); }

 private:
  template <class Plan>
  static std::string text_of(const void* plan) {
    std::string text(Plan::kernel().name);
    write_field(text, *static_cast<const Plan*>(plan));
    return text;
  }

  template <class Plan>
  static constexpr char kTypeOf = 0;  // its address tells types apart
  // The plan, or the part of it that is of a type which its own extends.
  template <class Plan>
  static const void* view_of(const void* plan, const void* type) {
    if (type == &kTypeOf<Plan>) return plan;
    if constexpr (requires { typename Plan::Extends; })
      return view_of<typename Plan::Extends>(static_cast<const typename Plan::Extends*>(static_cast<const Plan*>(plan)),
                                             type);
    else return nullptr;
  }

  const KernelDef* def_;
  std::string (*text_)(const void*);
  const void* (*view_)(const void*, const void*);
  std::shared_ptr<const void> plan_;
};

}  // namespace hone

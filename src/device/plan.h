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

// A plan of any class, by value.
class KernelPlan {
 public:
  template <HasFields Plan>
  KernelPlan(Plan plan)  // NOLINT: a plan of a class is a plan
      : def_(&Plan::kernel()), text_(&text_of<Plan>), plan_(std::make_shared<const Plan>(std::move(plan))) {}

  const KernelDef& kernel() const { return *def_; }
  template <HasFields Plan>
  const Plan* as() const {  // null when it is of another class
    return def_ == &Plan::kernel() ? static_cast<const Plan*>(plan_.get()) : nullptr;
  }
  template <HasFields Plan>
  const Plan& get() const {
    const Plan* plan = as<Plan>();
    CHECK(plan != nullptr, "the plan is of another class");
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

  const KernelDef* def_;
  std::string (*text_)(const void*);
  std::shared_ptr<const void> plan_;
};

}  // namespace hone

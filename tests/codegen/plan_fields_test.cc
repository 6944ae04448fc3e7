// A plan's text is the key of its machine code: every field of every kernel class must change it, and no field may be
// missing from the list.
#include <gtest/gtest.h>

#include "codegen/kernels/attention/plan.h"
#include "codegen/kernels/conv/plan.h"
#include "codegen/kernels/gather/plan.h"
#include "codegen/kernels/gemm/plan.h"
#include "codegen/kernels/pointwise/plan.h"
#include "codegen/kernels/quantise/plan.h"
#include "codegen/kernels/resize/plan.h"
#include "codegen/kernels/row/plan.h"
#include "codegen/kernels/transpose/plan.h"
#include "codegen/kernels/window/plan.h"
#include "codegen/llvm/registry.h"
#include "codegen/registry.h"

namespace hone {
namespace {

// Something else than it was, of any type that plans have.
void change(bool& value) { value = !value; }
void change(std::string& value) { value += "x"; }
void change(DType& value) { value = value == DType::f32 ? DType::bf16 : DType::f32; }
void change(Program& value) { value.results.push_back(7); }
template <class T>
requires std::is_arithmetic_v<T>
void change(T& value) { value += 1; }
template <class T>
requires std::is_enum_v<T>
void change(T& value) { value = static_cast<T>(static_cast<int>(value) + 1); }
template <class T>
void change(std::vector<T>& values) {
  values.emplace_back();
}

// Calls expect_other(plan) with each field, and each field of what a field holds, changed.
template <class Plan, class Object, class Expect>
void change_each(Plan& plan, Object& object, const std::string& where, const Expect& expect_other) {
  for_each_field(object, [&](std::string_view name, auto& member) {
    using Member = std::remove_cvref_t<decltype(member)>;
    const std::string path = where + "." + std::string(name);
    if constexpr (HasFields<Member>) {
      change_each(plan, member, path, expect_other);
    } else {
      const Member before = member;
      change(member);
      expect_other(plan, path);
      if constexpr (requires { typename Member::value_type; })
        if constexpr (HasFields<typename Member::value_type>) {
          const Plan with_one = plan;
          change_each(plan, member.back(), path + "[0]", [&](const Plan& p, const std::string& at) {
            EXPECT_NE(KernelPlan(p).text(), KernelPlan(with_one).text()) << at;
          });
        }
      member = before;
    }
  });
}

// How many members an aggregate has, a base counted as one: with how many values it can be initialised.
struct Anything {
  template <class T>
  operator T() const;
};
template <class T, class... Values>
consteval size_t member_count() {
  if constexpr (requires { T{Values{}..., Anything{}}; }) return member_count<T, Values..., Anything>();
  else return sizeof...(Values);
}

template <class T>
constexpr size_t kFieldCount = std::tuple_size_v<decltype(T::fields())>;

// That an object lists all its members, and so does what they hold.
template <class T, class Base = void>
void expect_all_listed() {
  size_t members = member_count<T>();
  if constexpr (!std::is_void_v<Base>) members += kFieldCount<Base> - 1;
  T object{};
  EXPECT_EQ(kFieldCount<T>, members) << "a field is missing from fields()";
  for_each_field(object, [](std::string_view name, auto& member) {
    SCOPED_TRACE(name);
    using Member = std::remove_cvref_t<decltype(member)>;
    if constexpr (HasFields<Member> && !requires { Member::kernel(); }) expect_all_listed<Member>();
    if constexpr (requires { typename Member::value_type; })
      if constexpr (HasFields<typename Member::value_type>) expect_all_listed<typename Member::value_type>();
  });
}

int classes_checked = 0;

template <class Plan, class Base = void>
void check() {
  ++classes_checked;
  Plan plan{};
  const std::string text = KernelPlan(plan).text();
  SCOPED_TRACE(text);
  EXPECT_TRUE(text.starts_with(Plan::kernel().name));
  EXPECT_EQ(KernelPlan(plan), KernelPlan(Plan(plan)));
  change_each(plan, plan, "", [&](const Plan& changed, const std::string& path) {
    EXPECT_NE(KernelPlan(changed).text(), text) << path;
    EXPECT_FALSE(KernelPlan(changed) == KernelPlan(Plan{})) << path;
  });
  expect_all_listed<Plan, Base>();
}

TEST(KernelPlan, EveryFieldIsListedAndChangesTheKey) {
  check<AttentionPlan>();
  check<ConvPlan>();
  check<GatherPlan>();
  check<GemmPlan, Epilogue>();
  check<PointwisePlan>();
  check<QuantisePlan>();
  check<ResizePlan>();
  check<RowPlan>();
  check<TransposePlan>();
  check<WindowPlan, Epilogue>();
  EXPECT_EQ(classes_checked, std::ssize(codegen::all()));
}

TEST(KernelPlan, IsReadAsItsOwnClassOnly) {
  const KernelPlan plan = TransposePlan{.element_bytes = 2};
  EXPECT_EQ(plan.get<TransposePlan>().element_bytes, 2);
  EXPECT_EQ(plan.as<GatherPlan>(), nullptr);
  EXPECT_THROW(plan.get<GatherPlan>(), Bug);
}

TEST(KernelClass, EachHasNameDocAndAnEmitter) {
  EXPECT_EQ(codegen::all().size(), codegen_llvm::all().size());
  for (const KernelDef* kernel : codegen::all()) {
    EXPECT_FALSE(kernel->doc.empty()) << kernel->name;
    EXPECT_NE(codegen_llvm::find(*kernel), nullptr) << kernel->name;
  }
}

}  // namespace
}  // namespace hone

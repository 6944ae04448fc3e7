// A plan's text is the key of its machine code: each of its fields changes it. That a plan names all its members is
// checked where its class is defined (kernel_def()).
#include <gtest/gtest.h>

#include "device/x86/registry.h"
#include "kernels/gather/plan.h"
#include "kernels/registry.h"
#include "kernels/transpose/plan.h"

namespace hone {
namespace {

struct Part {
  int64_t size = 0;
  std::vector<DType> dtypes;
  static constexpr auto fields() { return std::tuple(field("size", &Part::size), field("dtypes", &Part::dtypes)); }
};

struct Base {
  std::vector<Part> parts;
  static constexpr auto fields() { return std::tuple(field("parts", &Base::parts)); }
};

// Members of every type that plans have.
struct SamplePlan : Base {
  enum class Kind : uint8_t { one, other } kind = Kind::one;
  bool flag = false;
  double number = 0;
  std::string format;
  DType dtype = DType::f32;
  Program program;
  Part part;
  std::vector<bool> flags;
  static constexpr auto fields() {
    return std::tuple_cat(Base::fields(),
                          std::tuple(field("kind", &SamplePlan::kind), field("flag", &SamplePlan::flag),
                                     field("number", &SamplePlan::number), field("format", &SamplePlan::format),
                                     field("dtype", &SamplePlan::dtype), field("program", &SamplePlan::program),
                                     field("part", &SamplePlan::part), field("flags", &SamplePlan::flags)));
  }
  static const KernelDef& kernel() { return TransposePlan::kernel(); }
};
static_assert(names_every_member<SamplePlan>());

struct Forgets {
  int named = 0, forgotten = 0;
  static constexpr auto fields() { return std::tuple(field("named", &Forgets::named)); }
};
struct Repeats {
  int first = 0, second = 0;
  static constexpr auto fields() {
    return std::tuple(field("first", &Repeats::first), field("second", &Repeats::first));
  }
};
struct HoldsOneThatForgets {
  std::vector<Forgets> held;
  static constexpr auto fields() { return std::tuple(field("held", &HoldsOneThatForgets::held)); }
};
static_assert(!names_every_member<Forgets>());
static_assert(!names_every_member<Repeats>());
static_assert(!names_every_member<HoldsOneThatForgets>());

TEST(KernelPlan, EachFieldChangesTheText) {
  SamplePlan with_part;
  with_part.parts.emplace_back();
  const auto expect_changed = [](SamplePlan plan, const auto& change) {
    const SamplePlan before = plan;
    change(plan);
    EXPECT_NE(KernelPlan(plan).text(), KernelPlan(before).text());
    EXPECT_FALSE(KernelPlan(plan) == KernelPlan(before));
    EXPECT_EQ(KernelPlan(plan), KernelPlan(SamplePlan(plan)));
  };
  expect_changed({}, [](SamplePlan& p) { p.parts.emplace_back(); });
  expect_changed(with_part, [](SamplePlan& p) { p.parts[0].size = 1; });
  expect_changed(with_part, [](SamplePlan& p) { p.parts[0].dtypes = {DType::f32}; });
  expect_changed({}, [](SamplePlan& p) { p.kind = SamplePlan::Kind::other; });
  expect_changed({}, [](SamplePlan& p) { p.flag = true; });
  expect_changed({}, [](SamplePlan& p) { p.number = 0.1; });
  expect_changed({}, [](SamplePlan& p) { p.format = "x"; });
  expect_changed({}, [](SamplePlan& p) { p.dtype = DType::bf16; });
  expect_changed({}, [](SamplePlan& p) { p.program.results.push_back(7); });
  expect_changed({}, [](SamplePlan& p) { p.part.size = 1; });
  expect_changed({}, [](SamplePlan& p) { p.flags = {false}; });
}

TEST(KernelPlan, IsReadAsItsOwnClassOnly) {
  const KernelPlan plan = TransposePlan{.element_bytes = 2};
  EXPECT_EQ(plan.get<TransposePlan>().element_bytes, 2);
  EXPECT_EQ(plan.as<GatherPlan>(), nullptr);
  EXPECT_THROW(plan.get<GatherPlan>(), Bug);
}

struct OwnTransposePlan : TransposePlan {
  using Extends = TransposePlan;
  bool fast = false;
  static constexpr auto fields() {
    return std::tuple_cat(TransposePlan::fields(), std::tuple(field("fast", &OwnTransposePlan::fast)));
  }
};

TEST(KernelPlan, OfADevicesOwnTypeIsReadAsTheClasssToo) {
  OwnTransposePlan own;
  own.element_bytes = 2, own.fast = true;
  const KernelPlan plan = own;
  EXPECT_EQ(&plan.kernel(), &TransposePlan::kernel());
  EXPECT_TRUE(plan.get<OwnTransposePlan>().fast);
  EXPECT_EQ(plan.get<TransposePlan>().element_bytes, 2);
  EXPECT_EQ(KernelPlan(TransposePlan()).as<OwnTransposePlan>(), nullptr);
  EXPECT_FALSE(plan == KernelPlan(static_cast<TransposePlan&>(own)));
}

TEST(KernelClass, EachHasNameDocAndAnEmitter) {
  EXPECT_EQ(kernels::all().size(), device_x86::all().size());
  for (const KernelDef* kernel : kernels::all()) {
    EXPECT_FALSE(kernel->doc.empty()) << kernel->name;
    EXPECT_NE(device_x86::find(*kernel), nullptr) << kernel->name;
  }
}

}  // namespace
}  // namespace hone

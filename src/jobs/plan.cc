#include "jobs/plan.h"

#include <fmt/format.h>

namespace hone {
namespace {

void check_bytes(const std::string& text) {
  if (text.starts_with('-')) fail("option bytes: expected a number of bytes, found \"{}\"", text);
}

constexpr OptionField<PlanNotes> kFields[] = {
    {"compute", "what products read activations in: f32 or bf16, unless --compute is given", &PlanNotes::compute},
    {"for", "the kind of file that the plan is for: safetensors or onnx", &PlanNotes::target, check_target},
    {"bytes", "that this file has at most", &PlanNotes::bytes, check_bytes},
};

}  // namespace

std::span<const OptionField<PlanNotes>> plan_fields() { return kFields; }

void check_target(const std::string& target) {
  if (target != "safetensors" && target != "onnx")
    fail("option for: expected safetensors or onnx, found \"{}\"", target);
}

std::optional<std::string> over_plan(const PlanNotes& notes, const std::string& path, int64_t bytes) {
  if (notes.bytes == 0 || bytes <= notes.bytes) return std::nullopt;
  std::string text =
      fmt::format("{}: {} bytes, {} more than the plan's {}", path, bytes, bytes - notes.bytes, notes.bytes);
  if (!notes.target.empty() && !path.ends_with("." + notes.target))
    text += fmt::format("; the plan is for a .{} file (hone allocate --for)", notes.target);
  return text;
}

}  // namespace hone

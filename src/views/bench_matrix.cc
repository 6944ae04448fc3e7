#include "views/bench_matrix.h"

#include <fmt/format.h>

#include "measure/claim.h"
#include "views/machine.h"
#include "views/op_forms.h"

namespace hone {
namespace {

constexpr NumberStyle kThree{NumberFormat::significant, 3}, kFour{NumberFormat::significant, 4},
    kBytes{NumberFormat::bytes, 3};

struct Work {
  double flops = 0, bytes = 0, ms = 0;  // of one matrix, by the steps alone
};

Work work_of(const OpTimes& op, int64_t matrices) {
  Work work;
  for (const StepProfile& step : op.times.steps()) work.flops += step.flops, work.bytes += step.bytes;
  for (const double ms : op.times.step_ms) work.ms += ms;
  const auto each = static_cast<double>(matrices);
  return {work.flops / each, work.bytes / each, work.ms / each};
}

Table results_table(const MatrixResult& result) {
  Table table{.key = "results",
              .title = "One matrix",
              .columns = {{"form", "form"},
                          {"median_ms", "median", "ms", kFour},
                          {"steps_ms", "of its steps", "ms", kFour},
                          {"speed", "speed against " + result.ops[0].name, "", kThree},
                          {"gflops", "GFLOP/s", "", kThree},
                          {"bytes", "moved", "", kBytes},
                          {"gbytes", "GB/s", "", kThree}},
              .note =
                  "The median has inputs and outputs, and their copies where a device has memory of its own; the "
                  "steps are the kernels, which the rates are of. Bytes are predicted: each operand and result of "
                  "a step once."};
  for (const OpTimes& op : result.ops) {
    const Work work = work_of(op, result.matrices);
    const double scale = 1e-6 / static_cast<double>(result.matrices);
    const Interval ci = op.timing.median_ci95;
    const Ratio ratio = speed_ratio(result.ops[0].timing, op.timing);
    table.rows.push_back({op.name, number(op.timing.p50 * scale, {ci.low * scale, ci.high * scale}), number(work.ms),
                          &op == result.ops.data() ? number(1) : number(ratio.value, ratio.ci95),
                          number(work.flops / work.ms * 1e-6), number(work.bytes),
                          number(work.bytes / work.ms * 1e-6)});
  }
  return table;
}

std::vector<std::string> findings(const MatrixResult& result) {
  if (result.ops.size() < 2) return {};
  const OpTimes &plain = result.ops[0], &packed = result.ops[1];
  return {
      fmt::format("Packed against plain: {}. It moves {:.3g} MB instead of {:.3g} a matrix; a run reads {} of them.",
                  verdict(speed_ratio(plain.timing, packed.timing)), work_of(packed, result.matrices).bytes * 1e-6,
                  work_of(plain, result.matrices).bytes * 1e-6, result.matrices)};
}

}  // namespace

Record view_of(const MatrixResult& result) {
  std::vector<const OpTimes*> forms;
  for (const OpTimes& op : result.ops) forms.push_back(&op);
  const OpMeasuring& how = result.measuring;
  return {.title = result.title,
          .findings = findings(result),
          .sections = {{"Forms",
                        {results_table(result), steps_table(forms, how.session.threads, how.peaks, result.matrices),
                         peaks_block(how.peaks)}}},
          .machine = describe(result.environment)};
}

}  // namespace hone

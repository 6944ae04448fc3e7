// What hone train does around its steps: validation, checkpoints, logs, and the search for the first number that is
// none.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "jobs/task.h"
#include "jobs/teacher.h"
#include "jobs/train_options.h"
#include "jobs/training_data.h"
#include "measure/confusion.h"
#include "measure/estimate.h"
#include "mpi/ranks.h"
#include "train/loop/checkpoint.h"
#include "train/loop/trainer.h"
#include "train/loop/training_log.h"
#include "train/loop/training_loop.h"

namespace hone {

struct Validation {
  int64_t step = 0;
  double loss = 0, metric = 0;
  std::optional<Estimate> estimate;    // of the metric, with its interval
  std::optional<Confusion> confusion;  // of classes
};

struct TrainingOutcome {
  int64_t steps = 0;
  double seconds = 0;
  // Of the weights that the trainer has then, with an interval, and of the last; none: nothing to validate on.
  std::optional<Validation> best, last;
  std::string ended;  // why before the last step; empty: it did not
  std::vector<LogEntry> log;
  Metric metric;
};

class TrainingRun {
 public:
  // Files go into `folder`, which is there. `identity` is of the model, `decisive` what else decides the bits.
  // `ranks`, null for one process alone: each has a run of its own; the files are rank 0's.
  TrainingRun(Trainer& trainer, Teacher* teacher, const TrainingData& data, const TrainingOptions& options, double rate,
              std::string folder, std::string identity, std::string decisive, Ranks* ranks = nullptr);

  void resume();              // from the last checkpoint; of rank 0
  void share_what_resumed();  // what that has given rank 0

  // What the written file has of a final parameter or statistic; empty: the same.
  std::function<Tensor(const std::string& name, const Tensor& value)> as_written = {};

  // Called after each validation; what it throws ends the run.
  std::function<void(const Validation&)> validated = {};

  // Trains to the end; the trainer (that of rank 0) has the best weights then, or where nothing was validated the last,
  // as they are written.
  TrainingOutcome run(const TaskContext& context);

  std::string last_path() const { return folder_ + "/last.safetensors"; }
  std::string best_path() const { return folder_ + "/best.safetensors"; }

 private:
  double step(const TrainingStep& step);                  // its loss
  std::vector<NamedTensors> lessons(const Batch& batch);  // inputs, labels and what the teacher gives
  Validation validate(bool with_interval = false);
  void share_validation();
  bool is_first() const { return !ranks_ || ranks_->is_first(); }
  void after_step(double loss, const TaskContext& context);
  void judge(const TaskContext& context);
  void log_training();
  void save(const std::string& path) const;
  Json progress_json() const;
  void restore(const Checkpoint& checkpoint, const std::string& path);
  void set_progress(const Json& json, const std::string& path);
  [[noreturn]] void name_first_fault(int64_t step, double loss, const TaskContext& context);
  bool is_better(const Validation& a, const Validation& b) const;
  double seconds() const;
  std::string state_text(double loss) const;

  Trainer& trainer_;
  Teacher* const teacher_;  // null: none
  const TrainingData& data_;
  const TrainingOptions& options_;
  const std::string folder_, identity_, decisive_;
  Ranks* const ranks_;
  const Metric metric_;
  const TrainingLoop loop_;
  double loss_sum_ = 0, norm_sum_ = 0;  // since the last entry of the log
  int64_t loss_steps_ = 0;
  bool has_norm_ = false;
  int64_t worse_ = 0;  // validations since the best one
  std::optional<Validation> best_, last_;
  std::string ended_;
  double seconds_before_ = 0;  // of runs that this one goes on from
  int64_t begin_ns_ = 0;
  std::optional<TrainingLog> log_;
};

}  // namespace hone

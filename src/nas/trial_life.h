// The life of one candidate of a search: built or opened, trained, pruned, rounded, trained again, written as a file
// that runs alone, and measured as that file.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "jobs/default_inputs.h"
#include "jobs/evaluation.h"
#include "jobs/latency_table.h"
#include "jobs/progress.h"
#include "nas/search_figures.h"
#include "nas/supernet.h"
#include "nas/trial_plan.h"
#include "runtime/session.h"

namespace hone {

struct LifeOptions {
  std::string data;               // what is trained on, and judged by; empty: only figures of the file are known
  EvaluationOptions judged;       // reading, split, limit, batch; its path is `data`
  std::string tokenizer;          // tokenizer.json or vocab.txt of a built model; empty: none
  int64_t vocabulary = 0;         // or a vocabulary of so many tokens, of the training texts
  std::string inherit;            // a trained model whose weights a built one begins with, as far as they fit
  std::set<std::string> figures;  // that are asked for
  ShapeOptions shapes;            // of flops, latency and memory
  double latency_seconds = 2;     // longest measured part of one latency
  std::string latency_table;      // file of predicted_latency; empty: times are kept by this life alone
  uint64_t seed = 1;              // of random weights
  SessionOptions session;
};

struct LifeHooks {
  Progress progress = {};
  // Values on the way: what validations of a training gave, by its steps. May throw to end the life.
  std::function<void(int64_t step, const Figures& figures)> report = {};
};

class TrialLife {
 public:
  // Reads the data, unless they are given. Throws Error where figures need data that are not there.
  explicit TrialLife(LifeOptions options, std::shared_ptr<const EvaluationData> data = nullptr);
  // The split "validation" where the data have one and none is named.
  static std::shared_ptr<const EvaluationData> read_data(const LifeOptions& options);

  // Writes the candidate as `output`, a .safetensors file, and measures it. Nothing of an earlier life is read. Throws
  // Error, with nothing written, where a step of it is not possible.
  Figures run(const TrialPlan& plan, const std::string& output, const LifeHooks& hooks = {}) const;

  // Figures of the file as it would be without training: what budgets are held to before anything is trained.
  Figures of_untrained(const TrialPlan& plan) const;

  // Zero-cost scores that are asked for, of what would be trained.
  Figures of_start(const TrialPlan& plan) const;

  // The model that a plan is about.
  Model start(const TrialPlan& plan) const;
  // It in the form for training, with a last layer for the labels.
  Model network(const TrialPlan& plan) const;
  // What lives begin with a part of, from now on.
  void set_supernet(std::shared_ptr<const Supernet> supernet) { supernet_ = std::move(supernet); }

  bool has_data() const { return data_ != nullptr; }
  std::string data_title() const { return data_ ? data_->title : ""; }
  std::string data_sha256() const { return data_ ? data_->sha256 : ""; }
  // What the figure stands for: a metric's name, of loss too; empty for what is none.
  std::string metric_of(const std::string& figure) const;

 private:
  Model begin(const TrialPlan& plan) const;
  bool begins_anew(const TrialPlan& plan) const;
  Figures of_start(const TrialPlan& plan, const Model& model) const;
  std::vector<std::string> training_texts() const;
  Model trained(Model model, const TrainingOptions& training, const std::string& folder, bool keep_zeros,
                const LifeHooks& hooks, int64_t steps_before) const;
  Model pruned(Model model, const TrialPlan& plan) const;
  Model rounded(Model model, const TrialPlan& plan, const std::string& folder, const LifeHooks& hooks) const;
  void judge(const Model& model, Figures& figures, const Progress& progress) const;
  void time(const Model& model, Figures& figures) const;

  LifeOptions options_;
  std::shared_ptr<const EvaluationData> data_;
  std::string vocabulary_;
  std::shared_ptr<const Supernet> supernet_;
  std::unique_ptr<LatencyTable> latencies_;
};

}  // namespace hone

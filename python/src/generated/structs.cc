// Written by generate_api from the headers of include/hone.
#include <hone/allocate.h>
#include <hone/bench.h>
#include <hone/evaluate.h>
#include <hone/formats.h>
#include <hone/graph.h>
#include <hone/inspect.h>
#include <hone/model.h>
#include <hone/prune.h>
#include <hone/quantize.h>
#include <hone/search.h>
#include <hone/session.h>
#include <hone/study.h>
#include <hone/sweep.h>
#include <hone/train.h>

#include "structs.h"

namespace hone::python {

void bind_structs(nb::module_& m) {
  auto MeasuredChoice_class = add_struct<api::MeasuredChoice>(m, "MeasuredChoice", "One choice of formats for all weights, measured.", {"name", "average_bits", "bytes", "selecting", "held_out"});
  auto AllocatedTensor_class = add_struct<api::AllocatedTensor>(m, "AllocatedTensor", "One weight of the plan, alone in its format.", {"name", "format", "bytes", "layer_error", "output_error", "is_measured"});
  auto AllocateResult_class = add_struct<api::AllocateResult>(m, "AllocateResult", "A plan, beside one format for all and the original.", {"rule", "skip", "method", "activations", "compute", "file_bytes", "data", "metric", "chosen", "original", "uniform", "front", "tensors", "measured", "recalled"});
  auto SpeedComparison_class = add_struct<api::SpeedComparison>(m, "SpeedComparison", "One model beside the first.", {"ratio", "ci95", "cosine", "may_claim", "verdict"});
  auto TimedModel_class = add_struct<api::TimedModel>(m, "TimedModel", "The times of one model. Nanoseconds are of one run.", {"name", "sha256", "file_bytes", "weight_bytes", "arena_bytes", "batch", "median_ns", "min_ns", "p90_ns", "p99_ns", "median_ci95_ns", "samples_ns", "comparison"});
  auto BenchResult_class = add_struct<api::BenchResult>(m, "BenchResult", "Several models, timed in turn.", {"models", "evaluation", "notes"});
  auto Interval_class = add_struct<api::Interval>(m, "Interval", "From its low to its high end, at 95 % confidence.", {"low", "high"});
  auto Figure_class = add_struct<api::Figure>(m, "Figure", "One metric of one model.", {"name", "title", "value", "ci95", "samples", "is_share", "larger_is_better"});
  auto FigureDifference_class = add_struct<api::FigureDifference>(m, "FigureDifference", "A figure less that of the first model, on the same samples.", {"value", "ci95"});
  auto EvaluatedModel_class = add_struct<api::EvaluatedModel>(m, "EvaluatedModel", "What the answers of one model are worth.", {"name", "sha256", "file_bytes", "figures", "differences"});
  auto EvaluateResult_class = add_struct<api::EvaluateResult>(m, "EvaluateResult", "Several models on the same rows.", {"data", "models", "class_names", "notes"});
  auto OutputQuality_class = add_struct<api::OutputQuality>(m, "OutputQuality", "How far what a changed model computes is from the original's, and what its answers are worth.", {"error", "error_ci95", "metric", "metric_ci95", "difference"});
  auto FormatFamily_class = add_struct<api::FormatFamily>(m, "FormatFamily", "A family of formats.", {"name", "doc", "examples"});
  auto FormatInfo_class = add_struct<api::FormatInfo>(m, "FormatInfo", "A format by its text.", {"text", "family", "bits", "is_plain", "changes_only"});
  auto EncodeCounts_class = add_struct<api::EncodeCounts>(m, "EncodeCounts", "What packing could not represent, in elements.", {"nan", "inf", "saturated", "flushed_to_zero"});
  auto OperandInfo_class = add_struct<api::OperandInfo>(m, "OperandInfo", "An operand of an operation. Those that may be absent follow those that may not; what there are several of comes last.", {"name", "count", "factor", "argument", "weight", "bias", "indices"});
  auto AttributeInfo_class = add_struct<api::AttributeInfo>(m, "AttributeInfo", "An attribute that an operation takes.", {"name", "kind", "required", "doc"});
  auto OpInfo_class = add_struct<api::OpInfo>(m, "OpInfo", "An operation.", {"name", "doc", "operands", "attributes", "results", "bodies", "pointwise"});
  auto OptionInfo_class = add_struct<api::OptionInfo>(m, "OptionInfo", "An option of a pass.", {"name", "doc", "kind", "default_value", "required"});
  auto PassInfo_class = add_struct<api::PassInfo>(m, "PassInfo", "A pass: a function from graphs to graphs.", {"name", "doc", "options"});
  auto FormatShare_class = add_struct<api::FormatShare>(m, "FormatShare", "Constants of one format or element type.", {"format", "tensors", "elements", "bytes"});
  auto ModelInfo_class = add_struct<api::ModelInfo>(m, "ModelInfo", "What a model holds, and what a run costs.", {"parameters", "weight_bytes", "formats", "ops", "sizes", "flops", "flops_by_op"});
  auto ImporterInfo_class = add_struct<api::ImporterInfo>(m, "ImporterInfo", "What opens files of one kind.", {"name", "doc", "endings"});
  auto SavedModel_class = add_struct<api::SavedModel>(m, "SavedModel", "What save() wrote.", {"bytes", "files", "check", "notes"});
  auto TextRange_class = add_struct<api::TextRange>(m, "TextRange", "What a token covers of its text, in bytes: [begin, end).", {"begin", "end"});
  auto Tokens_class = add_struct<api::Tokens>(m, "Tokens", "One text as a model reads it. All lists are of one length.", {"ids", "types", "ranges", "left_out"});
  auto PrunedPart_class = add_struct<api::PrunedPart>(m, "PrunedPart", "One weight, family of channels, or layer.", {"name", "all", "gone", "kept_because"});
  auto StageTraining_class = add_struct<api::StageTraining>(m, "StageTraining", "The training after one stage.", {"steps", "data_rows", "seconds", "best"});
  auto PruneResult_class = add_struct<api::PruneResult>(m, "PruneResult", "A pruned model, and what went.", {"model", "is_smaller", "parts", "weights_before", "weights_after", "whole_bytes", "sparse_bytes", "training", "notes"});
  auto QuantizedTensor_class = add_struct<api::QuantizedTensor>(m, "QuantizedTensor", "One constant, or the inputs of one layer.", {"name", "shape", "before", "after", "decided_by", "elements", "bytes_before", "bytes_after", "sqnr_db"});
  auto QuantizeResult_class = add_struct<api::QuantizeResult>(m, "QuantizeResult", "A quantized model, and what became of each tensor.", {"model", "tensors", "activations", "weight_bytes_before", "weight_bytes_after"});
  auto SearchResult_class = add_struct<api::SearchResult>(m, "SearchResult", "What all studies of a search found.", {"model", "data", "studies"});
  auto Port_class = add_struct<api::Port>(m, "Port", "An input or an output of a session.", {"name", "type", "dtype", "shape"});
  auto SessionStatistics_class = add_struct<api::SessionStatistics>(m, "SessionStatistics", "What making a session, and its runs so far, took.", {"prepare_ms", "specialise_ms", "compile_ms", "prepack_ms", "kernels_compiled", "kernels_cached", "prepacked_bytes", "direct_weight_bytes", "arena_bytes", "scratch_bytes", "output_bytes", "notes"});
  auto DeviceInfo_class = add_struct<api::DeviceInfo>(m, "DeviceInfo", "Devices that this library has, as SessionOptions::device takes them, whether they are there or not.", {"name", "doc", "variants"});
  auto StudyTrial_class = add_struct<api::StudyTrial>(m, "StudyTrial", "One trial.", {"number", "state", "parameters", "values", "figures"});
  auto Study_class = add_struct<api::Study>(m, "Study", "One study, as far as it has come.", {"name", "objectives", "directions", "trials", "best", "notes"});
  auto SweptVariant_class = add_struct<api::SweptVariant>(m, "SweptVariant", "One variant of the model, measured.", {"format", "method", "sparsity", "trained", "selecting", "held_out", "average_bits", "bytes", "parameters"});
  auto SweepResult_class = add_struct<api::SweepResult>(m, "SweepResult", "Variants in the order of measuring: with training each one as it is, then trained.", {"data", "metric", "variants", "original", "original_trained", "best", "measured", "recalled"});
  auto TrainingEntry_class = add_struct<api::TrainingEntry>(m, "TrainingEntry", "What was written down of a step, or of a validation.", {"step", "epoch", "split", "seconds", "values"});
  auto ValidationResult_class = add_struct<api::ValidationResult>(m, "ValidationResult", "Figures on the rows that are kept for validation.", {"step", "loss", "metric", "metric_ci95"});
  auto TrainResult_class = add_struct<api::TrainResult>(m, "TrainResult", "A trained model, and how it came about.", {"model", "classes", "trained_elements", "data_rows", "steps", "seconds", "best", "last", "ended", "history", "notes"});
  MeasuredChoice_class
      .def_ro("name", &api::MeasuredChoice::name, "\"the plan\", \"all in mxint4\"")
      .def_ro("average_bits", &api::MeasuredChoice::average_bits, "of everything that is stored")
      .def_ro("bytes", &api::MeasuredChoice::bytes, "of the weights")
      .def_ro("selecting", &api::MeasuredChoice::selecting, "")
      .def_ro("held_out", &api::MeasuredChoice::held_out, "");
  AllocatedTensor_class
      .def_ro("name", &api::AllocatedTensor::name, "")
      .def_ro("format", &api::AllocatedTensor::format, "")
      .def_ro("bytes", &api::AllocatedTensor::bytes, "")
      .def_ro("layer_error", &api::AllocatedTensor::layer_error, "of its layer's output, relative")
      .def_ro("output_error", &api::AllocatedTensor::output_error, "of the model's outputs")
      .def_ro("is_measured", &api::AllocatedTensor::is_measured, "else the output error is an estimate");
  AllocateResult_class
      .def_ro("rule", &api::AllocateResult::rule, "The plan, as QuantizeOptions has it: quantize() makes the model of these.")
      .def_ro("skip", &api::AllocateResult::skip, "The plan, as QuantizeOptions has it: quantize() makes the model of these.")
      .def_ro("method", &api::AllocateResult::method, "The plan, as QuantizeOptions has it: quantize() makes the model of these.")
      .def_ro("activations", &api::AllocateResult::activations, "The plan, as QuantizeOptions has it: quantize() makes the model of these.")
      .def_ro("compute", &api::AllocateResult::compute, "The plan, as QuantizeOptions has it: quantize() makes the model of these.")
      .def_ro("file_bytes", &api::AllocateResult::file_bytes, "of the file that this model makes")
      .def_ro("data", &api::AllocateResult::data, "what choices were measured on, in words")
      .def_ro("metric", &api::AllocateResult::metric, "what they were judged by; empty: the output error")
      .def_ro("chosen", &api::AllocateResult::chosen, "The plan, as QuantizeOptions has it: quantize() makes the model of these.")
      .def_ro("original", &api::AllocateResult::original, "The plan, as QuantizeOptions has it: quantize() makes the model of these.")
      .def_ro("uniform", &api::AllocateResult::uniform, "by format")
      .def_ro("front", &api::AllocateResult::front, "on demand: for other budgets")
      .def_ro("tensors", &api::AllocateResult::tensors, "The plan, as QuantizeOptions has it: quantize() makes the model of these.")
      .def_ro("measured", &api::AllocateResult::measured, "recalled: from AllocateOptions::measurements")
      .def_ro("recalled", &api::AllocateResult::recalled, "recalled: from AllocateOptions::measurements");
  SpeedComparison_class
      .def_ro("ratio", &api::SpeedComparison::ratio, "the first model's time by its own: above 1 it takes less")
      .def_ro("ci95", &api::SpeedComparison::ci95, "of the ratio")
      .def_ro("cosine", &api::SpeedComparison::cosine, "of its first output with the first model's")
      .def_ro("may_claim", &api::SpeedComparison::may_claim, "the two compute the same, so that speeds may be compared at all")
      .def_ro("verdict", &api::SpeedComparison::verdict, "what may be said, in words");
  TimedModel_class
      .def_ro("name", &api::TimedModel::name, "of the files of its weights")
      .def_ro("sha256", &api::TimedModel::sha256, "of the files of its weights")
      .def_ro("file_bytes", &api::TimedModel::file_bytes, "")
      .def_ro("weight_bytes", &api::TimedModel::weight_bytes, "")
      .def_ro("arena_bytes", &api::TimedModel::arena_bytes, "")
      .def_ro("batch", &api::TimedModel::batch, "")
      .def_ro("median_ns", &api::TimedModel::median_ns, "")
      .def_ro("min_ns", &api::TimedModel::min_ns, "")
      .def_ro("p90_ns", &api::TimedModel::p90_ns, "")
      .def_ro("p99_ns", &api::TimedModel::p99_ns, "")
      .def_ro("median_ci95_ns", &api::TimedModel::median_ci95_ns, "")
      .def_ro("samples_ns", &api::TimedModel::samples_ns, "in the order of rounds, which all models share")
      .def_ro("comparison", &api::TimedModel::comparison, "with the first model; of itself none");
  BenchResult_class
      .def_ro("models", &api::BenchResult::models, "")
      .def_ro("evaluation", &api::BenchResult::evaluation, "where there are data")
      .def_ro("notes", &api::BenchResult::notes, "what one should know, in sentences");
  Interval_class
      .def_ro("low", &api::Interval::low, "")
      .def_ro("high", &api::Interval::high, "");
  Figure_class
      .def_ro("name", &api::Figure::name, "\"accuracy\"")
      .def_ro("title", &api::Figure::title, "\"accuracy\"")
      .def_ro("value", &api::Figure::value, "a share is from 0 to 1")
      .def_ro("ci95", &api::Figure::ci95, "none: too few samples, or a program's own number")
      .def_ro("samples", &api::Figure::samples, "that it is computed from")
      .def_ro("is_share", &api::Figure::is_share, "people read it in per cent")
      .def_ro("larger_is_better", &api::Figure::larger_is_better, "else smaller is");
  FigureDifference_class
      .def_ro("value", &api::FigureDifference::value, "")
      .def_ro("ci95", &api::FigureDifference::ci95, "");
  EvaluatedModel_class
      .def_ro("name", &api::EvaluatedModel::name, "of the files of its weights")
      .def_ro("sha256", &api::EvaluatedModel::sha256, "of the files of its weights")
      .def_ro("file_bytes", &api::EvaluatedModel::file_bytes, "")
      .def_ro("figures", &api::EvaluatedModel::figures, "")
      .def_ro("differences", &api::EvaluatedModel::differences, "by figure; of the first model none");
  EvaluateResult_class
      .def_ro("data", &api::EvaluateResult::data, "\"1,000 rows of test of reviews.csv\"")
      .def_ro("models", &api::EvaluateResult::models, "")
      .def_ro("class_names", &api::EvaluateResult::class_names, "")
      .def_ro("notes", &api::EvaluateResult::notes, "what one must know of the data, in sentences");
  OutputQuality_class
      .def_ro("error", &api::OutputQuality::error, "of the outputs: sum of squared differences over the sum of their squares")
      .def_ro("error_ci95", &api::OutputQuality::error_ci95, "none: too few samples")
      .def_ro("metric", &api::OutputQuality::metric, "where the data have labels: NaN where outputs are not finite")
      .def_ro("metric_ci95", &api::OutputQuality::metric_ci95, "")
      .def_ro("difference", &api::OutputQuality::difference, "of the metric to the original's, on the same samples");
  FormatFamily_class
      .def_ro("name", &api::FormatFamily::name, "\"mxint<W>\"")
      .def_ro("doc", &api::FormatFamily::doc, "what it is, and where it comes from")
      .def_ro("examples", &api::FormatFamily::examples, "\"mxint8\", \"mxint4\"");
  FormatInfo_class
      .def_ro("text", &api::FormatInfo::text, "canonical: \"int4.g128\"")
      .def_ro("family", &api::FormatInfo::family, "\"int<W>\"")
      .def_ro("bits", &api::FormatInfo::bits, "an element at large sizes, with its share of scales")
      .def_ro("is_plain", &api::FormatInfo::is_plain, "an element type: packing gives a plain tensor")
      .def_ro("changes_only", &api::FormatInfo::changes_only, "it rounds values and has no codes: pack() refuses it");
  EncodeCounts_class
      .def_ro("nan", &api::EncodeCounts::nan, "of the values themselves")
      .def_ro("inf", &api::EncodeCounts::inf, "of the values themselves")
      .def_ro("saturated", &api::EncodeCounts::saturated, "half a step or more beyond the largest code")
      .def_ro("flushed_to_zero", &api::EncodeCounts::flushed_to_zero, "not zero before, zero after");
  OperandInfo_class
      .def_ro("name", &api::OperandInfo::name, "")
      .def_ro("count", &api::OperandInfo::count, "")
      .def_ro("factor", &api::OperandInfo::factor, "products of its elements with those of the other factors are summed")
      .def_ro("argument", &api::OperandInfo::argument, "its values say what the operation does, as attributes do")
      .def_ro("weight", &api::OperandInfo::weight, "a constant here is a weight, which may be stored in a number format")
      .def_ro("bias", &api::OperandInfo::bias, "added to each row of the sums")
      .def_ro("indices", &api::OperandInfo::indices, "its elements say which rows of the first operand are read");
  AttributeInfo_class
      .def_ro("name", &api::AttributeInfo::name, "")
      .def_ro("kind", &api::AttributeInfo::kind, "integer number string integers numbers strings dim shape dtype format tensor")
      .def_ro("required", &api::AttributeInfo::required, "")
      .def_ro("doc", &api::AttributeInfo::doc, "");
  OpInfo_class
      .def_ro("name", &api::OpInfo::name, "")
      .def_ro("doc", &api::OpInfo::doc, "")
      .def_ro("operands", &api::OpInfo::operands, "")
      .def_ro("attributes", &api::OpInfo::attributes, "")
      .def_ro("results", &api::OpInfo::results, "-1: as many as the operands and attributes ask for")
      .def_ro("bodies", &api::OpInfo::bodies, "graphs that each node owns: of if, loop and scan")
      .def_ro("pointwise", &api::OpInfo::pointwise, "each element of the result depends on one element of each operand");
  OptionInfo_class
      .def_ro("name", &api::OptionInfo::name, "")
      .def_ro("doc", &api::OptionInfo::doc, "")
      .def_ro("kind", &api::OptionInfo::kind, "text flag integer number list")
      .def_ro("default_value", &api::OptionInfo::default_value, "as text; empty: none")
      .def_ro("required", &api::OptionInfo::required, "");
  PassInfo_class
      .def_ro("name", &api::PassInfo::name, "")
      .def_ro("doc", &api::PassInfo::doc, "")
      .def_ro("options", &api::PassInfo::options, "its own; given as \"name.option\"");
  FormatShare_class
      .def_ro("format", &api::FormatShare::format, "\"mxint8\", \"f32\"")
      .def_ro("tensors", &api::FormatShare::tensors, "")
      .def_ro("elements", &api::FormatShare::elements, "")
      .def_ro("bytes", &api::FormatShare::bytes, "");
  ModelInfo_class
      .def_ro("parameters", &api::ModelInfo::parameters, "of constants, literals left out")
      .def_ro("weight_bytes", &api::ModelInfo::weight_bytes, "of constants, literals left out")
      .def_ro("formats", &api::ModelInfo::formats, "most bytes first")
      .def_ro("ops", &api::ModelInfo::ops, "nodes by operation")
      .def_ro("sizes", &api::ModelInfo::sizes, "what symbols stood for in what follows")
      .def_ro("flops", &api::ModelInfo::flops, "floating-point operations of one run")
      .def_ro("flops_by_op", &api::ModelInfo::flops_by_op, "");
  ImporterInfo_class
      .def_ro("name", &api::ImporterInfo::name, "\"onnx\"")
      .def_ro("doc", &api::ImporterInfo::doc, "\"onnx\"")
      .def_ro("endings", &api::ImporterInfo::endings, "of such files' names, with a space between");
  SavedModel_class
      .def_ro("bytes", &api::SavedModel::bytes, "of all files")
      .def_ro("files", &api::SavedModel::files, "the model, and for a large ONNX file its weights")
      .def_ro("check", &api::SavedModel::check, "what opening it again found, a sentence")
      .def_ro("notes", &api::SavedModel::notes, "what one should know of the file, in sentences");
  TextRange_class
      .def_ro("begin", &api::TextRange::begin, "")
      .def_ro("end", &api::TextRange::end, "");
  Tokens_class
      .def_ro("ids", &api::Tokens::ids, "")
      .def_ro("types", &api::Tokens::types, "which text of a pair a token belongs to")
      .def_ro("ranges", &api::Tokens::ranges, "empty ranges of the model's own tokens")
      .def_ro("left_out", &api::Tokens::left_out, "tokens that max_length left no room for");
  PrunedPart_class
      .def_ro("name", &api::PrunedPart::name, "")
      .def_ro("all", &api::PrunedPart::all, "weights, or units")
      .def_ro("gone", &api::PrunedPart::gone, "weights, or units")
      .def_ro("kept_because", &api::PrunedPart::kept_because, "why nothing of it went; empty: something did");
  StageTraining_class
      .def_ro("steps", &api::StageTraining::steps, "")
      .def_ro("data_rows", &api::StageTraining::data_rows, "")
      .def_ro("seconds", &api::StageTraining::seconds, "")
      .def_ro("best", &api::StageTraining::best, "none: nothing to validate on");
  PruneResult_class
      .def_ro("model", &api::PruneResult::model, "Model::save() writes it with the storage that was asked for")
      .def_ro("is_smaller", &api::PruneResult::is_smaller, "parts went; else their weights are 0")
      .def_ro("parts", &api::PruneResult::parts, "")
      .def_ro("weights_before", &api::PruneResult::weights_before, "")
      .def_ro("weights_after", &api::PruneResult::weights_after, "")
      .def_ro("whole_bytes", &api::PruneResult::whole_bytes, "of all weights; sparse: zeros as a bitmap")
      .def_ro("sparse_bytes", &api::PruneResult::sparse_bytes, "of all weights; sparse: zeros as a bitmap")
      .def_ro("training", &api::PruneResult::training, "by stage, where there was one")
      .def_ro("notes", &api::PruneResult::notes, "in sentences");
  QuantizedTensor_class
      .def_ro("name", &api::QuantizedTensor::name, "of the constant; address of the inputs: LAYER.in")
      .def_ro("shape", &api::QuantizedTensor::shape, "of a constant as it is packed")
      .def_ro("before", &api::QuantizedTensor::before, "formats or element types; equal where nothing changed")
      .def_ro("after", &api::QuantizedTensor::after, "formats or element types; equal where nothing changed")
      .def_ro("decided_by", &api::QuantizedTensor::decided_by, "\"to mxint8\", the text of a rule, \"skip …\"")
      .def_ro("elements", &api::QuantizedTensor::elements, "")
      .def_ro("bytes_before", &api::QuantizedTensor::bytes_before, "")
      .def_ro("bytes_after", &api::QuantizedTensor::bytes_after, "")
      .def_ro("sqnr_db", &api::QuantizedTensor::sqnr_db, "of the new values against those that were rounded; none where nothing changed");
  QuantizeResult_class
      .def_ro("model", &api::QuantizeResult::model, "with what rode along")
      .def_ro("tensors", &api::QuantizeResult::tensors, "")
      .def_ro("activations", &api::QuantizeResult::activations, "inputs of layers; sizes are 0")
      .def_ro("weight_bytes_before", &api::QuantizeResult::weight_bytes_before, "of all constants")
      .def_ro("weight_bytes_after", &api::QuantizeResult::weight_bytes_after, "of all constants");
  SearchResult_class
      .def_ro("model", &api::SearchResult::model, "what candidates are made of")
      .def_ro("data", &api::SearchResult::data, "what they were judged on, in words; empty: on no data")
      .def_ro("studies", &api::SearchResult::studies, "");
  Port_class
      .def_ro("name", &api::Port::name, "by which it is given and got")
      .def_ro("type", &api::Port::type, "\"f32[B,S,384]\"")
      .def_ro("dtype", &api::Port::dtype, "")
      .def_ro("shape", &api::Port::shape, "dimensions: numbers and formulas of symbols");
  SessionStatistics_class
      .def_ro("prepare_ms", &api::SessionStatistics::prepare_ms, "passes; plans; code; laying weights out")
      .def_ro("specialise_ms", &api::SessionStatistics::specialise_ms, "passes; plans; code; laying weights out")
      .def_ro("compile_ms", &api::SessionStatistics::compile_ms, "passes; plans; code; laying weights out")
      .def_ro("prepack_ms", &api::SessionStatistics::prepack_ms, "passes; plans; code; laying weights out")
      .def_ro("kernels_compiled", &api::SessionStatistics::kernels_compiled, "")
      .def_ro("kernels_cached", &api::SessionStatistics::kernels_cached, "")
      .def_ro("prepacked_bytes", &api::SessionStatistics::prepacked_bytes, "weights as laid out for kernels")
      .def_ro("direct_weight_bytes", &api::SessionStatistics::direct_weight_bytes, "weights that kernels read where they lie")
      .def_ro("arena_bytes", &api::SessionStatistics::arena_bytes, "of the last set of sizes")
      .def_ro("scratch_bytes", &api::SessionStatistics::scratch_bytes, "of the last set of sizes")
      .def_ro("output_bytes", &api::SessionStatistics::output_bytes, "of the last set of sizes")
      .def_ro("notes", &api::SessionStatistics::notes, "what one should know, in sentences");
  DeviceInfo_class
      .def_ro("name", &api::DeviceInfo::name, "")
      .def_ro("doc", &api::DeviceInfo::doc, "")
      .def_ro("variants", &api::DeviceInfo::variants, "what may stand behind a colon; empty: nothing");
  StudyTrial_class
      .def_ro("number", &api::StudyTrial::number, "in its study, from 0")
      .def_ro("state", &api::StudyTrial::state, "as Optuna spells it: \"COMPLETE\", \"PRUNED\", \"FAIL\", …")
      .def_ro("parameters", &api::StudyTrial::parameters, "as people read them: \"0.001\", \"mxint4\"")
      .def_ro("values", &api::StudyTrial::values, "of a complete one: one for each objective")
      .def_ro("figures", &api::StudyTrial::figures, "what a search of hone's measured of it: bytes, bits, accuracy, …");
  Study_class
      .def_ro("name", &api::Study::name, "")
      .def_ro("objectives", &api::Study::objectives, "their names")
      .def_ro("directions", &api::Study::directions, "of each: \"MINIMIZE\" or \"MAXIMIZE\"")
      .def_ro("trials", &api::Study::trials, "by number")
      .def_ro("best", &api::Study::best, "numbers of the best, or of the front of several objectives")
      .def_ro("notes", &api::Study::notes, "of a search: what one should know, in sentences");
  SweptVariant_class
      .def_ro("format", &api::SweptVariant::format, "of a sweep over formats: \"int8.f4\"")
      .def_ro("method", &api::SweptVariant::method, "of a sweep over sparsities: \"l1\"")
      .def_ro("sparsity", &api::SweptVariant::sparsity, "likewise")
      .def_ro("trained", &api::SweptVariant::trained, "in the format, or after pruning")
      .def_ro("selecting", &api::SweptVariant::selecting, "")
      .def_ro("held_out", &api::SweptVariant::held_out, "")
      .def_ro("average_bits", &api::SweptVariant::average_bits, "of formats: of everything that is stored")
      .def_ro("bytes", &api::SweptVariant::bytes, "of the weights; of a sweep over sparsities with zeros as a bitmap")
      .def_ro("parameters", &api::SweptVariant::parameters, "of a sweep over sparsities: weights that the model has");
  SweepResult_class
      .def_ro("data", &api::SweepResult::data, "what they were measured on, in words")
      .def_ro("metric", &api::SweepResult::metric, "what they were judged by; empty: the output error")
      .def_ro("variants", &api::SweepResult::variants, "")
      .def_ro("original", &api::SweepResult::original, "as it is; of a sweep over sparsities only with training")
      .def_ro("original_trained", &api::SweepResult::original_trained, "as long as the variants, with training")
      .def_ro("best", &api::SweepResult::best, "of a sweep over formats: of `variants`, where choices are compared")
      .def_ro("measured", &api::SweepResult::measured, "recalled: from SweepOptions::measurements")
      .def_ro("recalled", &api::SweepResult::recalled, "recalled: from SweepOptions::measurements");
  TrainingEntry_class
      .def_ro("step", &api::TrainingEntry::step, "how many updates were made")
      .def_ro("epoch", &api::TrainingEntry::epoch, "how often the data were seen")
      .def_ro("split", &api::TrainingEntry::split, "\"train\", \"validation\"")
      .def_ro("seconds", &api::TrainingEntry::seconds, "of work since training began")
      .def_ro("values", &api::TrainingEntry::values, "loss, rate, accuracy, …");
  ValidationResult_class
      .def_ro("step", &api::ValidationResult::step, "")
      .def_ro("loss", &api::ValidationResult::loss, "")
      .def_ro("metric", &api::ValidationResult::metric, "")
      .def_ro("metric_ci95", &api::ValidationResult::metric_ci95, "none: of a validation on the way");
  TrainResult_class
      .def_ro("model", &api::TrainResult::model, "with the best weights of those that were validated, else the last")
      .def_ro("classes", &api::TrainResult::classes, "their names, where labels have some")
      .def_ro("trained_elements", &api::TrainResult::trained_elements, "")
      .def_ro("data_rows", &api::TrainResult::data_rows, "")
      .def_ro("steps", &api::TrainResult::steps, "")
      .def_ro("seconds", &api::TrainResult::seconds, "")
      .def_ro("best", &api::TrainResult::best, "none: nothing to validate on")
      .def_ro("last", &api::TrainResult::last, "none: nothing to validate on")
      .def_ro("ended", &api::TrainResult::ended, "why before the last step; empty: it did not")
      .def_ro("history", &api::TrainResult::history, "")
      .def_ro("notes", &api::TrainResult::notes, "in sentences");
}

}  // namespace hone::python

// Training: a model's weights fitted to data.
#pragma once

#include <hone/evaluate.h>

namespace hone::HONE_API_INLINE api {

// begin of TrainOptions, written by generate_api
// What a model learns from, and how.
struct TrainOptions {
  // The data: a file or a folder
  std::string data;
  // Folder for checkpoints and logs (default: OUTPUT without its ending, and .run)
  std::string folder;
  // Go on from the folder's last checkpoint, where there is one
  bool resume = false;
  // Leave out rows that can't be used
  bool skip_bad = false;
  // how often all rows are seen
  int64_t epochs = 3;
  // how many updates are made, instead of epochs
  int64_t steps = 0;
  // rows of one update
  int64_t batch = 32;
  // in how many parts the rows of an update run, one after the other, to spare memory
  int64_t parts = 1;
  // batches of texts whose rows are sorted by length together, so that little is padded; 1: none
  int64_t window = 8;
  // take rows in the data's order in every epoch, instead of another each time
  bool in_order = false;
  // tokens that a text is cut to; 0: as many as the model takes
  int64_t max_length = 0;
  // compute activations again for the backward pass, and keep one of so many places where a single value goes on; 0:
  // keep all
  int64_t recompute = 0;
  // sgd, adam, adamw, lion or adafactor
  std::string optimizer = "adamw";
  // the learning rate; 0: the optimizer's usual one
  double rate = 0;
  // weight decay; -1: the optimizer's usual one
  double decay = -1;
  // one of the optimizer's own, e.g. beta2=0.98
  std::vector<std::string> optimizer_option;
  // weights with a rule of their own: NAMES=frozen, NAMES=trained, NAMES=lazy or NAMES=rate:0.1,decay:0, where NAMES is
  // a regular expression or op:NAME; the first that matches counts
  std::vector<std::string> rule;
  // let biases and weights of normalizations decay, too
  bool decay_all = false;
  // largest norm of all gradients together; 0: any
  double clip_norm = 0;
  // largest magnitude of an element of a gradient; 0: any
  double clip_value = 0;
  // share of what the last layer reads that is left out
  double dropout = 0;
  // layers whose inputs go through dropout instead: a regular expression of weights' names
  std::vector<std::string> dropout_layers;
  // cross-entropy, bce, mse or kl (default: what suits the labels)
  std::string loss;
  // weights of the classes in cross-entropy: "balanced", or a number for each class, separated by commas
  std::string class_weights;
  // cross-entropy: share of each row's target that all classes have alike
  double label_smoothing = 0;
  // the last layer: auto, keep, replace or add
  std::string head = "auto";
  // of an added layer behind features of words: auto (their mean), mean or first
  std::string pooling = "auto";
  // the output that labels are about (default: found)
  std::string predictions;
  // begin with random weights of this architecture
  bool from_scratch = false;
  // train low-rank adapters beside these layers, and the last layer, and nothing else: a regular expression of weights'
  // names, or op:linear, op:conv, op:gather
  std::vector<std::string> lora;
  // rank of the adapters
  int64_t lora_rank = 8;
  // what adapters compute counts alpha / rank times; 0: once
  double lora_alpha = 0;
  // share of what adapters read that is left out
  double lora_dropout = 0;
  // adapters count alpha / sqrt(rank) times
  bool rslora = false;
  // adapters learn the lengths of the weights' rows, too
  bool dora = false;
  // weights that are 0 stay 0: those that were pruned
  bool keep_zeros = false;
  // train weights, and what layers read, rounded to formats, and write them packed: a rule as of hone quantize, e.g.
  // op:linear=int4.channel, op:conv.in=int8
  std::vector<std::string> qat;
  // learn the scales of the formats of qat, too
  bool learn_scales = false;
  // a model whose predictions are learned beside the labels, or what its layers compute
  std::string teacher;
  // what the predictions of both are divided by before they are compared
  double temperature = 2;
  // share of the loss that the teacher's predictions make; the labels make the rest
  double distill_weight = 0.5;
  // STUDENT=TEACHER, a layer that learns to compute what one of the teacher's does: the names of weights without
  // .weight, or of attention, whose probabilities are compared
  std::vector<std::string> distill_layers;
  // how often the mean squared differences of those layers count
  double distill_layer_weight = 1;
  // side that images are resized to; 0: as the model takes them
  int64_t image_size = 0;
  // black around training images, from which a part of their size is cut anywhere
  int64_t crop_padding = 0;
  // mirror training images as often as not
  bool flip = false;
  // what validation goes by, e.g. accuracy, f1, mcc, mse (default: what suits the labels)
  std::string metric;
  // steps between two validations; 0: after each epoch
  int64_t validate_every = 0;
  // steps between two checkpoints; 0: after each epoch
  int64_t checkpoint_every = 0;
  // steps between two entries of the log
  int64_t log_every = 10;
  // end after so many validations in a row that have not moved the metric on; 0: never
  int64_t patience = 0;
  // random seed for the order of rows, augmentation, dropout and new weights
  int64_t seed = 1;
  // how the rate goes on after the warm-up: constant, linear, cosine, step or one-cycle
  std::string schedule = "linear";
  // steps in which the rate rises to its value; below 1: a share of all steps
  double warmup = 0;
  // where linear and cosine schedules end, as a share of the rate
  double final_rate = 0;
  // steps between two falls of the step schedule, counted from the first; below 1: a share of all
  double step_every = 0.3;
  // what the step schedule multiplies the rate by
  double step_factor = 0.1;
  // the reader, where the path does not tell
  std::string format;
  // column of the text, or of the first of two
  std::string text;
  // column of the second text
  std::string text2;
  // column of the class
  std::string label;
  // column of any number of classes
  std::string labels;
  // column of the number to predict
  std::string target;
  // column of words, each of which has a class
  std::string tokens;
  // column of the classes of words
  std::string tags;
  // column of what must not be in two splits, such as an author
  std::string group_column;
  // column that says train, validation or test
  std::string split_column;
  // what stands between the classes or words of one cell
  std::string separator = " ";
  // the first line is a row; columns are called 1, 2, ...
  bool no_header = false;
  // the classes in order, where those that occur are not all or not in that order
  std::vector<std::string> classes;
  // channels of decoded images: 1 gray, 3 color
  int64_t channels = 3;
  // file or folder with the rows for validation
  std::string validation_file;
  // file or folder with the rows for the test
  std::string test_file;
  // share of the rows to validate on, from 0 to 1
  double validation_fraction = 0;
  // share of the rows to test on, from 0 to 1
  double test_fraction = 0;
  // random seed that decides which rows those are
  int64_t split_seed = 0;
  // Device that runs the model: cpu[:VARIANT], cuda[:VARIANT], reference; cpu:avx512 is --isa avx512; auto: a GPU where
  // there is one, else the CPU (default: cpu)
  std::string device;
  // Instruction set to generate code for: avx2, avx512, avx512_bf16, amx or host, then +feature or -feature, as in
  // avx2+avx_vnni, host-amx_bf16, host+amx_emulated (default: host)
  std::string isa;
  // Refuse, and list, steps that the device has no kernel for, which kernels of the host run otherwise, on copies, and
  // where there are none the interpreter
  bool no_fallback = false;
  // cpu: compiled code; cuda: code for an NVIDIA GPU; reference: slow and obvious, sums in double (cpu, cuda,
  // reference)
  std::string backend = "cpu";
  // 0: as it is, interpreted; 1: canonical form, interpreted; 2: compiled
  int64_t optimise = 2;
  // Threads to use
  int64_t threads = 1;
  // Verify the graph after every pass
  bool verify = false;
  // Folder for machine code (default: $HONE_CACHE or ~/.cache/hone)
  std::string cache;
  // Neither read nor write machine code on disk
  bool no_cache = false;
  // Give each node a kernel of its own
  bool no_fusion = false;
  // Sums of products as they are written: no Winograd convolutions, whose rounding errors are larger
  bool no_winograd = false;
  // Leave a pass out (repeatable)
  std::vector<std::string> no_pass;
  // Type that products read activations in: f32 or bf16; sums are f32 (default: as stored in the model)
  std::string compute;
};
// end of TrainOptions

// What was written down of a step, or of a validation.
struct TrainingEntry {
  int64_t step = 0;                      // how many updates were made
  double epoch = 0;                      // how often the data were seen
  std::string split;                     // "train", "validation"
  double seconds = 0;                    // of work since training began
  std::map<std::string, double> values;  // loss, rate, accuracy, …
};

// Figures on the rows that are kept for validation.
struct ValidationResult {
  int64_t step = 0;
  double loss = 0, metric = 0;
  std::optional<Interval> metric_ci95;  // none: of a validation on the way
};

// A trained model, and how it came about.
struct TrainResult {
  Model model;                       // with the best weights of those that were validated, else the last
  std::vector<std::string> classes;  // their names, where labels have some
  int64_t trained_elements = 0, data_rows = 0, steps = 0;
  double seconds = 0;
  std::optional<ValidationResult> best, last;  // none: nothing to validate on
  std::string ended;                           // why before the last step; empty: it did not
  std::vector<TrainingEntry> history;
  std::vector<std::string> notes;  // in sentences
};

// Throws Error before the first step where options, data and model do not fit each other; and for a loss that is no
// number, naming the first operation that computed one. Checkpoints and logs go into TrainOptions::folder.
HONE_API TrainResult train(const Model& model, const TrainOptions& options, const Task& task = {});

}  // namespace hone::HONE_API_INLINEapi

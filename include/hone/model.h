// Models: a graph, and what rides along with it: tokenizer, configuration, names of classes, where it came from.
#pragma once

#include <hone/graph.h>
#include <hone/task.h>

#include <string>
#include <string_view>
#include <vector>

namespace hone::HONE_API_INLINE api {
// What opens files of one kind.
struct ImporterInfo {
  std::string name, doc;  // "onnx"
  std::string endings;    // of such files' names, with a space between
};

// All importers, in the order of their names.
HONE_API std::vector<ImporterInfo> list_importers();

// How a model is opened.
struct OpenOptions {
  std::string format;               // name of an importer; empty: the one that is surest
  std::vector<std::string> inputs;  // what the graph takes, by name; empty: what the files say, or the usual
};

// What save() wrote.
struct SavedModel {
  int64_t bytes = 0;               // of all files
  std::vector<std::string> files;  // the model, and for a large ONNX file its weights
  std::string check;               // what opening it again found, a sentence
  std::vector<std::string> notes;  // what one should know of the file, in sentences
};

// What a token covers of its text, in bytes: [begin, end).
struct TextRange {
  int64_t begin = 0, end = 0;
};

// One text as a model reads it. All lists are of one length.
struct Tokens {
  std::vector<int64_t> ids;
  std::vector<int64_t> types;     // which text of a pair a token belongs to
  std::vector<TextRange> ranges;  // empty ranges of the model's own tokens
  int64_t left_out = 0;           // tokens that max_length left no room for
};

// How texts become tokens.
struct EncodeOptions {
  int64_t max_length = 0;  // at most so many tokens are kept; 0: all
  bool own_tokens = true;  // put the model's own around: [CLS] … [SEP]
};

// Several texts as tokens, padded to the longest.
struct TokenBatch {
  Tensor ids;             // i64[texts, longest]
  Tensor attention_mask;  // i64[texts, longest]: 1 of tokens, 0 of padding
};

// Texts to the ids of tokens, and back. Copies share what they know. Any number of threads may use one.
class HONE_API Tokenizer {
 public:
  // Throws Error where max_length leaves no room for the model's own tokens, and for a pair where the tokenizer says
  // nothing of pairs. Bytes that are no UTF-8 are read as U+FFFD.
  Tokens encode(std::string_view text, const EncodeOptions& options = {}) const;
  Tokens encode_pair(std::string_view first, std::string_view second, const EncodeOptions& options = {}) const;

  // Throws Error where there are no texts, or there is no padding token. max_length as above.
  TokenBatch encode_batch(const std::vector<std::string>& texts, int64_t max_length = 0) const;

  // The text of ids; `skip_special` leaves the model's own tokens out. Throws Error for an id that is no token.
  std::string decode(std::span<const int64_t> ids, bool skip_special = true) const;

  struct Impl;                                           // hone's own
  explicit Tokenizer(std::shared_ptr<const Impl> impl);  // hone's own

 private:
  std::shared_ptr<const Impl> impl_;
};

// A model. Copies share weights, which nobody changes. Any number of threads may read one; who changes it must be
// alone.
class HONE_API Model {
 public:
  explicit Model(Graph graph);  // with nothing that rides along

  // A Hugging Face folder, an ONNX file, a GGUF file or a file that hone wrote. Weights stay in their files until
  // they are read: the files must not change. Throws Error that says what was found and what would be accepted.
  static Model open(const std::string& path, const OpenOptions& options = {});

  const std::string& name() const;                 // the last part of the path; empty: it was made in memory
  const std::string& path() const;                 // where it was opened
  std::string sha256() const;                      // of the files of its weights; reads them
  int64_t file_bytes() const;                      // of these files
  const std::vector<std::string>& unused() const;  // tensors of the files that no part of the graph reads
  std::vector<std::string> labels() const;      // of its classes, in the order of their numbers; empty: it names none
  std::vector<std::string> file_names() const;  // of what rides along: "tokenizer.json"
  std::string file(const std::string& name) const;  // its content; Error where there is none of that name

  Graph graph() const;          // a copy: changes of it are set_graph()'s to bring in
  void set_graph(Graph graph);  // what rides along stays

  bool has_tokenizer() const;   // whether a vocabulary rides along
  Tokenizer tokenizer() const;  // Error where no vocabulary rides along
  int64_t max_tokens() const;   // that the model takes of a text; 0: not known

  // Texts as the model's inputs input_ids, attention_mask and token_type_ids, of which it gets those that it takes:
  // i64[texts, longest], cut to max_tokens().
  NamedTensors text_inputs(const std::vector<std::string>& texts) const;

  // Writes one file, by the ending of the path: ".safetensors" with all that rides along, or ".onnx". It is written
  // beside its place, opened again, compared, and only then put there. Throws Error for the source's own weight
  // files, and where the file would not be what the graph is.
  SavedModel save(const std::string& path) const;

  struct Impl;                                                 // hone's own
  explicit Model(std::shared_ptr<Impl> impl);                  // hone's own
  const std::shared_ptr<Impl>& impl() const { return impl_; }  // hone's own

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace hone::HONE_API_INLINEapi

#include <hone/generate.h>

#include <atomic>

#include "api/given_options.h"
#include "api/guarded.h"
#include "api/models.h"
#include "api/option_tables.h"
#include "jobs/open_generator.h"

namespace hone::api {

struct TextGenerator::Impl {
  Impl(const hone::Model& model, const OpenGeneratorOptions& options)
      : path(model.path), generator(open_generator(model, options)) {}
  const std::string path;
  hone::TextGenerator generator;
  std::atomic<bool> answers = false;
};

namespace {

OpenGeneratorOptions engine(const TextGeneratorOptions& options) {
  return {
      .kv_cache = options.kv_cache,
      .generator = {.sequences = options.sequences, .prompt_piece = options.prompt_piece, .context = options.context},
      .session = options_of<SessionFlags>(given(options.session)).session()};
}

hone::TextRequest engine(const TextRequest& request) {
  return {.prompt = request.prompt,
          .max_tokens = request.max_tokens,
          .choice = {.temperature = request.temperature,
                     .top_k = request.top_k,
                     .top_p = request.top_p,
                     .min_p = request.min_p,
                     .repeat_penalty = request.repeat_penalty},
          .seed = request.seed,
          .stops = request.stops,
          .truncate = request.truncate};
}

TextToken wrapped(const hone::TextToken& token) {
  return {token.id, token.text, token.log_probability, token.milliseconds};
}

GeneratedText wrapped(const hone::GeneratedText& text) {
  GeneratedText made{text.text,
                     {},
                     static_cast<TextEnd>(text.end),
                     text.prompt_tokens,
                     text.prompt_left_out,
                     text.prompt_milliseconds};
  for (const hone::TextToken& token : text.tokens) made.tokens.push_back(wrapped(token));
  return made;
}

// One call at a time.
class Answering {
 public:
  explicit Answering(std::atomic<bool>& flag) : flag_(flag) {
    if (flag_.exchange(true)) fail("the generator is answering already; it answers one call at a time");
  }
  ~Answering() { flag_ = false; }
  Answering(const Answering&) = delete;
  Answering& operator=(const Answering&) = delete;

 private:
  std::atomic<bool>& flag_;
};

}  // namespace

const char* to_string(TextEnd end) { return hone::to_string(static_cast<hone::TextEnd>(end)); }

TextGenerator::TextGenerator(const Model& model, const TextGeneratorOptions& options)
    : impl_(guarded([&] { return std::make_shared<Impl>(engine(model), engine(options)); })) {}

std::vector<int64_t> TextGenerator::prompt(std::string_view text) const {
  return guarded([&] { return impl_->generator.tokenizer().encode_text(text, hone::EncodeOptions{}).ids; });
}

std::vector<int64_t> TextGenerator::prompt(const std::vector<ChatMessage>& messages) const {
  return guarded([&] {
    std::vector<hone::ChatMessage> all;
    for (const ChatMessage& message : messages) all.push_back({message.role, message.content});
    return chat_ids(chat_template_of(impl_->generator.facts(), impl_->path), all, impl_->generator);
  });
}

bool TextGenerator::has_chat_template() const { return !impl_->generator.facts().chat_template.empty(); }

GeneratedText TextGenerator::generate(const TextRequest& request, const OnToken& on_token) {
  return std::move(generate(std::vector{request}, on_token)[0]);
}

std::vector<GeneratedText> TextGenerator::generate(const std::vector<TextRequest>& requests, const OnToken& on_token) {
  return guarded([&] {
    const Answering answering(impl_->answers);
    std::vector<hone::TextRequest> all;
    for (const TextRequest& request : requests) all.push_back(engine(request));
    hone::OnToken tell;
    if (on_token) tell = [&](size_t number, const hone::TextToken& token) { return on_token(number, wrapped(token)); };
    std::vector<GeneratedText> answers;
    for (const hone::GeneratedText& text : impl_->generator.generate(all, tell)) answers.push_back(wrapped(text));
    return answers;
  });
}

int64_t TextGenerator::context() const { return impl_->generator.facts().context; }
int64_t TextGenerator::vocabulary() const { return impl_->generator.facts().vocabulary; }

}  // namespace hone::api

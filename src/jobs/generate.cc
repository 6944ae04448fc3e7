#include "jobs/generate.h"

#include <optional>
#include <utility>

#include "base/error.h"
#include "jobs/open_generator.h"

namespace hone {
namespace {

constexpr OptionField<GenerateOptions> kOwn[] = {
    flag("chat", "The text is what a user says: the model's chat template is put around it", &GenerateOptions::chat),
    flag("system", "What the system says before the user", &GenerateOptions::system, {.only_with = "chat"}),
    flag("max-tokens", "Tokens of an answer at most", &GenerateOptions::max_tokens, {.least = 1, .most = 1 << 24}),
    flag("temperature", "Logits are divided by it; 0: the likeliest token, always", &GenerateOptions::temperature,
         {.least = 0, .most = 100}),
    flag("top-k", "Choose among the k likeliest tokens; 0: among all", &GenerateOptions::top_k, {.least = 0}),
    flag("top-p", "Choose among the fewest tokens whose probabilities reach this sum", &GenerateOptions::top_p,
         {.least = 0, .most = 1}),
    flag("min-p", "Choose among tokens whose probability is at least this share of the largest",
         &GenerateOptions::min_p, {.least = 0, .most = 1}),
    flag("repeat-penalty", "Logits of tokens that were there are divided by it where positive, else multiplied",
         &GenerateOptions::repeat_penalty, {.least = 0.01, .most = 100}),
    flag("seed", "Random seed for the choice of tokens: the same seed gives the same answer", &GenerateOptions::seed),
    flag("stop", "A text before which the answer ends (repeatable)", &GenerateOptions::stop),
    flag("truncate", "Leave out the beginning of a prompt that is longer than the context", &GenerateOptions::truncate),
    flag("context", "Tokens of prompt and answer at most; 0: as many as the model takes", &GenerateOptions::context,
         {.least = 0}),
    flag("sequences", "Prompts that are answered at once", &GenerateOptions::sequences, {.least = 1, .most = 16}),
    flag("kv-cache", "How keys and values are kept: f32, bf16, or a format with scales for each row, e.g. int8.g64",
         &GenerateOptions::kv_cache, {.value = "FORMAT"})};

}  // namespace

std::span<const OptionField<GenerateOptions>> GenerateOptions::fields() {
  static const auto all = joined_fields<GenerateOptions>(kOwn, RunFlags::fields(), RunFlags::compute_fields());
  return all;
}

struct Answers::Parts {
  Parts(const Model& model, const GenerateOptions& given)
      : options(given),
        name(model.name),
        generator(open_generator(model, {.kv_cache = given.kv_cache,
                                         .generator = {.sequences = given.sequences, .context = given.context},
                                         .session = given.session_options()})) {
    if (given.chat) chat.emplace(chat_template_of(generator.facts(), model.path));
  }

  std::vector<int64_t> ids(const std::string& prompt) const {
    if (!chat) return generator.tokenizer().encode_text(prompt, EncodeOptions{}).ids;
    std::vector<ChatMessage> messages;
    if (!options.system.empty()) messages.push_back({"system", options.system});
    messages.push_back({"user", prompt});
    return chat_ids(*chat, messages, generator);
  }

  TextRequest request(const std::string& prompt) const {
    std::vector<int64_t> tokens = ids(prompt);
    const int64_t size = std::ssize(tokens), most = generator.facts().context;
    if (size > most && !options.truncate)
      fail("the prompt has {} tokens, {} more than the {} of the context; --truncate leaves out its begin", size,
           size - most, most);
    return {.prompt = std::move(tokens),
            .max_tokens = options.max_tokens,
            .choice = {.temperature = options.temperature,
                       .top_k = options.top_k,
                       .top_p = options.top_p,
                       .min_p = options.min_p,
                       .repeat_penalty = options.repeat_penalty},
            .seed = options.seed,
            .stops = options.stop,
            .truncate = options.truncate};
  }

  const GenerateOptions options;
  const std::string name;
  TextGenerator generator;
  std::optional<ChatTemplate> chat;
};

Answers::Answers(const Model& model, const GenerateOptions& options)
    : parts_(std::make_unique<Parts>(model, options)) {}
Answers::~Answers() = default;
Answers::Answers(Answers&&) noexcept = default;

GenerateResult Answers::answer(std::span<const std::string> prompts, const OnToken& on_token,
                               const TaskContext& context) {
  GenerateResult result{.model = parts_->name,
                        .compute = std::string(to_string(parts_->generator.session().compute())),
                        .kv_cache = parts_->options.kv_cache,
                        .chat = parts_->chat.has_value()};
  std::vector<TextRequest> requests;
  for (const std::string& prompt : prompts) requests.push_back(parts_->request(prompt));
  int64_t tokens = 0;
  result.answers = parts_->generator.generate(requests, [&](size_t number, const TextToken& token) {
    context.tell(fmt::format("{} tokens of {} answers", ++tokens, prompts.size()));
    return !on_token || on_token(number, token);
  });
  return result;
}

GenerateResult generate(const Model& model, std::span<const std::string> prompts, const GenerateOptions& options,
                        const OnToken& on_token, const TaskContext& context) {
  context.tell("opening");
  return Answers(model, options).answer(prompts, on_token, context);
}

}  // namespace hone

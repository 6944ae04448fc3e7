#include "jobs/generate.h"

#include <ctime>
#include <optional>
#include <utility>

#include "base/error.h"
#include "generate/chat_template.h"
#include "io/tokenizer_files.h"
#include "jobs/text_inputs.h"

namespace hone {
namespace {

constexpr OptionField<GenerateOptions> kOwn[] = {
    flag("chat", "The text is what a user says: the model's chat template is put around it", &GenerateOptions::chat),
    flag("system", "What the system says before the user", &GenerateOptions::system, {.only_with = "chat"}),
    flag("max-tokens", "Tokens of an answer at most", &GenerateOptions::max_tokens, {.least = 1, .most = 1 << 24}),
    flag("temperature", "Logits are divided by it; 0: the likeliest token, always", &GenerateOptions::temperature,
         {.least = 0, .most = 100}),
    flag("top-k", "Of the k likeliest tokens alone; 0: of all", &GenerateOptions::top_k, {.least = 0}),
    flag("top-p", "Of the fewest tokens alone whose probabilities reach this sum", &GenerateOptions::top_p,
         {.least = 0, .most = 1}),
    flag("min-p", "Of tokens alone whose probability is at least this share of the largest", &GenerateOptions::min_p,
         {.least = 0, .most = 1}),
    flag("repeat-penalty", "Logits of tokens that were there are divided by it where positive, else multiplied",
         &GenerateOptions::repeat_penalty, {.least = 0.01, .most = 100}),
    flag("seed", "Of the choice of tokens: the same seed gives the same answer", &GenerateOptions::seed),
    flag("stop", "A text before which the answer ends (repeatable)", &GenerateOptions::stop),
    flag("truncate", "Leave out the begin of a prompt that is longer than the context", &GenerateOptions::truncate),
    flag("context", "Tokens of prompt and answer at most; 0: as many as the model takes", &GenerateOptions::context,
         {.least = 0}),
    flag("sequences", "Prompts that are answered at once", &GenerateOptions::sequences, {.least = 1, .most = 16}),
    flag("kv-cache", "How keys and values are kept: f32, bf16, or a format with scales for each row, e.g. int8.g64",
         &GenerateOptions::kv_cache, {.value = "FORMAT"})};

// Refused before anything is made ready.
DecoderFacts facts_of(const Model& model) {
  if (!is_decoder(model.graph))
    fail(
        "{}: is no language model that goes on with texts: it has no causal attention from input_ids and "
        "attention_mask to logits of each token; hone info {} shows what it takes and gives",
        model.path, model.path);
  if (!has_tokenizer(model.files))
    fail("{}: has no tokenizer ({}), so that it reads and writes no text", model.path, kTokenizerSetNames);
  return decoder_facts(model.graph);
}

TextGenerator generator_of(const Model& model, const DecoderFacts& facts, const GenerateOptions& options) {
  Tokenizer tokenizer = tokenizer_of(model);
  try {
    return TextGenerator(with_cache(model.graph, {.type = options.kv_cache}), facts, std::move(tokenizer),
                         options.session_options(), {.sequences = options.sequences, .context = options.context});
  } catch (const Error& error) {
    fail("{}: {}", model.path, error.what());
  }
}

std::optional<ChatTemplate> template_of(const DecoderFacts& facts, const std::string& path, bool chat) {
  if (!chat) return std::nullopt;
  if (facts.chat_template.empty())
    fail("{}: the model has no chat template; without --chat the text is given to it as it is", path);
  return ChatTemplate(facts.chat_template, path);
}

// The text of a token that templates write themselves.
std::string text_of(const Tokenizer& tokenizer, std::optional<int64_t> id) {
  if (!id) return "";
  return tokenizer.decode({{*id}}, false);
}

}  // namespace

std::span<const OptionField<GenerateOptions>> GenerateOptions::fields() {
  static const auto all =
      joined_fields<GenerateOptions>(kOwn, RunFlags::fields(), RunFlags::trust_fields(), RunFlags::compute_fields());
  return all;
}

struct Answers::Parts {
  Parts(Model model, const GenerateOptions& given)
      : options(given),
        name(model.name),
        facts(facts_of(model)),
        chat(template_of(facts, model.path, given.chat)),
        generator(generator_of(model, facts, given)) {}

  // Ids of a prompt. A template writes the model's own tokens itself, so none are put around what it gives.
  std::vector<int64_t> ids(const std::string& prompt) const {
    const Tokenizer& tokenizer = generator.tokenizer();
    if (!chat) return tokenizer.encode_text(prompt, EncodeOptions{}).ids;
    std::vector<ChatMessage> messages;
    if (!options.system.empty()) messages.push_back({"system", options.system});
    messages.push_back({"user", prompt});
    const ChatTemplate::Names names{.begin = text_of(tokenizer, facts.begin),
                                    .end = facts.end.empty() ? "" : text_of(tokenizer, facts.end.front()),
                                    .now = std::time(nullptr)};
    return tokenizer.encode_text(chat->render(messages, names), EncodeOptions{.own_tokens = false}).ids;
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
  const DecoderFacts facts;
  const std::optional<ChatTemplate> chat;
  TextGenerator generator;
};

Answers::Answers(Model model, const GenerateOptions& options)
    : parts_(std::make_unique<Parts>(std::move(model), options)) {}
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

GenerateResult generate(Model model, std::span<const std::string> prompts, const GenerateOptions& options,
                        const OnToken& on_token, const TaskContext& context) {
  context.tell("opening");
  return Answers(std::move(model), options).answer(prompts, on_token, context);
}

}  // namespace hone

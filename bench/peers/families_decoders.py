"""Decoder families for families.py: padding on either side, texts beyond windows and beyond the length that scalings were made for."""
import torch
import transformers as t

from families_text import LABELS, LOGITS, STATES, add

# Heads, heads of keys and layers differ, and heads are not hidden / heads wide.
SIZES = dict(vocab_size=37, hidden_size=12, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=8, intermediate_size=20,
             max_position_embeddings=64, rms_norm_eps=1e-5, bos_token_id=1, eos_token_id=2)
# Small bases, so that most pairs turn within the length of the texts.
THETA = {"rope_theta": 100.0}


def rope(kind, **keys):
    return {"rope_parameters": THETA | {"rope_type": kind} | keys}


def decoder(name, kind, length=14, outputs=LOGITS, ending="ForCausalLM", **keys):
    add(name, getattr(t, kind + ending), getattr(t, kind + "Config")(**SIZES, **keys), outputs, length=length)


decoder("llama", "Llama", **rope("default"))
decoder("llama-model", "Llama", outputs=STATES, ending="Model", attention_bias=True, mlp_bias=True, **rope("default"))
decoder("llama-classes", "Llama", ending="ForSequenceClassification", pad_token_id=0, **LABELS, **rope("default"))
decoder("llama-tied", "Llama", tie_word_embeddings=True, **rope("linear", factor=2.5))
decoder("llama3", "Llama", length=24,
        **rope("llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16))
decoder("mistral", "Mistral", sliding_window=5, **rope("default"))
decoder("qwen2", "Qwen2", use_sliding_window=True, sliding_window=4, max_window_layers=1, **rope("default"))
decoder("qwen2-yarn", "Qwen2", length=24, **rope("yarn", factor=4.0, original_max_position_embeddings=16))
decoder("qwen3", "Qwen3", tie_word_embeddings=True, **rope("default"))
decoder("smollm3", "SmolLM3", no_rope_layers=[1, 0], pad_token_id=0, **rope("default"))


def without(name, sizes):
    return {key: value for key, value in sizes.items() if key != name}


def counted(output):
    """With positions that count the tokens of a row, as generate() gives them to models that learned their positions."""

    def of(model, inputs):
        positions = (inputs["attention_mask"].cumsum(1) - 1).clamp(min=0)
        return model(**inputs, position_ids=positions)[output]

    return {output: of}


GPT2 = dict(vocab_size=37, n_positions=24, n_embd=12, n_layer=2, n_head=3, bos_token_id=1, eos_token_id=2)
add("gpt2", t.GPT2LMHeadModel, t.GPT2Config(**GPT2, scale_attn_by_inverse_layer_idx=True), counted("logits"), length=11)
add("gpt2-model", t.GPT2Model, t.GPT2Config(**GPT2, n_inner=20, activation_function="gelu"), counted("last_hidden_state"), length=11)

add("gpt2-classes", t.GPT2ForSequenceClassification, t.GPT2Config(**GPT2, **LABELS, pad_token_id=0), counted("logits"))

OPT = dict(vocab_size=37, hidden_size=12, num_hidden_layers=2, num_attention_heads=3, ffn_dim=20, max_position_embeddings=24, pad_token_id=1, bos_token_id=2,
           eos_token_id=2)
add("opt", t.OPTForCausalLM, t.OPTConfig(**OPT), LOGITS, length=11, pad=1)
add("opt-behind", t.OPTForCausalLM, t.OPTConfig(**OPT, do_layer_norm_before=False, word_embed_proj_dim=10), LOGITS, length=11, pad=1)
add("opt-classes", t.OPTForSequenceClassification, t.OPTConfig(**OPT, **LABELS, word_embed_proj_dim=10), LOGITS, pad=1)

NEOX = dict(vocab_size=37, hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=20, max_position_embeddings=64, bos_token_id=0,
            eos_token_id=0)
add("gpt-neox", t.GPTNeoXForCausalLM, t.GPTNeoXConfig(**NEOX, **rope("default", partial_rotary_factor=0.5)), LOGITS, length=14)
add("gpt-neox-series", t.GPTNeoXForCausalLM,
    t.GPTNeoXConfig(**NEOX, use_parallel_residual=False, attention_bias=False, tie_word_embeddings=True, hidden_act="gelu_new",
                    **rope("linear", factor=2.5, partial_rotary_factor=0.25)), LOGITS, length=14)

# Heads of 6 columns, of which 4 turn where a part does. Within the trained length, and beyond it with the same divisors for short and long texts.
PHI3 = without("head_dim", SIZES) | dict(hidden_size=24, pad_token_id=0)
LONG = [2.0, 1.5]
add("phi3", t.Phi3ForCausalLM, t.Phi3Config(**PHI3, sliding_window=5, **rope("default")), LOGITS, length=14)
for name, trained, short in ("phi3-short", 16, [1.0, 1.5]), ("phi3-long", 8, LONG):
    add(name, t.Phi3ForCausalLM,
        t.Phi3Config(**PHI3, original_max_position_embeddings=trained, tie_word_embeddings=True,
                     **rope("longrope", short_factor=short, long_factor=LONG, partial_rotary_factor=0.7)), LOGITS, length=14)


def masked(window):
    """With masks of our own: in f64 those of eager attention overflow where its softmax rounds to f32, and rows of padding become NaN."""

    def of(model, inputs):
        keys, place = inputs["attention_mask"], torch.arange(inputs["input_ids"].shape[1])
        behind = place[:, None] - place[None, :]
        masks = {kind: (behind >= 0) & (behind < reach) & (keys[:, None, None, :] != 0)
                 for kind, reach in (("full_attention", len(place)), ("sliding_attention", window))}
        added = {kind: torch.where(seen, 0.0, -1e30).to(model.dtype) for kind, seen in masks.items()}
        return model(input_ids=inputs["input_ids"], attention_mask=added)["logits"]

    return {"logits": of}


GEMMA = dict(sliding_window=5, query_pre_attn_scalar=6)
decoder("gemma2", "Gemma2", outputs=masked(5), **GEMMA, attn_implementation="eager", attn_logit_softcapping=3.0, final_logit_softcapping=4.0, **rope("default"))
LAYERS = {"full_attention": THETA | {"rope_type": "linear", "factor": 2.0}, "sliding_attention": {"rope_type": "default", "rope_theta": 10.0}}
add("gemma3", t.Gemma3ForCausalLM, t.Gemma3TextConfig(**SIZES, **GEMMA, layer_types=["sliding_attention", "full_attention"], rope_parameters=LAYERS), LOGITS,
    length=14)

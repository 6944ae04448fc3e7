"""Decoder families for families.py: padding on either side, texts beyond windows and beyond the length that scalings were made for."""
import transformers as t

from families_text import LOGITS, STATES, add

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
decoder("llama-tied", "Llama", tie_word_embeddings=True, **rope("linear", factor=2.5))
decoder("llama3", "Llama", length=24,
        **rope("llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16))
decoder("mistral", "Mistral", sliding_window=5, **rope("default"))
decoder("qwen2", "Qwen2", use_sliding_window=True, sliding_window=4, max_window_layers=1, **rope("default"))
decoder("qwen2-yarn", "Qwen2", length=24, **rope("yarn", factor=4.0, original_max_position_embeddings=16))
decoder("qwen3", "Qwen3", tie_word_embeddings=True, **rope("default"))
decoder("smollm3", "SmolLM3", no_rope_layers=[1, 0], pad_token_id=0, **rope("default"))

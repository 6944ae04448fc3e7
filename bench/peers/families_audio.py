"""Audio families for families.py."""
import numpy as np
import transformers as t

from families import CASES, Case

LABELS = {"id2label": {"0": "yes", "1": "no", "2": "up"}, "label2id": {"yes": 0, "no": 1, "up": 2}}
HIDDEN = {"last_hidden_state": "last_hidden_state"}

WHISPER = dict(d_model=12, encoder_layers=2, encoder_attention_heads=3, encoder_ffn_dim=20, num_mel_bins=8, max_source_positions=15, vocab_size=20,
               decoder_layers=1, decoder_attention_heads=2, decoder_ffn_dim=8, max_target_positions=6, pad_token_id=0, bos_token_id=1, eos_token_id=2,
               decoder_start_token_id=1, suppress_tokens=[], begin_suppress_tokens=[3])


def features(rng):
    return {"input_features": rng.normal(0, 1, (2, 8, 30)).astype(np.float32)}


def encoder_states(model, inputs):
    return model.get_encoder()(inputs["input_features"]).last_hidden_state


whisper = t.WhisperConfig(**WHISPER)
CASES.append(Case("whisper", lambda: t.WhisperForConditionalGeneration(whisper), features, {"last_hidden_state": encoder_states}))
CASES.append(Case("whisper-model", lambda: t.WhisperModel(t.WhisperConfig(**WHISPER, activation_function="relu")), features,
                  {"last_hidden_state": encoder_states}))
CASES.append(Case("whisper-classifier", lambda: t.WhisperForAudioClassification(t.WhisperConfig(**WHISPER, classifier_proj_size=6, **LABELS)), features,
                  {"logits": "logits"}))

WAV = dict(hidden_size=12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=20, conv_dim=[6, 8, 8], conv_kernel=[10, 3, 2], conv_stride=[5, 2, 2],
           num_conv_pos_embeddings=6, num_conv_pos_embedding_groups=3, vocab_size=9, classifier_proj_size=6)


def wave(rng):
    return {"input_values": rng.normal(0, 1, (2, 403)).astype(np.float32)}


def add(name, model, outputs, **config):
    CASES.append(Case(name, lambda: model(t.Wav2Vec2Config(**(WAV | config))), wave, outputs))


add("wav2vec2", t.Wav2Vec2ForCTC, {"logits": "logits"})
add("wav2vec2-model", t.Wav2Vec2Model, HIDDEN, feat_extract_norm="layer", do_stable_layer_norm=True, conv_bias=True, hidden_act="gelu_new")
add("wav2vec2-classifier", t.Wav2Vec2ForSequenceClassification, {"logits": "logits"}, num_conv_pos_embeddings=5, feat_extract_norm="layer", **LABELS)
add("wav2vec2-frames", t.Wav2Vec2ForAudioFrameClassification, {"logits": "logits"}, do_stable_layer_norm=True, **LABELS)

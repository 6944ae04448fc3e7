"""Text families for families.py: each with every head, padding on either side, and texts beyond windows and buckets."""
import numpy as np
import transformers as t

from families import CASES, Case

LABELS = {"id2label": {"0": "bad", "1": "fair", "2": "good"}, "label2id": {"bad": 0, "fair": 1, "good": 2}}
SIZES = dict(vocab_size=37, hidden_size=12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=20, max_position_embeddings=24)
TYPES = dict(SIZES, type_vocab_size=2, pad_token_id=0)
STATES, POOLED = {"last_hidden_state": "last_hidden_state"}, {"last_hidden_state": "last_hidden_state", "pooler_output": "pooler_output"}
LOGITS, SPANS = {"logits": "logits"}, {"start_logits": "start_logits", "end_logits": "end_logits"}


def texts(vocabulary, length, pad, types):
    """A whole text, one padded behind, one padded before."""

    def make(rng):
        ids = rng.integers(4, vocabulary, (3, length))
        mask = np.ones((3, length), np.int64)
        mask[1, length - 4:], mask[2, :3] = 0, 0
        given = {"input_ids": np.where(mask == 1, ids, pad), "attention_mask": mask}
        if types:
            given["token_type_ids"] = rng.integers(0, types, (3, length)) * mask
        return given

    return make


def add(name, model, config, outputs, length=9, pad=0, types=0, **more):
    CASES.append(Case(name, lambda: model(config), texts(config.vocab_size, length, pad, types), outputs, **more))


def heads(name, prefix, make, states=STATES, **more):
    """The encoder and its heads; `make` takes further keys of the configuration."""
    of = lambda ending: getattr(t, prefix + ending)
    add(name, of("Model"), make(), states, **more)
    add(f"{name}-classes", of("ForSequenceClassification"), make(**LABELS), LOGITS, **more)
    add(f"{name}-tokens", of("ForTokenClassification"), make(**LABELS), LOGITS, **more)
    add(f"{name}-words", of("ForMaskedLM"), make(), LOGITS, **more)
    add(f"{name}-question", of("ForQuestionAnswering"), make(), SPANS, **more)


def config_of(kind, **keys):
    return lambda **further: kind(**(keys | further))


heads("bert", "Bert", config_of(t.BertConfig, **TYPES, layer_norm_eps=1e-6), POOLED, types=2)
add("bert-next", t.BertForNextSentencePrediction, t.BertConfig(**TYPES), LOGITS, types=2)
add("bert-pretraining", t.BertForPreTraining, t.BertConfig(**TYPES, hidden_act="relu"),
    {"prediction_logits": "prediction_logits", "seq_relationship_logits": "seq_relationship_logits"}, types=2)
add("bert-words-untied", t.BertForMaskedLM, t.BertConfig(**TYPES, tie_word_embeddings=False), LOGITS, types=2)

COUNTED = dict(SIZES, type_vocab_size=1, pad_token_id=1, layer_norm_eps=1e-5, max_position_embeddings=14)
heads("roberta", "Roberta", config_of(t.RobertaConfig, **COUNTED), POOLED, pad=1, length=12)
add("xlm-roberta", t.XLMRobertaModel, t.XLMRobertaConfig(**COUNTED), POOLED, pad=1, length=12)
add("xlm-roberta-classes", t.XLMRobertaForSequenceClassification, t.XLMRobertaConfig(**COUNTED, **LABELS), LOGITS, pad=1)
add("camembert-tokens", t.CamembertForTokenClassification, t.CamembertConfig(**COUNTED, **LABELS), LOGITS, pad=1)
add("camembert-words", t.CamembertForMaskedLM, t.CamembertConfig(**COUNTED), LOGITS, pad=1)

heads("distilbert", "DistilBert",
      config_of(t.DistilBertConfig, vocab_size=37, dim=12, n_layers=2, n_heads=3, hidden_dim=20, max_position_embeddings=24, pad_token_id=0))

MPNET = dict(SIZES, pad_token_id=1, relative_attention_num_buckets=32)
heads("mpnet", "MPNet", config_of(t.MPNetConfig, **MPNET), POOLED, pad=1)
FAR = dict(MPNET, hidden_size=4, num_hidden_layers=1, num_attention_heads=2, intermediate_size=6, max_position_embeddings=160)
add("mpnet-far", t.MPNetForSequenceClassification, t.MPNetConfig(**FAR, **LABELS), LOGITS, pad=1, length=158)

heads("electra", "Electra", config_of(t.ElectraConfig, **TYPES, embedding_size=8, layer_norm_eps=1e-6), types=2)
add("electra-pretraining", t.ElectraForPreTraining, t.ElectraConfig(**TYPES, embedding_size=12), LOGITS, types=2)

ALBERT = dict(TYPES, embedding_size=8, num_hidden_layers=4)
heads("albert", "Albert", config_of(t.AlbertConfig, **ALBERT), POOLED, types=2)
add("albert-groups", t.AlbertForSequenceClassification, t.AlbertConfig(**ALBERT, num_hidden_groups=2, inner_group_num=2, **LABELS), LOGITS, types=2)
add("albert-pretraining", t.AlbertForPreTraining, t.AlbertConfig(**ALBERT),
    {"prediction_logits": "prediction_logits", "sop_logits": "sop_logits"}, types=2)

DISTANCES = dict(SIZES, pad_token_id=0, type_vocab_size=0, relative_attention=True, position_biased_input=False, pos_att_type=["c2p", "p2c"])
heads("deberta", "Deberta", config_of(t.DebertaConfig, **DISTANCES, max_relative_positions=6), length=12)
V3 = dict(DISTANCES, position_buckets=8, norm_rel_ebd="layer_norm", share_att_key=True)
heads("deberta-v3", "DebertaV2", config_of(t.DebertaV2Config, **V3), length=16)
add("deberta-v2-classes", t.DebertaV2ForSequenceClassification,
    t.DebertaV2Config(**V3, conv_kernel_size=3, conv_act="gelu", **LABELS), LOGITS, length=16)
add("deberta-v3-words-new", t.DebertaV2ForMaskedLM, t.DebertaV2Config(**V3, legacy=False), LOGITS, length=16)

MODERN = dict(SIZES, pad_token_id=0, bos_token_id=1, cls_token_id=1, eos_token_id=2, sep_token_id=2, num_hidden_layers=4, local_attention=6)
heads("modernbert", "ModernBert", config_of(t.ModernBertConfig, **MODERN), length=16)
add("modernbert-mean", t.ModernBertForSequenceClassification,
    t.ModernBertConfig(**MODERN, classifier_pooling="mean", norm_bias=True, attention_bias=True, mlp_bias=True, classifier_bias=True, **LABELS), LOGITS, length=16)

T5 = dict(vocab_size=37, d_model=12, d_kv=5, d_ff=20, num_layers=2, num_heads=3, relative_attention_num_buckets=8, relative_attention_max_distance=10)
add("t5", t.T5EncoderModel, t.T5Config(**T5), STATES, length=24)
add("t5-gated", t.T5EncoderModel, t.T5Config(**T5, feed_forward_proj="gated-gelu", tie_word_embeddings=False), STATES, length=24)

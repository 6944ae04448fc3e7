"""Vision families for families.py."""
import numpy as np
import transformers as t

from families import CASES, Case

LABELS = {"id2label": {"0": "cat", "1": "dog", "2": "owl"}, "label2id": {"cat": 0, "dog": 1, "owl": 2}}
TINY = dict(hidden_size=12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=20, image_size=16, patch_size=4)


def pixels(*shape):
    return lambda rng: {"pixel_values": rng.normal(0, 1, shape).astype(np.float32)}


def add(name, config, model, shape=(2, 3, 16, 16), outputs=None, **more):
    CASES.append(Case(name, lambda: model(config), pixels(*shape), outputs or {"logits": "logits"}, **more))


WIDER = dict(call={"interpolate_pos_encoding": True})
HIDDEN = {"last_hidden_state": "last_hidden_state", "pooler_output": "pooler_output"}
add("vit", t.ViTConfig(**TINY, **LABELS), t.ViTForImageClassification)
add("vit-wide", t.ViTConfig(**TINY, **LABELS), t.ViTForImageClassification, shape=(1, 3, 20, 28), **WIDER)
add("vit-model", t.ViTConfig(**TINY, hidden_act="gelu_new", qkv_bias=False, num_channels=1), t.ViTModel, shape=(2, 1, 16, 16), outputs=HIDDEN)
add("deit", t.DeiTConfig(**TINY, **LABELS), t.DeiTForImageClassification, shape=(1, 3, 20, 28), **WIDER)
TEACHER = {"logits": "logits", "cls_logits": "cls_logits", "distillation_logits": "distillation_logits"}
add("deit-teacher", t.DeiTConfig(**TINY, **LABELS), t.DeiTForImageClassificationWithTeacher, outputs=TEACHER)
add("deit-model", t.DeiTConfig(**TINY), t.DeiTModel, outputs=HIDDEN)

DINO = dict(hidden_size=12, num_hidden_layers=2, num_attention_heads=3, mlp_ratio=2, image_size=16, patch_size=4)
add("dinov2", t.Dinov2Config(**DINO, **LABELS), t.Dinov2ForImageClassification, shape=(1, 3, 20, 29))
add("dinov2-model", t.Dinov2Config(**DINO, use_swiglu_ffn=True, use_mask_token=False), t.Dinov2Model, outputs=HIDDEN)

CONVNEXT = dict(hidden_sizes=[8, 12], depths=[1, 2], num_stages=2, patch_size=4)
add("convnext", t.ConvNextConfig(**CONVNEXT, **LABELS), t.ConvNextForImageClassification, shape=(2, 3, 36, 28))
add("convnext-model", t.ConvNextConfig(**CONVNEXT, layer_scale_init_value=0.0), t.ConvNextModel, shape=(2, 3, 32, 32), outputs=HIDDEN)

RESNET = dict(embedding_size=6, depths=[1, 2])
add("resnet", t.ResNetConfig(**RESNET, hidden_sizes=[8, 16], **LABELS), t.ResNetForImageClassification, shape=(2, 3, 37, 44), largest=30)
add("resnet-basic", t.ResNetConfig(**RESNET, hidden_sizes=[6, 8], layer_type="basic", downsample_in_first_stage=True), t.ResNetModel, shape=(1, 3, 40, 40),
    outputs=HIDDEN, largest=30)
add("resnet-early", t.ResNetConfig(**RESNET, hidden_sizes=[8, 16], downsample_in_bottleneck=True, hidden_act="silu", **LABELS),
    t.ResNetForImageClassification, shape=(1, 3, 40, 40), largest=30)

add("mobilenet-v1", t.MobileNetV1Config(depth_multiplier=0.01, min_depth=4, **LABELS), t.MobileNetV1ForImageClassification, shape=(2, 3, 40, 35), largest=30)
add("mobilenet-v1-model", t.MobileNetV1Config(depth_multiplier=0.01, min_depth=4, tf_padding=False), t.MobileNetV1Model, shape=(1, 3, 48, 48), outputs=HIDDEN,
    largest=30)
V2 = dict(depth_multiplier=0.05, depth_divisible_by=2, min_depth=2, expand_ratio=2, finegrained_output=False)
add("mobilenet-v2", t.MobileNetV2Config(**V2, **LABELS), t.MobileNetV2ForImageClassification, shape=(1, 3, 40, 35), largest=30)
add("mobilenet-v2-model", t.MobileNetV2Config(**V2, output_stride=8, tf_padding=False, first_layer_is_expansion=False), t.MobileNetV2Model,
    shape=(1, 3, 32, 32), outputs=HIDDEN, largest=30)

CLIP_TEXT = dict(hidden_size=12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=20, vocab_size=40, max_position_embeddings=12, projection_dim=10)
CLIP_VISION = dict(TINY, projection_dim=10)


def sentences(rng, end, pad):
    ids = rng.integers(3, 37, (3, 7))
    mask = np.ones((3, 7), np.int64)
    for row, length in enumerate((7, 5, 3)):
        ids[row, length - 1:] = pad
        ids[row, length - 1] = end
        mask[row, length:] = 0
    return {"input_ids": ids.astype(np.int64), "attention_mask": mask}


def both(rng):
    return sentences(rng, 39, 39) | pixels(2, 3, 16, 16)(rng)


CLIP_OUT = {k: k for k in ("logits_per_image", "logits_per_text", "text_embeds", "image_embeds")}
clip = t.CLIPConfig(text_config=dict(CLIP_TEXT, eos_token_id=39, pad_token_id=39), vision_config=CLIP_VISION, projection_dim=10)
CASES.append(Case("clip", lambda: t.CLIPModel(clip), both, CLIP_OUT))
clip_text = t.CLIPTextConfig(**CLIP_TEXT, eos_token_id=38, pad_token_id=1, hidden_act="gelu")
CASES.append(Case("clip-text", lambda: t.CLIPTextModelWithProjection(clip_text), lambda rng: sentences(rng, 38, 1),
                  {"text_embeds": "text_embeds", "last_hidden_state": "last_hidden_state"}))
clip_old = t.CLIPTextConfig(**CLIP_TEXT, eos_token_id=2)
CASES.append(Case("clip-text-old", lambda: t.CLIPTextModel(clip_old), lambda rng: sentences(rng, 39, 0), HIDDEN))
add("clip-vision", t.CLIPVisionConfig(**CLIP_VISION), t.CLIPVisionModelWithProjection, shape=(1, 3, 20, 28),
    outputs={"image_embeds": "image_embeds", "last_hidden_state": "last_hidden_state"}, **WIDER)
add("clip-classifier", t.CLIPConfig(text_config=CLIP_TEXT, vision_config=CLIP_VISION, **LABELS), t.CLIPForImageClassification)

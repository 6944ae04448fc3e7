"""The networks that exports.py exports: 17 of torchvision, 40 architectures of Hugging Face and a U-Net of volumes, small, with random weights.

Each entry is a function without arguments that gives a Case. Nothing is fetched.
"""
import dataclasses

import torch

VOCABULARY, BATCH, TOKENS, PIXELS = 160, 2, 12, 64


@dataclasses.dataclass
class Case:
    """`inputs` by name, in the order of the module's arguments; `dynamic`: the axes of each that an export leaves open."""
    module: torch.nn.Module
    inputs: dict
    dynamic: dict


class Tensors(torch.nn.Module):
    """A transformers model as tensors in, tensors out."""

    def __init__(self, model, names, **fixed):
        super().__init__()
        self.model, self.names, self.fixed = model, names, fixed

    def forward(self, a, b=None, c=None):
        given = {name: value for name, value in zip(self.names, (a, b, c)) if value is not None}
        out = self.model(**given, **self.fixed, return_dict=True)
        return tuple(value for value in out.values() if isinstance(value, torch.Tensor))


def ids(batch=BATCH, tokens=TOKENS):
    return torch.randint(4, VOCABULARY, (batch, tokens))


def mask():
    """The last sentence ends before the batch does."""
    ones = torch.ones(BATCH, TOKENS, dtype=torch.int64)
    ones[-1, TOKENS - 4:] = 0
    return ones


def images(size=PIXELS):
    return torch.randn(BATCH, 3, size, size)


# --- torchvision ---------------------------------------------------------------------------------------------------

def vision(make, size=PIXELS):
    def case():
        import torchvision
        return Case(make(torchvision.models), {"x": images(size)}, {"x": {0: "batch"}})
    return case


def small_swin(models):
    return models.swin_transformer.SwinTransformer([4, 4], 48, [2, 2], [3, 6], [4, 4], num_classes=10)


def small_vit(models):
    return models.VisionTransformer(PIXELS, 16, num_layers=3, num_heads=4, hidden_dim=128, mlp_dim=256, num_classes=10)


def small_resnext(models):
    return models.ResNet(models.resnet.Bottleneck, [1, 1, 1, 1], groups=32, width_per_group=4, num_classes=10)


def deeplab(models):
    return models.segmentation.deeplabv3_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=5)


class Outputs(torch.nn.Module):
    """A model of torchvision that gives a dictionary, or a list of them, as tensors."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        out = self.model(x)
        return tuple((out[0] if isinstance(out, list) else out).values())


def segmentation():
    import torchvision
    return Case(Outputs(deeplab(torchvision.models)), {"x": images()}, {"x": {0: "batch", 2: "height", 3: "width"}})


def detector():
    import torchvision
    model = torchvision.models.detection.fasterrcnn_mobilenet_v3_large_320_fpn(weights=None, weights_backbone=None, num_classes=5, min_size=96,
                                                                               max_size=128, rpn_pre_nms_top_n_test=50, rpn_post_nms_top_n_test=20)
    return Case(Outputs(model), {"x": torch.rand(1, 3, 80, 96)}, {"x": {}})


def video():
    import torchvision
    return Case(torchvision.models.video.r3d_18(weights=None, num_classes=10), {"x": torch.randn(1, 3, 4, 32, 32)}, {"x": {0: "batch"}})


class VolumeNet(torch.nn.Module):
    """A U-Net of volumes: one side goes up by transposed convolutions, the other by interpolation."""

    def __init__(self, channels=(8, 16, 32)):
        super().__init__()
        def pair(a, b):
            return torch.nn.Sequential(torch.nn.Conv3d(a, b, 3, padding=1), torch.nn.InstanceNorm3d(b, affine=True), torch.nn.LeakyReLU(0.01),
                                       torch.nn.Conv3d(b, b, 3, padding=1), torch.nn.GroupNorm(4, b), torch.nn.ReLU())
        self.down = torch.nn.ModuleList([pair(a, b) for a, b in zip((1, *channels), channels)])
        self.up = torch.nn.ModuleList([torch.nn.ConvTranspose3d(b, a, 2, stride=2) for a, b in zip(channels, channels[1:])])
        self.join = torch.nn.ModuleList([pair(2 * a, a) for a in channels[:-1]])
        self.coarse, self.head = torch.nn.Conv3d(channels[-1], 3, 1), torch.nn.Conv3d(channels[0], 3, 1)

    def forward(self, x):
        kept = []
        for i, down in enumerate(self.down):
            x = down(x if i == 0 else torch.nn.functional.max_pool3d(x, 2))
            kept.append(x)
        coarse = torch.nn.functional.interpolate(self.coarse(x), scale_factor=4.0, mode="trilinear")
        for up, join, beside in zip(reversed(self.up), reversed(self.join), reversed(kept[:-1])):
            x = join(torch.cat([up(x), beside], 1))
        return self.head(x) + coarse


def unet3d():
    return Case(VolumeNet(), {"x": torch.randn(1, 1, 16, 24, 16)}, {"x": {0: "batch"}})


TORCHVISION = {
    "resnet18": vision(lambda m: m.resnet18()),
    "resnext": vision(small_resnext),
    "densenet121": vision(lambda m: m.densenet121()),
    "googlenet": vision(lambda m: m.googlenet(aux_logits=False, init_weights=False)),
    "squeezenet1_1": vision(lambda m: m.squeezenet1_1()),
    "mobilenet_v2": vision(lambda m: m.mobilenet_v2()),
    "mobilenet_v3_small": vision(lambda m: m.mobilenet_v3_small()),
    "mnasnet0_5": vision(lambda m: m.mnasnet0_5()),
    "shufflenet_v2_x0_5": vision(lambda m: m.shufflenet_v2_x0_5()),
    "efficientnet_b0": vision(lambda m: m.efficientnet_b0()),
    "regnet_y_400mf": vision(lambda m: m.regnet_y_400mf()),
    "convnext_tiny": vision(lambda m: m.convnext_tiny()),
    "vit": vision(small_vit),
    "swin": vision(small_swin),
    "deeplabv3": segmentation,
    "faster_rcnn": detector,
    "r3d_18": video,
}
OWN = {"unet3d": unet3d}

# --- Hugging Face ----------------------------------------------------------------------------------------------------

SMALL = {"vocab_size": VOCABULARY, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128,
         "max_position_embeddings": 64}
IMAGE = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128, "image_size": PIXELS, "patch_size": 16}
TEXT_AXES = {0: "batch", 1: "tokens"}


def network(name, config):
    import transformers
    family = name
    for suffix in ("Model", "Encoder", "ForCausalLM", "ForImageClassification", "ForKeypointDetection"):
        family = family.removesuffix(suffix)
    return getattr(transformers, name)(getattr(transformers, family + "Config")(**config))


def text(name, masked=True, small=SMALL, fixed=None, **more):
    """`more` adds to the small configuration; a size given as None is left out of it."""
    def case():
        config = {key: value for key, value in {**small, **more}.items() if value is not None}
        inputs = {"input_ids": ids(), "attention_mask": mask()} if masked else {"input_ids": ids()}
        return Case(Tensors(network(name, config), list(inputs), **(fixed or {})), inputs, dict.fromkeys(inputs, TEXT_AXES))
    return case


def decoder(name, **more):
    return text(name, fixed={"use_cache": False}, **more)


def pixels(name, size=PIXELS, small=IMAGE, **more):
    def case():
        config = {key: value for key, value in {**small, **more}.items() if value is not None}
        return Case(Tensors(network(name, config), ["pixel_values"]), {"pixel_values": images(size)}, {"pixel_values": {0: "batch"}})
    return case


def seq2seq(name, **config):
    def case():
        inputs = {"input_ids": ids(), "attention_mask": mask(), "decoder_input_ids": ids(tokens=5)}
        axes = {"input_ids": TEXT_AXES, "attention_mask": TEXT_AXES, "decoder_input_ids": {0: "batch", 1: "answer"}}
        return Case(Tensors(network(name, config), list(inputs), use_cache=False), inputs, axes)
    return case


def clip():
    text_config = {**SMALL, "projection_dim": 32, "eos_token_id": VOCABULARY - 1}
    model = network("CLIPModel", {"text_config": text_config, "vision_config": {**IMAGE, "projection_dim": 32}, "projection_dim": 32})
    inputs = {"input_ids": ids(), "pixel_values": images(), "attention_mask": mask()}
    axes = {"input_ids": {0: "texts", 1: "tokens"}, "pixel_values": {0: "images"}, "attention_mask": {0: "texts", 1: "tokens"}}
    return Case(Tensors(model, list(inputs)), inputs, axes)


def wav2vec2():
    model = network("Wav2Vec2Model", {**SMALL, "conv_dim": (32, 32, 32), "conv_kernel": (10, 3, 3), "conv_stride": (5, 2, 2),
                                      "num_feat_extract_layers": 3, "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4})
    return Case(Tensors(model, ["input_values"]), {"input_values": torch.randn(BATCH, 1600)}, {"input_values": {0: "batch", 1: "samples"}})


def whisper():
    config = {"vocab_size": VOCABULARY, "num_mel_bins": 16, "d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
              "decoder_attention_heads": 4, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128, "max_source_positions": 32, "max_target_positions": 32,
              "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 3}
    inputs = {"input_features": torch.randn(BATCH, 16, 64), "decoder_input_ids": ids(tokens=5)}
    axes = {"input_features": {0: "batch"}, "decoder_input_ids": {0: "batch", 1: "answer"}}
    return Case(Tensors(network("WhisperModel", config), list(inputs), use_cache=False), inputs, axes)


def superpoint():
    model = network("SuperPointForKeypointDetection", {"encoder_hidden_sizes": [16, 16, 32, 32], "decoder_hidden_size": 64, "keypoint_decoder_dim": 65,
                                                       "descriptor_decoder_dim": 32, "nms_radius": 4, "border_removal_distance": 4})
    return Case(Tensors(model, ["pixel_values"]), {"pixel_values": torch.rand(1, 3, 48, 64)}, {"pixel_values": {}})


class Codes(torch.nn.Module):
    """EnCodec there and back."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model(x).audio_values


def encodec():
    model = network("EncodecModel", {"num_filters": 8, "hidden_size": 32, "codebook_dim": 32, "codebook_size": 64, "upsampling_ratios": [4, 2],
                                     "num_lstm_layers": 1, "sampling_rate": 800, "target_bandwidths": [1.2], "use_causal_conv": True})
    return Case(Codes(model), {"x": torch.randn(BATCH, 1, 320)}, {"x": {0: "batch"}})


ENCODER_DECODER = {"vocab_size": VOCABULARY, "d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
                   "decoder_attention_heads": 4, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128, "max_position_embeddings": 64}
GROUPED = {"num_key_value_heads": 2}
STAGES = {"depths": [1, 1], "num_channels": 3}

HUGGING_FACE = {
    "bert": text("BertModel"),
    "roberta": text("RobertaModel"),
    "distilbert": text("DistilBertModel", small={"vocab_size": VOCABULARY, "dim": 64, "n_layers": 2, "n_heads": 4, "hidden_dim": 128}),
    "electra": text("ElectraModel", embedding_size=32),
    "albert": text("AlbertModel", embedding_size=32),
    "deberta_v2": text("DebertaV2Model", relative_attention=True, pos_att_type=["p2c", "c2p"], position_buckets=8, share_att_key=True,
                       norm_rel_ebd="layer_norm", position_biased_input=False),
    "mpnet": text("MPNetModel"),
    "modernbert": text("ModernBertModel", global_attn_every_n_layers=2, local_attention=8, pad_token_id=0, reference_compile=False),
    "squeezebert": text("SqueezeBertModel", embedding_size=64),
    "t5": seq2seq("T5Model", vocab_size=VOCABULARY, d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4),
    "bart": seq2seq("BartModel", **ENCODER_DECODER),
    "gpt2": decoder("GPT2Model", small={"vocab_size": VOCABULARY, "n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 64}),
    "gpt_neo": decoder("GPTNeoModel", small={"vocab_size": VOCABULARY, "hidden_size": 64, "num_layers": 2, "num_heads": 4, "window_size": 8,
                                             "attention_types": [[["global", "local"], 1]], "max_position_embeddings": 64}),
    "gpt_neox": decoder("GPTNeoXModel"),
    "opt": decoder("OPTModel", intermediate_size=None, ffn_dim=128, word_embed_proj_dim=64),
    "llama": decoder("LlamaForCausalLM", **GROUPED),
    "mistral": decoder("MistralForCausalLM", sliding_window=8, **GROUPED),
    "qwen2": decoder("Qwen2ForCausalLM", **GROUPED),
    "gemma": decoder("GemmaForCausalLM", head_dim=16, **GROUPED),
    "phi": decoder("PhiForCausalLM"),
    "bloom": decoder("BloomModel", small={"vocab_size": VOCABULARY, "hidden_size": 64, "n_layer": 2, "n_head": 4}),
    "vit_hf": pixels("ViTModel"),
    "dinov2": pixels("Dinov2Model", intermediate_size=None, mlp_ratio=2),
    "beit": pixels("BeitModel", use_relative_position_bias=True),
    "swin_hf": pixels("SwinModel", small={"image_size": PIXELS, "patch_size": 4, "embed_dim": 32, "num_heads": [2, 4], "window_size": 4, **STAGES}),
    "mobilevit": pixels("MobileViTModel", small={"image_size": PIXELS, "hidden_sizes": [32, 48, 64], "neck_hidden_sizes": [8, 16, 24, 32, 48, 64, 96],
                                                 "num_attention_heads": 4, "mlp_ratio": 2.0}),
    "segformer": pixels("SegformerModel", small={"num_encoder_blocks": 2, "depths": [1, 1], "sr_ratios": [4, 2], "hidden_sizes": [32, 64],
                                                 "patch_sizes": [7, 3], "strides": [4, 2], "num_attention_heads": [1, 2], "mlp_ratios": [2, 2]}),
    "convnext_hf": pixels("ConvNextModel", small={"hidden_sizes": [16, 32], "depths": [1, 1], "num_stages": 2}),
    "hiera": pixels("HieraModel", small={"image_size": [PIXELS, PIXELS], "embed_dim": 16, "depths": [1, 1, 2, 1], "num_heads": [1, 2, 4, 8],
                                         "masked_unit_size": [8, 8], "query_stride": [2, 2], "num_query_pool": 2}),
    "vitdet": pixels("VitDetModel", window_block_indices=[0], window_size=3, residual_block_indices=[], use_relative_position_embeddings=True,
                     intermediate_size=None, mlp_ratio=2),
    "superpoint": superpoint,
    "encodec": encodec,
    "xlnet": text("XLNetModel", small={"vocab_size": VOCABULARY, "d_model": 64, "n_layer": 2, "n_head": 4, "d_inner": 128}, fixed={"use_mems": False}),
    "funnel": text("FunnelModel", small={"vocab_size": VOCABULARY, "d_model": 64, "n_head": 4, "d_head": 16, "d_inner": 128, "block_sizes": [1, 1],
                                         "num_decoder_layers": 1}),
    "longformer": text("LongformerModel", attention_window=[4, 4], pad_token_id=0),
    "longt5": seq2seq("LongT5Model", vocab_size=VOCABULARY, d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4, local_radius=3),
    "prophetnet": seq2seq("ProphetNetModel", vocab_size=VOCABULARY, hidden_size=64, encoder_ffn_dim=128, decoder_ffn_dim=128, num_encoder_layers=2,
                          num_decoder_layers=2, num_encoder_attention_heads=4, num_decoder_attention_heads=4, max_position_embeddings=64, ngram=2),
    "clip": clip,
    "wav2vec2": wav2vec2,
    "whisper": whisper,
}

CASES = {**TORCHVISION, **HUGGING_FACE, **OWN}


def build(name):
    """The case, its weights and inputs the same in each process."""
    torch.manual_seed(0)
    case = CASES[name]()
    case.module.eval()
    with torch.no_grad():  # fresh normalisations are identities, fresh biases and some heads zero: nothing would be seen of them
        for parameter in case.module.parameters():
            if parameter.ndim == 1 or not parameter.any():
                parameter.add_(torch.randn_like(parameter) * 0.05)
    return case

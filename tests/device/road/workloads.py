"""What is checked and timed: public configurations, random weights from one seed, nothing downloaded."""

import functools

import torch
from torch import nn
from torch.nn import functional as F


class Output(nn.Module):
    """The one tensor of a transformer's output that is compared."""

    def __init__(self, model, name):
        super().__init__()
        self.model = model
        self.name = name

    def forward(self, *inputs, **keywords):
        return getattr(self.model(*inputs, **keywords), self.name)


class Block(nn.Module):
    """Of a UNet: two convolutions with group norm and SiLU, attention over places, a residual."""

    def __init__(self, channels=320):
        super().__init__()
        self.norms = nn.ModuleList([nn.GroupNorm(32, channels) for _ in range(3)])
        self.convolutions = nn.ModuleList([nn.Conv2d(channels, channels, 3, padding=1) for _ in range(2)])
        self.embed = nn.Linear(1280, channels)
        self.qkv, self.out = nn.Linear(channels, 3 * channels), nn.Linear(channels, channels)

    def forward(self, x, time):
        h = self.convolutions[0](F.silu(self.norms[0](x)))
        h = h + self.embed(F.silu(time))[:, :, None, None]
        x = x + self.convolutions[1](F.silu(self.norms[1](h)))
        batch, channels, height, width = x.shape
        places = self.norms[2](x).flatten(2).transpose(1, 2)
        q, k, v = (part.unflatten(-1, (8, -1)).transpose(1, 2) for part in self.qkv(places).chunk(3, -1))
        mixed = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        return x + self.out(mixed).transpose(1, 2).unflatten(-1, (height, width))


def shallow_water(h, u, v):
    dt, dx, g, f, nu = 0.01, 1.0, 9.81, 1e-2, 0.05
    for _ in range(8):
        def ddx(a):
            return (torch.roll(a, -1, 1) - torch.roll(a, 1, 1)) / (2 * dx)

        def ddy(a):
            return (torch.roll(a, -1, 0) - torch.roll(a, 1, 0)) / (2 * dx)

        def lap(a):
            around = torch.roll(a, -1, 1) + torch.roll(a, 1, 1) + torch.roll(a, -1, 0) + torch.roll(a, 1, 0)
            return (around - 4 * a) / (dx * dx)

        un = u + dt * (-u * ddx(u) - v * ddy(u) + f * v - g * ddx(h) + nu * lap(u))
        vn = v + dt * (-u * ddx(v) - v * ddy(v) - f * u - g * ddy(h) + nu * lap(v))
        h, u, v = h + dt * (-ddx(h * u) - ddy(h * v)), un, vn
    return h, u, v


def softmax_ln(x, w, b):
    y = F.layer_norm(F.gelu(x), (x.shape[-1],), w, b)
    return torch.softmax(y.float() * 0.5, -1).to(x.dtype)


def _mlp():
    return nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.LayerNorm(512), nn.Linear(512, 256), nn.Tanh())


def _bert(**changes):
    from transformers import BertConfig, BertModel

    return Output(BertModel(BertConfig(hidden_dropout_prob=0., attention_probs_dropout_prob=0., **changes)), "last_hidden_state")


def _gpt2(**changes):
    from transformers import GPT2Config, GPT2LMHeadModel

    return Output(GPT2LMHeadModel(GPT2Config(
        use_cache=False, resid_pdrop=0., embd_pdrop=0., attn_pdrop=0., **changes)), "logits")


def _llama(**changes):
    from transformers import LlamaConfig, LlamaForCausalLM

    config = dict(hidden_size=2048, intermediate_size=5632, num_hidden_layers=8, num_attention_heads=16,
                  num_key_value_heads=16, vocab_size=32000, use_cache=False)
    return Output(LlamaForCausalLM(LlamaConfig(**(config | changes))), "logits")


def _vision(name):
    import torchvision

    model = getattr(torchvision.models, name)()
    if name == "vit_b_16":  # Its head starts at zero, so that every output would be zero.
        nn.init.normal_(model.heads.head.weight, std=0.02)
    return model


def _tokens(vocabulary, *shape):
    return lambda dtype: (torch.randint(0, vocabulary, shape),)


def _images(*shape):
    return lambda dtype: (torch.randn(shape).to(dtype).to(memory_format=torch.channels_last),)


def _floats(*shapes):
    return lambda dtype: tuple(torch.randn(shape).to(dtype) for shape in shapes)


def _water(size):
    def make(dtype):
        height, *flow = (torch.randn(size, size) * 0.01 for _ in range(3))
        return (height + 10, *flow)

    return make


class Workload:
    """`make`: a module or a function; `inputs`: f(dtype); `is_image`: channels last."""

    def __init__(self, make, inputs, is_image=False):
        self._make, self._inputs, self.is_image = make, inputs, is_image

    def build(self, dtype, device, training=False, seed=0):
        """(a function or module, its inputs)"""
        torch.manual_seed(seed)
        made = self._make()
        inputs = tuple(x.to(device) for x in self._inputs(dtype))
        if not isinstance(made, nn.Module):
            return made, inputs
        made = made.to(device, dtype).train(training)
        return (made.to(memory_format=torch.channels_last) if self.is_image else made), inputs


def _function(function):
    return lambda: function


# Checked, forward and in a training step.
MODELS = {
    "mlp": Workload(_mlp, _floats((64, 256))),
    "softmax_ln": Workload(_function(softmax_ln), _floats((512, 8192), (8192,), (8192,))),
    "shallow_water": Workload(_function(shallow_water), _water(256)),
    "bert": Workload(functools.partial(_bert, num_hidden_layers=4), _tokens(30522, 8, 128)),
    "gpt2": Workload(functools.partial(_gpt2, n_layer=4), _tokens(50257, 2, 128)),
    "llama": Workload(_llama, _tokens(32000, 1, 256)),
    "vit": Workload(functools.partial(_vision, "vit_b_16"), _images(2, 3, 224, 224), True),
    "resnet50": Workload(functools.partial(_vision, "resnet50"), _images(4, 3, 224, 224), True),
    "unet": Workload(Block, lambda dtype: (
        *_images(2, 320, 32, 32)(dtype), *_floats((2, 1280))(dtype)), True),
}

# Timed: (workload, dtype, how a step trains or None).
ROWS = {
    "resnet50_infer_b1": (Workload(functools.partial(_vision, "resnet50"), _images(1, 3, 224, 224), True), None),
    "resnet50_infer_b32": (Workload(functools.partial(_vision, "resnet50"), _images(32, 3, 224, 224), True), None),
    "bert_infer_b8": (Workload(_bert, _tokens(30000, 8, 128)), None),
    "gpt2_infer_b1": (Workload(_gpt2, _tokens(50000, 1, 128)), None),
    "physics_shallow_water": (Workload(_function(shallow_water), _water(2048)), None),
    "softmax_ln": (Workload(_function(softmax_ln), _floats((16384, 8192), (8192,), (8192,))), None),
    "gpt2_train_b8": (Workload(_gpt2, _tokens(50000, 8, 512)), "autocast"),
    "llama_block_train": (Workload(_llama, _tokens(32000, 4, 1024)), "autocast"),
}
F32_ROWS = frozenset(("physics_shallow_water", "gpt2_train_b8", "llama_block_train"))

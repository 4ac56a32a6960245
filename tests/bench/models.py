"""The models of the benchmarks: public configurations, random weights from one seed, nothing downloaded."""

import torch

MODELS = ("gpt2", "bert", "resnet18", "vit_b_16")
TITLES = {
    "gpt2": "GPT-2 small", "gpt2_24": "GPT-2, 24 layers", "bert": "BERT-base",
    "resnet18": "ResNet-18", "resnet50": "ResNet-50", "vit_b_16": "ViT-B/16"}
SEQUENCE = 128


class Output(torch.nn.Module):
    """The one tensor of a transformer's output that is compared."""

    def __init__(self, model, name):
        super().__init__()
        self.model = model
        self.name = name

    def forward(self, tokens):
        return getattr(self.model(tokens), self.name)


def build(name, dtype, batch):
    """(model, inputs) in evaluation mode; floats in `dtype`, a torch.dtype."""
    torch.manual_seed(0)
    if name in ("gpt2", "gpt2_24"):
        from transformers import GPT2Config, GPT2LMHeadModel

        layers = 24 if name == "gpt2_24" else 12
        model = Output(GPT2LMHeadModel(GPT2Config(use_cache=False, n_layer=layers)), "logits")
        inputs = torch.randint(0, 50257, (batch, SEQUENCE))
    elif name == "bert":
        from transformers import BertConfig, BertModel

        model = Output(BertModel(BertConfig()), "last_hidden_state")
        inputs = torch.randint(0, 30522, (batch, SEQUENCE))
    else:
        import torchvision

        model = getattr(torchvision.models, name)()
        if name == "vit_b_16":  # Its head starts at zero, so that every output would be zero.
            torch.nn.init.normal_(model.heads.head.weight, std=0.02)
        inputs = torch.randn(batch, 3, 224, 224)
    inputs = inputs.to(dtype) if inputs.is_floating_point() else inputs
    return model.to(dtype).eval(), inputs

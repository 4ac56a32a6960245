"""A language model whose forward is replaced by its compiled self, as Hugging Face's documentation does: prints the counters."""

import json

import torch
from transformers import LlamaConfig, LlamaForCausalLM

import stoker

torch.manual_seed(0)
model = LlamaForCausalLM(LlamaConfig(
    vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=2, max_position_embeddings=64)).eval()
ids = torch.arange(12).view(2, 6)
with torch.no_grad():
    expected = model(ids).logits
    model.forward = torch.compile(model.forward, backend="stoker")
    torch.testing.assert_close(model(ids).logits, expected)
print(json.dumps(stoker.counters()))

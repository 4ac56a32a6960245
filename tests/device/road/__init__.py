"""PyTorch programs on a GPU: are their results right, and what do they take, beside eager and torch.compile?"""

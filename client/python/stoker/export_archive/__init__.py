"""Archives of torch.export (model.pt2): what jobs that run them will ask for, written into a manifest."""

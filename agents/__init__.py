"""Learned agents: their networks in torch, the export to ONNX, and the released agents."""

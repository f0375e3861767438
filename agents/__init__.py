"""Learned agents: their networks in torch, and the export to ONNX."""

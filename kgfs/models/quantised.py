"""all-MiniLM-L6-v2 with eight-bit matrices, made on this machine from the weights that a package carries.

Every token's activations are scaled by their own greatest value. So a text has the same vectors in any batch, which
quantisation by the greatest value of a whole batch does not give. Weights have one scale a column and seven bits
(``reduce_range``), so that processors with and without VNNI instructions get the same whole numbers.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto, TensorProto

Weights = dict[str, npt.NDArray[np.float32]]

RECIPE = 1
"""Number of the form of the graph. It is raised with each change that changes vectors."""
LAYERS = 6
HEADS = 12
OPSET = 17
IR = 8
EPSILON = 1e-12
FUSED = "com.microsoft"
"""Domain of onnxruntime's own fused operators."""


def read_safetensors(path: Path) -> Weights:
    """Return the float tensors of a ``.safetensors`` file by name."""
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header: dict[str, Any] = json.loads(content[8 : 8 + length])
    body = memoryview(content)[8 + length :]
    return {
        name: np.frombuffer(body[slice(*about["data_offsets"])], np.float32).reshape(about["shape"])
        for name, about in header.items()
        if name != "__metadata__" and about["dtype"] == "F32"
    }


def build(weights: Weights) -> bytes:
    """Return the quantised model as the bytes of an ONNX file.

    Its inputs are ``input_ids`` and ``attention_mask``, both of shape (texts, tokens); its output has shape (texts,
    tokens, 384). ImportError where ``onnx`` is not installed.
    """
    content: bytes = _Builder(weights).model().SerializeToString()
    return content


class _Builder:
    """Builds the graph of the encoder, node by node."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._nodes: list[NodeProto] = []
        self._constants: list[TensorProto] = []
        self._steps = self._constant("steps", np.float32(1 / 127))
        self._middle = self._constant("middle", np.uint8(128))

    def model(self) -> ModelProto:
        from onnx import TensorProto, helper

        hidden = self._embedded()
        for layer in range(LAYERS):
            hidden = self._layer(f"encoder.layer.{layer}.", hidden)
        self._node("Identity", [hidden], output="last_hidden_state")
        shape = ["texts", "tokens"]
        graph = helper.make_graph(
            self._nodes,
            "all-MiniLM-L6-v2",
            [helper.make_tensor_value_info(n, TensorProto.INT64, shape) for n in ("input_ids", "attention_mask")],
            [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [*shape, 384])],
            self._constants,
        )
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(FUSED, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR, producer_name="kgfs")

    def _embedded(self) -> str:
        """Add the sums of word, position and type vectors, and return their name."""
        table, scales = _by_row(self._weights["embeddings.word_embeddings.weight"])
        words = self._node("Gather", [self._constant("words", table), "input_ids"])
        scale = self._node("Gather", [self._constant("word_scales", scales), "input_ids"])
        words = self._node("Mul", [self._node("Cast", [words], to=1), scale])
        places = self._weights["embeddings.position_embeddings.weight"]
        places = places + self._weights["embeddings.token_type_embeddings.weight"][:1]
        length = self._node("Shape", ["input_ids"], start=1, end=2)
        zero = self._constant("zero", np.array([0], np.int64))
        here = self._node("Slice", [self._constant("places", places), zero, length, zero])
        self._node("Cast", ["attention_mask"], output="mask", to=6)
        return self._norm("embeddings.LayerNorm", self._node("Add", [words, here]))

    def _layer(self, name: str, hidden: str) -> str:
        """Add one layer of the encoder, and return the name of its output."""
        parts = [f"{name}attention.self.{part}" for part in ("query", "key", "value")]
        joined = np.concatenate([self._weights[f"{part}.weight"] for part in parts])
        bias = np.concatenate([self._weights[f"{part}.bias"] for part in parts])
        rows = self._product(f"{name}qkv", hidden, joined, bias)
        split = [f"{name}{part}" for part in "qkv"]
        self._node("Split", [rows], outputs=split, axis=2)
        attended = self._node("MultiHeadAttention", [*split, "", "mask"], domain=FUSED, num_heads=HEADS)
        hidden = self._added(f"{name}attention.output", attended, hidden)
        wide = self._dense(f"{name}intermediate.dense", hidden)
        return self._added(f"{name}output", self._node("Gelu", [wide], domain=FUSED), hidden)

    def _added(self, name: str, values: str, hidden: str) -> str:
        return self._norm(f"{name}.LayerNorm", self._node("Add", [self._dense(f"{name}.dense", values), hidden]))

    def _dense(self, name: str, values: str) -> str:
        return self._product(name, values, self._weights[f"{name}.weight"], self._weights[f"{name}.bias"])

    def _product(self, name: str, values: str, weight: npt.NDArray[np.float32], bias: npt.NDArray[np.float32]) -> str:
        """Add ``values @ weight.T + bias`` in eight bits, each row of ``values`` by a scale of its own."""
        matrix, scales = _by_row(weight, 63)
        greatest = self._node("ReduceMax", [self._node("Abs", [values])], axes=[-1])
        scaled = self._node("Div", [values, greatest])
        whole = self._node("QuantizeLinear", [scaled, self._steps, self._middle])
        right = self._constant(f"{name}.weight", np.ascontiguousarray(matrix.T))
        right_scale = self._constant(f"{name}.scales", np.ascontiguousarray(scales[:, 0]))
        product = self._node(
            "MatMulIntegerToFloat", [whole, right, self._steps, right_scale, self._middle], domain=FUSED
        )
        product = self._node("Mul", [product, greatest])
        return self._node("Add", [product, self._constant(f"{name}.bias", bias)])

    def _norm(self, name: str, values: str) -> str:
        both = [self._constant(f"{name}.{part}", self._weights[f"{name}.{part}"]) for part in ("weight", "bias")]
        return self._node("LayerNormalization", [values, *both], axis=-1, epsilon=EPSILON)

    def _constant(self, name: str, values: npt.ArrayLike) -> str:
        from onnx import numpy_helper

        self._constants.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def _node(
        self, kind: str, inputs: list[str], *, output: str = "", outputs: list[str] | None = None, **attributes: Any
    ) -> str:
        from onnx import helper

        outputs = outputs or [output or f"{kind}_{len(self._nodes)}"]
        self._nodes.append(helper.make_node(kind, inputs, outputs, **attributes))
        return outputs[0]


def _by_row(
    weight: npt.NDArray[np.float32], greatest: int = 127
) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    """Return whole numbers from ``-greatest`` to ``greatest``, and the scale of each row."""
    scales = np.abs(weight).max(axis=1, keepdims=True) / greatest
    return np.rint(weight / scales).astype(np.int8), scales.astype(np.float32)

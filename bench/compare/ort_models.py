# ort_models.py - one-operator models of attention for ONNX Runtime
#
# SPDX-License-Identifier: BSD-3-Clause
"""Which operators of ONNX Runtime can compute a shape, and what they are fed.

Three operators do attention on its CPU provider, each fast on other shapes. All are f32 there.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from inputs import heads_of_rows, rows_of_heads
from onnx import TensorProto, helper

CONTRIB = "com.microsoft"


@dataclass
class Model:
    how: str
    operator: str
    domain: str
    attributes: dict[str, Any]
    feeds: dict[str, np.ndarray | None]
    """Inputs in the operator's order; None: not given."""
    output_shape: tuple[int, ...]
    shared: dict[str, str] = field(default_factory=dict)
    """Further outputs that lie in the memory of an input."""
    rows_first: bool = True
    """Whether the output is [batch][row][head * col]."""

    def serialize(self):
        kinds = {"float32": TensorProto.FLOAT, "int32": TensorProto.INT32, "bool": TensorProto.BOOL}
        inputs = [
            helper.make_tensor_value_info(name, kinds[str(array.dtype)], array.shape)
            for name, array in self.feeds.items()
            if array is not None
        ]
        outputs = [helper.make_tensor_value_info("output", TensorProto.FLOAT, self.output_shape)]
        outputs += [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, self.feeds[source].shape)
            for name, source in self.shared.items()
        ]
        node = helper.make_node(
            self.operator,
            [name if array is not None else "" for name, array in self.feeds.items()],
            [value.name for value in outputs],
            domain=self.domain,
            **self.attributes,
        )
        graph = helper.make_graph([node], "attention", inputs, outputs)
        versions = [helper.make_opsetid("", 24), helper.make_opsetid(CONTRIB, 1)]
        return helper.make_model(graph, opset_imports=versions, ir_version=11).SerializeToString()

    def heads_first(self, output, heads):
        return heads_of_rows(output, heads) if self.rows_first else output


def models(inputs):
    """Every one that the operators' documentation lets one hope for."""
    shape = inputs.shape
    if shape.dtype != "f32":
        return []
    found = [_attention(inputs)]
    if shape.group_size == 1:
        found += _multi_head(inputs)
    if inputs.mask is None and inputs.bias is None:
        grouped = _grouped_decoding if shape.query_len == 1 < shape.key_len else _grouped_prefill
        found.append(grouped(inputs))
    return found


def _attention(inputs):
    """ONNX's own operator, on [batch][head][row][col]."""
    mask = inputs.mask if inputs.mask is not None else inputs.bias
    return Model(
        "Attention",
        "Attention",
        "",
        {"is_causal": int(inputs.shape.causal)},
        {"query": inputs.query, "key": inputs.key, "value": inputs.value, "mask": mask},
        inputs.query.shape,
        rows_first=False,
    )


def _multi_head(inputs):
    """The older operator, on [batch][row][head * col]. A boolean mask has two ways into it."""
    shape = inputs.shape
    query, key, value = (rows_of_heads(a) for a in (inputs.query, inputs.key, inputs.value))
    bias = inputs.bias
    found = []

    def add(how, **feeds):
        given = {"query": query, "key": key, "value": value, "projection_bias": None}
        attributes = {"num_heads": shape.query_heads, "unidirectional": int(shape.causal)}
        given |= {"key_padding_mask": None, "attention_bias": None} | feeds
        found.append(Model(how, "MultiHeadAttention", CONTRIB, attributes, given, query.shape))

    if inputs.mask is not None:
        mask = np.broadcast_to(inputs.mask, (shape.batch, *inputs.mask.shape))
        add("MultiHeadAttention, mask", key_padding_mask=mask.astype(np.int32))
        bias = inputs.added
    if bias is not None:
        add("MultiHeadAttention, bias", attention_bias=bias[None, None])
    else:
        add("MultiHeadAttention")
    return found


def _grouped(inputs, how, feeds, total, **more):
    shape = inputs.shape
    attributes = {"num_heads": shape.query_heads, "kv_num_heads": shape.kv_heads}
    if not shape.causal and shape.query_len > 1:
        attributes["causal"] = 0
    feeds |= {
        "last_key": np.full(shape.batch, total - 1, np.int32),
        "total_keys": np.array([total], np.int32),
    }
    how = f"GroupQueryAttention, {how}"
    return Model(
        how, "GroupQueryAttention", CONTRIB, attributes, feeds, feeds["query"].shape, **more
    )


def _grouped_prefill(inputs):
    query, key, value = (rows_of_heads(a) for a in (inputs.query, inputs.key, inputs.value))
    feeds = {"query": query, "key": key, "value": value, "past_key": None, "past_value": None}
    return _grouped(inputs, "prefill", feeds, inputs.shape.key_len)


def _grouped_decoding(inputs):
    """The keys but the last are the cache, which the operator extends in place."""
    shape = inputs.shape
    last = slice(shape.key_len - 1, shape.key_len)
    feeds = {
        "query": rows_of_heads(inputs.query),
        "key": rows_of_heads(inputs.key[:, :, last]),
        "value": rows_of_heads(inputs.value[:, :, last]),
        "past_key": inputs.key.copy(),
        "past_value": inputs.value.copy(),
    }
    shared = {"present_key": "past_key", "present_value": "past_value"}
    return _grouped(inputs, "cache in place", feeds, shape.key_len, shared=shared)

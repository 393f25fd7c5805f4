# contestant_ort.py - ONNX Runtime, ready to be called
#
# SPDX-License-Identifier: BSD-3-Clause
"""A session for each operator that may serve a shape, its inputs and outputs bound beforehand."""

import numpy as np
import onnxruntime
from contestants import NotServed, Way
from ort_models import models


class OnnxRuntime:
    """The CPU provider. Where several operators serve a shape there are several ways."""

    name, title = "onnxruntime", "ONNX Runtime"

    def __init__(self, threads):
        self._threads = threads
        onnxruntime.set_default_logger_severity(
            4
        )  # A refusal is an exception here, not a log line.

    def versions(self):
        return {"onnxruntime": onnxruntime.__version__}

    def ways(self, inputs):
        if inputs.shape.backward:
            raise NotServed("its CPU provider has no gradient of attention")
        ways, refusals = [], []
        for model in models(inputs):
            try:
                ways.append(self._way(model, inputs.shape.query_heads))
            except Exception as refusal:  # noqa: BLE001 - its exceptions have no common base
                refusals.append(f"{model.how}: {str(refusal).splitlines()[0]}")
        if ways:
            return ways
        if refusals:
            raise NotServed("; ".join(refusals))
        raise NotServed(f"no attention operator for {inputs.shape.dtype} on the CPU")

    def _way(self, model, heads):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self._threads
        options.inter_op_num_threads = 1
        session = onnxruntime.InferenceSession(
            model.serialize(), options, providers=["CPUExecutionProvider"]
        )
        value_of = onnxruntime.OrtValue.ortvalue_from_numpy
        given = {name: value_of(array) for name, array in model.feeds.items() if array is not None}
        output = value_of(np.full(model.output_shape, np.nan, np.float32))
        binding = session.io_binding()
        for name, value in given.items():
            binding.bind_ortvalue_input(name, value)
        binding.bind_ortvalue_output("output", output)
        for name, source in model.shared.items():
            binding.bind_ortvalue_output(name, given[source])
        session.run_with_iobinding(binding)

        def read(_, owners=(session, given)):
            del owners
            return model.heads_first(output.numpy(), heads)

        return Way(model.how, lambda: session.run_with_iobinding(binding), read)

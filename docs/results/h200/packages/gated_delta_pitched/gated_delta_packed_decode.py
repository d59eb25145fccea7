"""`gated_delta_packed_decode` by kernels found and checked by kernelevolve 0.1.0. Needs PyTorch, an NVIDIA driver and nothing else.

    from gated_delta_packed_decode import gated_delta_packed_decode, last_path

A kernel serves cuda tensors that are contiguous (but for mixed_qkv, a, b, state, whose rows may lie apart), 64-byte aligned, of the declared types and of shapes it was
checked for. Anything else is served by the bundled PyTorch reference, and so is everything where the machine code does
not load; `last_path()` says which of the two it was, and why.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path

import torch

HERE = Path(__file__).resolve().parent
SPEC = {'name': 'gated_delta_packed_decode',
 'device': 'cuda',
 'axes': [{'name': 'B', 'role': 'shape'},
          {'name': 'H', 'role': 'shape'},
          {'name': 'HV', 'role': 'shape'},
          {'name': 'K', 'role': 'shape'},
          {'name': 'V', 'role': 'shape'},
          {'name': 'S', 'role': 'shape'},
          {'name': 'SP', 'role': 'pitch'},
          {'name': 'QP', 'role': 'pitch'},
          {'name': 'AP', 'role': 'pitch'},
          {'name': 'BP', 'role': 'pitch'}],
 'inputs': [{'name': 'mixed_qkv',
             'dtype': 'bfloat16',
             'dims': ['B', '2*H*K + HV*V'],
             'in_place': False,
             'scalar': '',
             'pitch': ['QP', 0, 1073741824, 4]},
            {'name': 'a',
             'dtype': 'bfloat16',
             'dims': ['B', 'HV'],
             'in_place': False,
             'scalar': '',
             'pitch': ['AP', 0, 1073741824, 1]},
            {'name': 'b',
             'dtype': 'bfloat16',
             'dims': ['B', 'HV'],
             'in_place': False,
             'scalar': '',
             'pitch': ['BP', 0, 1073741824, 1]},
            {'name': 'A_log', 'dtype': 'float32', 'dims': ['HV'], 'in_place': False, 'scalar': ''},
            {'name': 'dt_bias', 'dtype': 'float32', 'dims': ['HV'], 'in_place': False, 'scalar': ''},
            {'name': 'state',
             'dtype': 'float32',
             'dims': ['S', 'HV', 'V', 'K'],
             'in_place': True,
             'scalar': '',
             'pitch': ['SP', 0, 1073741824, 4]},
            {'name': 'indices', 'dtype': 'int32', 'dims': ['B'], 'in_place': False, 'scalar': ''}],
 'outputs': [{'name': 'out', 'dtype': 'bfloat16', 'dims': ['B', 'HV', 'V']}],
 'free': [],
 'kernels': [{'key': 'B1_K128_V128',
              'candidate_id': '5d4e9f5c4f0ac66f6f56c39fcf13668b999b22808e706b53b0d99d8f0525dae3',
              'rule': {'ranges': {'B': [1, 1, 1],
                                  'H': [1, 256, 1],
                                  'HV': [4, 256, 4],
                                  'K': [128, 128, 1],
                                  'V': [128, 128, 1],
                                  'S': [1, 65536, 1]},
                       'only': None,
                       'never': []},
              'folder': 'kernels/B1_K128_V128/',
              'backend': 'cubin',
              'architecture': 'sm_90a',
              'language': 'cuda'},
             {'key': 'B2_to_4_K128_V128',
              'candidate_id': '38f707cd34f007a37e1673cd6adadb22e52717cc1490959b671e09df0a065c8b',
              'rule': {'ranges': {'B': [2, 4, 1],
                                  'H': [1, 256, 1],
                                  'HV': [4, 256, 4],
                                  'K': [128, 128, 1],
                                  'V': [128, 128, 1],
                                  'S': [1, 65536, 1]},
                       'only': None,
                       'never': []},
              'folder': 'kernels/B2_to_4_K128_V128/',
              'backend': 'cubin',
              'architecture': 'sm_90a',
              'language': 'cuda'},
             {'key': 'B5_to_31_K128_V128',
              'candidate_id': '72846efbb44dbcf113afd3601d7c1a231c671208b7606ae518e5db9aea01a43e',
              'rule': {'ranges': {'B': [5, 31, 1],
                                  'H': [1, 256, 1],
                                  'HV': [4, 256, 4],
                                  'K': [128, 128, 1],
                                  'V': [128, 128, 1],
                                  'S': [1, 65536, 1]},
                       'only': None,
                       'never': []},
              'folder': 'kernels/B5_to_31_K128_V128/',
              'backend': 'cubin',
              'architecture': 'sm_90a',
              'language': 'triton'},
             {'key': 'B_from_32_K128_V128',
              'candidate_id': '72846efbb44dbcf113afd3601d7c1a231c671208b7606ae518e5db9aea01a43e',
              'rule': {'ranges': {'B': [32, 65536, 1],
                                  'H': [1, 256, 1],
                                  'HV': [4, 256, 4],
                                  'K': [128, 128, 1],
                                  'V': [128, 128, 1],
                                  'S': [1, 65536, 1]},
                       'only': None,
                       'never': []},
              'folder': 'kernels/B_from_32_K128_V128/',
              'backend': 'cubin',
              'architecture': 'sm_90a',
              'language': 'triton'}],
 'reference': 'reference/reference.py',
 'fallback': 'vllm',
 'identity': '525bed5c3062'}


def _runtime(name):
    """A module of the folder `runtime`, under a name that no other package of this kind uses."""
    package = f"{SPEC['name']}_runtime_{SPEC['identity']}"
    if package not in sys.modules:
        folder = HERE / "runtime"
        found = importlib.util.spec_from_file_location(
            package, folder / "__init__.py", submodule_search_locations=[str(folder)]
        )
        sys.modules[package] = importlib.util.module_from_spec(found)
        found.loader.exec_module(sys.modules[package])
    return importlib.import_module(f"{package}.{name}")


OPERATOR = _runtime("dispatch").operator(SPEC, HERE)
_TRACED = _runtime("traced").registered(OPERATOR)
_REFERENCE = OPERATOR.reference_module.reference

last_path = OPERATOR.last_path
last_served = OPERATOR.last_served
attestation = OPERATOR.attestation


def gated_delta_packed_decode(mixed_qkv, a, b, A_log, dt_bias, state, indices):
    """Outputs in order: out. Updated in place: state."""
    if torch.compiler.is_compiling():
        if mixed_qkv.device.type == 'cuda' and mixed_qkv.dtype == torch.bfloat16 and mixed_qkv.dim() == 2 and a.device.type == 'cuda' and a.dtype == torch.bfloat16 and a.dim() == 2 and b.device.type == 'cuda' and b.dtype == torch.bfloat16 and b.dim() == 2 and A_log.device.type == 'cuda' and A_log.dtype == torch.float32 and A_log.dim() == 1 and dt_bias.device.type == 'cuda' and dt_bias.dtype == torch.float32 and dt_bias.dim() == 1 and state.device.type == 'cuda' and state.dtype == torch.float32 and state.dim() == 4 and indices.device.type == 'cuda' and indices.dtype == torch.int32 and indices.dim() == 1 and not (torch.is_grad_enabled() and (mixed_qkv.requires_grad or a.requires_grad or b.requires_grad or A_log.requires_grad or dt_bias.requires_grad or state.requires_grad or indices.requires_grad)):
            return _TRACED(mixed_qkv, a, b, A_log, dt_bias, state, indices)
        return _REFERENCE(mixed_qkv=mixed_qkv, a=a, b=b, A_log=A_log, dt_bias=dt_bias, state=state, indices=indices)
    return OPERATOR.serve((mixed_qkv, a, b, A_log, dt_bias, state, indices), ())

#pragma once

__device__ inline float affine(float x, float w) { return x * w + 1.0f; }

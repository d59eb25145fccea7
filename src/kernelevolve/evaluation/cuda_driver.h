// The NVIDIA driver as the runner of device code sees it: found at run time, and what locks the process up.
#pragma once
#include <dlfcn.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>

namespace {

// The part of the driver's ABI that is used; no CUDA header is needed to build this.
using Result = int;
using Address = unsigned long long;
struct Opaque;
using Handle = Opaque*;

struct Driver {
    Result (*cuInit)(unsigned);
    Result (*cuDeviceGet)(int*, int);
    Result (*cuDeviceGetAttribute)(int*, int, int);
    Result (*cuDevicePrimaryCtxSetFlags_v2)(int, unsigned);
    Result (*cuDevicePrimaryCtxRetain)(Handle*, int);
    Result (*cuCtxSetCurrent)(Handle);
    Result (*cuCtxSetLimit)(int, size_t);
    Result (*cuCtxSynchronize)();
    Result (*cuCtxResetPersistingL2Cache)();
    Result (*cuModuleLoadData)(Handle*, const void*);
    Result (*cuModuleGetFunction)(Handle*, Handle, const char*);
    Result (*cuFuncSetAttribute)(Handle, int, int);
    Result (*cuFuncGetParamInfo)(Handle, size_t, size_t*, size_t*);
    Result (*cuLaunchKernel)(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle, void**, void**);
    Result (*cuMemAlloc_v2)(Address*, size_t);
    Result (*cuMemFree_v2)(Address);
    Result (*cuMemcpyHtoD_v2)(Address, const void*, size_t);
    Result (*cuMemcpyDtoH_v2)(void*, Address, size_t);
    Result (*cuMemsetD8_v2)(Address, unsigned char, size_t);
    Result (*cuMemHostRegister_v2)(void*, size_t, unsigned);
    Result (*cuEventCreate)(Handle*, unsigned);
    Result (*cuEventRecord)(Handle, Handle);
    Result (*cuEventElapsedTime)(float*, Handle, Handle);
    Result (*cuGetErrorName)(Result, const char**);
} cu;

constexpr int CTX_SCHED_SPIN = 1, LIMIT_PERSISTING_L2 = 6, ATTRIBUTE_L2_BYTES = 38, FUNC_MAX_DYNAMIC_SHARED = 8;
// What the host needs to queue a launch, with room; and the device's clocks must have come up from idling.
constexpr uint64_t QUEUE_NS = 3'000'000, QUEUE_NS_PER_LAUNCH = 8'000;
constexpr size_t MARGIN = 1 << 20, SCRATCH_ALIGN = 256;
constexpr unsigned char BAND = 0xA5, POISON = 0xFF;

// Waits on the device's own timer. As text: the driver compiles it for whatever device is there.
const char* QUEUE_PTX = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry ke_wait(.param .u64 nanoseconds)
{
    .reg .u64 %t<4>;
    .reg .pred %p;
    ld.param.u64 %t0, [nanoseconds];
    mov.u64 %t1, %globaltimer;
again:
    mov.u64 %t2, %globaltimer;
    sub.u64 %t3, %t2, %t1;
    setp.lt.u64 %p, %t3, %t0;
    @%p bra again;
    ret;
}
)";

std::string name_of(Result code) {
    const char* name = nullptr;
    if (!cu.cuGetErrorName || cu.cuGetErrorName(code, &name) != 0 || !name) return "CUDA error " + std::to_string(code);
    return name;
}

// A call that refuses the launch as such, against one that reports what earlier device code did.
bool refuses(Result code) {
    constexpr Result CODES[] = {1, 2, 9, 98, 200, 400, 701, 720, 801};
    return std::find(std::begin(CODES), std::end(CODES), code) != std::end(CODES);
}

std::string load_driver() {
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return std::string("no NVIDIA driver: ") + dlerror();
#define FIND(name) \
    if (!(*(void**)&cu.name = dlsym(library, #name))) return "the NVIDIA driver is too old: it has no " #name;
    FIND(cuInit) FIND(cuDeviceGet) FIND(cuDeviceGetAttribute) FIND(cuDevicePrimaryCtxSetFlags_v2)
    FIND(cuDevicePrimaryCtxRetain) FIND(cuCtxSetCurrent) FIND(cuCtxSetLimit) FIND(cuCtxSynchronize)
    FIND(cuCtxResetPersistingL2Cache) FIND(cuModuleLoadData) FIND(cuModuleGetFunction) FIND(cuFuncSetAttribute)
    FIND(cuFuncGetParamInfo) FIND(cuLaunchKernel) FIND(cuMemAlloc_v2) FIND(cuMemFree_v2) FIND(cuMemcpyHtoD_v2)
    FIND(cuMemcpyDtoH_v2) FIND(cuMemsetD8_v2) FIND(cuMemHostRegister_v2) FIND(cuEventCreate) FIND(cuEventRecord)
    FIND(cuEventElapsedTime) FIND(cuGetErrorName)
#undef FIND
    return "";
}

// No code of the candidate runs here; this is for the day when the driver's loader meets machine code it should not.
bool deny_calls() {
#if defined(__x86_64__)
    const uint32_t arch = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
    const uint32_t arch = AUDIT_ARCH_AARCH64;
#else
    return false;
#endif
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define DENY(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
    struct sock_filter filter[] = {
        LOAD(arch), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, arch, 1, 0), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        LOAD(nr), DENY(SYS_execve), DENY(SYS_execveat), DENY(SYS_ptrace), DENY(SYS_process_vm_readv),
        DENY(SYS_process_vm_writev), DENY(SYS_connect), DENY(SYS_bind), DENY(SYS_listen), DENY(SYS_mount),
        DENY(SYS_unshare), DENY(SYS_setns), DENY(SYS_bpf), DENY(SYS_kexec_load), DENY(SYS_init_module), DENY(SYS_finit_module),
        DENY(SYS_kill), DENY(SYS_tkill),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
#undef LOAD
#undef DENY
    const struct sock_fprog program = {(unsigned short)(sizeof filter / sizeof filter[0]), filter};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace

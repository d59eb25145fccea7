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

struct IpcHandle {
    char bytes[64];
};

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
    Result (*cuIpcOpenMemHandle_v2)(Address*, IpcHandle, unsigned);
    Result (*cuStreamCreate)(Handle*, unsigned);
    Result (*cuStreamBeginCapture_v2)(Handle, int);
    Result (*cuStreamEndCapture)(Handle, Handle*);
    Result (*cuGraphInstantiateWithFlags)(Handle*, Handle, unsigned long long);
    Result (*cuGraphUpload)(Handle, Handle);
    Result (*cuGraphLaunch)(Handle, Handle);
    Result (*cuGraphExecDestroy)(Handle);
    Result (*cuGraphDestroy)(Handle);
    Result (*cuEventRecordWithFlags)(Handle, Handle, unsigned);
    Result (*cuMemsetD8_v2)(Address, unsigned char, size_t);
    Result (*cuEventCreate)(Handle*, unsigned);
    Result (*cuEventRecord)(Handle, Handle);
    Result (*cuEventElapsedTime)(float*, Handle, Handle);
    Result (*cuGetErrorName)(Result, const char**);
} cu;

constexpr int CTX_SCHED_SPIN = 1, LIMIT_PERSISTING_L2 = 6, ATTRIBUTE_L2_BYTES = 38, FUNC_MAX_DYNAMIC_SHARED = 8;
constexpr unsigned STREAM_NON_BLOCKING = 1, EVENT_EXTERNAL = 1, IPC_LAZY_PEER = 1;
constexpr int CAPTURE_THREAD_LOCAL = 1;
constexpr uint64_t WAKE_NS = 20'000'000;  // the device's clocks must have come up from idling
constexpr size_t MARGIN = 1 << 20, SCRATCH_ALIGN = 256, FLUSH_FACTOR = 3;
constexpr unsigned READ_BLOCKS = 1024, READ_THREADS = 256;
constexpr unsigned char POISON = 0xFF;

// As text: the driver compiles it for whatever device is there. ke_wait waits on the device's own timer; ke_read brings
// n16 pieces of 16 bytes into the cache, and stores nothing unless their sum is a number it never is.
const char* OWN_PTX = R"(
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
.visible .entry ke_read(.param .u64 from, .param .u64 n16, .param .u64 sink)
{
    .reg .u64 %d<8>;
    .reg .u32 %r<12>;
    .reg .pred %p<3>;
    ld.param.u64 %d0, [from];
    ld.param.u64 %d1, [n16];
    ld.param.u64 %d2, [sink];
    mov.u32 %r0, %ctaid.x;
    mov.u32 %r1, %ntid.x;
    mov.u32 %r2, %tid.x;
    mov.u32 %r3, %nctaid.x;
    mad.lo.u32 %r4, %r0, %r1, %r2;
    mul.lo.u32 %r5, %r3, %r1;
    cvt.u64.u32 %d3, %r4;
    cvt.u64.u32 %d4, %r5;
    mov.u32 %r10, 0;
next:
    setp.ge.u64 %p0, %d3, %d1;
    @%p0 bra over;
    shl.b64 %d5, %d3, 4;
    add.u64 %d6, %d0, %d5;
    ld.global.v4.u32 {%r6, %r7, %r8, %r9}, [%d6];
    or.b32 %r6, %r6, %r7;
    or.b32 %r8, %r8, %r9;
    or.b32 %r10, %r10, %r6;
    or.b32 %r10, %r10, %r8;
    add.u64 %d3, %d3, %d4;
    bra next;
over:
    setp.ne.u32 %p1, %r10, 2779096485;
    @%p1 bra done;
    st.global.u32 [%d2], %r10;
done:
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
    FIND(cuFuncGetParamInfo) FIND(cuLaunchKernel) FIND(cuMemAlloc_v2) FIND(cuMemFree_v2) FIND(cuMemsetD8_v2)
    FIND(cuIpcOpenMemHandle_v2) FIND(cuStreamCreate) FIND(cuStreamBeginCapture_v2) FIND(cuStreamEndCapture)
    FIND(cuGraphInstantiateWithFlags) FIND(cuGraphUpload) FIND(cuGraphLaunch) FIND(cuGraphExecDestroy) FIND(cuGraphDestroy)
    FIND(cuEventRecordWithFlags) FIND(cuEventCreate) FIND(cuEventRecord)
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

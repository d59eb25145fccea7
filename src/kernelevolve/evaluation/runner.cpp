// The process a candidate lives in. Ours until dlopen; hostile from then on.
//
//   judge --control--> runner   "A slot start bytes n_ptr off.. n_int i.. n_real r..\n" binds a slot's arguments
//                               "T n slot..\n"                              reads the slots' bytes: caches are warm then
//                               "R n slot..\n"                              calls the entry once per slot
//   judge <--reply---- runner   "I name name..\n" isolation that is active, then "L\n" loaded or "F text\n" not loaded,
//                               "D n_done rc\n" after each T or R
//   judge <--status--- init     "E code\n" or "S signal\n" when the candidate's process has ended
//
// The candidate never holds the status descriptor, the reference, an expected answer, a seed or the clock. A reply it
// forges only says "done": the judge looks at the bytes.
//
// Three processes: outer (the judge's child), init (pid 1 of a new pid namespace: when it ends, everything in the
// namespace dies) and the candidate. argv: control reply status shared log shared_bytes jail memory_bytes max_tasks uid
// seccomp [program argument..]: with a program, the candidate's process becomes that program (an interpreter of ours that
// locks itself up by the same rules before it loads a candidate) instead of loading a library. `shared` is -1 where the
// tensors lie on a device: then the program is lent a folder to write to, since it may start compilers.
//
// The same as a library: an interpreter that has its libraries loaded and has forked calls `ke_enter` with these arguments
// and the program ".", which returns in the candidate's process, and nowhere else.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

struct Options {
    int control, reply, status, shared, log;
    size_t shared_bytes;
    const char* jail;
    rlim_t memory_bytes;
    rlim_t max_tasks;
    uid_t uid;
    bool seccomp;
    char** program;

    bool is_here() const { return program && strcmp(program[0], ".") == 0; }  // who called is the program already
};

struct Slot {
    const volatile char* start = nullptr;
    size_t n_bytes = 0;
    std::vector<void*> pointers;
    std::vector<int64_t> integers;
    std::vector<double> reals;
};

using Entry = int (*)(void* const*, const int64_t*, const double*);

void say(int fd, const std::string& text) {
    size_t done = 0;
    while (done < text.size()) {
        const ssize_t n = write(fd, text.data() + done, text.size() - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) _exit(91);
        done += (size_t)n;
    }
}

bool write_file(const char* path, const std::string& text) {
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return false;
    const bool ok = write(fd, text.data(), text.size()) == (ssize_t)text.size();
    close(fd);
    return ok;
}

std::string isolation;  // names of what is active, for the record

void enter_namespaces() {
    const uid_t uid = geteuid();
    const gid_t gid = getegid();
    const int common = CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWNS | CLONE_NEWUTS;
    if (uid == 0 && unshare(common) == 0) {
        isolation += " pid-ns net-ns ipc-ns mount-ns";
        return;
    }
    if (unshare(CLONE_NEWUSER | common) == 0) {
        write_file("/proc/self/setgroups", "deny");
        write_file("/proc/self/uid_map", "0 " + std::to_string(uid) + " 1\n");
        write_file("/proc/self/gid_map", "0 " + std::to_string(gid) + " 1\n");
        isolation += " user-ns pid-ns net-ns ipc-ns mount-ns";
    }
}

void limit(int resource, rlim_t value, const char* name) {
    if (value == RLIM_INFINITY) return;
    const struct rlimit both = {value, value};
    if (setrlimit((__rlimit_resource_t)resource, &both) == 0) isolation += std::string(" ") + name;
}

#define REFUSE(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
#define REFUSE_WITH(number, field, value)                                                                                  \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 4), LOAD(field), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, 1), \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))

bool install_filter() {
#if defined(__x86_64__)
    const uint32_t arch = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
    const uint32_t arch = AUDIT_ARCH_AARCH64;
#else
    return false;
#endif
    struct sock_filter filter[] = {
        LOAD(arch),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, arch, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        LOAD(nr),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000u, 0, 1),  // the x32 numbers are another way to every call
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        REFUSE(SYS_socket), REFUSE(SYS_socketpair), REFUSE(SYS_connect), REFUSE(SYS_bind), REFUSE(SYS_listen),
        REFUSE(SYS_sendto), REFUSE(SYS_sendmsg), REFUSE(SYS_ptrace), REFUSE(SYS_execve), REFUSE(SYS_execveat),
        REFUSE(SYS_mount), REFUSE(SYS_umount2), REFUSE(SYS_pivot_root), REFUSE(SYS_chroot), REFUSE(SYS_unshare),
        REFUSE(SYS_setns), REFUSE(SYS_bpf), REFUSE(SYS_perf_event_open), REFUSE(SYS_userfaultfd), REFUSE(SYS_keyctl),
        REFUSE(SYS_add_key), REFUSE(SYS_request_key), REFUSE(SYS_process_vm_readv), REFUSE(SYS_process_vm_writev),
        REFUSE(SYS_kexec_load), REFUSE(SYS_init_module), REFUSE(SYS_finit_module), REFUSE(SYS_delete_module),
        REFUSE(SYS_reboot), REFUSE(SYS_swapon), REFUSE(SYS_swapoff), REFUSE(SYS_personality), REFUSE(SYS_syslog),
        REFUSE(SYS_open_by_handle_at), REFUSE(SYS_name_to_handle_at), REFUSE(SYS_fanotify_init),
        REFUSE(SYS_memfd_create), REFUSE(SYS_seccomp), REFUSE(SYS_setpriority), REFUSE(SYS_sched_setscheduler),
        REFUSE(SYS_sched_setattr), REFUSE(SYS_acct), REFUSE(SYS_quotactl), REFUSE(SYS_mknodat), REFUSE(SYS_setrlimit),
        REFUSE(425 /* io_uring_setup */), REFUSE(434 /* pidfd_open */), REFUSE(438 /* pidfd_getfd */),
        REFUSE(437 /* openat2: its flags hide behind a pointer */),
#if defined(__x86_64__)
        REFUSE(SYS_fork), REFUSE(SYS_vfork), REFUSE(SYS_creat), REFUSE(SYS_mknod), REFUSE(SYS_kexec_file_load),
#endif
        // Outside the judge's clock the process is stopped. SIGCONT lets it go on, blocked or ignored as it may be: no call
        // of its own sends it, nor any signal of a free number that comes later or from outside (a timer, a pipe).
        REFUSE(SYS_timer_create), REFUSE(SYS_mq_open), REFUSE(SYS_mq_notify),
        REFUSE_WITH(SYS_fcntl, args[1], F_SETSIG), REFUSE_WITH(SYS_kill, args[1], SIGCONT),
        REFUSE_WITH(SYS_tkill, args[1], SIGCONT), REFUSE_WITH(SYS_tgkill, args[2], SIGCONT),
        REFUSE_WITH(SYS_rt_sigqueueinfo, args[1], SIGCONT), REFUSE_WITH(SYS_rt_tgsigqueueinfo, args[2], SIGCONT),
        REFUSE_WITH(424 /* pidfd_send_signal */, args[1], SIGCONT),
        // clone3 hides its flags behind a pointer: pretend it does not exist, libc falls back to clone.
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 435, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        // clone only for threads
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4),
        LOAD(args[0]),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        // openat only for reading
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 4),
        LOAD(args[2]),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
#if defined(__x86_64__)
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_open, 0, 4),
        LOAD(args[1]),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
#endif
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {(unsigned short)(sizeof(filter) / sizeof(filter[0])), filter};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

void lock_down(const Options& o) {
    limit(RLIMIT_AS, o.memory_bytes, "rlimit-memory");
    limit(RLIMIT_FSIZE, 64 * 1024, "rlimit-filesize");
    limit(RLIMIT_CORE, 0, "no-core");
    limit(RLIMIT_NOFILE, 32, "rlimit-files");
    signal(SIGXFSZ, SIG_IGN);
    if (isolation.find("mount-ns") != std::string::npos && chroot(o.jail) == 0 && chdir("/") == 0) isolation += " chroot";
    if (o.uid != 0 && geteuid() == 0 && setgroups(0, nullptr) == 0 && setresgid(o.uid, o.uid, o.uid) == 0 &&
        setresuid(o.uid, o.uid, o.uid) == 0) {
        isolation += " own-uid";
        limit(RLIMIT_NPROC, o.max_tasks, "rlimit-tasks");  // counted per uid: only ours
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // again: changing the uid clears it
    prctl(PR_SET_DUMPABLE, 0);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) isolation += " no-new-privs";
    if (!o.seccomp) return;
    isolation += " seccomp";  // said first: after the filter nothing more is written but the truth
    if (!install_filter()) isolation.resize(isolation.size() - strlen(" seccomp"));
}

class Lines {  // the control pipe, line by line
public:
    explicit Lines(int fd) : fd_(fd) {}
    bool next(std::string* line) {
        for (;;) {
            const size_t end = text_.find('\n');
            if (end != std::string::npos) {
                line->assign(text_, 0, end);
                text_.erase(0, end + 1);
                return true;
            }
            char chunk[65536];
            const ssize_t n = read(fd_, chunk, sizeof chunk);
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) return false;
            text_.append(chunk, (size_t)n);
        }
    }

private:
    int fd_;
    std::string text_;
};

void bind(std::vector<Slot>& slots, const char* text, char* base) {
    char* at = const_cast<char*>(text);
    const size_t slot = strtoull(at, &at, 10);
    if (slots.size() <= slot) slots.resize(slot + 1);
    Slot& s = slots[slot];
    s = Slot{};
    s.start = base + strtoull(at, &at, 10);
    s.n_bytes = strtoull(at, &at, 10);
    for (size_t n = strtoull(at, &at, 10); n > 0; --n) s.pointers.push_back(base + strtoull(at, &at, 10));
    for (size_t n = strtoull(at, &at, 10); n > 0; --n) s.integers.push_back(strtoll(at, &at, 10));
    for (size_t n = strtoull(at, &at, 10); n > 0; --n) s.reals.push_back(strtod(at, &at));
    s.pointers.push_back(nullptr);
}

std::vector<const Slot*> named(const std::vector<Slot>& slots, const char* text) {
    char* at = const_cast<char*>(text);
    std::vector<const Slot*> order(strtoull(at, &at, 10));
    for (auto& slot : order) slot = &slots.at(strtoull(at, &at, 10));
    return order;
}

void answer(int reply, size_t done, int rc) {
    char text[64];
    const int n = snprintf(text, sizeof text, "D %zu %d\n", done, rc);
    say(reply, std::string(text, (size_t)n));
}

void touch(const std::vector<Slot>& slots, const char* text, int reply) {
    const std::vector<const Slot*> order = named(slots, text);
    for (const Slot* s : order)
        for (size_t i = 0; i < s->n_bytes; i += 64) (void)s->start[i];
    answer(reply, order.size(), 0);
}

void run(const std::vector<Slot>& slots, const char* text, Entry entry, int reply) {
    const std::vector<const Slot*> order = named(slots, text);
    size_t done = 0;
    int rc = 0;
    for (const Slot* s : order) {
        rc = entry(s->pointers.data(), s->integers.data(), s->reals.data());
        if (rc != 0) break;
        ++done;
    }
    answer(reply, done, rc);
}

// Whether one of the paths in KE_KEEP lies in the folder: an interpreter that lives there could not start without it, and
// Landlock decides later what of it may be read.
bool needed(const std::string& folder) {
    const char* kept = getenv("KE_KEEP");
    return (":" + std::string(kept ? kept : "")).find(":" + folder + "/") != std::string::npos;
}

// An interpreter needs its files, so there is no chroot: other folders are hidden, nothing of the host's /proc is seen, and
// the program itself gives up the rest (Landlock, capabilities, seccomp) once it has imported what it needs.
void become(const Options& o) {
    const bool on_device = o.shared < 0;
    const bool own_mounts = isolation.find("mount-ns") != std::string::npos && mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    if (own_mounts) {
        if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0) isolation += " own-proc";
        for (const char* folder : {"/tmp", "/var/tmp", "/dev/shm"}) {
            if (needed(folder)) continue;
            const bool scratch = on_device && strcmp(folder, "/dev/shm") == 0;
            const unsigned long flags = MS_NOSUID | MS_NODEV | (scratch ? 0 : MS_RDONLY);
            const char* size = scratch ? "size=1g,nr_inodes=64k,mode=1777" : "size=4k";
            if (mount("tmpfs", folder, "tmpfs", flags, size) != 0 || !scratch) continue;
            isolation += " own-scratch";
            setenv("KE_SCRATCH", folder, 1);
        }
    }
    dup2(o.log, 1);
    dup2(o.log, 2);
    // A driver reserves more addresses than there is memory, so they cannot be limited: out of memory it is the first to go.
    if (on_device) write_file("/proc/self/oom_score_adj", "1000");
    limit(RLIMIT_AS, o.memory_bytes, "rlimit-memory");
    limit(RLIMIT_FSIZE, on_device ? 256 << 20 : 64 * 1024, "rlimit-filesize");
    limit(RLIMIT_CORE, 0, "no-core");
    limit(RLIMIT_NOFILE, on_device ? 1024 : 64, "rlimit-files");
    signal(SIGXFSZ, SIG_IGN);
    for (const int fd : {o.control, o.reply, o.shared}) fcntl(fd, F_SETFD, 0);
    setenv("KE_ISOLATION", isolation.c_str(), 1);
    unsetenv("KE_KEEP");
    if (chdir("/") != 0) _exit(93);
    close(o.log);
    if (o.is_here()) return;
    execv(o.program[0], o.program);
    _exit(94);
}

void serve(const Options& o) {
    if (o.program) return become(o);
    char* base = (char*)mmap(nullptr, o.shared_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, o.shared, 0);
    if (base == MAP_FAILED) _exit(90);
    close(o.shared);
    dup2(o.log, 1);
    dup2(o.log, 2);
    close(o.log);
    // What a candidate may link against must be loaded before the file system disappears.
    for (const char* name : {"libgomp.so.1", "libomp.so.5", "libomp.so", "libmvec.so.1", "libm.so.6"}) dlopen(name, RTLD_NOW | RTLD_GLOBAL);
    lock_down(o);
    say(o.reply, "I" + isolation + "\n");
    void* library = dlopen("/candidate.so", RTLD_NOW | RTLD_LOCAL);
    if (!library && isolation.find("chroot") == std::string::npos) library = dlopen((std::string(o.jail) + "/candidate.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    const char* failure = library ? nullptr : dlerror();
    const Entry entry = library ? (Entry)dlsym(library, "ke_call") : nullptr;
    if (!entry) {
        std::string text = failure ? failure : "no ke_call";
        for (char& c : text)
            if (c == '\n') c = ' ';
        say(o.reply, "F " + text.substr(0, 400) + "\n");
        _exit(0);
    }
    say(o.reply, "L\n");
    std::vector<Slot> slots;
    Lines lines(o.control);
    std::string line;
    while (lines.next(&line)) {
        if (line[0] == 'A') bind(slots, line.c_str() + 1, base);
        else if (line[0] == 'T') touch(slots, line.c_str() + 1, o.reply);
        else if (line[0] == 'R') run(slots, line.c_str() + 1, entry, o.reply);
        else break;
    }
    _exit(0);
}

void init(const Options& o) {
    signal(SIGTERM, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const pid_t candidate = fork();
    if (candidate == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(o.status);
        return serve(o);
    }
    close(o.control);
    close(o.reply);
    close(o.shared);
    close(o.log);
    int status = 0;
    while (waitpid(candidate, &status, 0) < 0 && errno == EINTR) {}
    if (candidate < 0) say(o.status, "E 92\n");
    else if (WIFSIGNALED(status)) say(o.status, "S " + std::to_string(WTERMSIG(status)) + "\n");
    else say(o.status, "E " + std::to_string(WEXITSTATUS(status)) + "\n");
    _exit(0);
}

pid_t init_pid = 0;

void end_all(int) {  // init takes its whole namespace along; main then reaps it and ends
    kill(init_pid, SIGKILL);
}

}  // namespace

extern "C" int ke_enter(int argc, char** argv) {
    if (argc < 12) return 2;
    Options o = {};
    o.control = atoi(argv[1]);
    o.reply = atoi(argv[2]);
    o.status = atoi(argv[3]);
    o.shared = atoi(argv[4]);
    o.log = atoi(argv[5]);
    o.shared_bytes = strtoull(argv[6], nullptr, 10);
    o.jail = argv[7];
    o.memory_bytes = strtoull(argv[8], nullptr, 10);
    o.max_tasks = strtoull(argv[9], nullptr, 10);
    o.uid = (uid_t)strtoul(argv[10], nullptr, 10);
    o.seccomp = strcmp(argv[11], "0") != 0;
    o.program = argc > 12 ? argv + 12 : nullptr;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    signal(SIGPIPE, SIG_IGN);
    if (strcmp(argv[11], "bare") != 0) enter_namespaces();
    init_pid = fork();
    if (init_pid == 0) {
        init(o);
        return 0;
    }
    signal(SIGTERM, end_all);
    for (const int fd : {o.control, o.reply, o.status, o.shared, o.log}) close(fd);
    int status = 0;
    while (waitpid(init_pid, &status, 0) < 0 && errno == EINTR) {}
    _exit(0);
}

int main(int argc, char** argv) { return ke_enter(argc, argv); }

"""An allocator for PyTorch that takes memory of the device as TensorFlow and JAX do: regions each twice the one before, or
three quarters of the device at the start and no more; best fit, neighbours that are free are joined. For record_llm.py.

It is plugged in by two callbacks, so a program that is refused memory cannot be told by an exception: `refused` is called and
must not come back.
"""
import bisect, ctypes, threading

MIB = 1 << 20


class Arena:
    def __init__(self, torch, most, at_once, refused):
        path = next(line.split()[-1] for line in open("/proc/self/maps") if "libcudart" in line)
        self.cuda = ctypes.CDLL(path)
        self.cuda.cudaMalloc.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t]
        self.most, self.at_once, self.refused = most, at_once, refused
        self.next_region, self.device, self.held, self.held_peak = 2 * MIB, 0, 0, 0
        self.free, self.after, self.before, self.size = [], {}, {}, {}  # (size, address); neighbours; sizes of blocks
        self.is_free, self.lock = set(), threading.RLock()
        self.alloc_c = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p)(self.take)
        self.free_c = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p)(self.give)
        address = lambda f: ctypes.cast(f, ctypes.c_void_p).value
        self.plugged = torch._C._cuda_customAllocator(address(self.alloc_c), address(self.free_c))
        torch._C._cuda_changeCurrentAllocator(self.plugged)

    def region(self, size):
        if self.at_once:
            wanted = 0 if self.device else self.most * 3 // 4 // 512 * 512
        else:
            while self.next_region < size: self.next_region *= 2
            wanted = self.next_region
            while self.device + wanted > self.most and wanted >= size: wanted = wanted * 9 // 10 // 512 * 512
            if wanted < size and self.device + size <= self.most: wanted = size
        address = ctypes.c_void_p()
        if wanted < size or self.cuda.cudaMalloc(ctypes.byref(address), wanted) != 0: return False
        self.next_region *= 2
        self.device += wanted
        self.size[address.value] = wanted
        self.before[address.value] = self.after[address.value] = None
        self.put(address.value)
        return True

    def put(self, at):
        bisect.insort(self.free, (self.size[at], at))
        self.is_free.add(at)

    def pull(self, at):
        del self.free[bisect.bisect_left(self.free, (self.size[at], at))]
        self.is_free.discard(at)

    def take(self, size, _device, _stream):
        with self.lock:
            size = max(512, (size + 511) // 512 * 512)
            place = bisect.bisect_left(self.free, (size, 0))
            if place == len(self.free):
                if not self.region(size): self.refused(size)
                place = bisect.bisect_left(self.free, (size, 0))
            at = self.free[place][1]
            self.pull(at)
            rest = self.size[at] - size
            if rest >= size or rest >= 128 * MIB:
                right = at + size
                self.size[at], self.size[right] = size, rest
                self.before[right], self.after[right] = at, self.after[at]
                if self.after[at]: self.before[self.after[at]] = right
                self.after[at] = right
                self.put(right)
            self.held += self.size[at]
            self.held_peak = max(self.held_peak, self.held)
            return at

    def give(self, at, _size, _device, _stream):
        with self.lock:
            if at not in self.size: return
            self.held -= self.size[at]
            right, left = self.after[at], self.before[at]
            if right in self.is_free: self.join(at, right)
            if left in self.is_free:
                self.pull(left)
                self.join(left, at)
                at = left
            self.put(at)

    def join(self, left, right):
        if right in self.is_free: self.pull(right)
        self.size[left] += self.size.pop(right)
        self.after[left] = self.after.pop(right)
        del self.before[right]
        if self.after[left]: self.before[self.after[left]] = left

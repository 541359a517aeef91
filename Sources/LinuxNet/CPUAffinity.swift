// SPDX-License-Identifier: Apache-2.0

internal import CNet

/// Which CPUs the process may use, and keeping a thread on one (sched_setaffinity(2)).
public enum CPUAffinity {
    /// The numbers of the usable CPUs in ascending order; taskset and cpusets are honoured. Never empty.
    public static var allowed: [Int] {
        var mask = [UInt64](repeating: 0, count: 128)
        let count = unsafe cnet_get_affinity(&mask, UInt32(mask.count))
        guard count > 0 else { return [0] }
        return mask.indices.flatMap { word in
            (0..<64).filter { mask[word] >> UInt64($0) & 1 == 1 }.map { word * 64 + $0 }
        }
    }

    /// Keeps the calling thread on `cpu`.
    public static func pinCurrentThread(to cpu: Int) throws(SystemError) {
        try check("sched_setaffinity", cnet_pin_thread(UInt32(cpu)))
    }
}

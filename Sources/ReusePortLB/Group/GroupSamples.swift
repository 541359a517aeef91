// SPDX-License-Identifier: Apache-2.0

internal import CReusePortLB

extension ReusePortGroup {
    /// One sample of a metric, named as Prometheus expects it.
    public struct Sample: Hashable, Sendable {
        /// Such as `reuseportlb_selected_packets_total`.
        public let name: String
        public let help: String
        /// Else a gauge.
        public let isCounter: Bool
        /// `group` first, then `slot`, `state`.
        public let labels: [Label]
        public let value: UInt64

        public init(name: String, help: String, isCounter: Bool, labels: [Label], value: UInt64) {
            self.name = name
            self.help = help
            self.isCounter = isCounter
            self.labels = labels
            self.value = value
        }
    }

    public struct Label: Hashable, Sendable {
        public let name: String
        public let value: String

        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The group's metrics: slots, members by state, the counters of each slot, packets left to the kernel, flows
    /// missed; and drops, queue and buffer of each UDP member's socket if the members are in the caller's network
    /// namespace.
    public borrowing func samples() throws(ReusePortError) -> [Sample] {
        var samples: [Sample] = []
        // SAFETY: the pointer to the array, and those of a sample, are used during the call alone.
        let result = unsafe withUnsafeMutablePointer(to: &samples) { samples in
            unsafe rplb_samples(
                handle.native,
                { context, sample in
                    guard let context = unsafe context, let sample = unsafe sample else { return }
                    unsafe context.assumingMemoryBound(to: [Sample].self).pointee
                        .append(Sample(sample.pointee))
                }, samples)
        }
        try check(result, "read the metrics of", handle.subject, RPLB_CALL_REPORT)
        return samples
    }
}

extension ReusePortGroup.Sample {
    // SAFETY: the library's texts are NUL-terminated, and there are as many labels as it says.
    fileprivate init(_ native: rplb_sample) {
        let labels = unsafe UnsafeBufferPointer(start: native.labels, count: native.label_count)
        unsafe self.init(
            name: String(cString: native.name), help: String(cString: native.help),
            isCounter: native.is_counter != 0,
            labels: labels.map {
                unsafe ReusePortGroup.Label(String(cString: $0.name), String(cString: $0.value))
            },
            value: native.value)
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

/* Both a macro and an enumerator upstream, which Swift cannot tell apart. */
enum {
	CLIBBPF_KIND_DATASEC = BTF_KIND_DATASEC
};

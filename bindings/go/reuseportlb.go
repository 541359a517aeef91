// SPDX-License-Identifier: Apache-2.0

// Package reuseportlb lets processes share one UDP or TCP port, so that each source goes to one of them.
//
//	conn, err := reuseportlb.ListenUDP("0.0.0.0:2055")
//	group, err := reuseportlb.Open("netflow", reuseportlb.Options{Count: 3})
//	member, err := group.Join(conn, 0)
//	defer member.Retire()
//
// It uses libreuseportlb by pkg-config. `man 3 reuseport_lb` describes every function. The functions may be called
// from any goroutine.
package reuseportlb

/*
#cgo pkg-config: reuseportlb
#include <netinet/in.h>
#include <stdlib.h>
#include <reuseport_lb.h>

static struct rplb_options new_options(void)
{
	return RPLB_OPTIONS(.count = 0);
}
*/
import "C"

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"syscall"
	"unsafe"
)

// Key is what a group balances by.
type Key uint32

// The keys. A group that is opened without one keeps its key; a new one balances by SourceIP.
const (
	SourceIP   Key = C.RPLB_KEY_SOURCE_IP
	FourTuple  Key = C.RPLB_KEY_FOUR_TUPLE
	RoundRobin Key = C.RPLB_KEY_ROUND_ROBIN
	Random     Key = C.RPLB_KEY_RANDOM
	CPU        Key = C.RPLB_KEY_CPU
)

// Options of a group; the zero value opens an existing one.
type Options struct {
	Count         int    // the number of members; 0 keeps the group's
	Key           Key    // 0 keeps the group's
	PinRoot       string // a folder on a BPF file system; "" for /sys/fs/bpf
	Capacity      int    // the highest count of a new group; 0: 128
	Flows         int    // how many flows a new group remembers; 0: none
	AllowFallback bool   // RPLB_FALLBACK
}

// Error of a call. It unwraps to a syscall.Errno.
type Error struct {
	Operation string
	Errno     syscall.Errno
	Remedy    string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s: %s: %s", e.Operation, e.Errno.Error(), e.Remedy)
}

func (e *Error) Unwrap() error { return e.Errno }

func check(result C.int, call C.enum_rplb_call, operation string) error {
	if result >= 0 {
		return nil
	}
	return &Error{operation, syscall.Errno(-result), C.GoString(C.rplb_explain_call(call, result))}
}

// Group is an open group.
type Group struct {
	name   string
	native *C.struct_rplb_group
}

// Open opens the group `name`, or creates it, which needs CAP_BPF and CAP_NET_ADMIN.
func Open(name string, options Options) (*Group, error) {
	given := C.new_options()
	given.count = C.uint32_t(options.Count)
	given.key = C.enum_rplb_key(options.Key)
	given.capacity = C.uint32_t(options.Capacity)
	given.flows = C.uint32_t(options.Flows)
	if options.AllowFallback {
		given.flags = C.RPLB_FALLBACK
	}
	if options.PinRoot != "" {
		given.pin_root = C.CString(options.PinRoot)
		defer C.free(unsafe.Pointer(given.pin_root))
	}
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	group := &Group{name: name}
	err := check(
		C.rplb_group_open(text, &given, &group.native), C.RPLB_CALL_OPEN, "open group "+name)
	if err != nil {
		return nil, err
	}
	runtime.SetFinalizer(group, (*Group).Close)
	return group, nil
}

// Close closes the group. Members stay in their slots.
func (g *Group) Close() {
	C.rplb_group_close(g.native)
	g.native = nil
	runtime.SetFinalizer(g, nil)
}

// Destroy removes the pins of a group without live members. An empty pin root is /sys/fs/bpf.
func Destroy(pinRoot, name string) error {
	var root *C.char
	if pinRoot != "" {
		root = C.CString(pinRoot)
		defer C.free(unsafe.Pointer(root))
	}
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	return check(C.rplb_group_destroy(root, text), C.RPLB_CALL_DESTROY, "destroy group "+name)
}

// ListenUDP binds a UDP socket with SO_REUSEPORT.
func ListenUDP(address string) (*net.UDPConn, error) {
	const reusePort = 15 // SO_REUSEPORT, asm-generic/socket.h; package syscall has no such name
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var err error
		controlErr := raw.Control(func(fd uintptr) {
			err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, reusePort, 1)
		})
		if controlErr != nil {
			return controlErr
		}
		return err
	}}
	conn, err := config.ListenPacket(context.Background(), "udp", address)
	if err != nil {
		return nil, err
	}
	return conn.(*net.UDPConn), nil
}

// Membership is a socket in a slot.
type Membership struct {
	group *Group
	conn  syscall.Conn
}

// Join puts a bound UDP socket, or a listening TCP socket, with SO_REUSEPORT into a slot.
func (g *Group) Join(conn syscall.Conn, slot int) (*Membership, error) {
	err := g.with(conn, C.RPLB_CALL_JOIN, "join", func(fd C.int) C.int {
		return C.rplb_join(g.native, fd, C.uint32_t(slot))
	})
	if err != nil {
		return nil, err
	}
	return &Membership{g, conn}, nil
}

// Replace does so while a live member is in the slot, which becomes the slot's previous member until it leaves.
func (g *Group) Replace(conn syscall.Conn, slot int) (*Membership, error) {
	err := g.with(conn, C.RPLB_CALL_JOIN, "replace", func(fd C.int) C.int {
		return C.rplb_replace(g.native, fd, C.uint32_t(slot))
	})
	if err != nil {
		return nil, err
	}
	return &Membership{g, conn}, nil
}

// Leave empties the slot; the socket's queue can still be read.
func (m *Membership) Leave() error {
	return m.group.with(m.conn, C.RPLB_CALL_LEAVE, "leave", func(fd C.int) C.int {
		return C.rplb_leave(m.group.native, fd)
	})
}

// Retire leaves the slot for good: nothing more arrives. Read the queue until it is empty, then close the socket.
func (m *Membership) Retire() error {
	return m.group.with(m.conn, C.RPLB_CALL_LEAVE, "retire", func(fd C.int) C.int {
		return C.rplb_retire(m.group.native, fd)
	})
}

func (g *Group) with(
	conn syscall.Conn, call C.enum_rplb_call, operation string, body func(C.int) C.int,
) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var result C.int
	if err := raw.Control(func(fd uintptr) { result = body(C.int(fd)) }); err != nil {
		return err
	}
	runtime.KeepAlive(g)
	return check(result, call, operation+" in group "+g.name)
}

// Info describes a group.
type Info struct {
	Count, Capacity, Flows int
	Key                    Key
	Seed                   uint64
	IsFallback             bool
}

func (g *Group) Info() (Info, error) {
	var info C.struct_rplb_info
	err := check(C.rplb_info(g.native, &info), C.RPLB_CALL_REPORT, "look at group "+g.name)
	return Info{
		int(info.count), int(info.capacity), int(info.flows), Key(info.key), uint64(info.seed),
		info.is_fallback != 0,
	}, err
}

// Counters of a slot, in packets as the kernel delivers them.
type Counters struct{ Selected, Fallback, Missed uint64 }

func (g *Group) Counters(slot int) (Counters, error) {
	var row C.struct_rplb_counters
	err := check(
		C.rplb_counters(g.native, C.uint32_t(slot), &row), C.RPLB_CALL_REPORT,
		"read the counters of group "+g.name)
	return Counters{uint64(row.selected), uint64(row.fallback), uint64(row.missed)}, err
}

// SlotOf finds the slot of a source of UDP datagrams, and the slot of the member that gets them now: -1 without a
// member.
func (g *Group) SlotOf(source netip.Addr) (slot, now int, err error) {
	var address C.struct_sockaddr_storage
	if source = source.Unmap(); source.Is4() {
		v4 := (*C.struct_sockaddr_in)(unsafe.Pointer(&address))
		v4.sin_family = C.AF_INET
		*(*[4]byte)(unsafe.Pointer(&v4.sin_addr)) = source.As4()
	} else {
		v6 := (*C.struct_sockaddr_in6)(unsafe.Pointer(&address))
		v6.sin6_family = C.AF_INET6
		*(*[16]byte)(unsafe.Pointer(&v6.sin6_addr)) = source.As16()
	}
	var number C.uint32_t
	var member C.struct_rplb_member
	err = check(
		C.rplb_slot_of(
			g.native, C.IPPROTO_UDP, (*C.struct_sockaddr)(unsafe.Pointer(&address)), nil,
			&number, &member),
		C.RPLB_CALL_REPORT, "look up a source in group "+g.name)
	if member.cookie == 0 {
		return int(number), -1, err
	}
	return int(number), int(member.slot), err
}

// SPDX-License-Identifier: Apache-2.0

package reuseportlb

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"
)

// Run it as root in a mount and a network namespace of its own, with a BPF file system and a loopback interface.

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func send(t *testing.T, source, destination string) {
	t.Helper()
	from, err := net.ResolveUDPAddr("udp", source+":0")
	must(t, err)
	to, err := net.ResolveUDPAddr("udp", destination)
	must(t, err)
	conn, err := net.DialUDP("udp", from, to)
	must(t, err)
	defer conn.Close()
	_, err = conn.Write([]byte("x"))
	must(t, err)
}

// What waits in a socket.
func count(conn *net.UDPConn) (sources []string) {
	buffer := make([]byte, 64)
	for {
		conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		_, from, err := conn.ReadFromUDP(buffer)
		if err != nil {
			return sources
		}
		sources = append(sources, from.IP.String())
	}
}

func TestEachSourceHasOneMember(t *testing.T) {
	group, err := Open("go", Options{Count: 2, Flows: 100})
	must(t, err)
	defer group.Close()
	first, err := ListenUDP("127.0.0.1:0")
	must(t, err)
	address := first.LocalAddr().String()
	second, err := ListenUDP(address)
	must(t, err)
	member, err := group.Join(first, 0)
	must(t, err)
	_, err = group.Join(second, 1)
	must(t, err)
	for i := 1; i <= 40; i++ {
		send(t, fmt.Sprintf("127.0.1.%d", i), address)
	}
	for number, conn := range []*net.UDPConn{first, second} {
		sources := count(conn)
		if len(sources) == 0 {
			t.Errorf("socket %d got nothing", number)
		}
		for _, source := range sources {
			slot, now, err := group.SlotOf(netip.MustParseAddr(source))
			must(t, err)
			if slot != number || now != number {
				t.Errorf("%s is of slot %d and got by %d, not %d", source, slot, now, number)
			}
		}
		row, err := group.Counters(number)
		must(t, err)
		if row.Selected != uint64(len(sources)) {
			t.Errorf("slot %d counts %d of %d", number, row.Selected, len(sources))
		}
	}
	info, err := group.Info()
	must(t, err)
	if info.Count != 2 || info.Key != SourceIP || info.Flows != 100 || info.Capacity != 128 {
		t.Errorf("%+v", info)
	}
	must(t, member.Retire())
	send(t, "127.0.1.1", address)
	if len(count(second)) != 1 {
		t.Error("the other member gets what a retired one does not")
	}
	first.Close()
	second.Close()
	must(t, Destroy("", "go"))
}

func TestErrors(t *testing.T) {
	_, err := Open("no-such-group", Options{})
	if !errors.Is(err, syscall.ENOENT) {
		t.Errorf("%v", err)
	}
	group, err := Open("go", Options{Count: 1})
	must(t, err)
	conn, err := ListenUDP("127.0.0.1:0")
	must(t, err)
	if _, err := group.Join(conn, 1); !errors.Is(err, syscall.ERANGE) {
		t.Errorf("%v", err)
	}
	conn.Close()
	group.Close()
	must(t, Destroy("", "go"))
}

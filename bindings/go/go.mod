module github.com/udp-fanout/udp-fanout/bindings/go

go 1.19

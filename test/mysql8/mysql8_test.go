package mysql8

import (
	"fmt"
	"os"
	"testing"
)

func TestServe(t *testing.T) {
	p := startServer(t)
	os.WriteFile("/tmp/e2e-mysql8.addr", []byte(p.addr), 0o600)
	for {
		os.Stdin.Read(make([]byte, 1))
		p.mu.Lock()
		var out string
		for q, e := range p.refused {
			out += fmt.Sprintf("%s\n    %s\n", e, q[:min(len(q), 600)])
		}
		os.WriteFile("/tmp/e2e-mysql8.refused", []byte(out), 0o600)
		clear(p.refused)
		p.mu.Unlock()
	}
}

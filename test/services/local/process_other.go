//go:build unix && !linux

package local

import "syscall"

// processAttributes gives a program a process group of its own. Outside Linux nothing ends it when this process dies
// without having stopped it.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

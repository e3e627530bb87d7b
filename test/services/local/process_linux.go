package local

import "syscall"

// processAttributes gives a program its own process group and makes the kernel end it when this process dies without
// having stopped it (SIGKILL, a crash).
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

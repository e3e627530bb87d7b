package local

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// Process is a program in its own process group. Only that group is ever signalled, so that no process is ended that
// this program did not start.
type Process struct {
	name   string
	cmd    *exec.Cmd
	exited chan struct{} // closed when the program has ended and err is set
	err    error
}

// starts takes starts of programs to a thread that lives as long as this process: the kernel ends a program when the
// thread that started it ends (see processAttributes).
var starts = sync.OnceValue(func() chan<- func() {
	queue := make(chan func())
	go runStarts(queue)
	return queue
})

// runStarts never returns. Packages that look for goroutines that leak ignore it by its name.
func runStarts(queue <-chan func()) {
	runtime.LockOSThread()
	for start := range queue {
		start()
	}
}

// StartProcess starts cmd as the leader of a new process group. It ends with this process at the latest, where the
// system can see to that. Of cmd's attributes the account that it runs as is kept.
func StartProcess(name string, cmd *exec.Cmd) (*Process, error) {
	attributes := processAttributes()
	if cmd.SysProcAttr != nil {
		attributes.Credential = cmd.SysProcAttr.Credential
	}
	cmd.SysProcAttr = attributes
	// Descendants may outlive the program with its output open: do not wait for them forever.
	cmd.WaitDelay = 5 * time.Second
	started := make(chan error)
	starts() <- func() { started <- cmd.Start() }
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p := &Process{name: name, cmd: cmd, exited: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.exited)
	}()
	return p, nil
}

// StartLogged is StartProcess with the program's output added to a file.
func StartLogged(name, log string, cmd *exec.Cmd) (*Process, error) {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer file.Close() // The program has its own descriptor once it runs.
	cmd.Stdout, cmd.Stderr = file, file
	return StartProcess(name, cmd)
}

// PID is the id of the process and of its group.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Exited is closed when the program has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Err returns how the program ended, as exec.Cmd's Wait does. Call it after Exited.
func (p *Process) Err() error { return p.err }

// Signal sends a signal to the whole group. A group that has ended is no error.
func (p *Process) Signal(signal syscall.Signal) error {
	select {
	case <-p.exited:
		return nil // The id may belong to another by now.
	default:
	}
	return p.signalGroup(signal)
}

// Pause stops the group until Continue.
func (p *Process) Pause() error { return p.Signal(syscall.SIGSTOP) }

// Continue ends a pause.
func (p *Process) Continue() error { return p.Signal(syscall.SIGCONT) }

// Stop signals the group to end, waits up to grace for the program and then kills the rest of the group; a grace of 0
// kills at once. It returns when the program has ended, and may be called again.
func (p *Process) Stop(grace time.Duration) error {
	if grace > 0 {
		_ = p.Signal(syscall.SIGTERM)
		select {
		case <-p.exited:
		case <-time.After(grace):
		}
	}
	// Descendants that ignored the first signal keep the group's id alive, so it cannot belong to another by now. When
	// there are none the kill finds no group and does nothing.
	err := p.signalGroup(syscall.SIGKILL)
	<-p.exited
	return err
}

func (p *Process) signalGroup(signal syscall.Signal) error {
	group := p.PID()
	if err := syscall.Kill(-group, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("send %s to %s (process group %d): %w", signal, p.name, group, err)
	}
	return nil
}

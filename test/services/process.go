package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// process is a program in a process group of its own. Only that group is ever signalled, so nothing that this
// program did not start can be hit.
type process struct {
	name   string
	cmd    *exec.Cmd
	log    string        // the file that holds its output; empty when it has none
	exited chan struct{} // closed when the program has ended and err is set
	err    error
}

// startProcess starts cmd as the leader of a new process group.
func startProcess(name string, cmd *exec.Cmd) (*process, error) {
	cmd.SysProcAttr = processAttributes()
	// Descendants may outlive the program with its output open: do not wait for them for ever.
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p := &process{name: name, cmd: cmd, exited: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.exited)
	}()
	return p, nil
}

// startLogged is startProcess with the program's output in a file.
func startLogged(name, log string, cmd *exec.Cmd) (*process, error) {
	file, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer file.Close() // The program has its own descriptor once it runs.
	cmd.Stdout, cmd.Stderr = file, file
	p, err := startProcess(name, cmd)
	if err != nil {
		return nil, err
	}
	p.log = log
	return p, nil
}

// stop asks the group to end, waits up to grace for the program and then kills whatever is left of the group. It
// returns when the program has ended, and may be called again.
func (p *process) stop(grace time.Duration) {
	group := -p.cmd.Process.Pid
	_ = syscall.Kill(group, syscall.SIGTERM)
	select {
	case <-p.exited:
	case <-time.After(grace):
	}
	// Descendants that ignored the first signal keep the group's id alive, so it cannot belong to another by now. When
	// there are none the kill finds no group and does nothing.
	if err := syscall.Kill(group, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		fmt.Fprintf(os.Stderr, "services: kill %s (process group %d): %v\n", p.name, -group, err)
	}
	<-p.exited
}

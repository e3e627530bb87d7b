package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"adsync/test/rig"
	"adsync/test/services/local"
)

// stopTime is what the program promises for its stop after SIGTERM.
const stopTime = 15 * time.Second

// instance is one process of adsync on a seat. It is kept running as a machine's supervisor would, except where a
// scenario wants it down.
type instance struct {
	*seat
	program, config string
	api             string // http://host:port
	points          string // the directory of its fail points
	logs            string // the folder for its logs
	env             []string

	mu      sync.Mutex
	process *local.Process
	starts  int
	up      bool // has answered since its last start
	paused  bool
	wanted  bool // whether it is to be running
	ended   []string
	before  int // fail points that struck before the list was emptied
	watched sync.WaitGroup
}

// start starts the process and a watcher that starts it again when it ends by itself.
func (i *instance) start() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.wanted = true
	return i.launch()
}

// launch starts the process; the mutex is held.
func (i *instance) launch() error {
	cmd := exec.Command(i.program, "serve", "--role", i.role, "--config", i.config)
	cmd.Env = append([]string{"ADSYNC_LOG_FORMAT=json", "ADSYNC_FAILPOINTS=" + i.points}, i.env...)
	p, err := local.StartLogged(i.name, filepath.Join(i.logs, i.name+".log"), cmd)
	if err != nil {
		return err
	}
	i.process, i.up, i.paused = p, false, false
	i.starts++
	i.watched.Go(func() { i.watch(p) })
	return nil
}

// restartAfter is how long a supervisor waits until it starts a process again.
const restartAfter = time.Second

// watch starts the process again when it ends although it is wanted.
func (i *instance) watch(p *local.Process) {
	<-p.Exited()
	i.mu.Lock()
	unwanted := i.wanted && i.process == p
	if unwanted && i.up && !killed(p.Err()) {
		// It worked, and nobody told it to go.
		i.ended = append(i.ended, fmt.Sprintf("%s ended by itself: %v", i.name, p.Err()))
	}
	i.mu.Unlock()
	if !unwanted {
		return
	}
	<-time.After(restartAfter)
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.wanted && i.process == p {
		if err := i.launch(); err != nil {
			i.ended = append(i.ended, fmt.Sprintf("%s cannot be started again: %v", i.name, err))
		}
	}
}

// killed tells whether a process was ended by SIGKILL: only scenarios send that.
func killed(err error) bool {
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// kill ends the process as a lost machine would; it stays down until start.
func (i *instance) kill() error {
	p := i.unwant()
	return p.Stop(0)
}

// stop ends the process as an operator would; it stays down until start. It is an error if that takes longer than
// the program promises, or if it exits with another code than 0.
func (i *instance) stop() error {
	i.resume()
	p := i.unwant()
	began := time.Now()
	if err := p.Stop(stopTime + 5*time.Second); err != nil {
		return err
	}
	if took := time.Since(began); took > stopTime+time.Second {
		return fmt.Errorf("%s took %.1f s to stop, more than %s", i.name, took.Seconds(), stopTime)
	}
	if p.Err() != nil {
		return fmt.Errorf("%s was told to stop and ended with: %w", i.name, p.Err())
	}
	return nil
}

func (i *instance) unwant() *local.Process {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.wanted = false
	return i.process
}

// pause stops the process (SIGSTOP) until resume.
func (i *instance) pause() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.paused = true
	return i.process.Pause()
}

func (i *instance) resume() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.paused = false
	_ = i.process.Continue()
}

// close ends the process for good.
func (i *instance) close() {
	i.mu.Lock()
	i.wanted = false
	p := i.process
	i.mu.Unlock()
	if p != nil {
		_ = p.Stop(0)
	}
	i.watched.Wait()
}

// alive tells whether the process should answer: it has answered since its start and nobody holds it.
func (i *instance) alive() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.up || i.paused || !i.wanted {
		return false
	}
	select {
	case <-i.process.Exited():
		return false
	default:
		return !i.heldByPoint()
	}
}

// lives returns how often the process was started.
func (i *instance) lives() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.starts
}

// heldByPoint tells whether a fail point has stopped the process.
func (i *instance) heldByPoint() bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", i.process.PID()))
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(after, "T")
}

// awaitReady waits until the process works.
func (i *instance) awaitReady(ctx context.Context) error {
	return rig.Await(ctx, time.Minute, i.name+" is ready", func(ctx context.Context) (bool, error) {
		status, _, err := rig.Get(ctx, i.api+"/readyz")
		if err != nil || status != http.StatusOK {
			return false, nil //nolint:nilerr // It is not there yet.
		}
		i.mu.Lock()
		i.up = true
		i.mu.Unlock()
		return true, nil
	})
}

// arm arms a fail point of the process, with an act such as "kill after=2".
func (i *instance) arm(point, act string) error {
	return os.WriteFile(filepath.Join(i.points, point), []byte(act+"\n"), 0o600)
}

// disarm takes a fail point back that has not struck.
func (i *instance) disarm(point string) { _ = os.Remove(filepath.Join(i.points, point)) }

// struck returns the fail points of the process that struck.
func (i *instance) struck() []string {
	text, err := os.ReadFile(filepath.Join(i.points, "struck"))
	if err != nil {
		return nil
	}
	return strings.Fields(string(text))
}

// patience is how long anything may take before a scenario gives up, on a machine that does other things too.
const patience = 90 * time.Second

// armed returns the fail points that are armed and have not struck.
func (i *instance) armed() []string {
	entries, err := os.ReadDir(i.points)
	if err != nil {
		return nil
	}
	var points []string
	for _, e := range entries {
		if e.Name() != "struck" {
			points = append(points, e.Name())
		}
	}
	return points
}

// ensure starts the process if it is down.
func (i *instance) ensure() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.wanted {
		return nil
	}
	select {
	case <-i.process.Exited():
	default:
		return nil
	}
	i.wanted = true
	return i.launch()
}

// forgetStruck empties the list of fail points that struck, and counts them.
func (i *instance) forgetStruck() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.before += len(i.struck())
	_ = os.Remove(filepath.Join(i.points, "struck"))
}

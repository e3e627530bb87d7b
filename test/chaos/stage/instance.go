package stage

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"adsync/test/rig"
	"adsync/test/services/local"
)

// stopTime is the longest time that the program promises for its stop after SIGTERM.
const stopTime = 15 * time.Second

// Instance is one process of adsync on a seat. It is restarted as by a machine's supervisor, unless a scenario wants
// it down.
type Instance struct {
	*Seat
	Program, Config string
	Api             string // http://host:port
	Points          string // the directory of its fail points
	Logs            string // the folder for its logs
	Env             []string

	mu      sync.Mutex
	process *local.Process
	starts  int
	up      bool // has answered since its last start
	paused  bool
	wanted  bool // whether it should be running
	Ended   []string
	Before  int // fail points that struck before the list was emptied
	watched sync.WaitGroup
}

// Start starts the process and a watcher that restarts it when it ends unexpectedly.
func (i *Instance) Start() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.wanted = true
	return i.launch()
}

// launch starts the process; the mutex is held.
func (i *Instance) launch() error {
	cmd := exec.Command(i.Program, "serve", "--role", i.Role, "--config", i.Config)
	cmd.Env = append([]string{"ADSYNC_LOG_FORMAT=json", "ADSYNC_FAILPOINTS=" + i.Points}, i.Env...)
	p, err := local.StartLogged(i.Name, filepath.Join(i.Logs, i.Name+".log"), cmd)
	if err != nil {
		return err
	}
	i.process, i.up, i.paused = p, false, false
	i.starts++
	i.watched.Go(func() { i.watch(p) })
	return nil
}

// restartAfter is how long a supervisor waits before it restarts a process.
const restartAfter = time.Second

// watch restarts the process when it ends although it should be running.
func (i *Instance) watch(p *local.Process) {
	<-p.Exited()
	i.mu.Lock()
	unwanted := i.wanted && i.process == p
	if unwanted && i.up && !killed(p.Err()) {
		// It worked, and no signal stopped it.
		i.Ended = append(i.Ended, fmt.Sprintf("%s ended unexpectedly: %v", i.Name, p.Err()))
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
			i.Ended = append(i.Ended, fmt.Sprintf("%s cannot be started again: %v", i.Name, err))
		}
	}
}

// killed reports whether a process was ended by SIGKILL: only scenarios send that.
func killed(err error) bool {
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// Kill ends the process as a lost machine would; it stays down until start.
func (i *Instance) Kill() error {
	p := i.unwant()
	return p.Stop(0)
}

// Stop ends the process as an operator would; it stays down until start. It is an error if that takes longer than
// the program promises, or if it exits with another code than 0.
func (i *Instance) Stop() error {
	i.Resume()
	p := i.unwant()
	began := time.Now()
	if err := p.Stop(stopTime + 5*time.Second); err != nil {
		return err
	}
	if took := time.Since(began); took > stopTime+time.Second {
		return fmt.Errorf("%s took %.1f s to stop, more than %s", i.Name, took.Seconds(), stopTime)
	}
	if p.Err() != nil {
		return fmt.Errorf("%s got SIGTERM and ended with: %w", i.Name, p.Err())
	}
	return nil
}

func (i *Instance) unwant() *local.Process {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.wanted = false
	return i.process
}

// Pause stops the process (SIGSTOP) until resume.
func (i *Instance) Pause() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.paused = true
	return i.process.Pause()
}

// Resume lets a paused process continue (SIGCONT).
func (i *Instance) Resume() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.paused = false
	_ = i.process.Continue()
}

// Close ends the process for good.
func (i *Instance) Close() {
	i.mu.Lock()
	i.wanted = false
	p := i.process
	i.mu.Unlock()
	if p != nil {
		_ = p.Stop(0)
	}
	i.watched.Wait()
}

// Alive reports whether the process should answer: it has answered since its start and is not paused.
func (i *Instance) Alive() bool {
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

// Lives returns how often the process was started.
func (i *Instance) Lives() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.starts
}

// Node returns the name of the process in the rows of its subtasks.
func (i *Instance) Node() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	host, _ := os.Hostname()
	return fmt.Sprintf("%s-%d", host, i.process.PID())
}

// heldByPoint reports whether a fail point has stopped the process.
func (i *Instance) heldByPoint() bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", i.process.PID()))
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(after, "T")
}

// AwaitReady waits until the process is ready.
func (i *Instance) AwaitReady(ctx context.Context) error {
	return rig.Await(ctx, time.Minute, i.Name+" is ready", func(ctx context.Context) (bool, error) {
		status, _, err := rig.Get(ctx, i.Api+"/readyz")
		if err != nil || status != http.StatusOK {
			return false, nil //nolint:nilerr // It is not there yet.
		}
		i.mu.Lock()
		i.up = true
		i.mu.Unlock()
		return true, nil
	})
}

// Arm arms a fail point of the process, with an act such as "kill after=2".
func (i *Instance) Arm(point, act string) error {
	return os.WriteFile(filepath.Join(i.Points, point), []byte(act+"\n"), 0o600)
}

// Disarm removes a fail point that has not struck.
func (i *Instance) Disarm(point string) { _ = os.Remove(filepath.Join(i.Points, point)) }

// Struck returns the fail points of the process that struck.
func (i *Instance) Struck() []string {
	text, err := os.ReadFile(filepath.Join(i.Points, "struck"))
	if err != nil {
		return nil
	}
	return strings.Fields(string(text))
}

// Patience is how long a scenario waits for anything before it stops, on a machine that also does other work.
const Patience = 90 * time.Second

// Armed returns the fail points that are armed and have not struck.
func (i *Instance) Armed() []string {
	entries, err := os.ReadDir(i.Points)
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

// Ensure starts the process if it is down.
func (i *Instance) Ensure() error {
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

// ForgetStruck empties the list of fail points that struck, and counts them.
func (i *Instance) ForgetStruck() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.Before += len(i.Struck())
	_ = os.Remove(filepath.Join(i.Points, "struck"))
}

// StartReady starts the process and waits until it is ready.
func (i *Instance) StartReady(ctx context.Context) error {
	if err := i.Start(); err != nil {
		return err
	}
	return i.AwaitReady(ctx)
}

// AddCounts adds a counter of the process to counts, by the value of a label.
func (i *Instance) AddCounts(ctx context.Context, counter, label string, counts map[string]int) error {
	_, metrics, err := rig.Get(ctx, i.Api+"/metrics")
	if err != nil {
		return err
	}
	for line := range strings.SplitSeq(metrics, "\n") {
		name, value, _ := strings.Cut(line, " ")
		_, of, _ := strings.Cut(name, label+`="`)
		n, err := strconv.Atoi(value)
		if strings.HasPrefix(name, counter+"{") && err == nil {
			of, _, _ = strings.Cut(of, `"`)
			counts[of] += n
		}
	}
	return nil
}

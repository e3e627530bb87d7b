//go:build chaos

package failpoint

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

var (
	mu     sync.Mutex
	passed = map[string]int{} // passes of armed points so far
)

// Hit passes a point, and strikes if it is armed.
func Hit(point string) {
	dir := os.Getenv("ADSYNC_FAILPOINTS")
	if dir == "" {
		return
	}
	if act, armed := take(dir, point); armed {
		strike(dir, point, act)
	}
}

// take returns the act of an armed point after its passes, and disarms it.
func take(dir, point string) (act []string, armed bool) {
	mu.Lock()
	defer mu.Unlock()
	file := filepath.Join(dir, point)
	text, err := os.ReadFile(file)
	words := strings.Fields(string(text))
	if err != nil || len(words) == 0 {
		return nil, false
	}
	if n, ok := strings.CutPrefix(words[len(words)-1], "after="); ok {
		words = words[:len(words)-1]
		if after, err := strconv.Atoi(n); err == nil && passed[point] < after {
			passed[point]++
			return nil, false
		}
	}
	delete(passed, point)
	if os.Remove(file) != nil {
		return nil, false // Another goroutine or process disarmed it.
	}
	return words, true
}

func strike(dir, point string, act []string) {
	note(dir, point)
	if len(act) == 2 {
		if d, err := time.ParseDuration(act[1]); err == nil {
			<-time.After(d)
		}
	}
	switch act[0] {
	case "kill":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // The signal takes a moment.
	case "stop":
		// On a busy machine the goroutine would run on for milliseconds before the signal stops its thread.
		continued := make(chan os.Signal, 1)
		signal.Notify(continued, syscall.SIGCONT)
		defer signal.Stop(continued)
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		<-continued
	case "panic":
		panic("the failpoint " + point)
	}
}

// note records on the disk that a point has struck, before the process can end.
func note(dir, point string) {
	f, err := os.OpenFile(filepath.Join(dir, "struck"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return
	}
	defer f.Close()
	fmt.Fprintln(f, point)
	_ = f.Sync()
}

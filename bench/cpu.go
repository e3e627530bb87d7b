package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit in which Linux returns what processes have spent.
const tick = 10 * time.Millisecond

// budget returns the figures of the CPU time that one subtask costs adsync, the servers and other processes that take
// part.
func budget(id string, more ...string) []figure {
	var all []figure
	for _, who := range append([]string{ours, "kafka", "mariadb", "redis"}, more...) {
		all = append(all, figure{id + "-cpu-" + who, "µs/subtask", false})
	}
	return all
}

// spent returns the CPU time that this process and the servers have used so far.
func (d *deployment) spent() (map[string]time.Duration, error) {
	all := map[string]time.Duration{}
	pids := map[string]int{ours: os.Getpid()}
	for _, s := range d.servers {
		pids[s.Name()] = s.PID()
	}
	if d.world != nil {
		pids[simulatorName] = d.world.process.PID()
	}
	for who, pid := range pids {
		cpu, err := cpuOf(pid)
		if err != nil {
			return nil, fmt.Errorf("CPU time of %s: %w", who, err)
		}
		all[who] = cpu
	}
	return all, nil
}

// addCosts adds the cost of each of n subtasks.
func addCosts(values map[string]float64, id string, before, after map[string]time.Duration, n int) {
	for who, cpu := range after {
		values[id+"-cpu-"+who] = float64((cpu - before[who]).Microseconds()) / float64(n)
	}
}

// cpuOf returns the CPU time that a process has used so far.
func cpuOf(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The name, in parentheses, may have blanks. The 12th and 13th fields after it are the user and the system time.
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	var sum time.Duration
	for _, i := range []int{11, 12} {
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(n) * tick
	}
	return sum, nil
}

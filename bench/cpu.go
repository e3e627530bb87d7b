package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit in which Linux returns what processes have spent.
const tick = 10 * time.Millisecond

// traffic are the database's own counters, by the ends of our figures' ids. MariaDB counts the COMMIT of a transaction,
// and not that of a single statement.
var traffic = []struct {
	name, unit string
	counters   []string
}{
	{"-statements", "1/subtask", []string{"Questions"}},
	{"-commits", "1/subtask", []string{"Com_commit"}},
	{"-bytes", "bytes/subtask", []string{"Bytes_received", "Bytes_sent"}},
}

// budget returns the figures of what one subtask costs: the CPU time of adsync, the servers and other processes that
// take part, and the database's traffic.
func budget(id string, more ...string) []figure {
	var all []figure
	for _, who := range append([]string{ours, "kafka", "mariadb", "redis"}, more...) {
		all = append(all, figure{id + cpuName(who), "µs/subtask", false})
	}
	for _, t := range traffic {
		all = append(all, figure{id + t.name, t.unit, false})
	}
	return all
}

func cpuName(who string) string { return "-cpu-" + who }

// spent returns what this process and the servers have used so far, by the ends of the figures' ids.
func (d *deployment) spent(ctx context.Context) (map[string]float64, error) {
	all := map[string]float64{}
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
		all[cpuName(who)] = float64(cpu.Microseconds())
	}
	for _, t := range traffic {
		var sum float64
		const values = "SELECT SUM(VARIABLE_VALUE) FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME IN ?"
		if err := d.store.Data.Writer(ctx).Raw(values, t.counters).Scan(&sum).Error; err != nil {
			return nil, err
		}
		all[t.name] = sum
	}
	return all, nil
}

// addCosts adds what each of n subtasks has used.
func addCosts(values map[string]float64, id string, before, after map[string]float64, n int) {
	for name, used := range after {
		values[id+name] = (used - before[name]) / float64(n)
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

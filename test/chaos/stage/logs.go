package stage

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const (
	// floodSecond is how many lines a process may log in a second. A producer's start alone is some 250, one for each
	// task.
	floodSecond = 400
	// floodMinute is how many warnings and errors a process may log in a minute, whatever is broken. One line per cause
	// is right; a consumer has a group for each of ten lanes, and each group may meet the same cause.
	floodMinute = 120
)

// strangeMax is how many of the lines that are no log records are kept.
const strangeMax = 5

// LogFigures counts the lines that a process logged.
type LogFigures struct {
	Lines      int            `json:"lines"`
	MostSecond int            `json:"most_in_a_second"`
	MostMinute int            `json:"most_warnings_in_a_minute"`
	Errors     int            `json:"errors"`
	Strange    []string       `json:"strange,omitempty"` // lines that are no records, the first of them
	Messages   map[string]int `json:"messages"`          // warnings and errors by their text
}

// readLog counts the lines of a process's log.
func readLog(path string) (LogFigures, error) {
	f := LogFigures{Messages: map[string]int{}}
	file, err := os.Open(path)
	if err != nil {
		return f, err
	}
	defer file.Close()
	seconds, minutes := map[int64]int{}, map[int64]int{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		f.Lines++
		var record struct {
			Time  time.Time `json:"time"`
			Level string    `json:"level"`
			Msg   string    `json:"msg"`
		}
		if json.Unmarshal(lines.Bytes(), &record) != nil {
			// The runtime prints these when the program dies; a library may print outside the log.
			if len(f.Strange) < strangeMax {
				f.Strange = append(f.Strange, lines.Text())
			}
			continue
		}
		seconds[record.Time.Unix()]++
		if record.Level == "WARN" || record.Level == "ERROR" {
			minutes[record.Time.Unix()/60]++
			f.Messages[record.Level+" "+record.Msg]++
		}
		if record.Level == "ERROR" {
			f.Errors++
		}
	}
	for _, n := range seconds {
		f.MostSecond = max(f.MostSecond, n)
	}
	for _, n := range minutes {
		f.MostMinute = max(f.MostMinute, n)
	}
	return f, lines.Err()
}

// ReadLog counts the lines that the process logged over all its restarts.
func (i *Instance) ReadLog() (LogFigures, error) {
	return readLog(filepath.Join(i.Logs, i.Name+".log"))
}

// ReadLogs counts the lines of all processes and reports those that flooded.
func ReadLogs(instances []*Instance) (all map[string]LogFigures, floods []string, err error) {
	all = map[string]LogFigures{}
	for _, i := range instances {
		f, err := i.ReadLog()
		if err != nil {
			return nil, nil, err
		}
		all[i.Name] = f
		if f.MostSecond > floodSecond || f.MostMinute > floodMinute {
			floods = append(floods, fmt.Sprintf("%s logged %d lines in a second, and %d warnings and errors in a minute", i.Name,
				f.MostSecond, f.MostMinute))
		}
		if len(f.Strange) > 0 {
			floods = append(floods, fmt.Sprintf("%s wrote lines that are no records, such as: %s", i.Name, f.Strange[0]))
		}
	}
	return all, floods, nil
}

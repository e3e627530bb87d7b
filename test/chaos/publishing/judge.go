package publishing

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"adsync/base/day"
	"adsync/base/store/publishing"
	"adsync/publish"
	"adsync/test/chaos/judge"
)

// watchInterval is how often the destinations are read while a scenario runs.
const watchInterval = 300 * time.Millisecond

const manifestSuffix = ".manifest.json"

func sumOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// passing reports whether a name is one that readers do not use: that of a temporary file, of an unfinished upload, or
// of the file by which a destination is checked.
func passing(name string) bool {
	return strings.Contains(name, ".adsync-") || strings.HasPrefix(name, "upload ") ||
		strings.HasPrefix(name, "adsync-probe-")
}

// watch reads the destinations until ctx ends. A file that is visible must at each moment be one that a row of its name
// describes, and have the figures of one version of its day.
func (d *desk) watch(ctx context.Context) {
	whole := map[string]bool{} // the sums of files whose figures were looked at
	for wait(ctx, watchInterval) == nil {
		for kind, s := range d.shelves {
			files, err := s.files()
			if err != nil {
				d.tell(judge.Harmed, "the destination %s cannot be read: %v", kind, err)
				continue
			}
			// The rows are read after the files: each file's row was written before the file got its name.
			if err := d.learn(ctx); err != nil {
				break // The database is read again soon.
			}
			for name, content := range files {
				if passing(name) || strings.HasSuffix(name, manifestSuffix) {
					continue
				}
				sum := sumOf(content)
				if !d.known[kind+" "+name][sum] {
					d.tell(judge.Wrong, "%s: readers see %s with %d bytes that no row describes", kind, name, len(content))
				}
				if whole[sum] {
					continue
				}
				whole[sum] = true
				if err := oneVersion(content); err != nil {
					d.tell(judge.Wrong, "%s: readers see %s with mixed figures: %v", kind, name, err)
				}
			}
		}
	}
}

// learn notes the sums that rows have now. Only watch calls it.
func (d *desk) learn(ctx context.Context) error {
	all, err := d.rows(ctx)
	for i := range all {
		key := all[i].Destination + " " + all[i].Name
		if d.known[key] == nil {
			d.known[key] = map[string]bool{}
		}
		d.known[key][all[i].SHA256] = true
	}
	return err
}

// oneVersion returns an error unless all rows of a file have the figures of one version.
func oneVersion(content []byte) error {
	var first int64
	for n, line := range strings.Split(strings.TrimSuffix(string(content), "\n"), "\n") {
		if n == 0 {
			continue // the header
		}
		fields := strings.Split(line, ",")
		if len(fields) != 3 {
			return fmt.Errorf("line %d is %.60q", n+1, line)
		}
		account, wrong := strconv.ParseInt(fields[1], 10, 64)
		cost, wrongCost := strconv.ParseInt(fields[2], 10, 64)
		if wrong != nil || wrongCost != nil {
			return fmt.Errorf("line %d is %.60q", n+1, line)
		}
		if n == 1 {
			first = cost - account
		}
		if cost-account != first {
			return fmt.Errorf("line 2 has version %d, and line %d has %d", first/figureStep, n+1, (cost-account)/figureStep)
		}
	}
	return nil
}

// rendering returns the file that the figures of a day give, made without adsync's code.
func (d *desk) rendering(ctx context.Context, on day.Day) ([]byte, error) {
	rows, err := d.store.Data.Writer(ctx).Raw("SELECT account_id, cost FROM report_daily WHERE day = ? AND "+
		"level = 'account' ORDER BY account_id", on).Rows()
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var text bytes.Buffer
	text.WriteString("day,account_id,cost\n")
	for rows.Next() {
		var account, cost int64
		if err := rows.Scan(&account, &cost); err != nil {
			return nil, err
		}
		fmt.Fprintf(&text, "%s,%d,%d\n", on, account, cost)
	}
	return text.Bytes(), rows.Err()
}

// judge compares the destinations with the rows, and the newest files with the tables. It returns the number of rows.
func (d *desk) judge(ctx context.Context) (int, error) {
	all, err := d.rows(ctx)
	if err != nil {
		return 0, err
	}
	newest := map[string]publishing.Publication{} // by destination and name
	for i := range all {
		p := &all[i]
		last := i == len(all)-1 || all[i+1].Subscription != p.Subscription || all[i+1].FromDay != p.FromDay
		switch {
		case p.State.Open():
			d.tell(judge.Stuck, "%s is still %s: %s", p.Part(), p.State, p.ErrorText)
		case p.State == publishing.Published, p.State == publishing.Superseded && !last:
		default:
			d.tell(judge.Lost, "%s has ended as %s: %s", p.Part(), p.State, p.ErrorText)
		}
		newest[p.Destination+" "+p.Name] = *p
	}
	for kind, s := range d.shelves {
		files, err := s.files()
		if err != nil {
			return len(all), err
		}
		for name, content := range files {
			d.judgeFile(kind, name, content, newest)
		}
		for key, p := range newest {
			if p.Destination != kind {
				continue
			}
			content, there := files[p.Name]
			if !there {
				d.tell(judge.Lost, "%s: the file %s of %s is not there", kind, p.Name, p.Part())
				continue
			}
			want, err := d.rendering(ctx, p.ToDay)
			if err != nil {
				return len(all), err
			}
			if !bytes.Equal(content, want) {
				d.tell(judge.Wrong, "%s is not what its tables give: %d bytes, want %d", key, len(content), len(want))
			}
			d.judgeManifest(&p, files[p.Name+manifestSuffix])
		}
	}
	return len(all), nil
}

// judgeFile judges one file of a destination.
func (d *desk) judgeFile(kind, name string, content []byte, newest map[string]publishing.Publication) {
	p, described := newest[kind+" "+strings.TrimSuffix(name, manifestSuffix)]
	switch {
	case passing(name):
		d.tell(judge.Broken, "%s: %s is left over", kind, name)
	case !described:
		d.tell(judge.Invented, "%s: no row has the file %s", kind, name)
	case !strings.HasSuffix(name, manifestSuffix) && sumOf(content) != p.SHA256:
		d.tell(judge.Wrong, "%s: %s has another SHA-256 than the row of %s", kind, name, p.Part())
	}
}

func (d *desk) judgeManifest(p *publishing.Publication, text []byte) {
	var m publish.Manifest
	if err := json.Unmarshal(text, &m); err != nil || m.SHA256 != p.SHA256 || m.Revision != p.Revision {
		d.tell(judge.Wrong, "the manifest of %s/%s describes another file: %.200q", p.Destination, p.Name, text)
	}
}

// verdict returns the verdict from all that was observed. struck is how often the fault struck.
func (d *desk) verdict(rows, struck int) judge.Verdict {
	v := judge.Verdict{Struck: struck, Subtasks: rows, Verdict: judge.Pass, Problems: d.problems}
	for _, p := range d.problems {
		switch p.Kind {
		case judge.Lost:
			v.Lost++
		case judge.Wrong:
			v.WrongRows++
		}
	}
	switch {
	case len(d.problems) > 0:
		v.Verdict = judge.Fail
	case struck == 0, slices.Contains(values(d.struck), 0):
		v.Verdict = judge.Void
	}
	return v
}

func values(of map[string]int) (all []int) {
	for _, n := range of {
		all = append(all, n)
	}
	return all
}

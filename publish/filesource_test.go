package publish

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"

	"adsync/base/config"
	"adsync/base/store/publishing"
	"adsync/media"
	"adsync/publish/format"
)

// lakeSource is a source of all files of a day, two of whose columns are read.
const lakeSource = `{"files": {"destination": "lake", "path": "sales/{day}/*",
  "columns": [{"name": "cost", "as": "spend"}, {"name": "id"}]}}`

// lake is a rig whose subscription reads files.
type lake struct {
	*rig
	dir string
}

func newLake(t *testing.T, change func(*publishing.Subscription)) *lake {
	t.Helper()
	r := newRig(t, func(row *publishing.Subscription) {
		row.Source = lakeSource
		if change != nil {
			change(row)
		}
	})
	l := &lake{rig: r, dir: t.TempDir()}
	r.put(&publishing.Destination{Name: "lake", Kind: "dir", Address: l.dir, Enabled: true})
	return l
}

// write writes a file, and gives it a time of its own: the clock of a file system has coarse steps.
func (l *lake) write(name string, content []byte, at time.Time) {
	l.t.Helper()
	path := filepath.Join(l.dir, name)
	require.NoError(l.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(l.t, os.WriteFile(path, content, 0o600))
	require.NoError(l.t, os.Chtimes(path, at, at))
}

// sold returns a Parquet file with a row for each cost.
func sold(t testing.TB, costs ...string) []byte {
	t.Helper()
	return parquetOf(t, []format.Column{{Name: "id", Type: format.Integer}, {Name: "note"},
		{Name: "cost", Type: format.Decimal, Scale: 2}}, costs...)
}

// parquetOf returns a Parquet file with a row for each text of its last column.
func parquetOf(t testing.TB, columns []format.Column, last ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := format.New(&b, columns, format.Options{Format: "parquet"})
	require.NoError(t, err)
	for i, text := range last {
		row := make([][]byte, len(columns))
		row[0], row[len(row)-1] = []byte(fmt.Sprint(i+1)), []byte(text)
		require.NoError(t, w.Write(row))
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

// absent runs the file's subtask, which must wait for its source, and returns why.
func (l *lake) absent() string {
	l.t.Helper()
	var deferred *media.DeferError
	require.ErrorAs(l.t, l.run(part), &deferred)
	require.Equal(l.t, sourceWait, deferred.After)
	require.Equal(l.t, publishing.Planned, l.file(1).State)
	require.Contains(l.t, l.file(1).ErrorText, deferred.Reason)
	used, _ := l.deps.Spool.Usage()
	require.Zero(l.t, used)
	return deferred.Reason
}

const published = "2026-11-20/sales.csv"

func TestFileSource_WaitsForItsFilesAndReadsThemInOrder(t *testing.T) {
	t.Parallel()
	l := newLake(t, nil)
	l.plan()
	require.Equal(t, "its source has not arrived: there is no file sales/2026-11-20/* at the destination lake", l.absent())
	l.write("sales/2026-11-20/_SUCCESS", nil, now)
	l.write("sales/2026-11-20/.part-0.crc", []byte("x"), now)
	l.write("sales/2026-11-20/deeper/part-0", []byte("x"), now)
	l.write("sales/2026-11-19/part-0", sold(t, "9"), now)
	l.absent()
	l.exec("UPDATE destination SET enabled = 0 WHERE name = 'lake'")
	l.write("sales/2026-11-20/part-1", sold(t, "3"), now)
	require.Contains(t, l.absent(), "the destination lake is switched off")
	l.exec("UPDATE destination SET enabled = 1")
	l.write("sales/2026-11-20/part-0", sold(t, "1.50", "-2"), now)
	require.NoError(t, l.run(part))
	require.Equal(t, "spend,id\n1.50,1\n-2.00,2\n3.00,1\n", l.visible()[published])
	p := l.file(1)
	require.Equal(t, publishing.Published, p.State)
	require.EqualValues(t, 3, *p.RowCount)
	require.Equal(t, 2, *p.ColumnCount)
	require.False(t, p.Incomplete)
	used, _ := l.deps.Spool.Usage()
	require.Zero(t, used)
}

func TestFileSource_WaitsForTheFileThatEndsIt(t *testing.T) {
	t.Parallel()
	done := func(row *publishing.Subscription) {
		row.Source = strings.Replace(lakeSource, `"path"`, `"done": "_SUCCESS", "path"`, 1)
	}
	l := newLake(t, done)
	l.plan()
	l.write("sales/2026-11-20/part-0", sold(t, "1"), now)
	l.write("sales/_SUCCESS", nil, now)
	require.Contains(t, l.absent(), "there is no file sales/2026-11-20/_SUCCESS")
	l.write("sales/2026-11-20/_SUCCESS", nil, now)
	l.data("UPDATE publication SET incomplete = 1, missing = '[]'") // as an earlier try, whose part file is lost
	require.NoError(t, l.run(part))
	require.Equal(t, publishing.Published, l.file(1).State)
	require.False(t, l.file(1).Incomplete)
	require.Empty(t, l.file(1).Missing)
}

func TestFileSource_GoesOutIncompleteAtItsLatestMoment(t *testing.T) {
	t.Parallel()
	for _, latest := range []string{latestSend, latestHold} {
		l := newLake(t, func(row *publishing.Subscription) {
			row.Source = strings.Replace(lakeSource, `"path"`, `"done": "_SUCCESS", "path"`, 1)
			row.Completeness = fmt.Sprintf(`{"when": "complete", "latest_minutes": 240, "at_latest": %q}`, latest)
			row.Corrections = `{"every_minutes": 5, "quiet_minutes": 1, "days": 1}`
		})
		l.plan()
		l.plan()
		require.Equal(t, publishing.Planned, l.file(1).State, "the delivery looks for the file, not the planning")
		l.write("sales/2026-11-20/part-0", sold(t, "1"), now)
		require.NotContains(t, l.absent(), heldReason)
		l.clock.add(time.Hour)
		if latest == latestHold {
			require.Contains(t, l.absent(), heldReason)
			continue
		}
		require.NoError(t, l.run(part))
		require.True(t, l.file(1).Incomplete)
		var m Manifest
		require.NoError(t, json.Unmarshal([]byte(l.visible()[published+manifestSuffix]), &m))
		require.True(t, m.Incomplete)

		l.clock.add(5 * time.Minute)
		require.NoError(t, l.run(part))
		require.Len(t, l.files(), 1, "a correction is complete")
		l.write("sales/2026-11-20/_SUCCESS", nil, now)
		l.clock.add(5 * time.Minute)
		require.NoError(t, l.run(part))
		l.plan()
		require.NoError(t, l.run("sales/2026-11-20/r2"))
		require.Equal(t, publishing.Published, l.file(2).State)
		require.False(t, l.file(2).Incomplete)
	}
}

func TestFileSource_IsCorrected(t *testing.T) {
	t.Parallel()
	l := newLake(t, func(row *publishing.Subscription) {
		row.Corrections = `{"every_minutes": 5, "quiet_minutes": 1, "days": 1}`
	})
	l.write("sales/2026-11-20/part-0", sold(t, "1"), now)
	l.plan()
	require.NoError(t, l.run(part))
	again := func() {
		l.clock.add(5 * time.Minute)
		require.NoError(t, l.run(part))
	}
	again()
	require.NoError(t, os.RemoveAll(filepath.Join(l.dir, "sales")))
	again()
	again()
	require.Len(t, l.files(), 1, "a source that is gone is no correction")
	l.write("sales/2026-11-20/part-0", sold(t, "2"), now)
	again()
	again()
	require.NoError(t, l.run("sales/2026-11-20/r2"))
	require.Equal(t, "spend,id\n2.00,1\n", l.visible()[published])
}

func TestFileSource_ThatCannotBeUsedFailsTheFile(t *testing.T) {
	t.Parallel()
	other := parquetOf(t, []format.Column{{Name: "id", Type: format.Integer}, {Name: "cost"}}, "much")
	for want, prepare := range map[string]func(l *lake){
		`the file sales/2026-11-20/part-1 has the column "cost" as a text, and the file sales/2026-11-20/part-0 has it as ` +
			`a decimal with 2 digits after the point`: func(l *lake) {
			l.write("sales/2026-11-20/part-1", other, now)
		},
		`has no column "cost"`: func(l *lake) {
			l.write("sales/2026-11-20/part-1", parquetOf(l.t, []format.Column{{Name: "id", Type: format.Integer}}), now)
		},
		"more than 1 rows: raise rows_max": func(l *lake) { l.exec("UPDATE subscription SET rows_max = 1") },
		"destination lake of its source: it does not exist": func(l *lake) {
			l.exec("DELETE FROM destination WHERE name = 'lake'")
		},
		`kind: "ftp" is refused: want dir or s3`: func(l *lake) {
			sealed, err := Seal(l.deps.Box, "lake", Credentials{Password: "hush-hush"})
			require.NoError(l.t, err)
			l.exec("UPDATE destination SET kind = 'ftp', address = 'h:21', login = 'u', credentials = ? WHERE name = 'lake'",
				sealed)
		},
		"raise files.max_mib": func(l *lake) {
			spool, err := OpenSpool(l.t.TempDir(), 100)
			require.NoError(l.t, err)
			l.deps.Spool = spool
		},
	} {
		l := newLake(t, nil)
		l.plan()
		l.write("sales/2026-11-20/part-0", sold(t, "1", "2"), now)
		prepare(l)
		err := l.run(part)
		var failed *media.Error
		require.ErrorAs(t, err, &failed, want)
		require.Equal(t, media.Invalid, failed.Class)
		require.ErrorContains(t, err, want)
		require.Contains(t, l.file(1).ErrorText, want)
		require.Empty(t, l.visible())
		used, _ := l.deps.Spool.Usage()
		require.Zero(t, used)
	}
}

func TestFileSource_DamagedIsTriedAgain(t *testing.T) {
	t.Parallel()
	l := newLake(t, nil)
	l.plan()
	whole := sold(t, "1")
	l.write("sales/2026-11-20/part-0", whole[:len(whole)-9], now)
	err := l.run(part)
	require.ErrorContains(t, err, "the file sales/2026-11-20/part-0: the Parquet file is damaged")
	var failed *media.Error
	require.NotErrorAs(t, err, &failed)
	l.write("sales/2026-11-20/part-0", whole, now)
	require.NoError(t, l.run(part))
}

// s3Lake is an S3 server in memory that does something before it answers the read of an object.
type s3Lake struct {
	backend *s3mem.Backend
	inner   http.Handler

	mu     sync.Mutex
	before func()
}

func (s *s3Lake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.URL.Query().Get("x-id") == "GetObject" && s.before != nil {
		s.before()
		s.before = nil
	}
	s.inner.ServeHTTP(w, r)
}

func (s *s3Lake) write(t *testing.T, name string, content []byte) {
	t.Helper()
	_, err := s.backend.PutObject("lake", name, map[string]string{}, bytes.NewReader(content), int64(len(content)), nil)
	require.NoError(t, err)
}

func TestFileSource_OfS3NoticesEachChange(t *testing.T) {
	t.Parallel()
	const changed = "the files of its source have changed while they were read"
	text := parquetOf(t, []format.Column{{Name: "id", Type: format.Integer}, {Name: "cost"}}, "much")
	for _, c := range []struct {
		second      []byte // the content of the second file
		name, error string // the file that is written meanwhile, and the error
		after       string // the report that a repetition makes
	}{
		{sold(t, "2"), "part-0", "the file has changed since it was listed", "8.00,1\n2.00,1\n"},
		{sold(t, "2"), "part-1", "the file has changed since it was listed", "1.00,1\n8.00,1\n"},
		{sold(t, "2"), "part-2", changed, "1.00,1\n2.00,1\n8.00,1\n"},
		{text, "part-2", changed, ""}, // That the second one does not fit may be part of the change.
	} {
		s := &s3Lake{backend: s3mem.New()}
		require.NoError(t, s.backend.CreateBucket("lake"))
		s.inner = gofakes3.New(s.backend, gofakes3.WithTimeSkewLimit(0)).Server()
		server := httptest.NewServer(s)
		t.Cleanup(server.Close)
		r := newRig(t, func(row *publishing.Subscription) { row.Source = lakeSource })
		sealed, err := Seal(r.deps.Box, "lake", Credentials{Password: "hush-hush"})
		require.NoError(t, err)
		r.put(&publishing.Destination{Name: "lake", Kind: "s3", Address: server.URL + "/lake", Prefix: "in", Login: "key",
			Credentials: sealed, Options: `{"path_style": true}`, Enabled: true})
		const dir = "in/sales/2026-11-20/"
		s.write(t, dir+"part-0", sold(t, "1"))
		s.write(t, dir+"part-1", c.second)
		r.plan()
		s.before = func() { s.write(t, dir+c.name, sold(t, "8")) }
		err = r.run(part)
		require.ErrorContains(t, err, c.error)
		require.NotContains(t, err.Error(), "hush-hush")
		var failed *media.Error
		require.NotErrorAs(t, err, &failed, "it is tried again")
		require.Equal(t, publishing.Planned, r.file(1).State)
		require.Empty(t, r.visible())
		if err = r.run(part); c.after == "" {
			require.ErrorAs(t, err, &failed)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, "spend,id\n"+c.after, r.visible()[published])
	}
}

func TestCheck_OfASourceOfFiles(t *testing.T) {
	t.Parallel()
	files := func(text string) func(*publishing.Subscription) {
		return func(s *publishing.Subscription) { s.Source = `{"files": {` + text + `}}` }
	}
	const good = `"destination": "lake", "path": "sales/{day}/*"`
	for _, change := range []func(*publishing.Subscription){
		files(good),
		files(`"destination": "lake", "path": "a/{from:compact}-{to}_{period}.parquet", "done": "_SUCCESS"`),
		files(`"destination": "lake", "path": "*"`),
		files(good + `, "columns": [{"name": "a"}, {"name": "a", "as": "b"}, {"name": "b", "as": "c"}]`),
		func(s *publishing.Subscription) {
			files(`"destination": "lake", "path": "{game}/{customer}/{day}/part-*"`)(s)
			s.Scope, s.Customer = `{"games": ["chess"]}`, "acme"
		},
		func(s *publishing.Subscription) {
			files(good)(s)
			s.Scope, s.Path = `{"games": ["chess"]}`, "{game}/{day}{ext}"
		},
		func(s *publishing.Subscription) {
			files(good + `, "done": "_SUCCESS"`)(s)
			s.Completeness = `{"when": "complete"}`
		},
	} {
		s := checked(t, change)
		require.Equal(t, "lake", s.SourceDestination())
	}
	require.Empty(t, checked(t, nil).SourceDestination())
	scope := func(text string) func(*publishing.Subscription) {
		return func(s *publishing.Subscription) {
			files(good)(s)
			s.Scope = text
		}
	}
	for _, c := range []struct {
		key    string
		change func(*publishing.Subscription)
	}{
		{"source", func(s *publishing.Subscription) { s.Source = `{"query": "SELECT 1", "files": {` + good + `}}` }},
		{"source.query", func(s *publishing.Subscription) { s.Source = `{}` }},
		{"source.files.format", files(good + `, "format": "orc"`)},
		{"source.files.columns[0].type", files(good + `, "columns": [{"name": "a", "type": "text"}]`)},
		{"source.files.destination", files(`"path": "sales/{day}/*"`)},
		{"source.files.path", files(`"destination": "lake", "path": ""`)},
		{"source.files.path", files(`"destination": "lake", "path": "a/*/b"`)},
		{"source.files.path", files(`"destination": "lake", "path": "a/**"`)},
		{"source.files.path", files(`"destination": "lake", "path": "/a/{day}"`)},
		{"source.files.path", files(`"destination": "lake", "path": "a//*"`)},
		{"source.files.path", files(`"destination": "lake", "path": "../a"`)},
		{"source.files.path", files(`"destination": "lake", "path": "{today}"`)},
		{"source.files.path", files(`"destination": "lake", "path": "` + strings.Repeat("a/", 251) + `b"`)},
		{"source.files.done", files(good + `, "done": "x/_SUCCESS"`)},
		{"source.files.done", files(good + `, "done": ".."`)},
		{"source.files.columns[1].name", files(good + `, "columns": [{"name": "a"}, {"as": "b"}]`)},
		{"source.files.columns[1].as", files(good + `, "columns": [{"name": "a"}, {"name": "b", "as": "a"}]`)},
		{"scope", scope(`{"accounts": [7]}`)},
		{"scope", scope(`{"media": ["tulip"]}`)},
		{"scope", scope(`{"games": ["chess"]}`)},
		{"scope.games", files(`"destination": "lake", "path": "{game}/{day}"`)},
		{"customer", files(`"destination": "lake", "path": "{customer}/{day}"`)},
		{"completeness.when", func(s *publishing.Subscription) {
			files(good)(s)
			s.Completeness = `{"when": "complete"}`
		}},
	} {
		row := sales()
		c.change(&row)
		_, err := Check(row)
		var keys []string
		for _, e := range config.Flatten(err) {
			var f *config.FieldError
			require.ErrorAs(t, e, &f)
			keys = append(keys, f.Key)
		}
		require.Equal(t, []string{c.key}, keys, "%s: %v", row.Source, err)
	}
}

package media_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/task"
	"adsync/media"
)

// The kind of docs/adding-work.md, which has the text between the two marks.

// begin

// oldFiles is the kind "system.old_files": it deletes the files of a directory that are older than some days.
type oldFiles struct{ now func() time.Time }

// oldFilesBody is its body: the params of its tasks.
type oldFilesBody struct {
	Dir  string `json:"dir"`
	Days int    `json:"days"` // 0 means 30
}

func (oldFiles) Name() string { return "system.old_files" }

func (oldFiles) Check(b *oldFilesBody) error {
	if b.Dir == "" || b.Days < 0 {
		return errors.New(`params: want the directory as dir, such as "/var/tmp/reports", and 0 or more days`)
	}
	if b.Days == 0 {
		b.Days = 30
	}
	return nil
}

// Parts: one subtask for each kind of file. They run at the same time, each with its own retries.
func (oldFiles) Parts(media.Plan, oldFilesBody) ([]string, error) {
	return []string{"csv", "xlsx"}, nil
}

func (k oldFiles) Run(ctx context.Context, work media.Work, b oldFilesBody) (result media.Result, err error) {
	files, err := filepath.Glob(filepath.Join(b.Dir, "*."+work.Part))
	for _, file := range files {
		info, statErr := os.Stat(file)
		if ctx.Err() != nil || statErr != nil || k.now().Sub(info.ModTime()) < time.Duration(b.Days)*24*time.Hour {
			continue
		}
		if err := os.Remove(file); err != nil {
			return result, fmt.Errorf("delete an old file: %w", err) // It is tried again.
		}
		result.Rows++
	}
	return result, errors.Join(err, context.Cause(ctx))
}

// end

func TestOldFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"a.csv", "b.csv", "c.xlsx"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	require.NoError(t, os.Chtimes(filepath.Join(dir, "a.csv"), time.Time{}, time.Now().AddDate(0, 0, -31)))
	kind := media.HandlerOf(oldFiles{time.Now})
	params, err := json.Marshal(oldFilesBody{Dir: dir})
	require.NoError(t, err)
	result, err := kind.Run(t.Context(), media.Work{Key: task.Key{Part: "csv"}, Params: params})
	require.NoError(t, err)
	require.Equal(t, 1, result.Rows)
	require.NoFileExists(t, filepath.Join(dir, "a.csv"))
	require.ErrorContains(t, kind.Check(json.RawMessage(`{"dir": "/tmp", "day": 3}`)), "params.day")
}

func TestOldFiles_IsTheExampleOfTheDocument(t *testing.T) {
	t.Parallel()
	code, err := os.ReadFile("kind_example_test.go")
	require.NoError(t, err)
	page, err := os.ReadFile("../docs/adding-work.md")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```go\n(.*?)\n```").FindAllSubmatch(page, -1)
	require.Len(t, blocks, 2)
	for i, b := range blocks {
		require.True(t, bytes.Contains(code, slices.Concat([]byte("\n"), b[1], []byte("\n"))), "block %d differs", i)
	}
	require.LessOrEqual(t, bytes.Count(blocks[0][1], []byte("\n")), 42, "it is short")
}

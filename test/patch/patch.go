// Package patch builds adsync with one of its own mechanisms taken out: a suite that such a program passes proves
// nothing about that mechanism.
//
// A patch is a change of text, built with the Go tool's overlay: the tree itself is never touched.
package patch

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Edit replaces a text that stands in a file exactly once.
type Edit struct {
	File    string // from the root of the module
	Find    string
	Replace string
}

// Build builds adsync from the module at root, with the edits and with tags (none is ""), and writes it to output.
func Build(ctx context.Context, root, output, tags string, edits []Edit) error {
	dir, err := os.MkdirTemp("", "adsync-patch-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	texts, err := Apply(root, edits)
	if err != nil {
		return err
	}
	overlay := struct{ Replace map[string]string }{Replace: map[string]string{}}
	for file, text := range texts {
		changed := filepath.Join(dir, fmt.Sprintf("%d.go", len(overlay.Replace)))
		if err := os.WriteFile(changed, []byte(text), 0o600); err != nil {
			return err
		}
		overlay.Replace[filepath.Join(root, file)] = changed
	}
	list, err := json.Marshal(overlay)
	if err != nil {
		return err
	}
	listFile := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(listFile, list, 0o600); err != nil {
		return err
	}
	build := exec.CommandContext(ctx, "go", "build", "-tags", tags, "-overlay", listFile, "-o", output, "./cmd/adsync")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the patched program: %w\n%s", err, out)
	}
	return nil
}

// Apply returns the texts of the files that the edits change, by their names. It fails when a text is not there
// exactly once.
func Apply(root string, edits []Edit) (map[string]string, error) {
	texts := map[string]string{}
	for _, e := range edits {
		text, read := texts[e.File]
		if !read {
			b, err := os.ReadFile(filepath.Join(root, e.File))
			if err != nil {
				return nil, err
			}
			text = string(b)
		}
		if n := strings.Count(text, e.Find); n != 1 {
			return nil, fmt.Errorf("%s holds the text %q %d times, want once: the code has moved on, so must the patch", e.File,
				e.Find, n)
		}
		texts[e.File] = strings.Replace(text, e.Find, e.Replace, 1)
	}
	return texts, nil
}

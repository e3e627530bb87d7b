package main

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTakeOut(t *testing.T) {
	t.Parallel()
	whole := map[string]string{
		"engine/platforms.go": "import " +
			"(\n\t\"adsync/media\"\n\t\"adsync/media/rose\"\n\t\"adsync/media/tulip\"\n)\n{\n\ttulip.New(),\n\trose.New(),\n}\n",
		"simulator/platforms.go": "import " +
			"(\n\t\"adsync/simulator/rose\"\n\t\"adsync/simulator/tulip\"\n)\n{\n\ttulip.New(),\n\trose.New(),\n}\n",
		"standalone/verify/platforms.go": "{\n\ttulip,\n\trOse,\n}\n",
		"media/rose/rose.go":             "package rose\n",
		"media/rose/wire/wire.go":        "package wire\n",
		"media/tulip/tulip.go":           "package tulip\n",
		"simulator/rose/rose.go":         "package rose\n",
		"standalone/verify/rose.go":      "package verify\n",
	}
	for _, test := range []struct {
		name    string
		changed map[string]string // "" removes the file
		want    map[string]string
		wrong   string
	}{
		{
			name: "a platform's places and lines go",
			want: map[string]string{
				"engine/platforms.go": "import " +
					"(\n\t\"adsync/media\"\n\t\"adsync/media/tulip\"\n)\n{\n\ttulip.New(),\n}\n",
				"simulator/platforms.go":         "import (\n\t\"adsync/simulator/tulip\"\n)\n{\n\ttulip.New(),\n}\n",
				"standalone/verify/platforms.go": "{\n\ttulip,\n}\n",
				"media/tulip/tulip.go":           "package tulip\n",
			},
		},
		{
			name:    "a list that does not name it is named",
			changed: map[string]string{"standalone/verify/platforms.go": "{\n\ttulip,\n}\n"},
			wrong:   "standalone/verify/platforms.go has 0 lines that are rose, want one",
		},
		{
			name:    "a list that names it twice is named",
			changed: map[string]string{"simulator/platforms.go": "\"adsync/simulator/rose\"\nrose.New(),\nrose.New(),\n"},
			wrong:   "simulator/platforms.go has 2 lines that are rose.New(), want one",
		},
		{
			name:    "a missing place is named",
			changed: map[string]string{"simulator/rose/rose.go": ""},
			wrong:   `"rose" is no platform: stat `,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			root, tree := t.TempDir(), maps.Clone(whole)
			maps.Copy(tree, test.changed)
			for name, text := range tree {
				if text == "" {
					delete(tree, name)
					continue
				}
				file := filepath.Join(root, name)
				require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
				require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			}
			err := takeOut(root, "rose")
			if test.wrong != "" {
				require.ErrorContains(t, err, test.wrong)
				test.want = tree // Nothing has changed.
			} else {
				require.NoError(t, err)
			}
			require.Equal(t, test.want, filesOf(t, root))
		})
	}
}

// filesOf returns the texts of all files below root.
func filesOf(t *testing.T, root string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	require.NoError(t, filepath.WalkDir(root, func(file string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, file)
		texts[filepath.ToSlash(name)] = string(text)
		return err
	}))
	return texts
}

package house_test

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/engine"
)

// places are where platforms may be named: the three lists, a platform's own places, generated files, documents, and
// the tests and programs that go over whole deployments with simulated platforms. data/ is where "adsync standalone"
// keeps its state by default.
var places = regexp.MustCompile(
	`^(engine/platforms\.go$|simulator/|standalone/verify/|media/(PLATFORMS)/|deploy/helm/adsync/medias\.txt$|` +
		`docs/|README\.md$|CHANGELOG\.md$|test/|bench/|bin/|data/|\.)|_test\.go$`)

func TestNoOtherFileNamesAPlatform(t *testing.T) {
	t.Parallel()
	all := strings.Join(engine.PlatformNames(), "|")
	allowed, platform := regexp.MustCompile(strings.Replace(places.String(), "PLATFORMS", all, 1)),
		regexp.MustCompile("(?i)"+all)
	var found []string
	root := os.DirFS("../..")
	require.NoError(t, fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !d.Type().IsRegular() {
			if d != nil && d.IsDir() && path != "." && strings.HasPrefix(d.Name(), ".") {
				return fs.SkipDir
			}
			return err
		}
		if allowed.MatchString(path) {
			return nil
		}
		text, err := fs.ReadFile(root, path)
		if err == nil && platform.Match(text) {
			found = append(found, path)
		}
		return err
	}))
	require.Empty(t, found, "these files name a platform: derive it from a list, or name none")
}

package page_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const pictures = "../../docs/pictures"

// A picture in the docs shows the present page: next to it is the hash of the template, style and script that it was
// taken of.
func TestPictures_AreOfThisPage(t *testing.T) {
	t.Parallel()
	sources := sha256.New()
	for _, name := range []string{"page.html", "page.css", "page.js"} { // In the order of test/page/picture_test.go.
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		_, _ = sources.Write(text)
	}
	all, err := filepath.Glob(pictures + "/*.png")
	require.NoError(t, err)
	require.NotEmpty(t, all)
	for _, picture := range all {
		have, err := os.ReadFile(picture + ".sha256")
		require.NoError(t, err, "a picture without the hash of what it shows")
		require.Equal(t, hex.EncodeToString(sources.Sum(nil)), strings.TrimSpace(string(have)),
			"%s shows an older page: run make pictures", filepath.Base(picture))
	}
}

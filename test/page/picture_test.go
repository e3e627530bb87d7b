package page_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// `make pictures` takes the pictures of the docs again, of a running standalone.
const (
	picturesEnv = "ADSYNC_PAGE_PICTURES" // their directory
	urlEnv      = "ADSYNC_PAGE_URL"      // where the page is
)

func TestPicture_IsTakenForTheDocs(t *testing.T) {
	dir := os.Getenv(picturesEnv)
	if dir == "" {
		t.Skip("pictures of the docs are taken by make pictures")
	}
	b := newTab(t)
	b.screen(1440, 1540, "light")
	b.do(chromedp.Navigate(os.Getenv(urlEnv)), chromedp.WaitVisible(chromedp.CSS("main")))
	name := filepath.Join(dir, "page.png")
	require.NoError(t, os.WriteFile(name, run(b, chromedp.CaptureScreenshot()), 0o644)) //nolint:gosec // It is published.
	sources := sha256.New()
	for _, file := range []string{"page.html", "page.css", "page.js"} { // In the order of producer/page/picture_test.go.
		text, err := os.ReadFile(filepath.Join("../../producer/page", file))
		require.NoError(t, err)
		_, _ = sources.Write(text)
	}
	require.NoError(t, os.WriteFile(name+".sha256", []byte(hex.EncodeToString(sources.Sum(nil))+"\n"),
		0o644)) //nolint:gosec // As above.
}

package publish

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// docs/publishing.md has the rights of the user who runs the queries: on the views, and on what waiting files read.
func TestDocs_GrantEachTableThatIsRead(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/publishing.md")
	require.NoError(t, err)
	var granted []string
	for _, grant := range regexp.MustCompile(`(?m)^GRANT SELECT ON adsync_data\.(\w+) TO `).FindAllSubmatch(page, -1) {
		granted = append(granted, string(grant[1]))
	}
	read := []string{"coverage", "wide_day"}
	for _, view := range Views() {
		read = append(read, view.Name)
	}
	require.ElementsMatch(t, read, granted)
}

package deploy

import (
	"debug/buildinfo"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// imageBuild matches the Dockerfile's command that builds the program, with its output file.
var imageBuild = regexp.MustCompile(`(CGO_ENABLED=0 go build .*-o )(/out/adsync)( \./cmd/adsync)`)

// buildAsImage builds the program of the image. Its flags make Go compile all packages again, so only the tests on real
// servers use it.
func buildAsImage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(root + "/Dockerfile")
	require.NoError(t, err)
	command := imageBuild.FindStringSubmatch(string(text))
	require.NotNil(t, command, "the Dockerfile has no command like %s", imageBuild)
	built := filepath.Join(t.TempDir(), "adsync")
	cmd := exec.CommandContext(t.Context(), "sh", "-c", command[1]+built+command[3])
	cmd.Dir = root
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s: %s", command[0], output)
	return built
}

func TestDockerfile_HasAUserWithoutRightsAndNothingElse(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(root + "/Dockerfile")
	require.NoError(t, err)
	_, image, found := strings.Cut(string(text), "\nFROM scratch\n")
	require.True(t, found)
	require.Regexp(t, `(?m)^USER [1-9][0-9]*:[1-9][0-9]*$`, image,
		"Kubernetes recognises only a number as a user other than root")
	require.NotContains(t, image, "\nRUN")
	require.Regexp(t, imageBuild, string(text))
}

// requireAlone checks that a program needs nothing else in its image: no loader of libraries, no zone files.
func requireAlone(t *testing.T, program string) {
	t.Helper()
	file, err := elf.Open(program)
	require.NoError(t, err)
	defer file.Close()
	for _, part := range file.Progs {
		require.NotEqual(t, elf.PT_INTERP, part.Type, "the program is static")
	}
	libraries, err := file.ImportedLibraries()
	require.NoError(t, err)
	require.Empty(t, libraries)
	built, err := buildinfo.ReadFile(program)
	require.NoError(t, err)
	var tags string
	for _, s := range built.Settings {
		if s.Key == "-tags" {
			tags = s.Value
		}
	}
	require.Contains(t, strings.Split(tags, ","), "timetzdata", "the zones of accounts are in the program")
}

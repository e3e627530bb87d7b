package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSystemd_AcceptsTheUnits(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(root + "/deploy/systemd/*.service")
	require.NoError(t, err)
	require.Len(t, files, 4)
	verify, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not on this machine")
	}
	dir := t.TempDir()
	var units []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Contains(t, string(text), "ExecStart=/usr/local/bin/adsync ")
		unit := filepath.Join(dir, strings.Replace(filepath.Base(file), "@", "@important", 1))
		require.NoError(t, os.WriteFile(unit, []byte(strings.ReplaceAll(string(text), "/usr/local/bin/adsync", program)),
			0o600))
		units = append(units, unit)
	}
	output, err := exec.CommandContext(t.Context(), verify,
		append([]string{"verify", "--recursive-errors=no"}, units...)...).CombinedOutput()
	require.NoError(t, err, string(output))
	require.Empty(t, string(output), "it warns about settings that it ignores")
}

// The program accepts the command lines of the units.
func TestSystemd_TheProgramAcceptsEveryUnit(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(root + "/deploy/systemd/*.service")
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		_, line, found := strings.Cut(string(text), "\nExecStart=/usr/local/bin/adsync ")
		require.True(t, found, file)
		line, _, _ = strings.Cut(line, "\n")
		config := "/configs/consumer.yaml"
		if strings.Contains(line, "--role=jobs") {
			config = "/configs/jobs.yaml"
		}
		args := strings.Fields(strings.NewReplacer("%i", "important", "/etc/adsync/adsync.yaml", root+config).Replace(line))
		cmd := exec.CommandContext(t.Context(), program, append(args, "--help")...)
		output, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s: %s", file, output)
	}
}

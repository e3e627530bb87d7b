package deploy

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/test/compose"
)

// secrets are what a user puts into .env.
var secrets = map[string]string{"ENCRYPTION_KEY": key, "API_TOKEN": "0123456789abcdef0123456789abcdef"}

func readCompose(t *testing.T) compose.File {
	t.Helper()
	file, err := compose.Read(root)
	require.NoError(t, err)
	return file
}

func TestCompose_TheProgramAcceptsEveryService(t *testing.T) {
	t.Parallel()
	file := readCompose(t)
	tested := 0
	for name, service := range file.Services {
		if !strings.HasPrefix(service.Image, "adsync:") {
			continue
		}
		tested++
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.NotEmpty(t, service.Command)
			args := []string{"--for", service.Command[0]}
			for _, arg := range service.Command {
				if strings.HasPrefix(arg, "--set=") {
					args = append(args, arg)
				}
			}
			check(t, compose.List(file.Environ(name, secrets)), args...)

			// A misspelt command or flag is found by asking for its help.
			help := exec.CommandContext(t.Context(), program, append(service.Command, "--help")...)
			output, err := help.CombinedOutput()
			require.NoError(t, err, string(output))
		})
	}
	require.Equal(t, 7, tested, "migrate, producer, three of consumers, simulator and bind")
}

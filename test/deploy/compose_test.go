package deploy

import (
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

// compose is what of docker-compose.yml the test needs; the yaml package resolves the anchors and merges.
type compose struct {
	Services map[string]struct {
		Image       string            `yaml:"image"`
		Command     []string          `yaml:"command"`
		Environment map[string]string `yaml:"environment"`
		Deploy      struct {
			Replicas int `yaml:"replicas"`
		} `yaml:"deploy"`
	} `yaml:"services"`
}

// readCompose reads docker-compose.yml; test/manifests has Docker Compose's own library read it.
func readCompose(t *testing.T) compose {
	t.Helper()
	text, err := os.ReadFile(root + "/docker-compose.yml")
	require.NoError(t, err)
	var file compose
	require.NoError(t, yaml.Unmarshal(text, &file))
	return file
}

// environ is what a service of ours is started with, by a user who has set what the file asks for.
func (c compose) environ(service string) map[string]string {
	values := map[string]string{}
	for variable, value := range c.Services[service].Environment {
		values[variable] = os.Expand(value, composeValue)
	}
	return values
}

// list is an environment as a process takes it.
func list(environ map[string]string) []string {
	var all []string
	for _, variable := range slices.Sorted(maps.Keys(environ)) {
		all = append(all, variable+"="+environ[variable])
	}
	return all
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
			check(t, list(file.environ(name)), args...)

			// A misspelt command or flag is found by asking for its help.
			help := exec.CommandContext(t.Context(), program, append(service.Command, "--help")...)
			output, err := help.CombinedOutput()
			require.NoError(t, err, string(output))
		})
	}
	require.Equal(t, 7, tested, "migrate, producer, three of consumers, simulator and bind")
}

// composeValue does what compose does with ${NAME:-default} and ${NAME:?message}, for a user who has set what the
// file asks for.
func composeValue(expression string) string {
	if _, value, ok := strings.Cut(expression, ":-"); ok {
		return value
	}
	if strings.HasPrefix(expression, "ENCRYPTION_KEY:") {
		return key
	}
	return "0123456789abcdef0123456789abcdef"
}

package deploy

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"adsync/test/compose"
)

// secrets is the content of a user's .env.
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
			command := service.Command[0]
			if slices.Contains(service.Command, "--role=jobs") {
				command = "jobs"
			}
			args := []string{"--for", command}
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
	require.Equal(t, 9, tested, "migrate, producer, four of consumers, jobs, simulator and bind")
}

// Jobs need a token, which is made by callers with the password. Its port is for other containers only.
func TestCompose_PublishesTheJobQueueAndNotItsAdministration(t *testing.T) {
	t.Parallel()
	file := readCompose(t)
	require.Equal(t, []string{"127.0.0.1:7777:7777"}, file.Services["jobs"].Ports)
	environ := file.Environ("jobs", secrets)
	require.Equal(t, "0.0.0.0:7777", environ["ADSYNC_JOBS_LISTEN"])
	require.Equal(t, "0.0.0.0:7778", environ["ADSYNC_JOBS_ADMIN_LISTEN"])
	require.Equal(t, secrets["API_TOKEN"], environ["ADSYNC_JOBS_ADMIN_PASSWORD"])
	require.Contains(t, []string{"", "required"}, environ["ADSYNC_JOBS_TOKENS"])
	for name, other := range file.Services {
		require.Equal(t, name == "jobs", other.Environment["ADSYNC_JOBS_ADMIN_PASSWORD"] != "", name)
	}
}

// Prometheus has no token: it reads from the port that serves metrics alone, which no other machine reaches.
func TestCompose_PrometheusReadsMetricsWithoutAToken(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "configs/prometheus/prometheus.yml"))
	require.NoError(t, err)
	var prometheus struct {
		Scrapes []struct {
			DNS []struct {
				Port string `yaml:"port"`
			} `yaml:"dns_sd_configs"`
		} `yaml:"scrape_configs"`
	}
	require.NoError(t, yaml.Unmarshal(text, &prometheus))
	asked := prometheus.Scrapes[0].DNS[0].Port
	for name, service := range readCompose(t).Services {
		if len(service.Command) == 0 || service.Command[0] != "serve" {
			continue
		}
		_, port, err := net.SplitHostPort(service.Environment["ADSYNC_API_METRICS_LISTEN"])
		require.NoError(t, err, name)
		require.Equal(t, asked, port, name)
		for _, published := range service.Ports {
			require.NotContains(t, published, ":"+port, name)
		}
	}
}

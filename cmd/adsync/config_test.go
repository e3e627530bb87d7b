package main

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/telemetry"
	"adsync/cmd/adsync/internal/settings"
)

var update = flag.Bool("update", false, "write the pages of docs")

// secretEnviron has the settings that a deployment gives in addition to the files of configs/.
var secretEnviron = []string{
	`ADSYNC_SECRET_KEYS=[{"id": "k1", "key": "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="}]`,
	`ADSYNC_API_TOKENS=[{"name": "ops", "token": "0123456789abcdef", "role": "admin"}]`,
	"ADSYNC_STORE_CONFIG_WRITER=adsync:hunter2@tcp(mysql:3306)/adsync_config",
	"ADSYNC_STORE_DATA_WRITER=adsync:hunter2@tcp(mysql:3306)/adsync_data",
}

func TestConfigCheck_AcceptsEveryShippedFile(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../configs/*.yaml")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 3)
	for _, file := range files {
		command, environ := "serve", secretEnviron
		if filepath.Base(file) == "standalone.yaml" {
			command, environ = "standalone", nil
		}
		r := adsync(environ, "config", "check", "--config", file, "--for", command)
		require.Equal(t, result{stdout: "The settings are valid for adsync " + command + ".\n"}, r, file)
	}
}

func TestConfigCheck_ReportsEverythingAtOnce(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "bad.yaml")
	require.NoError(t, os.WriteFile(file, []byte(strings.Join([]string{
		"log: {level: loud}",
		"api: {listen: 0.0.0.0:8080, token: hunter2}",
		"broker: {partitions: 0, tls: {enabled: maybe}}",
	}, "\n")), 0o600))
	r := adsync([]string{"ADSYNC_REDIS_ADRS=x", "ADSYNC_ROLE=all", "ADSYNC_TEST_X=y"}, "config", "check", "--config", file,
		"--set", "redis.mode=ring")
	require.Equal(t, 2, r.code)
	require.Empty(t, r.stdout)
	for _, want := range []string{
		"mistakes in the configuration:",
		`log.level = "loud" (` + file + `:1): want debug, info, warn or error`,
		`api.listen = "0.0.0.0:8080" (` + file + `:2): want a loopback address`,
		"api.token (" + file + ":2): there is no such setting; did you mean api.tokens?",
		`broker.partitions = "0" (` + file + ":3): want ",
		`broker.tls.enabled = "maybe" (` + file + ":3): want true or false",
		"ADSYNC_REDIS_ADRS (environment): no setting has this name; did you mean ADSYNC_REDIS_ADDRS?",
		`redis.mode = "ring" (flag --set): want `,
		"secret.keys (default): want at least one key",
	} {
		require.Contains(t, r.stderr, want)
	}
	require.NotContains(t, r.stderr, "hunter2")
}

func TestConfigCheck_FlagsOverrideTheFile(t *testing.T) {
	t.Parallel()
	r := adsync(append([]string{"ADSYNC_LOG_LEVEL=info"}, secretEnviron...), "config", "print", "--log-level=debug")
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stdout, "level: debug # flag --log-level\n")
}

func TestConfigPrint_HidesEverySecret(t *testing.T) {
	t.Parallel()
	r := adsync(append([]string{"ADSYNC_REDIS_PASSWORD=hunter2", "ADSYNC_BROKER_SASL_PASSWORD=hunter2"}, secretEnviron...),
		"config", "print")
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, 6, strings.Count(r.stdout, "<secret>"))
	for _, hidden := range []string{"hunter2", "0123456789abcdef", "MDEyMzQ1"} {
		require.NotContains(t, r.stdout, hidden)
	}
	require.Contains(t, r.stdout, "password: <secret> # environment ADSYNC_REDIS_PASSWORD\n")
}

// TestPages_AreFresh compares the generated pages of docs with the code.
func TestPages_AreFresh(t *testing.T) {
	t.Parallel()
	for page, command := range map[string][]string{"configuration.md": {"config", "reference"},
		"data-dictionary.md": {"dictionary"}} {
		r := adsync(nil, command...)
		require.Zero(t, r.code, r.stderr)
		path := filepath.Join("../../docs", page)
		if *update {
			require.NoError(t, os.WriteFile(path, []byte(r.stdout), 0o644))
		}
		written, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, string(written), r.stdout, "run make generate")
	}
}

func TestConfig_NamesNoUnknownSection(t *testing.T) {
	t.Parallel()
	for command, sections := range settings.NeededBy {
		for _, section := range sections {
			require.Contains(t, adsync(nil, "config", "reference").stdout, "\n## "+section+"\n", command)
		}
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	r := adsync(nil, "version")
	require.Zero(t, r.code)
	require.Regexp(t, `^adsync \S+\ncommit \S+\ngo1\.\S+\n$`, r.stdout)

	var b telemetry.Build
	require.NoError(t, json.Unmarshal([]byte(adsync(nil, "version", "--output", "json").stdout), &b))
	require.Equal(t, telemetry.ReadBuild(), b)
}

func TestConfigCheck_RefusesPasswordsInAddressesAndShowsNone(t *testing.T) {
	t.Parallel()
	for _, of := range [][2]string{
		{"media.base_url", `{tulip: "https://otto:hunter2@api.example.com/v3.0"}`},
		{"media.base_url", `{tulip: "https://api.example.com/v3.0?access_token=hunter2"}`},
		{"media.base_url", `{tulip: "https://api.example.com/v3.0?of=hunter2"}`},
		{"media.base_url", `{tulip: "https://api.example.com/v3.0#hunter2"}`},
		{"media.base_url", `{tulip: ":hunter2@api.example.com/v3.0"}`},
		{"media.authorise_url", `{tulip: "https://otto:hunter2@example.com/auth"}`},
		{"trace.endpoint", "http://otto:hunter2@otel:4318"},
		{"broker.brokers", "otto:hunter2@kafka:9092"},
		{"broker.brokers", ":hunter2@kafka:9092"},
		{"broker.brokers", "hunter2@kafka:9092"},
		{"redis.addrs", "hunter2@redis:6379"},
		{"redis.addrs", ":hunter2@redis:6379"},
		{"redis.mode", ":hunter2@redis"},
		{"debug.pprof", "otto:hunter2@127.0.0.1:6060"},
		{"api.metrics_listen", "otto:hunter2@127.0.0.1:9464"},
	} {
		key, value := of[0], of[1]
		environ := append(slices.Clone(secretEnviron), "ADSYNC_"+strings.ToUpper(strings.ReplaceAll(key, ".", "_"))+"="+value)
		r := adsync(environ, "config", "check")
		require.Equal(t, 2, r.code, "%s=%s: %s", key, value, r.stdout)
		require.Contains(t, r.stderr, key)
		require.NotContains(t, r.stderr, "hunter2", value)
		if strings.Contains(value, "of=") || strings.Contains(value, "#") {
			continue // A text that does not look like a password is printed.
		}
		printed := adsync(environ, "config", "print")
		require.NotContains(t, printed.stdout+printed.stderr, "hunter2", value)
	}
}

// Settings of earlier releases are refused with what replaces them.
func TestConfig_NamesWhatReplacesARemovedSection(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "old.yaml")
	require.NoError(t, os.WriteFile(file, []byte("partner:\n  dsn: hunter2\n"), 0o600))
	for _, r := range []result{
		adsync(append([]string{"ADSYNC_PARTNER_DSN=hunter2"}, secretEnviron...), "config", "print"),
		adsync(secretEnviron, "config", "print", "--config", file),
		adsync(secretEnviron, "config", "print", "--set", "partner.table=business"),
	} {
		require.Equal(t, exitUsage, r.code)
		require.Contains(t, r.stderr, "any more: the business's own figures are a copy of a table of one of the sources")
		require.NotContains(t, r.stdout+r.stderr, "hunter2")
	}
}

func TestConfig_WarnsOfSecretsOnTheCommandLine(t *testing.T) {
	t.Parallel()
	for key, variable := range map[string]string{
		"secret.keys": "ADSYNC_SECRET_KEYS", "store.data.writer": "ADSYNC_STORE_DATA_WRITER",
		"redis.password": "ADSYNC_REDIS_PASSWORD",
		"api.tokens":     "ADSYNC_API_TOKENS", "broker.sasl.password": "ADSYNC_BROKER_SASL_PASSWORD",
		"jobs.admin_password": "ADSYNC_JOBS_ADMIN_PASSWORD",
	} {
		value := "hunter2"
		if key == "secret.keys" || key == "api.tokens" {
			value = "[]"
		}
		r := adsync(secretEnviron, "config", "print", "--set", key+"="+value)
		require.Zero(t, r.code, r.stderr)
		require.Equal(t, "Warning: --set "+key+
			" puts a secret on the command line, which everyone on this machine can read: use the variable "+
			variable+", or a file.\n", r.stderr)
	}
	r := adsync(secretEnviron, "config", "print", "--set", "log.level=debug", "--set", "redis.username=adsync")
	require.Empty(t, r.stderr)
}

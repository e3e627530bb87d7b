package config_test

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/config"
	"adsync/base/secret"
)

// settings is a tree with every kind of setting.
type settings struct {
	Log   logSettings   `koanf:"log" doc:"What the program logs."`
	Store storeSettings `koanf:"store" doc:"Where the tables are."`
	API   apiSettings   `koanf:"api" doc:"The operators' API."`
}

type logSettings struct {
	Level string `koanf:"level" doc:"The lowest level."`
}

func (c logSettings) Validate() error {
	if c.Level == "debug" || c.Level == "info" {
		return nil
	}
	return &config.FieldError{Key: "level", Value: c.Level, Want: "debug or info"}
}

type storeSettings struct {
	Config databaseSettings `koanf:"config" doc:"The configuration database."`
	Data   databaseSettings `koanf:"data" doc:"The data database."`
}

type databaseSettings struct {
	Writer   string        `koanf:"writer" doc:"The writer, as host:port."`
	Replicas []string      `koanf:"replicas" doc:"Read replicas; none means that the writer is read."`
	Password secret.Text   `koanf:"password" doc:"The password."`
	Timeout  time.Duration `koanf:"timeout" doc:"How long a statement may take."`
	Pool     int           `koanf:"pool" doc:"The most connections."`
}

func (c databaseSettings) Validate() error {
	var errs []error
	if c.Writer == "" {
		errs = append(errs, &config.FieldError{Key: "writer", Want: "host:port"})
	}
	if c.Password.Reveal() == "short" {
		errs = append(errs, &config.FieldError{Key: "password", Value: c.Password.Reveal(), Want: "at least 8 letters"})
	}
	return errors.Join(errs...)
}

type apiSettings struct {
	Listen  netip.AddrPort    `koanf:"listen" doc:"The address."`
	Open    bool              `koanf:"open" doc:"Whether no token is needed."`
	Share   float64           `koanf:"share" doc:"A share from 0 to 1."`
	Tokens  []tokenSettings   `koanf:"tokens" doc:"Who may call."`
	Weights map[string]uint16 `koanf:"weights" doc:"Weights by lane."`
	Dial    func()            `koanf:"-"`
}

func (c apiSettings) Validate() error {
	var errs []error
	for i, t := range c.Tokens {
		if t.Role == "owner" {
			errs = append(errs, &config.FieldError{Key: fmt.Sprintf("tokens[%d].role", i), Value: t.Role,
				Want: "viewer or admin"})
		}
	}
	return errors.Join(errs...)
}

type tokenSettings struct {
	Name  string      `koanf:"name" doc:"Whose token it is."`
	Token secret.Text `koanf:"token" doc:"The token."`
	Role  string      `koanf:"role" doc:"What it allows."`
}

func defaults() settings {
	database := databaseSettings{Writer: "127.0.0.1:3306", Replicas: []string{"a:1", "b:2"}, Timeout: 10 * time.Second,
		Pool: 16}
	return settings{
		Log:   logSettings{Level: "info"},
		Store: storeSettings{Config: database, Data: database},
		API: apiSettings{
			Listen:  netip.MustParseAddrPort("127.0.0.1:8080"),
			Share:   0.95,
			Tokens:  []tokenSettings{{Name: "built-in", Role: "admin"}},
			Weights: map[string]uint16{"normal": 1, "media.offline": 2},
		},
	}
}

func write(t *testing.T, yaml string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "test.yaml")
	require.NoError(t, os.WriteFile(file, []byte(yaml), 0o600))
	return file
}

func TestLoad_LaterSourcesWin(t *testing.T) {
	t.Parallel()
	c := defaults()
	sources, err := config.Load(&c, config.Options{
		File: write(t, `
log: {level: debug}
store:
  config:
    writer: file:1
    timeout: 1m30s
    pool: 1_000
    password: 0123
  data: # every key below is commented out
api:
  weights: {important: 5, normal: 3}
`),
		Environ: []string{
			"ADSYNC_STORE_CONFIG_WRITER=env:1", "ADSYNC_STORE_CONFIG_POOL=7", "ADSYNC_STORE_DATA_WRITER=env:2",
			"ADSYNC_LOG_LEVEL=", "HOME=/root", "ADSYNC_API_LISTEN=[::1]:9", "ADSYNC_API_SHARE=0.5", "ADSYNC_API_OPEN=true",
		},
		Overrides: []config.Override{{Flag: "--pool", Key: "store.config.pool", Value: "9"}},
	})
	require.NoError(t, err)

	want := defaults()
	want.Log.Level = "debug"
	want.Store.Config.Writer = "env:1"
	want.Store.Config.Timeout = 90 * time.Second
	want.Store.Config.Pool = 9
	want.Store.Config.Password = secret.NewText("0123")
	want.Store.Data.Writer = "env:2"
	want.API.Listen = netip.MustParseAddrPort("[::1]:9")
	want.API.Share = 0.5
	want.API.Open = true
	want.API.Weights = map[string]uint16{"important": 5, "normal": 3, "media.offline": 2}
	require.Equal(t, want, c)

	require.Equal(t, "flag --pool", sources.Of("store.config.pool"))
	require.Equal(t, "environment ADSYNC_STORE_CONFIG_WRITER", sources.Of("store.config.writer"))
	require.Regexp(t, `test\.yaml:6$`, sources.Of("store.config.timeout"))
	require.Equal(t, "default", sources.Of("api.tokens[0].name"))
}

func TestLoad_NothingLeavesTheDefaults(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"", write(t, ""), write(t, "# only a comment\n"), write(t, "store:\n")} {
		c := defaults()
		_, err := config.Load(&c, config.Options{File: file})
		require.NoError(t, err)
		require.Equal(t, defaults(), c)
	}
}

func TestLoad_ListsAreReplacedAsAWhole(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		o    config.Options
	}{
		{"from the file", config.Options{File: write(t, "api: {tokens: [{name: ops}]}\nstore: {data: {replicas: [c:3]}}")}},
		{"from the environment", config.Options{Environ: []string{
			`ADSYNC_API_TOKENS=[{"name": "ops"}]`, "ADSYNC_STORE_DATA_REPLICAS=c:3",
		}}},
		{"from flags", config.Options{Overrides: []config.Override{
			{Key: "api.tokens", Value: "[{name: ops}]"}, {Key: "store.data.replicas", Value: "[c:3]"},
		}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			shared := defaults()
			c := shared
			_, err := config.Load(&c, test.o)
			require.NoError(t, err)
			require.Equal(t, []tokenSettings{{Name: "ops"}}, c.API.Tokens,
				"the role of the default's token must not be inherited")
			require.Equal(t, []string{"c:3"}, c.Store.Data.Replicas)
			require.Equal(t, defaults(), shared, "the slices of the defaults are not changed")
		})
	}
}

func TestLoad_ListsFromTheEnvironmentAreSplitAtCommas(t *testing.T) {
	t.Parallel()
	c := defaults()
	_, err := config.Load(&c, config.Options{Environ: []string{"ADSYNC_STORE_DATA_REPLICAS=c:3, d:4"}})
	require.NoError(t, err)
	require.Equal(t, []string{"c:3", "d:4"}, c.Store.Data.Replicas)
}

// TestLoad_RefusesBadFiles loads each testdata/*.bad.yml and compares the whole message.
func TestLoad_RefusesBadFiles(t *testing.T) {
	t.Parallel()
	tests := map[string][]string{
		"unknown_key.bad.yml": {
			"stroe (testdata/unknown_key.bad.yml:1): there is no such setting; did you mean store?",
			"log.colour (testdata/unknown_key.bad.yml:4): there is no such setting; the keys here are level",
			"store.data.pasword (testdata/unknown_key.bad.yml:7): there is no such setting; did you mean store.data.password?",
			"api.tokens[0].rule (testdata/unknown_key.bad.yml:11): there is no such setting; did you mean api.tokens[].role?",
		},
		"merge.bad.yml": {
			"api (testdata/merge.bad.yml:3): YAML's merge key << is not read: write the keys out",
			"api.weights (testdata/merge.bad.yml:5): YAML's merge key << is not read: write the keys out",
		},
		"wrong_type.bad.yml": {
			`store.config.pool = "many" (testdata/wrong_type.bad.yml:3): want a whole number`,
			`store.config.timeout = "10" (testdata/wrong_type.bad.yml:4): want a duration such as "500ms", "10s" or "72h"`,
			"store.config.replicas (testdata/wrong_type.bad.yml:5): want a list",
			"store.config.writer (testdata/wrong_type.bad.yml:6): want text, not a list or a section",
			"store.data (testdata/wrong_type.bad.yml:7): want a section with the keys writer, replicas, password, timeout, pool",
			`api.open = "yes" (testdata/wrong_type.bad.yml:9): want true or false`,
			`api.share = "most" (testdata/wrong_type.bad.yml:10): want a number`,
			`api.weights.normal = "-1" (testdata/wrong_type.bad.yml:11): want a whole number of at least 0`,
			`api.weights.offline = "65536" (testdata/wrong_type.bad.yml:11): want a whole number of at least 0`,
			`api.listen = "localhost" (testdata/wrong_type.bad.yml:12): not an ip:port`,
		},
		"invalid.bad.yml": {
			`log.level = "loud" (testdata/invalid.bad.yml:1): want debug or info`,
			`store.config.password = "<secret>" (testdata/invalid.bad.yml:3): want at least 8 letters`,
			"store.data.writer (testdata/invalid.bad.yml:4): want host:port",
			`api.tokens[1].role = "owner" (testdata/invalid.bad.yml:8): want viewer or admin`,
		},
		"everything.bad.yml": {
			"log.levle (testdata/everything.bad.yml:1): there is no such setting; did you mean log.level?",
			`store.config.pool = "x" (testdata/everything.bad.yml:2): want a whole number`,
			"store.data.writer (testdata/everything.bad.yml:2): want host:port",
		},
		"twice.bad.yml": {"log (testdata/twice.bad.yml:3): is given twice, first in line 1"},
		"null.bad.yml": {
			"log.level (testdata/null.bad.yml:1): is null: want a value, or leave the key out",
			"api.tokens[0] (testdata/null.bad.yml:5): is empty: want a value, or leave the item out",
		},
		"syntax.bad.yml": {"(testdata/syntax.bad.yml): the file is not valid YAML: line 2: mapping values are not " +
			"allowed in this context"},
		"documents.bad.yml": {"(testdata/documents.bad.yml): the file is not valid YAML: line 2 begins a second document: " +
			"want one"},
		"scalar.bad.yml":  {"(testdata/scalar.bad.yml:1): want a section with the keys log, store, api"},
		"missing.bad.yml": {"(testdata/missing.bad.yml): the file cannot be read: no such file or directory"},
	}
	files, err := filepath.Glob("testdata/*.bad.yml")
	require.NoError(t, err)
	require.Len(t, files, len(tests)-1, "each file has an entry, and one entry has no file")
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := defaults()
			_, err := config.Load(&c, config.Options{File: "testdata/" + name})
			require.Equal(t, want, lines(t, err))
		})
	}
}

func TestLoad_RefusesBadVariablesAndFlags(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		o    config.Options
		want string
	}{
		{"an unknown variable",
			config.Options{Environ: []string{"ADSYNC_STORE_DATA_WRITTER=x"}},
			"ADSYNC_STORE_DATA_WRITTER (environment): no setting has this name; did you mean ADSYNC_STORE_DATA_WRITER?"},
		{"a variable far from any name",
			config.Options{Environ: []string{"ADSYNC_WHATEVER=x"}},
			"ADSYNC_WHATEVER (environment): no setting has this name"},
		{"a variable of the wrong type",
			config.Options{Environ: []string{"ADSYNC_STORE_DATA_POOL=x"}},
			`store.data.pool = "x" (environment ADSYNC_STORE_DATA_POOL): want a whole number`},
		{"an invalid variable",
			config.Options{Environ: []string{"ADSYNC_LOG_LEVEL=loud"}},
			`log.level = "loud" (environment ADSYNC_LOG_LEVEL): want debug or info`},
		{"a list of sections without structure",
			config.Options{Environ: []string{"ADSYNC_API_TOKENS=hunter2"}},
			"api.tokens (environment ADSYNC_API_TOKENS): want a list"},
		{"a list of sections with broken syntax",
			config.Options{Environ: []string{"ADSYNC_API_TOKENS=[{hunter2"}},
			"api.tokens (environment ADSYNC_API_TOKENS): want a value in YAML or JSON, such as [{name: …, token: …, role: …}]"},
		{"an invalid item of a list in a variable",
			config.Options{Environ: []string{"ADSYNC_API_TOKENS=[{role: owner}]"}},
			`api.tokens[0].role = "owner" (environment ADSYNC_API_TOKENS): want viewer or admin`},
		{"an unknown flag key",
			config.Options{Overrides: []config.Override{{Flag: "--set", Key: "log.levle", Value: "x"}}},
			"log.levle (flag --set): there is no such setting; did you mean log.level?"},
		{"a section as flag key",
			config.Options{Overrides: []config.Override{{Flag: "--set", Key: "log", Value: "x"}}},
			"log (flag --set): is a section: want one of its keys level"},
		{"an item of a list as flag key",
			config.Options{Overrides: []config.Override{{Flag: "--set", Key: "api.tokens[0].role", Value: "x"}}},
			"api.tokens[0].role (flag --set): is part of a list or map, which is set as a whole"},
		{"an invalid flag",
			config.Options{Overrides: []config.Override{{Flag: "--level", Key: "log.level", Value: "loud"}}},
			`log.level = "loud" (flag --level): want debug or info`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := defaults()
			_, err := config.Load(&c, test.o)
			require.Equal(t, []string{test.want}, lines(t, err))
		})
	}
}

func TestLoad_IgnoresForeignVariables(t *testing.T) {
	t.Parallel()
	c := defaults()
	_, err := config.Load(&c, config.Options{
		Environ: []string{
			"ADSYNC_ROLE=producer", "ADSYNC_TEST_KAFKA=x", "ADSYNC=x", "OTHER_LOG_LEVEL=loud",
			// What Kubernetes sets for a service called adsync-producer.
			"ADSYNC_PRODUCER_SERVICE_HOST=10.0.0.1", "ADSYNC_PRODUCER_SERVICE_PORT=8080",
			"ADSYNC_PRODUCER_SERVICE_PORT_HTTP=8080",
			"ADSYNC_PRODUCER_PORT=tcp://10.0.0.1:8080", "ADSYNC_PRODUCER_PORT_8080_TCP=tcp://10.0.0.1:8080",
			"ADSYNC_PRODUCER_PORT_8080_TCP_ADDR=10.0.0.1",
		},
		IgnoreEnv: []string{"ADSYNC_ROLE", "ADSYNC_TEST_*"},
	})
	require.NoError(t, err)
	require.Equal(t, defaults(), c)
}

func TestLoad_ValidatesOnlyTheRequestedSections(t *testing.T) {
	t.Parallel()
	c := defaults()
	o := config.Options{File: "testdata/invalid.bad.yml", Sections: []string{"log"}}
	_, err := config.Load(&c, o)
	require.Equal(t, []string{`log.level = "loud" (testdata/invalid.bad.yml:1): want debug or info`}, lines(t, err))

	c = defaults()
	o.Sections = []string{}
	_, err = config.Load(&c, o)
	require.NoError(t, err)
}

func TestLoad_RefusesThePrintedFormOfASecret(t *testing.T) {
	t.Parallel()
	c := defaults()
	_, err := config.Load(&c, config.Options{Environ: []string{"ADSYNC_STORE_DATA_PASSWORD=<secret>"}})
	require.Equal(t, []string{"store.data.password (environment ADSYNC_STORE_DATA_PASSWORD): " +
		"want the secret itself: <secret> only stands for one that was not printed"}, lines(t, err))
}

func TestLoad_NeverShowsSecrets(t *testing.T) {
	t.Parallel()
	for _, yaml := range []string{
		"store: {data: {password: [hunter2]}}",
		"store: {data: {pasword: hunter2}}",
		"store: hunter2",
		"api: {tokens: hunter2}",
		"api: {tokens: [hunter2]}",
		"api: {tokens: [{token: {hunter2: 1}}]}",
		"store: {data: {password: hunter2\n",
	} {
		c := defaults()
		_, err := config.Load(&c, config.Options{File: write(t, yaml)})
		require.Error(t, err, yaml)
		// A key is no secret: only values are.
		require.NotContains(t, err.Error(), "hunter2", yaml)
	}
}

func TestLoad_RefusesStructsThatNoTextCanFill(t *testing.T) {
	t.Parallel()
	_, err := config.Load(&struct {
		Section struct {
			Dial func() `koanf:"dial"`
		} `koanf:"section"`
	}{}, config.Options{})
	require.EqualError(t, err, "setting section.dial has the type func(), which has no text form")

	_, err = config.Load(&struct {
		A struct {
			BC string `koanf:"b_c"`
		} `koanf:"a"`
		AB struct {
			C string `koanf:"c"`
		} `koanf:"a_b"`
	}{}, config.Options{})
	require.EqualError(t, err, "settings a.b_c and a_b.c would share the environment variable ADSYNC_A_B_C")

	_, err = config.Load(settings{}, config.Options{})
	require.ErrorContains(t, err, "want a pointer to a struct")
}

// lines returns the problems of a refusal, one text each.
func lines(t *testing.T, err error) []string {
	t.Helper()
	refusal, ok := errors.AsType[*config.Error](err)
	require.True(t, ok, "%v", err)
	var all []string
	for _, p := range refusal.Problems {
		all = append(all, p.String())
	}
	require.Equal(t, len(all), strings.Count(err.Error(), "\n"))
	return all
}

// pin is a secret with a required form.
type pin struct{ digits string }

func (p pin) Reveal() string { return p.digits }

func (p *pin) UnmarshalText(text []byte) error {
	if len(text) != 4 {
		return fmt.Errorf("%q has not 4 digits", text)
	}
	p.digits = string(text)
	return nil
}

func TestLoad_HidesSecretsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	_, err := config.Load(&struct {
		Door struct {
			Pin pin `koanf:"pin"`
		} `koanf:"door"`
	}{}, config.Options{Environ: []string{"ADSYNC_DOOR_PIN=hunter2"}})
	require.Equal(t, []string{`door.pin = "<secret>" (environment ADSYNC_DOOR_PIN): want text`}, lines(t, err))
}

func TestLoad_ReportsASettingOnce(t *testing.T) {
	t.Parallel()
	c := defaults()
	c.Store.Data.Writer = "" // Invalid in itself, and the value of the environment cannot be read either.
	_, err := config.Load(&c, config.Options{File: write(t, "store: {data: {writer: {host: a}}}")})
	require.Len(t, lines(t, err), 1)
}

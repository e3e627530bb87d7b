package place_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/config"
	"adsync/publish/place"
)

// valid returns a valid configuration of a kind.
func valid(t *testing.T, kind string) place.Config {
	t.Helper()
	c := place.Config{Kind: kind, Address: "files.example.com:21", User: user, Password: newSecret(password)}
	switch kind {
	case place.KindS3:
		c.Address = "https://s3.example.com/reports"
	case place.KindDir:
		c = place.Config{Kind: kind, Address: "/var/reports"}
	case place.KindSFTP:
		c.HostKey = "# the server's\n" + newHostKey(t)
	}
	return c
}

func TestConfig_AcceptsWhatEachKindHas(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{place.KindS3, place.KindSFTP, place.KindFTP, place.KindFTPS, place.KindDir} {
		c := valid(t, kind)
		for _, prefix := range []string{"", "daily", "daily/reports/"} {
			c.Prefix = prefix
			require.NoError(t, c.Validate(), kind)
		}
		c.Options = place.Options{TimeoutSeconds: 60, BytesPerSecond: 1 << 20}
		require.NoError(t, c.Validate(), kind)
	}
	c := valid(t, place.KindSFTP)
	c.Prefix = "/daily"
	require.NoError(t, c.Validate())
	c = valid(t, place.KindS3)
	c.Address, c.Options.Region = "https:///reports", "eu-central-1"
	require.NoError(t, c.Validate())
}

func TestConfig_NamesEachMistake(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, kind string
		change     func(c *place.Config)
		keys       []string
	}{
		{"unknown kind", "scp", func(*place.Config) {}, []string{"kind"}},
		{"nothing", place.KindS3, func(c *place.Config) { *c = place.Config{Kind: place.KindS3} },
			[]string{"address", "user", "password"}},
		{"no bucket", place.KindS3, func(c *place.Config) { c.Address = "https://s3.example.com" }, []string{"address"}},
		{"a path in a bucket", place.KindS3, func(c *place.Config) { c.Address += "/daily" }, []string{"address"}},
		{"a password in the address", place.KindS3,
			func(c *place.Config) { c.Address = "https://u:p@s3.example.com/reports" }, []string{"address"}},
		{"AWS without a region", place.KindS3, func(c *place.Config) { c.Address = "https:///reports" },
			[]string{"options.region"}},
		{"a relative directory", place.KindDir, func(c *place.Config) { c.Address = "reports" }, []string{"address"}},
		{"a directory with a login", place.KindDir,
			func(c *place.Config) { c.User, c.Password = user, newSecret(password) }, []string{"user", "password"}},
		{"no port", place.KindSFTP, func(c *place.Config) { c.Address = "files.example.com" }, []string{"address"}},
		{"port 0", place.KindFTP, func(c *place.Config) { c.Address = "files.example.com:0" }, []string{"address"}},
		{"a scheme", place.KindFTP, func(c *place.Config) { c.Address = "ftp://files.example.com:21" },
			[]string{"address"}},
		{"a second command in the login", place.KindFTP,
			func(c *place.Config) { c.User, c.Password = "a\r\nDELE b", newSecret("a\nDELE b") },
			[]string{"user", "password"}},
		{"no host key", place.KindSFTP, func(c *place.Config) { c.HostKey = "" }, []string{"host_key"}},
		{"a line of known_hosts", place.KindSFTP, func(c *place.Config) { c.HostKey = "example.com " + newHostKey(t) },
			[]string{"host_key"}},
		{"a line that is no key", place.KindSFTP, func(c *place.Config) { c.HostKey += "ssh-ed25519 AAAA\n" },
			[]string{"host_key"}},
		{"a key that is none", place.KindSFTP, func(c *place.Config) { c.Key = newSecret("hunter2") }, []string{"key"}},
		{"a host key of an FTP server", place.KindFTP,
			func(c *place.Config) { c.HostKey, c.Key, c.CA = "x", newSecret("x"), "x" }, []string{"key", "host_key", "ca"}},
		{"a CA that is none", place.KindFTPS, func(c *place.Config) { c.CA = "x" }, []string{"ca"}},
		{"an absolute prefix", place.KindDir, func(c *place.Config) { c.Prefix = "/daily" }, []string{"prefix"}},
		{"a prefix that leads out", place.KindSFTP, func(c *place.Config) { c.Prefix = "/../daily" }, []string{"prefix"}},
		{"a doubled slash", place.KindS3, func(c *place.Config) { c.Prefix = "daily//" }, []string{"prefix"}},
		{"options out of range", place.KindS3, func(c *place.Config) {
			c.Options = place.Options{TimeoutSeconds: 4, BytesPerSecond: 1, PartMiB: 4}
		}, []string{"options.timeout_seconds", "options.bytes_per_second", "options.part_mib"}},
		{"options of other kinds", place.KindDir, func(c *place.Config) {
			c.Options = place.Options{Region: "x", PathStyle: true, PartMiB: 5, Implicit: true, TLSMax: "1.2"}
		}, []string{"options.region", "options.path_style", "options.part_mib", "options.implicit", "options.tls_max"}},
		{"another version of TLS", place.KindFTPS, func(c *place.Config) { c.Options.TLSMax = "1.1" },
			[]string{"options.tls_max"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := valid(t, test.kind)
			test.change(&c)
			err := c.Validate()
			var joined interface{ Unwrap() []error }
			require.ErrorAs(t, err, &joined)
			var keys []string
			for _, e := range joined.Unwrap() {
				field, ok := errors.AsType[*config.FieldError](e)
				require.True(t, ok, "%v", e)
				keys = append(keys, field.Key)
			}
			require.Equal(t, test.keys, keys)
			require.NotContains(t, err.Error(), "hunter2")
			require.NotContains(t, err.Error(), password)
			_, opened := place.Open(t.Context(), c)
			require.Equal(t, err, opened)
			require.True(t, place.Refused(opened))
		})
	}
}

func TestConfig_ShowsNoSecret(t *testing.T) {
	t.Parallel()
	c := valid(t, place.KindFTP)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		require.NotContains(t, fmt.Sprintf(verb, c), password)
	}
	text, err := json.Marshal(c)
	require.NoError(t, err)
	require.NotContains(t, string(text), password)
}

func TestCheckName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "a/b.csv", ".hidden", "a b/c..d", "…/销售.csv", strings.Repeat("x", 222), "-a"} {
		require.NoError(t, place.CheckName(name), name)
	}
	for name, want := range map[string]string{
		"": "a name", "/a": "slash", "a//b": "between two slashes", "a/": "between two slashes", "../a": `".."`,
		"a/..": `".."`, "./a": `"."`, "a\\b": "backslashes", "a\nb": "control", "a\x00": "control", "a\x7f": "control",
		"a\u0085b": "control", "a\xff": "UTF-8", " a": "spaces", "a /b": "spaces", strings.Repeat("x", 223): "222",
		strings.Repeat("xxxxxxx/", 100) + "x": "768", "a/.b.adsync-1.part": "temporary",
	} {
		err := place.CheckName(name)
		require.ErrorContains(t, err, want, name)
		require.ErrorContains(t, err, "want")
		require.True(t, place.Refused(err))
	}
}

package place_test

import (
	"crypto/rand"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/publish/place"
	"adsync/test/services/local"
)

// packageEnv names the environment variable of each server that comes as a package, by its kind.
var packageEnv = []struct{ kind, variable string }{
	{"OpenSSH", "ADSYNC_TEST_SFTP"},
	{"vsftpd", "ADSYNC_TEST_FTPS"},
	{"vsftpd with TLS 1.2", "ADSYNC_TEST_FTPS"},
}

// packageKinds returns the kinds whose server runs.
func packageKinds() []string {
	var kinds []string
	for _, p := range packageEnv {
		if os.Getenv(p.variable) != "" {
			kinds = append(kinds, p.kind)
		}
	}
	return kinds
}

// TestPackages_Run shows which servers of packages the suite does not run with.
func TestPackages_Run(t *testing.T) {
	t.Parallel()
	for _, p := range packageEnv {
		t.Run(p.kind, func(t *testing.T) {
			t.Parallel()
			if os.Getenv(p.variable) == "" {
				t.Skipf("%s is not set: `make test-services` starts the server where it can be installed", p.variable)
			}
			r := newPackageRig(t, p.kind)
			deliver(t, r.open(t), file("sales.csv", 1, "x"))
			r.requireFile(t, "sales.csv", "x")
		})
	}
}

// newPackageRig returns a new directory of a running server.
func newPackageRig(t *testing.T, kind string) *rig {
	t.Helper()
	c := place.Config{Kind: place.KindFTPS}
	variable := "ADSYNC_TEST_FTPS"
	switch kind {
	case "OpenSSH":
		c.Kind, variable = place.KindSFTP, "ADSYNC_TEST_SFTP"
	case "vsftpd with TLS 1.2":
		c.Options.TLSMax = "1.2"
	}
	var login local.FileLogin
	require.NoError(t, json.Unmarshal([]byte(os.Getenv(variable)), &login))
	dir := filepath.Join(login.Dir, strings.ToLower(rand.Text()))
	c.Address, c.User, c.HostKey, c.CA = login.Address, login.User, login.HostKey, login.CA
	c.Password, c.Key = newSecret(login.Password), newSecret(login.Key)
	c.Prefix = path.Join(filepath.ToSlash(dir), "daily/reports")
	r := &rig{t: t, config: c}
	return r.onDisk(filepath.FromSlash(c.Prefix))
}

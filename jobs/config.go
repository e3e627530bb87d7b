package jobs

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"adsync/base/config"
	"adsync/base/localhost"
	"adsync/base/secret"
	"adsync/base/sqldb"
)

// Whether requests need a token of their namespace.
const (
	TokensRequired = "required"
	TokensNone     = "none"
)

// passwordMin is how many characters the password of the administration has at least. A person may choose it, and
// nothing limits how many are tried.
const passwordMin = 12

// Config holds the addresses of the job queue.
type Config struct {
	Store         sqldb.Database `koanf:"store" doc:"The database of the jobs. Without a writer it is the data database."`
	Pools         []Pool         `koanf:"pools" doc:"Other databases of jobs, in which namespaces may lie."`
	Listen        string         `koanf:"listen" doc:"The address on which jobs are published and consumed, as host:port. Empty: the role all serves no jobs, and the role jobs serves them on 127.0.0.1:7777."`
	AdminListen   string         `koanf:"admin_listen" doc:"The address on which tokens are made, as host:port. Without admin_password it must be a loopback address."`
	AdminUser     string         `koanf:"admin_user" doc:"The user of admin_listen (HTTP basic authentication)."`
	AdminPassword secret.Text    `koanf:"admin_password" doc:"The password of admin_user, of at least 12 characters. Empty means that callers on this machine need none."`
	Tokens        string         `koanf:"tokens" doc:"required: a request needs a token of its namespace, in X-Token or ?token=. none: every caller may do everything; then listen must be a loopback address."`
	KeepDead      time.Duration  `koanf:"keep_dead" doc:"How long dead letters are kept."`
	OpenSizes     bool           `koanf:"open_sizes" doc:"Answer the sizes of queues and of dead letters without a token, as lmstfy does."`
}

// ListenDefault is lmstfy's address.
const ListenDefault = "127.0.0.1:7777"

// DefaultConfig is for callers on this machine, and tokens are made on lmstfy's port.
func DefaultConfig() Config {
	return Config{Store: sqldb.Database{Driver: sqldb.MySQL, MaxOpenConns: 16, Patience: sqldb.PatienceDefault},
		AdminListen: "127.0.0.1:7778", AdminUser: "admin", Tokens: TokensRequired,
		KeepDead: 30 * 24 * time.Hour}
}

// Validate reports every setting that cannot be used.
func (c Config) Validate() error {
	var errs []error
	if c.Store.Writer.Reveal() != "" {
		errs = append(errs, c.Store.Validate("store"))
	}
	errs = append(errs, validatePools(c.Pools, c.Store))
	for key, address := range map[string]string{"listen": c.Listen, "admin_listen": c.AdminListen} {
		if _, ok := hostOf(address); !ok && address != "" {
			errs = append(errs, &config.FieldError{Key: key, Value: address,
				Want: "host:port with a port from 0 (any free one) to 65535"})
		}
	}
	if c.Tokens != TokensRequired && c.Tokens != TokensNone {
		errs = append(errs, &config.FieldError{Key: "tokens", Value: c.Tokens, Want: "required or none"})
	}
	if host, ok := hostOf(c.Listen); ok && c.Tokens == TokensNone && !localhost.Is(host) {
		errs = append(errs, &config.FieldError{Key: "listen", Value: c.Listen,
			Want: "a loopback address such as 127.0.0.1:7777 while jobs.tokens is none: everyone who reaches it may do " +
				"everything"})
	}
	if host, ok := hostOf(c.AdminListen); ok && c.AdminPassword.Reveal() == "" && !localhost.Is(host) {
		errs = append(errs, &config.FieldError{Key: "admin_listen", Value: c.AdminListen,
			Want: "a loopback address such as 127.0.0.1:7778 while jobs.admin_password is empty"})
	}
	if password := c.AdminPassword.Reveal(); password != "" && len(password) < passwordMin {
		errs = append(errs, &config.FieldError{Key: "admin_password", Want: fmt.Sprintf(
			"at least %d characters, such as those of `openssl rand -hex 16`: nothing limits how many are tried", passwordMin)})
	}
	if c.KeepDead < time.Hour {
		errs = append(errs, &config.FieldError{Key: "keep_dead", Value: c.KeepDead.String(), Want: "1h or more"})
	}
	if c.AdminUser == "" {
		errs = append(errs, &config.FieldError{Key: "admin_user", Want: "a name"})
	}
	return errors.Join(errs...)
}

func hostOf(address string) (host string, ok bool) {
	host, port, err := net.SplitHostPort(address)
	n, portErr := strconv.Atoi(port)
	return host, err == nil && portErr == nil && n >= 0 && n <= 65535
}

package place

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"adsync/base/config"
	"adsync/base/secret"
)

// The kinds of destinations.
const (
	KindS3   = "s3"
	KindSFTP = "sftp"
	KindFTP  = "ftp"
	KindFTPS = "ftps"
	KindDir  = "dir"
)

// The defaults of Options.
const (
	TimeoutSecondsDefault = 30
	PartMiBDefault        = 16
	ConnectionsDefault    = 4
)

const connectionsMax = 64

// Config describes a destination.
type Config struct {
	// Kind is one of the constants.
	Kind string
	// Address is host:port of an SFTP, FTP or FTPS server; https://host/bucket of an S3 server, without a host that of
	// AWS (https:///bucket); or the absolute path of a directory, which must exist.
	Address string
	// Prefix is the directory of all names; see CheckName. Empty means that of the Address. On an SFTP, FTP or FTPS
	// server it is relative to the directory of the login, or absolute if it begins with a slash.
	Prefix string
	// User logs in. For S3 it is the access key's id.
	User string
	// Password is that of the user, the passphrase of Key, or the secret access key of S3.
	Password secret.Text
	// Key is the private key of an SFTP user in PEM form.
	Key secret.Text
	// HostKey holds the public keys of an SFTP server, one a line in the form of authorized_keys. A server with any
	// other key is refused.
	HostKey string
	// CA holds the certificates in PEM form that sign those of an FTPS or S3 server. Empty means those of the system.
	CA string
	// Options are the settings of the kind.
	Options Options
}

// Options are the settings of some kinds of destinations. The zero value of each means its default.
type Options struct {
	// TimeoutSeconds is how long a network operation may be without any progress: 5 to 3600 seconds. It defaults to
	// 30. A directory has no such limit.
	TimeoutSeconds int `json:"timeout_seconds,omitempty"`
	// Connections is how many files are delivered at a time, by all processes: 1 to 64. It defaults to 4. It is for the
	// caller to keep.
	Connections int `json:"connections,omitempty"`
	// BytesPerSecond limits the uploads of a Place together: 16384 or more for each connection. It defaults to no limit.
	BytesPerSecond int64 `json:"bytes_per_second,omitempty"`
	// Region is the region of an S3 bucket. It is required for AWS, and defaults to us-east-1 for other servers.
	Region string `json:"region,omitempty"`
	// PathStyle places the bucket in the path instead of the host name, as many S3 servers other than AWS need it.
	PathStyle bool `json:"path_style,omitempty"`
	// PartMiB is the size of the parts of an S3 upload: 5 to 1024 MiB. It defaults to 16. A file of more than 10,000
	// parts has larger ones.
	PartMiB int `json:"part_mib,omitempty"`
	// Implicit begins an FTPS connection with TLS, as servers on port 990 expect it, instead of the command AUTH TLS.
	Implicit bool `json:"implicit,omitempty"`
	// TLSMax is "1.2" for FTPS servers that lose the end of files with TLS 1.3, or empty.
	TLSMax string `json:"tls_max,omitempty"`
}

// timeout returns how long a network operation may be without progress.
func (o Options) timeout() time.Duration {
	return time.Duration(cmp.Or(o.TimeoutSeconds, TimeoutSecondsDefault)) * time.Second
}

// fields collects the mistakes of a configuration.
type fields struct{ errs []error }

// want refuses a value unless it is right. The value of a secret must be passed as "".
func (w *fields) want(right bool, key, value, want string) {
	if !right {
		w.errs = append(w.errs, &config.FieldError{Key: key, Value: value, Want: want})
	}
}

// Validate returns all mistakes as joined *config.FieldError. It does not connect.
func (c Config) Validate() error {
	var w fields
	switch c.Kind {
	case KindS3:
		_, _, err := c.bucket()
		w.want(err == nil, "address", c.Address, fmt.Sprint(err))
		w.want(c.User != "", "user", "", "the id of an access key")
		w.want(!c.Password.IsZero(), "password", "", "the secret access key")
	case KindDir:
		w.want(filepath.IsAbs(c.Address), "address", c.Address, "the absolute path of a directory")
		w.want(c.User == "", "user", c.User, "none: a directory has no login")
		w.want(c.Password.IsZero(), "password", "", "none: a directory has no login")
	case KindSFTP, KindFTP, KindFTPS:
		w.want(isHostPort(c.Address), "address", c.Address, "host:port, such as files.example.com:22")
		w.want(c.User != "" && !strings.ContainsAny(c.User, "\r\n"), "user", c.User, "the name of a user")
		w.want(!c.Password.IsZero() || c.Kind == KindSFTP && !c.Key.IsZero(), "password", "", "the user's password")
		w.want(!strings.ContainsAny(c.Password.Reveal(), "\r\n"), "password", "", "one line")
	default:
		w.want(false, "kind", c.Kind, "s3, sftp, ftp, ftps or dir")
		return errors.Join(w.errs...)
	}
	c.checkPrefix(&w)
	c.checkKeys(&w)
	c.Options.check(&w, c.Kind)
	if c.Kind == KindS3 && strings.HasPrefix(c.Address, "https:///") {
		w.want(c.Options.Region != "", "options.region", "", "the region of the bucket, such as eu-central-1")
	}
	return errors.Join(w.errs...)
}

// checkPrefix refuses a prefix that is no directory.
func (c Config) checkPrefix(w *fields) {
	prefix := c.Prefix
	if c.Kind != KindS3 && c.Kind != KindDir {
		prefix = strings.TrimPrefix(prefix, "/")
	}
	if prefix != "" {
		want := wrongName(strings.TrimSuffix(prefix, "/"), prefixMax)
		w.want(want == "", "prefix", c.Prefix, want)
	}
}

// checkKeys refuses keys and certificates that cannot be read, and those that the kind does not have.
func (c Config) checkKeys(w *fields) {
	if c.Kind == KindSFTP {
		_, _, err := c.signer()
		w.want(err == nil, "key", "", "a private key in PEM form, and its passphrase in password if it has one")
		_, err = c.hostKeys()
		w.want(err == nil, "host_key", c.HostKey, "one or more lines such as ssh-ed25519 AAAA…, "+
			"as printed by ssh-keyscan without the host's name")
	} else {
		w.want(c.Key.IsZero(), "key", "", "none: only sftp has a private key")
		w.want(c.HostKey == "", "host_key", c.HostKey, "none: only sftp has a host key")
	}
	if c.Kind == KindFTPS || c.Kind == KindS3 {
		w.want(c.CA == "" || x509.NewCertPool().AppendCertsFromPEM([]byte(c.CA)), "ca", "", "certificates in PEM form")
	} else {
		w.want(c.CA == "", "ca", "", "none: only ftps and s3 have certificates")
	}
}

// check refuses options out of range, and those that the kind does not have.
func (o Options) check(w *fields, kind string) {
	w.want(o.TimeoutSeconds == 0 || o.TimeoutSeconds >= 5 && o.TimeoutSeconds <= 3600,
		"options.timeout_seconds", strconv.Itoa(o.TimeoutSeconds), "5 to 3600 seconds")
	w.want(o.Connections >= 0 && o.Connections <= connectionsMax,
		"options.connections", strconv.Itoa(o.Connections), fmt.Sprintf("1 to %d, or 0 for %d", connectionsMax,
			ConnectionsDefault))
	least := int64(16384 * cmp.Or(o.Connections, 1))
	w.want(o.BytesPerSecond == 0 || o.BytesPerSecond >= least, "options.bytes_per_second",
		strconv.FormatInt(o.BytesPerSecond, 10), fmt.Sprintf("%d or more, or 0 for no limit", least))
	if kind == KindS3 {
		w.want(o.PartMiB == 0 || o.PartMiB >= 5 && o.PartMiB <= 1024,
			"options.part_mib", strconv.Itoa(o.PartMiB), "5 to 1024 MiB")
	} else {
		w.want(o.Region == "", "options.region", o.Region, "none: only s3 has a region")
		w.want(!o.PathStyle, "options.path_style", "true", "none: only s3 has it")
		w.want(o.PartMiB == 0, "options.part_mib", strconv.Itoa(o.PartMiB), "none: only s3 has parts")
	}
	if kind == KindFTPS {
		w.want(o.TLSMax == "" || o.TLSMax == "1.2", "options.tls_max", o.TLSMax, "1.2, or nothing for the newest")
	} else {
		w.want(!o.Implicit, "options.implicit", "true", "none: only ftps has it")
		w.want(o.TLSMax == "", "options.tls_max", o.TLSMax, "none: only ftps has it")
	}
}

func isHostPort(address string) bool {
	host, port, err := net.SplitHostPort(address)
	n, wrong := strconv.ParseUint(port, 10, 16)
	return err == nil && wrong == nil && n > 0 && host != "" && !strings.ContainsAny(host, "/@ ")
}

// bucket returns the endpoint of an S3 server, "" for AWS, and the bucket. The error completes "want …".
func (c Config) bucket() (endpoint, bucket string, err error) {
	errForm := errors.New("https://host/bucket, or https:///bucket for AWS")
	u, err := url.Parse(c.Address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", "", errForm
	}
	bucket = strings.TrimSuffix(strings.TrimPrefix(u.Path, "/"), "/")
	if bucket == "" || strings.ContainsAny(bucket, "/\\ ") {
		return "", "", errForm
	}
	if u.Host == "" {
		return "", bucket, nil
	}
	return u.Scheme + "://" + u.Host, bucket, nil
}

// tls returns how to connect to a server of that name.
func (c Config) tls(host string) *tls.Config {
	out := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host}
	if c.CA != "" {
		out.RootCAs = x509.NewCertPool()
		out.RootCAs.AppendCertsFromPEM([]byte(c.CA)) // Validate has parsed them.
	}
	if c.Options.TLSMax == "1.2" {
		out.MaxVersion = tls.VersionTLS12
	}
	return out
}

// signer returns the private key of the SFTP user, nil if there is none, and whether the password is its passphrase.
func (c Config) signer() (signer ssh.Signer, passphrase bool, err error) {
	if c.Key.IsZero() {
		return nil, false, nil
	}
	key := []byte(c.Key.Reveal())
	signer, err = ssh.ParsePrivateKey(key)
	if _, missing := errors.AsType[*ssh.PassphraseMissingError](err); missing && !c.Password.IsZero() {
		signer, err = ssh.ParsePrivateKeyWithPassphrase(key, []byte(c.Password.Reveal()))
		return signer, true, err
	}
	return signer, false, err
}

// hostKeys returns the pinned keys of the SFTP server, one or more.
func (c Config) hostKeys() ([]ssh.PublicKey, error) {
	var keys []ssh.PublicKey
	for line := range strings.Lines(c.HostKey) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		key, _, options, _, err := ssh.ParseAuthorizedKey([]byte(line))
		if err != nil {
			return nil, err
		}
		// The name of a host, or a marker such as @revoked, is taken for an option.
		if len(options) > 0 {
			return nil, errors.New("a host's name or an option")
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, errors.New("no key")
	}
	return keys, nil
}

package local

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/go-sql-driver/mysql"
)

// mariadbSettings are the server's settings beyond its defaults. Durability stays at the default, a sync at each
// commit, because batch sizes and lock times are judged by these tests.
var mariadbSettings = []string{
	"--character-set-server=utf8mb4",
	"--innodb-buffer-pool-size=512M",
	"--max-allowed-packet=64M",
	"--max-connections=500",
	"--skip-name-resolve", // Otherwise each new connection uses the machine's resolver, which may be slow or absent.
	// A zone other than UTC, as servers often have: it reveals sessions that do not set UTC.
	"--default-time-zone=+08:00",
}

// MariaDB is a server with one account, root, without a password.
type MariaDB struct {
	// Label is its name among several. Empty means "mariadb".
	Label string
	// Env is added to the server's environment at each start.
	Env []string
	// Settings are added to mariadbSettings and override them.
	Settings []string

	readOnly bool // It refuses the writes of all but root from its next start on.
	addr     string
	args     []string
}

// MariaDBAt returns a server that was started elsewhere.
func MariaDBAt(addr string) *MariaDB { return &MariaDB{addr: addr} }

// Name implements Kind.
func (s *MariaDB) Name() string { return cmp.Or(s.Label, "mariadb") }

// Addr returns the server's address.
func (s *MariaDB) Addr() string { return s.addr }

// Install implements Kind.
func (s *MariaDB) Install(ctx context.Context, stderr io.Writer) error {
	// The core packages hold the programs without a service or accounts; my_print_defaults, which mariadb-install-db
	// needs, is in the client's.
	return ensurePrograms(ctx, stderr, []string{"mariadbd", "mariadb-install-db", "my_print_defaults"},
		[]string{"mariadb-server-core", "mariadb-client-core"})
}

func (s *MariaDB) prepare(ctx context.Context, dir string, ports *Ports) error {
	port, err := ports.Take()
	if err != nil {
		return err
	}
	account, err := user.Current()
	if err != nil {
		return err
	}
	s.addr = Loopback(port)
	// A server that starts clears its directory for temporary tables, also of other servers' files: each has its own.
	temporary := filepath.Join(dir, "tmp")
	if err := os.MkdirAll(temporary, 0o700); err != nil {
		return err
	}
	// --no-defaults comes first, or the machine's own configuration files are read. The server refuses to run as root
	// unless it is named.
	common := []string{"--no-defaults", "--datadir=" + filepath.Join(dir, "data"), "--tmpdir=" + temporary, "--user=" +
		account.Username}
	s.args = slices.Concat(common, mariadbSettings, s.Settings, []string{
		"--bind-address=127.0.0.1", "--port=" + strconv.Itoa(port),
		"--socket=" + filepath.Join(dir, "sock"), "--pid-file=" + filepath.Join(dir, "pid"),
	})
	return runQuietly(ctx, "mariadb-install-db",
		append(common, "--auth-root-authentication-method=normal", "--skip-test-db")...)
}

func (s *MariaDB) command() (*exec.Cmd, error) {
	program, err := lookProgram("mariadbd")
	if err != nil {
		return nil, err
	}
	// Not CommandContext: the server is stopped by its process group, with time to end on its own.
	cmd := exec.Command(program, append(slices.Clone(s.args), fmt.Sprintf("--read-only=%t", s.readOnly))...)
	cmd.Env = append(os.Environ(), s.Env...)
	return cmd, nil
}

// Setting implements Kind.
func (s *MariaDB) Setting() string { return "ADSYNC_TEST_MYSQL=" + s.DSN() }

// DSN names no database: tests make their own.
func (s *MariaDB) DSN() string { return fmt.Sprintf("root@tcp(%s)/", s.addr) }

// CreateDatabases creates databases of these names, which must not exist.
func (s *MariaDB) CreateDatabases(ctx context.Context, names ...string) error {
	statements := make([]string, len(names))
	for i, name := range names {
		statements[i] = "CREATE DATABASE " + name + " CHARACTER SET utf8mb4"
	}
	return s.exec(ctx, statements...)
}

// Ready implements Kind.
func (s *MariaDB) Ready(ctx context.Context) error {
	db, err := s.open()
	if err != nil {
		return err
	}
	defer db.Close()
	return db.PingContext(ctx)
}

// exec executes statements.
func (s *MariaDB) exec(ctx context.Context, statements ...string) error {
	db, err := s.open()
	if err != nil {
		return err
	}
	defer db.Close()
	for _, text := range statements {
		if _, err := db.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("%s: %s: %w", s.Name(), text, err)
		}
	}
	return nil
}

// query reads one value.
func (s *MariaDB) query(ctx context.Context, text string, into any) error {
	db, err := s.open()
	if err != nil {
		return err
	}
	defer db.Close()
	if err := db.QueryRowContext(ctx, text).Scan(into); err != nil {
		return fmt.Errorf("%s: %s: %w", s.Name(), text, err)
	}
	return nil
}

// open returns connections to the server that log nothing when it does not answer.
func (s *MariaDB) open() (*sql.DB, error) {
	config, err := mysql.ParseDSN(s.DSN())
	if err != nil {
		return nil, err
	}
	config.Logger = &mysql.NopLogger{} // A server that does not answer is an error of each statement too.
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

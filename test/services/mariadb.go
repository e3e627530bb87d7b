package main

import (
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

// mariadbSettings are the server's settings beyond its defaults. Durability stays at the default, a sync at each commit,
// because batch sizes and lock times are judged by these tests.
var mariadbSettings = []string{
	"--character-set-server=utf8mb4",
	"--innodb-buffer-pool-size=512M",
	"--max-allowed-packet=64M",
	"--max-connections=500",
	"--skip-name-resolve", // Else each new connection asks the machine's resolver, which may be slow or absent.
	// A zone other than UTC, as servers often have: what forgets to say UTC in a session is found here.
	"--default-time-zone=+08:00",
}

type mariadbServer struct{ addr string }

func (s *mariadbServer) install(ctx context.Context, stderr io.Writer) error {
	// The core packages hold the programs without a service or accounts; my_print_defaults, which mariadb-install-db
	// needs, is in the client's.
	return ensurePrograms(ctx, stderr, []string{"mariadbd", "mariadb-install-db", "my_print_defaults"},
		[]string{"mariadb-server-core", "mariadb-client-core"})
}

func (s *mariadbServer) launch(ctx context.Context, dir, logFile string, ports *portPool) (*process, error) {
	port, err := ports.take()
	if err != nil {
		return nil, err
	}
	program, err := lookProgram("mariadbd")
	if err != nil {
		return nil, err
	}
	account, err := user.Current()
	if err != nil {
		return nil, err
	}
	// --no-defaults comes first, or the machine's own configuration files are read. The server refuses to run as root
	// unless it is named.
	data := filepath.Join(dir, "data")
	common := []string{"--no-defaults", "--datadir=" + data, "--user=" + account.Username}
	if err := runQuietly(ctx, "mariadb-install-db",
		append(common, "--auth-root-authentication-method=normal", "--skip-test-db")...); err != nil {
		return nil, err
	}
	s.addr = loopback(port)
	args := slices.Concat(common, mariadbSettings, []string{"--bind-address=127.0.0.1", "--port=" + strconv.Itoa(port),
		"--socket=" + filepath.Join(dir, "sock"), "--pid-file=" + filepath.Join(dir, "pid"), "--tmpdir=" + os.TempDir()})
	// Not CommandContext: the server is stopped by its process group, with time to end by itself.
	return startLogged("mariadb", logFile, exec.Command(program, args...))
}

func (s *mariadbServer) setting() string { return "ADSYNC_TEST_MYSQL=" + s.dsn() }

// dsn names no database: tests make their own.
func (s *mariadbServer) dsn() string { return fmt.Sprintf("root@tcp(%s)/", s.addr) }

func (s *mariadbServer) ready(ctx context.Context) error {
	config, err := mysql.ParseDSN(s.dsn())
	if err != nil {
		return err
	}
	config.Logger = &mysql.NopLogger{} // Refused connections are what is waited out here.
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	return db.PingContext(ctx)
}

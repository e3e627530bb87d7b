package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// postgresAccount is whom the server runs as where this process is root, which the server refuses to be. Debian's
// package makes it.
const postgresAccount = "postgres"

// Postgres is a PostgreSQL server with one superuser, postgres, without a password. It is not part of a deployment:
// bench compares adsync with task queues that keep their tasks in it.
type Postgres struct {
	// Settings are the server's settings beyond its defaults, each as name=value.
	Settings []string

	addr, port string
	dir        string
	as         *syscall.Credential // nil is this process's own
}

// Name implements Kind.
func (*Postgres) Name() string { return "postgres" }

// Addr returns the server's address.
func (s *Postgres) Addr() string { return s.addr }

// Install implements Kind.
func (s *Postgres) Install(ctx context.Context, stderr io.Writer) error {
	return ensurePrograms(ctx, stderr, []string{"postgres", "initdb", "pg_isready"}, []string{"postgresql"})
}

func (s *Postgres) prepare(ctx context.Context, dir string, ports *Ports) error {
	port, err := ports.Take()
	if err != nil {
		return err
	}
	s.addr, s.port, s.dir = Loopback(port), strconv.Itoa(port), dir
	if os.Geteuid() == 0 {
		if err := s.becomeOther(); err != nil {
			return err
		}
	}
	initdb, err := s.program("initdb", "--pgdata", filepath.Join(dir, "data"), "--username=postgres", "--auth=trust",
		"--encoding=UTF8", "--no-locale")
	if err != nil {
		return err
	}
	if output, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("run initdb: %w\n%s", err, output)
	}
	return ctx.Err()
}

// becomeOther makes the programs run as the package's account, which then owns dir. It also makes the parent directory
// passable for that account: temporary directories are closed to others.
func (s *Postgres) becomeOther() error {
	account, err := user.Lookup(postgresAccount)
	if err != nil {
		return err
	}
	uid, err1 := strconv.ParseUint(account.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(account.Gid, 10, 32)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	s.as = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	if err := os.Chown(s.dir, int(uid), int(gid)); err != nil {
		return err
	}
	run := filepath.Dir(s.dir)
	info, err := os.Stat(run)
	if err != nil {
		return err
	}
	const pass = fs.FileMode(0o011)
	return os.Chmod(run, info.Mode().Perm()|pass)
}

// program is a command of one of the server's programs.
func (s *Postgres) program(name string, args ...string) (*exec.Cmd, error) {
	path, err := lookProgram(name)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = s.dir // Otherwise it uses the directory of this process, which the account may not read.
	if s.as != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.as}
	}
	return cmd, nil
}

func (s *Postgres) command() (*exec.Cmd, error) {
	args := []string{"-D", filepath.Join(s.dir, "data"), "-c", "listen_addresses=127.0.0.1", "-c", "port=" + s.port, "-c",
		"unix_socket_directories="}
	for _, setting := range s.Settings {
		args = append(args, "-c", setting)
	}
	// Not CommandContext: the server is stopped by its process group, with time to end on its own.
	return s.program("postgres", args...)
}

// Setting implements Kind.
func (s *Postgres) Setting() string { return "ADSYNC_TEST_POSTGRES=" + s.DSN() }

// DSN names the database that each server has.
func (s *Postgres) DSN() string { return "postgres://postgres@" + s.addr + "/postgres?sslmode=disable" }

// Ready implements Kind, by the server's own program: the project has no driver for it.
func (s *Postgres) Ready(ctx context.Context) error {
	path, err := lookProgram("pg_isready")
	if err != nil {
		return err
	}
	output, err := exec.CommandContext(ctx, path, "--quiet", "--host=127.0.0.1", "--port="+s.port,
		"--username=postgres").CombinedOutput()
	if err != nil {
		return fmt.Errorf("it does not answer: %w %s", err, output)
	}
	return nil
}

package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// ErrNotInstalled is the error for missing programs that this process cannot install.
var ErrNotInstalled = errors.New("not installed")

// policyFile is the program by which Debian's package scripts check whether they may start a service.
const policyFile = "/usr/sbin/policy-rc.d"

// cacheDir is the directory that keeps fetched files for later runs.
func cacheDir() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(base, "adsync")
	return dir, os.MkdirAll(dir, 0o755)
}

// withInstallLock runs do while no other run of this program installs anything.
func withInstallLock(do func() error) error {
	cache, err := cacheDir()
	if err != nil {
		return err
	}
	lock, err := lockFile(filepath.Join(cache, "install.lock"), syscall.LOCK_EX)
	if err != nil {
		return err
	}
	defer unlock(lock)
	return do()
}

// ensurePrograms installs Debian packages if one of the programs is missing. It does not start the package's own
// service, which would take the standard port of the machine.
func ensurePrograms(ctx context.Context, stderr io.Writer, programs, packages []string) error {
	// The lock is held from the start: during another run's installation programs exist before their dependencies.
	return withInstallLock(func() error {
		absent := missing(programs)
		if len(absent) == 0 {
			return nil
		}
		install := "apt-get install -y --no-install-recommends " + strings.Join(packages, " ")
		if _, err := exec.LookPath("apt-get"); err != nil {
			return fmt.Errorf("%s: %w, and this machine has no apt-get: install it, or run a Docker engine",
				strings.Join(absent, ", "), ErrNotInstalled)
		}
		if os.Geteuid() != 0 {
			return fmt.Errorf("%s: %w; run: sudo %s", strings.Join(absent, ", "), ErrNotInstalled, install)
		}
		fmt.Fprintf(stderr, "services: %s\n", install)
		restore, err := forbidServiceStarts()
		if err != nil {
			return err
		}
		defer restore()
		if err := runQuietly(ctx, "apt-get", "update", "-q"); err != nil {
			return err
		}
		// Another apt may be at work on the machine: wait for its lock instead of failing.
		args := []string{"-o", "DPkg::Lock::Timeout=300", "install", "-q", "-y", "--no-install-recommends"}
		if err := runQuietly(ctx, "apt-get", append(args, packages...)...); err != nil {
			return err
		}
		if absent = missing(programs); len(absent) > 0 {
			return fmt.Errorf("%s is still missing after %s", strings.Join(absent, ", "), install)
		}
		return nil
	})
}

// forbidServiceStarts writes Debian's policy file unless the machine has one. The returned function removes the written
// file.
func forbidServiceStarts() (restore func(), err error) {
	file, err := os.OpenFile(policyFile, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if errors.Is(err, os.ErrExist) {
		return func() {}, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	restore = func() { _ = os.Remove(policyFile) }
	if _, err := file.WriteString("#!/bin/sh\nexit 101\n"); err != nil {
		restore()
		return nil, err
	}
	return restore, nil
}

func missing(programs []string) []string {
	var absent []string
	for _, program := range programs {
		if _, err := lookProgram(program); err != nil {
			absent = append(absent, program)
		}
	}
	return absent
}

// lookProgram finds a program, also in the directories of servers in Debian, which are not on every user's PATH.
func lookProgram(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil {
		return path, nil
	}
	// PostgreSQL's programs are in a directory for each version: all must be of the newest one.
	versions, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	for _, dir := range append(versions, "/usr/sbin", "/usr/lib/openssh") {
		if found, notThere := exec.LookPath(filepath.Join(dir, name)); notThere == nil {
			path, err = found, nil
		}
	}
	return path, err
}

// runQuietly runs a program to its end and shows its output only in the error.
func runQuietly(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	// An interrupted apt-get leaves a consistent state; a killed one leaves packages half installed.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("run %s %s: %w\n%s", name, strings.Join(args, " "), err, output)
	}
	return nil
}

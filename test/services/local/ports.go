package local

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// Ports are taken below the range from which kernels pick the local ports of outgoing connections (32768 and up on
// Linux, 49152 on macOS): a server needs seconds until it listens, and meanwhile any connection could take a port of
// that range.
const (
	portLow  = 20000
	portHigh = 32000
)

// Ports returns ports of 127.0.0.1 that no other run of this program gets while this one runs: each is a locked file
// in dir, and the lock ends with the process. It is not safe for concurrent use.
type Ports struct {
	dir       string
	low, high int // from low up to, not including, high
	locks     []*os.File
}

// NewPorts returns a pool that shares this machine with those of all other processes of the same user: another user's
// files could not be locked.
func NewPorts() *Ports {
	return &Ports{dir: filepath.Join(os.TempDir(), fmt.Sprintf("adsync-services-ports-%d", os.Getuid())), low: portLow,
		high: portHigh}
}

// Take returns a port on which nothing listens.
func (p *Ports) Take() (int, error) {
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return 0, err
	}
	for range 1000 {
		port := p.low + rand.IntN(p.high-p.low)
		lock, err := lockFile(filepath.Join(p.dir, strconv.Itoa(port)), syscall.LOCK_EX|syscall.LOCK_NB)
		if errors.Is(err, syscall.EWOULDBLOCK) {
			continue
		}
		if err != nil {
			return 0, err
		}
		if !portIsFree(port) {
			unlock(lock)
			continue
		}
		p.locks = append(p.locks, lock)
		return port, nil
	}
	return 0, fmt.Errorf("no spare port between %d and %d", p.low, p.high)
}

// Release releases the ports. Their files stay: removing one could pull it from under another run's lock.
func (p *Ports) Release() {
	for _, lock := range p.locks {
		unlock(lock)
	}
	p.locks = nil
}

func portIsFree(port int) bool {
	listener, err := net.Listen("tcp", Loopback(port))
	if err != nil {
		return false
	}
	return listener.Close() == nil
}

// Loopback returns the address of a port of this machine.
func Loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// unlock unlocks and closes a locked file. Closing alone would leave the lock to a process that is being started: it
// has copies of all open files until it runs its own program.
func unlock(lock *os.File) {
	_ = syscall.Flock(int(lock.Fd()), syscall.LOCK_UN)
	_ = lock.Close()
}

// lockFile opens and locks a file. unlock, or the end of the process, unlocks it.
func lockFile(path string, how int) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), how); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return file, nil
}

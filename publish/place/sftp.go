package place

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path"
	"strings"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
)

// The names of extensions of SFTP servers.
const (
	posixRename = "posix-rename@openssh.com"
	fsync       = "fsync@openssh.com"
)

// sftpReadSize is how many bytes are read at a time: the client divides them into concurrent requests.
const sftpReadSize = 1 << 20

// sftpWrites is how many requests of 32 KiB may be on their way. A failed upload may leave holes: its temporary file
// is only used after an upload from the start.
const sftpWrites = 32

// sftpClient is a connection with SFTP in it.
type sftpClient struct {
	*sftp.Client
	ssh *ssh.Client
}

// sftpStore is the store of an SFTP server.
type sftpStore struct {
	config  Config
	prefix  string
	session session[sftpClient]
}

var _ store = (*sftpStore)(nil)

func newSFTP(c Config) *sftpStore {
	s := &sftpStore{config: c, prefix: path.Clean(c.Prefix)}
	s.session = session[sftpClient]{
		address: c.Address, timeout: c.Options.timeout(), open: s.open, answered: answeredBySFTP,
		alive: func(c sftpClient) error {
			_, err := c.RealPath(".")
			return err
		},
		release: func(c sftpClient) {
			_ = c.ssh.Close()
			_ = c.Close()
		},
	}
	s.session.start()
	return s
}

// answeredBySFTP reports whether an error is a status that the server sent.
func answeredBySFTP(err error) bool {
	_, status := errors.AsType[*sftp.StatusError](err)
	return status || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
}

// open logs in, if the server has one of the pinned keys.
func (s *sftpStore) open(context.Context) (sftpClient, error) {
	pinned, err := s.config.hostKeys()
	if err != nil {
		return sftpClient{}, refuse(fmt.Errorf("read host_key: %w", err))
	}
	login, err := s.login()
	if err != nil {
		return sftpClient{}, refuse(err)
	}
	conn, err := s.session.lines.dial(s.config.Address)
	if err != nil {
		return sftpClient{}, err
	}
	var unknown error
	over, channels, requests, err := ssh.NewClientConn(conn, s.config.Address, &ssh.ClientConfig{
		User: s.config.User,
		Auth: login,
		// Without these the server may choose the type of a key that is not pinned.
		HostKeyAlgorithms: algorithms(pinned),
		HostKeyCallback: func(_ string, _ net.Addr, key ssh.PublicKey) error {
			for _, p := range pinned {
				if bytes.Equal(p.Marshal(), key.Marshal()) {
					return nil
				}
			}
			unknown = fmt.Errorf("the server's key %s %s is not in host_key: ask the server's operator whether it is right",
				key.Type(), ssh.FingerprintSHA256(key))
			return unknown
		},
	})
	switch {
	case unknown != nil:
		return sftpClient{}, refuse(unknown)
	case err != nil:
		return sftpClient{}, s.loginFailed(err)
	}
	client := ssh.NewClient(over, channels, requests)
	ftp, err := sftp.NewClient(client)
	if err != nil {
		_ = client.Close()
		return sftpClient{}, fmt.Errorf("start SFTP: %w", err)
	}
	return sftpClient{Client: ftp, ssh: client}, nil
}

// loginFailed classifies an error of the handshake. The library has no type for a refused login.
func (s *sftpStore) loginFailed(err error) error {
	if _, none := errors.AsType[*ssh.AlgorithmNegotiationError](err); none {
		return refuse(fmt.Errorf("%w: the server may have no key of the type in host_key", err))
	}
	if strings.Contains(err.Error(), "unable to authenticate") {
		return refuse(fmt.Errorf("the server refused the password or key of user %q", s.config.User))
	}
	return err
}

// login returns the ways to log in.
func (s *sftpStore) login() ([]ssh.AuthMethod, error) {
	var ways []ssh.AuthMethod
	signer, passphrase, err := s.config.signer()
	if err != nil {
		return nil, errors.New("key: want a private key in PEM form")
	}
	if signer != nil {
		ways = append(ways, ssh.PublicKeys(signer))
	}
	if s.config.Password.IsZero() || passphrase {
		return ways, nil
	}
	answer := func(_, _ string, questions []string, echo []bool) ([]string, error) {
		answers := make([]string, len(questions))
		for i := range questions {
			if !echo[i] {
				answers[i] = s.config.Password.Reveal()
			}
		}
		return answers, nil
	}
	return append(ways, ssh.Password(s.config.Password.Reveal()), ssh.KeyboardInteractive(answer)), nil
}

// algorithms returns the signatures that the pinned keys can make.
func algorithms(pinned []ssh.PublicKey) []string {
	var out []string
	for _, key := range pinned {
		if key.Type() == ssh.KeyAlgoRSA {
			out = append(out, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256)
			continue
		}
		out = append(out, key.Type())
	}
	return out
}

// do runs a call on the server and marks the errors that stay.
func (s *sftpStore) do(ctx context.Context, call func(sftpClient) error) error {
	err := s.session.do(ctx, call)
	status, _ := errors.AsType[*sftp.StatusError](err)
	if errors.Is(err, fs.ErrPermission) || status != nil && status.FxCode() == sftp.ErrSSHFxOpUnsupported {
		return refuse(err)
	}
	return err
}

func (s *sftpStore) at(name string) string { return path.Join(s.prefix, name) }

func (s *sftpStore) full(name string) string { return s.config.Address + ":" + s.at(name) }

func (s *sftpStore) mkdir(ctx context.Context, dir string) error {
	return s.do(ctx, func(c sftpClient) error { return c.MkdirAll(s.at(dir)) })
}

func (s *sftpStore) write(ctx context.Context, name string, content *source) error {
	return s.do(ctx, func(c sftpClient) error {
		// Some servers refuse to open a file for both reading and writing.
		file, err := c.OpenFile(s.at(name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
		if err != nil {
			return err
		}
		if _, err := file.ReadFromWithConcurrency(content, sftpWrites); err != nil {
			_ = file.Close()
			return err
		}
		if _, offered := c.HasExtension(fsync); offered {
			if err := file.Sync(); err != nil {
				_ = file.Close()
				return err
			}
		}
		return file.Close()
	})
}

func (s *sftpStore) read(ctx context.Context, name string, n int64, into *tally) error {
	return s.do(ctx, func(c sftpClient) error {
		file, err := c.Open(s.at(name))
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
		_, err = io.CopyBuffer(into, io.NewSectionReader(file, 0, n), make([]byte, min(n+1, sftpReadSize)))
		return err
	})
}

func (s *sftpStore) size(ctx context.Context, name string) (size int64, err error) {
	err = s.do(ctx, func(c sftpClient) error {
		info, err := c.Lstat(s.at(name))
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return refuse(errNoFile)
		}
		size = info.Size()
		return nil
	})
	return size, err
}

func (s *sftpStore) rename(ctx context.Context, from, to string, replace bool) error {
	from, to = s.at(from), s.at(to)
	return s.do(ctx, func(c sftpClient) error {
		if _, offered := c.HasExtension(posixRename); offered && replace {
			return c.PosixRename(from, to)
		}
		err := c.Rename(from, to)
		if err == nil || !replace || !answeredBySFTP(err) {
			return err
		}
		// The server may refuse because the target exists.
		info, missing := c.Lstat(to)
		if missing != nil || !info.Mode().IsRegular() {
			return err
		}
		if _, missing := c.Lstat(from); missing != nil {
			return err
		}
		if c.Remove(to) != nil {
			return err
		}
		return c.Rename(from, to)
	})
}

func (s *sftpStore) remove(ctx context.Context, name string) error {
	return s.do(ctx, func(c sftpClient) error {
		// The library's Remove also deletes directories.
		info, err := c.Lstat(s.at(name))
		if err == nil && info.IsDir() {
			return refuse(errNoFile)
		}
		if err == nil {
			err = c.Remove(s.at(name))
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
}

func (s *sftpStore) list(ctx context.Context, dir string) (entries []entry, err error) {
	err = s.do(ctx, func(c sftpClient) error {
		found, err := c.ReadDirContext(ctx, s.at(dir))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		for _, info := range found {
			if info.Name() != "." && info.Name() != ".." {
				entries = append(entries, entry{name: info.Name(), file: info.Mode().IsRegular(), dir: info.IsDir()})
			}
		}
		return err
	})
	return entries, err
}

func (s *sftpStore) close() error { return s.session.close() }
